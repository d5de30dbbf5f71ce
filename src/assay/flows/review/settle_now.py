"""Where a ticket stands by the answers that still count: whoever lost the role, or was disabled, agrees to nothing.

answers -> rejections, and the rest by those who may still give them -> `settle`
"""

from collections.abc import Sequence

from msgspec.structs import replace

from assay.flows.identity.standing import role_counts
from assay.identity.authorise import has_role
from assay.identity.principal import Principal
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.review.answer import Answer
from assay.review.lease import Lease, live_leases
from assay.review.settle import Settlement, settle
from assay.review.ticket import Ticket


class Givers:
    """Those who answered, each looked up once in one unit of work, however many tickets are looked at."""

    def __init__(self, unit: Unit, tenant_id: TenantId) -> None:
        self._unit = unit
        self._tenant_id = tenant_id
        self._known: dict[PrincipalId, Principal | None] = {}

    def may_answer(self, ticket: Ticket, by: PrincipalId, at: Instant) -> bool:
        """Whether this person still could; that it is not about their own request was seen when they did."""
        if by not in self._known:
            self._known[by] = self._unit.identity.find_principal(self._tenant_id, by)
        person = self._known[by]
        if person is None or not person.is_active(at) or not has_role(person, ticket.eligible_roles):
            return False
        return role_counts(self._unit, ticket, person)


def settle_now(
    unit: Unit, ticket: Ticket, answers: Sequence[Answer], *, at: Instant, givers: Givers | None = None
) -> Settlement:
    """An answer that does not count any more is among those that were ignored; the caller has verified them all."""
    counting = counting_answers(unit, ticket, answers, at, givers=givers)
    found = settle(ticket, counting, at=at)
    return replace(found, ignored=found.ignored + len(answers) - len(counting))


def counting_answers(
    unit: Unit, ticket: Ticket, answers: Sequence[Answer], at: Instant, *, givers: Givers | None = None
) -> tuple[Answer, ...]:
    """A rejection stands, whoever gave it.

    Where one is enough it was decided when it was given, and where the room weighs them it judges who votes.
    """
    if ticket.quorum == 1 or ticket.rule.by_room:
        return tuple(answers)
    known = givers or Givers(unit, ticket.tenant_id)
    return tuple(one for one in answers if one.choice in ticket.rejecting or known.may_answer(ticket, one.by, at))


def leases_in_force(unit: Unit, ticket: Ticket, at: Instant) -> tuple[Lease, ...]:
    """The claims that keep others away; a person who lost the role, or was disabled, holds none."""
    holders = Givers(unit, ticket.tenant_id)
    leases = live_leases(unit.desk.leases(ticket.tenant_id, ticket.id), at)
    return tuple(one for one in leases if holders.may_answer(ticket, one.by, at))
