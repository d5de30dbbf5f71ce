"""Trust policies: register one, whole, in the ledger; list and show them. The latest reads the whole log of signals.

text + what it inherits -> policy -> nothing else under its id -> linted, weaknesses accepted -> entry, row and signal
"""

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Annotated

from msgspec import Meta, Struct

from assay.facts.trust import LintedBody, policy_entry
from assay.flows.errors import NotFoundError
from assay.flows.errors.truth import TruthFlowError
from assay.flows.identity.authenticate import confirm, require_session
from assay.flows.request import Done, Option, Page, Paged, Request, cut, read_number
from assay.flows.tools import Tools
from assay.flows.trust.fold_trust import read_policy
from assay.identity.caller import Caller
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.trust_store import RegisteredPolicy
from assay.trust.lint import LintFinding, lint_policy, report_hash
from assay.trust.parse_policy import parse_policy
from assay.trust.policy import TrustPolicy
from assay.trust.signal import PolicyRegistered, SignalKind, TrustSignal


class RegisterPolicy(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    document: Annotated[
        str, Meta(description="The policy as YAML or JSON text."), Option(form="text_argument", metavar="FILE")
    ]
    accept: Annotated[
        tuple[str, ...],
        Meta(description="A weakness that linting reports, accepted by its code; each of them, and no other."),
        Option(metavar="CODE"),
    ] = ()


class ListPolicies(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page of the policies."""


class ShowPolicy(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    policy_id: Annotated[str, Meta(description="The id of a policy, such as `flow_v1`."), Option(metavar="ID")]


class PolicyItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A registered policy with everything that it inherits, and the entry that holds it; the last one is in force."""

    policy_id: str
    policy_hash: str
    document: str
    registered_at: Instant
    registered_by: str
    sequence_number: int
    is_in_force: bool


def register_policy(tools: Tools, caller: Caller, request: RegisterPolicy) -> Done[PolicyItem]:
    """Bring a trust policy into force; to replace one takes a session. The latest policy reads the whole log.

    What it `extends` must be registered. Another body under a known id is refused. It is linted, and refused unless
    `accept` names exactly the codes of what was found.
    """
    tenant_id, by, at = caller.tenant_id, caller.principal.id, caller.at
    known = tools.database.read(lambda unit: unit.trust.policies(tenant_id))
    policy = parse_policy(request.document, parents={one.policy_id: one.document for one in known})
    before = _find_again(known, policy)
    if before is not None:
        return before
    _require_person(caller, known)
    linted = _linted(policy.document)
    _require_accepted(linted.findings, request.accept)
    entry = policy_entry(tenant_id, policy, linted, by, _signal(policy, by, at), at)

    def work(unit: Unit) -> Done[PolicyItem]:
        current, now = confirm(unit, caller), unit.trust.policies(tenant_id)
        again = _find_again(now, policy)
        if again is not None:
            return again
        _require_person(current, now)
        registered = RegisteredPolicy(
            policy_id=policy.id,
            policy_hash=policy.policy_hash,
            document=policy.document,
            registered_at=at,
            registered_by=by,
            sequence_number=unit.record(entry).sequence_number,
        )
        return Done(value=_item(registered, is_in_force=True))

    return tools.database.write(work)


def policies(tools: Tools, caller: Caller, request: ListPolicies) -> Page[PolicyItem]:
    """List trust policies in the order of registration; the last one is in force, and reads the whole log."""
    after, items = read_number("policies", request.cursor), _items(tools, caller)
    rest = [one for one in items if one.sequence_number > after]
    return cut("policies", rest, request.limit, lambda one: one.sequence_number)


def policy(tools: Tools, caller: Caller, request: ShowPolicy) -> PolicyItem:
    """Show a trust policy with everything that it inherits."""
    found = next((one for one in _items(tools, caller) if one.policy_id == request.policy_id), None)
    if found is None:
        raise NotFoundError(f"tenant `{caller.tenant_id}` has no trust policy `{request.policy_id[:80]}`")
    return found


def _items(tools: Tools, caller: Caller) -> list[PolicyItem]:
    known = tools.database.read(lambda unit: unit.trust.policies(caller.tenant_id))
    return [_item(one, is_in_force=one is known[-1]) for one in known]


def _item(one: RegisteredPolicy, *, is_in_force: bool) -> PolicyItem:
    return PolicyItem(
        policy_id=one.policy_id,
        policy_hash=one.policy_hash,
        document=one.document,
        registered_at=one.registered_at,
        registered_by=one.registered_by,
        sequence_number=one.sequence_number,
        is_in_force=is_in_force,
    )


def _require_person(caller: Caller, known: Collection[RegisteredPolicy]) -> None:
    """The first policy changes nothing that is in force; every other one changes everybody's standing."""
    if known and not caller.is_local:
        require_session(caller)


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
    raise TruthFlowError.trust_policy_weak(
        f"expected exactly the weaknesses of the policy to be accepted, got `{', '.join(sorted(accept))[:200]}`: {told}"
    )


def _find_again(known: Sequence[RegisteredPolicy], policy: TrustPolicy) -> Done[PolicyItem] | None:
    found = next((one for one in known if one.policy_id == policy.id), None)
    if found is None:
        return None
    if found.policy_hash != policy.policy_hash:
        raise TruthFlowError.trust_policy_changed(
            f"`{policy.id}` was registered as {found.policy_hash}, got {policy.policy_hash}; a change needs a new id"
        )
    return Done(value=_item(found, is_in_force=found is known[-1]), is_new=False)


def _signal(policy: TrustPolicy, by: PrincipalId, at: Instant) -> TrustSignal:
    return TrustSignal(
        signal_id=f"policy.{policy.policy_hash}",
        kind=SignalKind.POLICY_REGISTERED,
        agent_id=by,
        occurred_at=at,
        object=PolicyRegistered(policy_id=policy.id, policy_hash=policy.policy_hash),
    )
