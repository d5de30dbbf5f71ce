"""A policy of the gates comes into force: read strictly, signed, and whole in the ledger.

text -> document + signature -> a key that is trusted, or the node's own -> entry and row; the last one is active
"""

from msgspec import Struct
from msgspec.structs import replace

from assay.claims.errors import PolicySignatureError
from assay.claims.policy import ApprovalNeed, ClaimsPolicy, policy_hash
from assay.claims.signed_policy import SignedPolicy, policy_message, split_signed_policy, verify_signed_policy
from assay.flows.claims.claims_approvers import find_unheld
from assay.flows.claims.claims_entry import policy_entry
from assay.flows.claims.claims_policy import read_claims_policy
from assay.flows.errors.claims import PolicyReleasedError
from assay.flows.identity.authenticate import authenticate_in, require_session
from assay.flows.ledger.own_keys import own_key_ring_in
from assay.flows.tools import Tools
from assay.identity.authorise import require_role
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant
from assay.kernel.key import KeyPurpose
from assay.ports.claims_store import ReleasedClaimsPolicy
from assay.ports.database import Unit


class PolicyRelease(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The policy in force; `is_new` is false where this very document is in force already.

    `unheld` are the roles that too few people hold for what it asks of them, with how many are missing.
    """

    policy: ReleasedClaimsPolicy
    is_new: bool
    unheld: tuple[ApprovalNeed, ...] = ()


def release_claims_policy(tools: Tools, text: str, *, credential: str, at: Instant) -> PolicyRelease:
    """Put a policy into force, by an operator in person: it changes what every agent may do.

    A signature in the text must be by an anchor of the operator's or by this node; a text without one is signed by the
    node's review key, which vouches for the person whose session this is. Another document under a released id and
    version is refused.
    """
    signed = split_signed_policy(text)
    policy = read_claims_policy(signed.document)
    tools.database.read(lambda unit: _admitted(unit, credential, at))
    if signed.signature is not None:
        tools.database.read(lambda unit: _require_trusted(unit, tools, signed, at))
    key_id, signature = _signature(tools, signed)

    def work(unit: Unit) -> PolicyRelease:
        person = _admitted(unit, credential, at)
        known = next((one for one in unit.claims.policies(person.tenant_id) if _is_named(one, policy)), None)
        if known is not None:
            done = _again(known, signed, unit.claims.active_policy(person.tenant_id))
            return replace(done, unheld=find_unheld(unit, person.tenant_id, policy, at=at))
        draft = _row(policy, signed, key_id, signature, person, at, sequence_number=0)
        receipt = unit.record(policy_entry(person.tenant_id, draft))
        row = _row(policy, signed, key_id, signature, person, at, sequence_number=receipt.sequence_number)
        unit.claims.release_policy(person.tenant_id, row)
        unheld = find_unheld(unit, person.tenant_id, policy, at=at)
        return PolicyRelease(policy=row, is_new=True, unheld=unheld)

    return tools.database.write(work)


def _admitted(unit: Unit, credential: str, at: Instant) -> Principal:
    proved = authenticate_in(unit, credential, at=at)
    require_role(proved.principal, [BuiltInRole.OPERATOR])
    require_session(proved)
    return proved.principal


def _require_trusted(unit: Unit, tools: Tools, signed: SignedPolicy, at: Instant) -> None:
    verify_signed_policy(signed)
    key_id = signed.key_id or KeyId("")
    if key_id in tools.anchors.all_key_ids:
        return
    if own_key_ring_in(unit, tools.founder).find(key_id, at, purpose=KeyPurpose.REVIEW) is None:
        raise PolicySignatureError(f"expected a signature by a trust anchor or this node's review key, got {key_id}")


def _signature(tools: Tools, signed: SignedPolicy) -> tuple[KeyId, str]:
    if signed.signature is not None and signed.key_id is not None:
        return signed.key_id, signed.signature
    signer = tools.review_signer
    return signer.key_id, signer.sign(policy_message(signed.document)).hex()


def _is_named(one: ReleasedClaimsPolicy, policy: ClaimsPolicy) -> bool:
    return (one.policy_id, one.version) == (policy.id, policy.version)


def _again(known: ReleasedClaimsPolicy, signed: SignedPolicy, active: ReleasedClaimsPolicy | None) -> PolicyRelease:
    if known.document != signed.document:
        raise PolicyReleasedError(
            f"version `{known.version}` of `{known.policy_id}` was released as {known.policy_hash},"
            " a change needs another"
        )
    if active != known:
        # A version comes into force once; whoever wants it back says so with a version of its own.
        now = "none" if active is None else f"version `{active.version}` of `{active.policy_id}`"
        raise PolicyReleasedError(
            f"version `{known.version}` of `{known.policy_id}` was released before, and {now} is in force:"
            " to go back, release it under another version"
        )
    return PolicyRelease(policy=known, is_new=False)


def _row(
    policy: ClaimsPolicy,
    signed: SignedPolicy,
    key_id: KeyId,
    signature: str,
    person: Principal,
    at: Instant,
    *,
    sequence_number: int,
) -> ReleasedClaimsPolicy:
    return ReleasedClaimsPolicy(
        policy_hash=policy_hash(policy),
        policy_id=policy.id,
        version=policy.version,
        document=signed.document,
        key_id=key_id,
        signature=signature,
        released_at=at,
        released_by=person.id,
        sequence_number=sequence_number,
    )
