"""Who could approve: a role that nobody holds makes every question to it one that only time can answer.

needs + principals -> people for each role -> those roles that too few hold
"""

from collections.abc import Iterable

from assay.claims.policy import ApprovalNeed, ClaimsPolicy
from assay.identity.principal import Principal
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit


def count_approvers(
    unit: Unit, tenant_id: TenantId, needs: Iterable[ApprovalNeed], *, parties: tuple[str, ...] = (), at: Instant
) -> dict[str, int]:
    """How many people may answer for each role, or for the one who is named; machines and `parties` may not."""
    names = [need.role for need in needs]
    if not names:
        return {}
    people = [one for one in unit.identity.principals_with(tenant_id, names) if _may_answer(one, parties, at)]
    return {name: sum(name in one.roles or name == one.id for one in people) for name in names}


def find_unheld(unit: Unit, tenant_id: TenantId, policy: ClaimsPolicy, *, at: Instant) -> tuple[ApprovalNeed, ...]:
    """The needs of a policy that too few people could meet now, each role once with how many are missing."""
    needed: dict[str, int] = {}
    for need in (need for row in policy.approvals.by_tier for need in row.needs):
        needed[need.role] = max(needed.get(need.role, 0), need.people)
    needs = [ApprovalNeed(role=role, people=people) for role, people in sorted(needed.items())]
    found = count_approvers(unit, tenant_id, needs, at=at)
    short = ((need.role, need.people - found[need.role]) for need in needs)
    return tuple(ApprovalNeed(role=role, people=people) for role, people in short if people > 0)


def _may_answer(one: Principal, parties: tuple[str, ...], at: Instant) -> bool:
    return one.is_person() and one.is_active(at) and one.id not in parties
