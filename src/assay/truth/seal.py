"""Signing a truth state and checking one (Kaori 11.4, 12).

state -> `signing_bytes` -> a signer -> `seal_truth_state` -> `verify_truth_state`, by anyone who holds the keys
"""

from collections.abc import Mapping

from msgspec.structs import replace

from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant, render_instant
from assay.kernel.key import SigningMethod, UnknownKeyError
from assay.kernel.signature import parse_signature_hex, verify_ed25519, verify_hmac
from assay.truth.contract import Contract
from assay.truth.errors import SigningTimeError, StateError
from assay.truth.key import parse_claim_type_id, parse_truth_key
from assay.truth.snapshot import TrustSnapshot
from assay.truth.state import (
    SecurityBlock,
    TruthState,
    parse_truth_state,
    render_truth_state,
    require_signing_time,
    semantic_hash,
    state_hash,
)
from assay.truth.status import TruthStatus
from assay.truth.validation import validate_claim_payload


def signing_bytes(state: TruthState) -> bytes:
    """What is signed: the 64 ASCII characters of the state hash, and nothing of ours around them."""
    return state_hash(state).encode("ascii")


def signing_time(state: TruthState) -> Instant:
    """`compile_time`, unless the inputs record an override (Kaori 11.4)."""
    inputs = state.compile_inputs
    return inputs.compile_time if inputs.signed_at is None else inputs.signed_at


def seal_truth_state(state: TruthState, *, signature: bytes, method: SigningMethod, key_id: KeyId) -> TruthState:
    """Put the signature on; the caller then verifies it, since a signer may be a foreign machine.

    A state that already carries a signature, or is not well formed, is refused.
    """
    if state.security is not None:
        raise StateError(f"expected an unsigned state, got one signed by `{state.security.key_id}`")
    parse_truth_state(render_truth_state(state))
    security = SecurityBlock(
        semantic_hash=semantic_hash(state),
        state_hash=state_hash(state),
        signature=signature.hex(),
        signing_method=method,
        key_id=key_id,
        signed_at=signing_time(state),
    )
    return replace(state, security=security)


def verify_truth_state(
    state: TruthState,
    public_keys: Mapping[KeyId, bytes],
    *,
    secrets: Mapping[KeyId, bytes] | None = None,
    contract: Contract | None = None,
    snapshot: TrustSnapshot | None = None,
) -> None:
    """Raise unless the state is what was signed, by a key that the caller trusts.

    `public_keys` are raw Ed25519 keys by id, `secrets` those of `local_hmac`. With `contract`, its hash and the claim's
    schema are checked too; with `snapshot`, that it is the one that was used. The caller still checks that the key was
    valid at `signed_at`, and that the ledger holds the state.
    """
    security = _require_security(state)
    # Kaori 12.2: 1. the semantic hash, and 2. the state hash.
    _require_hashes(state, security)
    _require_time(state, security)
    _require_consistent(state)
    # 3. The signature.
    _require_signature(security, public_keys, secrets or {})
    if contract is not None:
        _require_contract(state, contract)
    if snapshot is not None and snapshot.snapshot_hash != state.compile_inputs.trust_snapshot_hash:
        raise StateError.inputs_mismatch(
            f"expected the snapshot {state.compile_inputs.trust_snapshot_hash}, got {snapshot.snapshot_hash}"
        )


def _require_security(state: TruthState) -> SecurityBlock:
    if state.security is None:
        raise StateError.state_unsigned(f"expected a signed state, got `{state.truthkey}` without a signature")
    return state.security


def _require_hashes(state: TruthState, security: SecurityBlock) -> None:
    semantic, whole = semantic_hash(state), state_hash(state)
    if security.semantic_hash != semantic:
        raise StateError.semantic_hash(f"expected the semantic hash {semantic}, got {security.semantic_hash}")
    if security.state_hash != whole:
        raise StateError.state_hash(f"expected the state hash {whole}, got {security.state_hash}")


def _require_time(state: TruthState, security: SecurityBlock) -> None:
    expected = require_signing_time(signing_time(state), state.compile_inputs.compile_time)
    if security.signed_at != expected:
        raise SigningTimeError(
            f"expected to be signed at {render_instant(expected)}, got {render_instant(security.signed_at)}"
        )


def _require_consistent(state: TruthState) -> None:
    """What stands twice in a state stands there equally."""
    inputs = state.compile_inputs
    pairs = (
        ("claim_type", state.claim_type, inputs.claim_type_id),
        ("claim_type_hash", state.claim_type_hash, inputs.claim_type_hash),
        ("observation_ids", state.observation_ids, inputs.observation_ids),
    )
    for name, outside, inside in pairs:
        if outside != inside:
            raise StateError.inputs_mismatch(f"expected `{name}` to be what the compile inputs say, got another")
    key = parse_truth_key(state.truthkey)
    if (key.domain, key.topic) != parse_claim_type_id(state.claim_type):
        raise StateError.inputs_mismatch(
            f"expected a key of the claim type `{state.claim_type}`, got `{state.truthkey}`"
        )
    if (state.status is TruthStatus.UNVERIFIED) is not (not state.observation_ids):
        raise StateError.inputs_mismatch(f"expected UNVERIFIED exactly without observations, got `{state.status}`")


def _require_signature(
    security: SecurityBlock, public_keys: Mapping[KeyId, bytes], secrets: Mapping[KeyId, bytes]
) -> None:
    message, signature = security.state_hash.encode("ascii"), parse_signature_hex(security.signature)
    is_open = security.signing_method is SigningMethod.ED25519
    key = (public_keys if is_open else secrets).get(security.key_id)
    if key is None:
        raise UnknownKeyError(f"expected a trusted key for `{security.signing_method}`, got `{security.key_id}`")
    if is_open:
        verify_ed25519(key, message, signature)
    else:
        verify_hmac(key, message, signature)


def _require_contract(state: TruthState, contract: Contract) -> None:
    if (contract.id, contract.claim_type_hash) != (state.claim_type, state.claim_type_hash):
        raise StateError.inputs_mismatch(
            f"expected the contract `{state.claim_type}` {state.claim_type_hash}, "
            f"got `{contract.id}` {contract.claim_type_hash}"
        )
    key, policy = parse_truth_key(state.truthkey), contract.truthkey
    if (key.spatial_system, key.z_index) != (policy.spatial_system, policy.z_index):
        raise StateError.inputs_mismatch(f"expected a key as `{contract.id}` builds it, got `{state.truthkey}`")
    if contract.policy_version != state.compile_inputs.policy_version:
        raise StateError.inputs_mismatch(
            f"expected policy version `{contract.policy_version}`, got `{state.compile_inputs.policy_version}`"
        )
    # A state without observations claims nothing, and nothing is not judged by a schema; nor is what is left out of one
    # that expired.
    if state.status is TruthStatus.UNVERIFIED:
        if state.claim:
            raise StateError.inputs_mismatch("expected no claim without observations, got one")
    elif state.claim or state.status is not TruthStatus.EXPIRED:
        validate_claim_payload(state.claim, contract.schema)
