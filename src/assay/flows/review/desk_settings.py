"""How the review desk is run: what an operator may choose about leases, escalation, and the time to undo."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from assay.identity.principal import BuiltInRole
from assay.kernel.ids import PrincipalId
from assay.review.kind import TicketKind


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskSettings:
    """`grace` is how long answers of a kind wait before they count; a kind that is not in it waits for nothing.

    Answers given many at a time wait `bulk_grace` at least. A ticket is told to `escalate_roles` and `escalate_persons`
    from `escalate_before` its end on; with neither there is no escalation.
    """

    lease: timedelta = timedelta(minutes=15)
    longest_lease: timedelta = timedelta(hours=8)
    escalate_before: timedelta = timedelta(hours=1)
    escalate_roles: tuple[str, ...] = (BuiltInRole.OPERATOR.value,)
    escalate_persons: tuple[PrincipalId, ...] = ()
    grace: Mapping[TicketKind, timedelta] = field(default_factory=dict)
    bulk_grace: timedelta = timedelta(seconds=10)

    @property
    def escalates(self) -> bool:
        return bool(self.escalate_roles or self.escalate_persons)
