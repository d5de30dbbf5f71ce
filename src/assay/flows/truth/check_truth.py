"""Whether a state that somebody shows is what was signed (Kaori 12.2), by a key one trusts, and what the ledger holds.

bytes -> form -> semantic hash -> state hash -> signature -> key valid for truth when it signed -> ledger, if at hand
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict

from assay.flows.ledger.own_keys import own_key_ring_in
from assay.flows.request import Document, Request
from assay.flows.tools import Tools
from assay.flows.truth.replay_state import verify_own
from assay.flows.truth.replay_truth import ledger_entries
from assay.flows.truth.state_entry import read_state
from assay.identity.caller import Caller
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.key import KeyPurpose, KeyRing, SigningMethod
from assay.ports.database import Unit
from assay.ports.signer import Signer
from assay.truth.errors import StateError
from assay.truth.seal import verify_truth_state
from assay.truth.state import (
    SecurityBlock,
    TruthState,
    parse_truth_state,
    render_truth_state,
    semantic_hash,
    state_hash,
)

# What only a proof or a replay shows.
_NOT_PROVEN = (
    "that it was compiled from the observations, votes and scores that it names",
    "that no observation or vote was left out",
    "that no later state of the key replaced it",
)


class StateCheckName(StrEnum):
    """In the order they are tried; the first three are those of Kaori 12.2."""

    SEMANTIC_HASH = "semantic_hash"
    STATE_HASH = "state_hash"
    SIGNATURE = "signature"
    KEY = "key"
    LEDGER = "ledger"


class StateCheck(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`holds` is None where it was not checked; that never counts as passed."""

    name: StateCheckName
    holds: bool | None
    code: str | None = None
    message: str = ""


class CheckedState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`not_proven` is what a state by itself does not show, even where every check holds."""

    truthkey: str
    status: str
    checks: tuple[StateCheck, ...]
    not_proven: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Everything that was tried holds, and the signature and its key were tried."""
        told = {check.name: check.holds for check in self.checks}
        return False not in told.values() and told[StateCheckName.SIGNATURE] is told[StateCheckName.KEY] is True


class VerifyState(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    state: Annotated[bytes, Meta(description="A signed state, as JSON."), Document(kind=TruthState, metavar="FILE|-")]


class StateFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a state holds, check by check; a check that was not made has null and never counts as passed.

    `not_proven` is what a state by itself does not show, even where every check holds.
    """

    truthkey: str
    status: str
    holds: bool
    checks: tuple[StateCheck, ...]
    not_proven: tuple[str, ...] = ()


def verify_state(tools: Tools, caller: Caller, request: VerifyState) -> StateFinding:
    """Check whether a state is what this node signed and what its ledger holds; a no is an answer."""
    found = check_truth(tools, caller.tenant_id, request.state)
    return StateFinding(holds=found.holds, **asdict(found))


def check_truth(tools: Tools, tenant_id: TenantId, given: bytes | str | dict[str, object]) -> CheckedState:
    """Against this node's own keys and its ledger."""
    state = parse_truth_state(given)

    def work(unit: Unit) -> CheckedState:
        ring = own_key_ring_in(unit, tools.founder)
        in_ledger = _is_recorded(unit, tenant_id, state)
        return check_state(state, ring, in_ledger=in_ledger, own=tools.truth_signer)

    return tools.database.read(work)


def check_state(
    state: TruthState, ring: KeyRing, *, in_ledger: bool | None = None, own: Signer | None = None
) -> CheckedState:
    """Against keys alone: `ring` is what the verifier's anchors lead to, and no ledger need be at hand.

    `own` is the signer itself, for a signature by a shared secret; whoever has not got it can check none of those.
    """
    steps: tuple[tuple[StateCheckName, Callable[[], None]], ...] = (
        (StateCheckName.SEMANTIC_HASH, lambda: _require_semantic(state)),
        (StateCheckName.STATE_HASH, lambda: _require_whole(state)),
        (StateCheckName.SIGNATURE, lambda: _require_signature(state, ring, own)),
        (StateCheckName.KEY, lambda: _require_key(state, ring)),
    )
    checks = [_tried(name, step) for name, step in steps]
    checks.append(_ledger_check(in_ledger))
    return CheckedState(
        truthkey=state.truthkey,
        status=state.status.value,
        checks=tuple(checks),
        not_proven=_NOT_PROVEN if in_ledger else ("that a ledger holds this state", *_NOT_PROVEN),
    )


def _tried(name: StateCheckName, step: Callable[[], None]) -> StateCheck:
    try:
        step()
    except _NotOursToCheckError as error:
        return StateCheck(name=name, holds=None, message=str(error))
    except Error as error:
        return StateCheck(name=name, holds=False, code=error.code, message=str(error))
    return StateCheck(name=name, holds=True)


def _ledger_check(in_ledger: bool | None) -> StateCheck:  # noqa: FBT001 - it is the answer itself
    words = {
        None: "no ledger was at hand",
        True: "the ledger holds it, byte for byte",
        False: "the ledger has no such state",
    }
    code = "truth.not_in_ledger" if in_ledger is False else None
    return StateCheck(name=StateCheckName.LEDGER, holds=in_ledger, code=code, message=words[in_ledger])


def _security(state: TruthState) -> SecurityBlock:
    if state.security is None:
        raise StateError.state_unsigned(f"expected a signed state, got `{state.truthkey}` without a signature")
    return state.security


def _require_semantic(state: TruthState) -> None:
    expected, got = semantic_hash(state), _security(state).semantic_hash
    if got != expected:
        raise StateError.semantic_hash(f"expected the semantic hash {expected}, got {got}")


def _require_whole(state: TruthState) -> None:
    expected, got = state_hash(state), _security(state).state_hash
    if got != expected:
        raise StateError.state_hash(f"expected the state hash {expected}, got {got}")


class _NotOursToCheckError(Exception):
    """Only the holder of a secret could tell; that is neither a yes nor a no."""


def _require_signature(state: TruthState, ring: KeyRing, own: Signer | None) -> None:
    """Raise unless the key that the state names signed it, and what stands twice in the state stands there equally."""
    security = _security(state)
    key_id = security.key_id
    if security.signing_method is SigningMethod.LOCAL_HMAC:
        if own is None or own.key_id != key_id:
            raise _NotOursToCheckError(f"not checked: only who holds the secret `{key_id}` can verify `local_hmac`")
        verify_own(state, own)
        return
    # A key id fixes the key's bytes, so all records of a key hold the same.
    raws = [one.raw_public_key for one in ring.records.get(key_id, ()) if one.raw_public_key is not None]
    verify_truth_state(state, {key_id: raws[0]} if raws else {})


def _require_key(state: TruthState, ring: KeyRing) -> None:
    security = _security(state)
    ring.get(security.key_id, security.signed_at, purpose=KeyPurpose.TRUTH)


def _is_recorded(unit: Unit, tenant_id: TenantId, state: TruthState) -> bool:
    """What the two hashes leave out, such as the hashes of votes, is bound by the entry over the whole state."""
    if state.security is None:
        return False
    found = unit.truth.find_state_by_hash(tenant_id, state.security.state_hash)
    if found is None:
        return False
    get_entry = ledger_entries(unit, tenant_id)
    recorded, _ = read_state(get_entry, found.sequence_number)
    return render_truth_state(recorded) == render_truth_state(state)
