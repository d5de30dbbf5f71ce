"""A trust policy comes into force: whole, in the ledger; the latest one reads the whole log of signals.

text + what it inherits -> policy -> nothing else under its id -> linted, weaknesses accepted -> entry, row and signal
"""

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Any

from msgspec import Struct

from assay.flows.errors import FlowError
from assay.flows.errors.truth import PolicyChangedError
from assay.flows.identity.authenticate import authenticate_in, require_session
from assay.flows.tools import Tools
from assay.flows.trust.fold_trust import read_policy
from assay.flows.truth.truth_entry import json_of, logged_signal, news_of
from assay.identity.authorise import require_role
from assay.identity.principal import BuiltInRole
from assay.kernel.errors import Blame
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, draft_entry
from assay.ports.database import Unit
from assay.ports.trust_store import RegisteredPolicy
from assay.trust.lint import LintFinding, lint_policy, report_hash
from assay.trust.parse_policy import parse_policy
from assay.trust.policy import TrustPolicy
from assay.trust.signal import PolicyRegistered, SignalKind, TrustSignal, render_signal

_MAY = (BuiltInRole.OPERATOR,)


class WeakPolicyError(FlowError):
    """The weaknesses of a policy are not exactly those that whoever registers it has accepted."""

    code = "trust.policy_weak"
    blame = Blame.ANSWER


class LintedBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What linting found, each of it accepted by its code; anybody can lint again and compare the hash."""

    report_hash: str
    findings: tuple[LintFinding, ...]


class PolicyBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `trust.policy` entry: the policy with everything it inherits, and what it was known to allow."""

    policy_id: str
    policy_hash: str
    document: str
    linted: LintedBody
    registered_by: PrincipalId
    signal: dict[str, Any]


class Registration(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The policy; `is_new` is false where the same body was registered before."""

    policy: RegisteredPolicy
    is_new: bool


def register_policy(
    tools: Tools, text: str, *, credential: str, accept: Collection[str] = (), at: Instant
) -> Registration:
    """Put a trust policy into force, as an operator; whoever replaces one is there in person, with a session.

    What it `extends` must be registered. Another body under a known id is refused. It is linted, and refused unless
    `accept` names exactly the codes of what was found: nobody accepts what they have not read, nor all there may be.
    """
    tenant_id, by, known = tools.database.read(lambda unit: _admitted(unit, credential, at))
    policy = parse_policy(text, parents={one.policy_id: one.document for one in known})
    before = _find_again(known, policy)
    if before is not None:
        return before
    tools.database.read(lambda unit: _require_person(unit, credential, at, known))
    linted = _linted(policy.document)
    _require_accepted(linted.findings, accept)
    signal = _signal(policy, by, at)
    entry = _entry(tenant_id, policy, linted, by, signal, at)

    def work(unit: Unit) -> Registration:
        _, _, now = _admitted(unit, credential, at)
        again = _find_again(now, policy)
        if again is not None:
            return again
        _require_person(unit, credential, at, now)
        registered = RegisteredPolicy(
            policy_id=policy.id,
            policy_hash=policy.policy_hash,
            document=policy.document,
            registered_at=at,
            registered_by=by,
            sequence_number=unit.record(entry).sequence_number,
        )
        unit.trust.register_policy(tenant_id, registered)
        unit.trust.add_signal(tenant_id, logged_signal(signal, sequence_number=registered.sequence_number))
        return Registration(policy=registered, is_new=True)

    return tools.database.write(work)


def _admitted(unit: Unit, credential: str, at: Instant) -> tuple[TenantId, PrincipalId, tuple[RegisteredPolicy, ...]]:
    principal = authenticate_in(unit, credential, at=at).principal
    require_role(principal, _MAY)
    return principal.tenant_id, principal.id, unit.trust.policies(principal.tenant_id)


def _require_person(unit: Unit, credential: str, at: Instant, known: Iterable[RegisteredPolicy]) -> None:
    """The first policy changes nothing that is in force; every other one changes everybody's standing."""
    if tuple(known):
        require_session(authenticate_in(unit, credential, at=at))


@lru_cache(maxsize=64)
def _linted(document: str) -> LintedBody:
    """It takes seconds, and the same document is found the same."""
    report = lint_policy(read_policy(document))
    return LintedBody(report_hash=report_hash(report), findings=report.findings)


def _require_accepted(findings: Iterable[LintFinding], accept: Collection[str]) -> None:
    found = {one.code.value: one.message for one in findings}
    if found.keys() == set(accept):
        return
    told = "; ".join(f"{code}: {message}" for code, message in found.items()) or "none"
    raise WeakPolicyError(
        f"expected exactly the weaknesses of the policy to be accepted, got `{', '.join(sorted(accept))[:200]}`: {told}"
    )


def _find_again(known: Iterable[RegisteredPolicy], policy: TrustPolicy) -> Registration | None:
    return next((_again(one, policy) for one in known if one.policy_id == policy.id), None)


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


def _entry(
    tenant_id: TenantId, policy: TrustPolicy, linted: LintedBody, by: PrincipalId, signal: TrustSignal, at: Instant
) -> Draft:
    body = PolicyBody(
        policy_id=policy.id,
        policy_hash=policy.policy_hash,
        document=policy.document,
        linted=linted,
        registered_by=by,
        signal=json_of(render_signal(signal)),
    )
    event = news_of(EntryKind.TRUST_POLICY, policy.id, {"policy_id": policy.id, "policy_hash": policy.policy_hash})
    return draft_entry(tenant_id, EntryKind.TRUST_POLICY, body, at=at, events=(event,))
