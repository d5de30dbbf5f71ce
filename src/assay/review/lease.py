"""A lease: somebody works on a ticket until an instant. It keeps others away, and it is no right to answer."""

from collections.abc import Iterable
from datetime import timedelta

from msgspec import Struct

from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.instant import Instant, render_instant
from assay.review.errors import NotClaimableError, ReviewError
from assay.review.ticket import Ticket


class Lease(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One person's; it ends by itself at `expires_at`, and then nobody need release it."""

    ticket_id: TicketId
    by: PrincipalId
    claimed_at: Instant
    expires_at: Instant


def live_leases(leases: Iterable[Lease], at: Instant) -> tuple[Lease, ...]:
    return tuple(lease for lease in leases if at < lease.expires_at)


def lease_until(acted_at: Instant, span: timedelta, longest: timedelta) -> Instant:
    """When a claim of that length ends; a lease that outlives a working day is a way to stop a decision."""
    if not timedelta(seconds=1) <= span <= longest:
        raise ReviewError.lease_span(
            f"expected a lease of 1 s to {longest.total_seconds():g} s, got {span.total_seconds():g}"
        )
    return Instant(acted_at + span)


def require_claimable(ticket: Ticket) -> None:
    if not ticket.rule.claimable:
        raise NotClaimableError(f"expected a kind that few people answer, got `{ticket.kind}`: every vote is wanted")


def require_unleased(ticket: Ticket, person: PrincipalId, leases: Iterable[Lease], at: Instant) -> None:
    """Raise if others hold all leases; a ticket has one for each person who must agree (its quorum)."""
    others = [lease for lease in live_leases(leases, at) if lease.by != person]
    if len(others) >= ticket.quorum:
        until = min(lease.expires_at for lease in others)
        names = ", ".join(sorted(lease.by for lease in others))
        raise ReviewError.leased(f"`{ticket.id}` is with `{names}` until {render_instant(until)}")
