"""A trust policy comes into force: whole, in the ledger; the latest one reads the whole log of signals.

text + what it inherits -> policy -> nothing else under its id -> entry, row and signal
"""

from typing import Any

from msgspec import Struct

from assay.flows.admit_principal import admit_principal
from assay.flows.errors import PolicyChangedError
from assay.flows.tools import Tools
from assay.flows.truth_entry import json_of, logged_signal, news_of
from assay.identity.principal import BuiltInRole
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, draft_entry
from assay.ports.database import Unit
from assay.ports.trust_store import RegisteredPolicy
from assay.trust.parse_policy import parse_policy
from assay.trust.policy import TrustPolicy
from assay.trust.signal import PolicyRegistered, SignalKind, TrustSignal, render_signal

__all__ = ["PolicyBody", "Registration", "register_policy"]

_MAY = (BuiltInRole.OPERATOR,)


class PolicyBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `trust.policy` entry: the policy with everything it inherits."""

    policy_id: str
    policy_hash: str
    document: str
    registered_by: PrincipalId
    signal: dict[str, Any]


class Registration(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The policy; `is_new` is false where the same body was registered before."""

    policy: RegisteredPolicy
    is_new: bool


def register_policy(tools: Tools, text: str, *, credential: str, at: Instant) -> Registration:
    """By an operator. What it `extends` must be registered. Another body under a known id is refused."""

    def look(unit: Unit) -> tuple[TenantId, PrincipalId, dict[str, str]]:
        principal = admit_principal(unit, credential, any_of=_MAY, at=at)
        known = unit.trust.policies(principal.tenant_id)
        return principal.tenant_id, principal.id, {one.policy_id: one.document for one in known}

    tenant_id, by, parents = tools.database.read(look)
    policy = parse_policy(text, parents=parents)
    signal = _signal(policy, by, at)
    entry = _entry(tenant_id, policy, by, signal, at)

    def work(unit: Unit) -> Registration:
        admit_principal(unit, credential, any_of=_MAY, at=at)
        for known in unit.trust.policies(tenant_id):
            if known.policy_id == policy.id:
                return _again(known, policy)
        registered = RegisteredPolicy(
            policy_id=policy.id,
            policy_hash=policy.policy_hash,
            document=policy.document,
            registered_at=at,
            registered_by=by,
            sequence_number=unit.ledger.append(entry).sequence_number,
        )
        unit.trust.register_policy(tenant_id, registered)
        unit.trust.add_signal(tenant_id, logged_signal(signal, sequence_number=registered.sequence_number))
        return Registration(policy=registered, is_new=True)

    return tools.database.write(work)


def _again(known: RegisteredPolicy, policy: TrustPolicy) -> Registration:
    if known.policy_hash != policy.policy_hash:
        raise PolicyChangedError(
            f"`{policy.id}` was registered as {known.policy_hash}, got {policy.policy_hash}; a change needs a new id"
        )
    return Registration(policy=known, is_new=False)


def _signal(policy: TrustPolicy, by: PrincipalId, at: Instant) -> TrustSignal:
    return TrustSignal(
        signal_id=f"policy.{policy.policy_hash}",
        kind=SignalKind.POLICY_REGISTERED,
        agent_id=by,
        occurred_at=at,
        object=PolicyRegistered(policy_id=policy.id, policy_hash=policy.policy_hash),
    )


def _entry(tenant_id: TenantId, policy: TrustPolicy, by: PrincipalId, signal: TrustSignal, at: Instant) -> Draft:
    body = PolicyBody(
        policy_id=policy.id,
        policy_hash=policy.policy_hash,
        document=policy.document,
        registered_by=by,
        signal=json_of(render_signal(signal)),
    )
    event = news_of(EntryKind.TRUST_POLICY, policy.id, {"policy_id": policy.id, "policy_hash": policy.policy_hash})
    return draft_entry(tenant_id, EntryKind.TRUST_POLICY, body, at=at, events=(event,))
