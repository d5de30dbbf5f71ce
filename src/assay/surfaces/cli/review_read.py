"""`assay review list`, `show`, `timeline` and `progress`: reading works beside a running server.

With a session one sees what that person sees; without one, everything, since whoever has the folder has its database.
"""

from typing import Unpack

import click
import msgspec
from msgspec import Struct

from assay.flows.review.keep_view import find_view
from assay.flows.review.show_progress import show_progress
from assay.flows.review.show_queue import show_queue
from assay.flows.review.show_ticket import show_ticket
from assay.flows.review.show_timeline import show_timeline
from assay.flows.tools import Tools
from assay.identity.authorise import require_same_tenant
from assay.identity.principal import Principal
from assay.kernel.digest import Digest
from assay.kernel.errors import Blame
from assay.kernel.ids import TenantId, TicketId, parse_ticket_id
from assay.kernel.instant import Instant, render_instant
from assay.review.escalate import Stage
from assay.review.kind import TicketKind
from assay.review.lease import Lease
from assay.review.placement import Placement
from assay.review.progress import Progress
from assay.review.queue import QueuedTicket, QueueFilter, QueueState
from assay.review.settle import Settlement
from assay.surfaces.cli.acting import plain, session_option, session_person
from assay.surfaces.cli.output import EXIT_CODES, Call, ListCommand, NodeCommand, tenant_option
from assay.surfaces.cli.review_filter import FilterOptions, filter_options, parse_filter
from assay.surfaces.cli.review_text import due_text, placed_text, view_text

__all__ = ["ListedTicket", "list_", "progress", "show", "timeline"]

_MOST = 10_000


class ListedTicket(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of `assay review list`."""

    ticket_id: TicketId
    kind: TicketKind
    title: str
    shown_hash: Digest
    opened_at: Instant
    due_at: Instant | None
    quorum: int
    settlement: Settlement
    placement: Placement
    leases: tuple[Lease, ...]
    stages: tuple[Stage, ...]
    decided: str | None


@click.command(cls=ListCommand, name="list")
@click.option("--all", "settled_too", is_flag=True, help="Settled tickets too.")
@click.option("--view", "view_name", metavar="NAME", help="A saved view, in place of the other filters.")
@filter_options
@session_option
@tenant_option
@click.pass_obj
def list_(
    call: Call,
    /,
    *,
    settled_too: bool,
    view_name: str | None,
    session: str | None,
    tenant: str | None,
    **options: Unpack[FilterOptions],
) -> None:
    """List the tickets that wait for an answer, what should be looked at first on top."""
    with call.open_node() as (tools, config):
        at, tenant_id = tools.clock.now(), call.tenant_of(config, tenant)
        viewer = _viewer(tools, tenant_id, session, at)
        wanted = _wanted(tools, tenant_id, viewer, view_name, options, settled_too=settled_too)
        found = show_queue(tools, tenant_id, wanted, viewer=viewer, limit=_MOST, at=at).tickets
    heads = ("TICKET", "KIND", "STATE", "PRIORITY", "DUE", "FOR", "TITLE")
    call.answer_table([_listed(one) for one in found], heads, map(_row, found), nothing="no ticket is like that")


@click.command(cls=NodeCommand)
@click.argument("ticket")
@session_option
@tenant_option
@click.pass_obj
def show(call: Call, ticket: str, session: str | None, tenant: str | None) -> None:
    """Show what a ticket asks and shows, its hash, who works on it, and every answer and comment, verified.

    Exit code 3 if a stored answer's signature does not hold. Of a ticket that several must answer, a session shows
    others' words only after that person's own answer counts, or when it is settled.
    """
    ticket_id = parse_ticket_id(ticket)
    with call.open_node() as (tools, config):
        at, tenant_id = tools.clock.now(), call.tenant_of(config, tenant)
        seen = show_ticket(tools, tenant_id, ticket_id, viewer=_viewer(tools, tenant_id, session, at), at=at)
    fields = msgspec.structs.asdict(seen)
    call.answer({**msgspec.structs.asdict(fields.pop("review")), **fields}, view_text(seen))
    findings = [one.verified for one in seen.review.answers] + [one.verified for one in seen.comments]
    if not all(findings):
        raise click.exceptions.Exit(EXIT_CODES[Blame.INPUT])


@click.command(cls=ListCommand)
@click.argument("ticket")
@session_option
@tenant_option
@click.pass_obj
def timeline(call: Call, ticket: str, session: str | None, tenant: str | None) -> None:
    """Everything that happened to TICKET, each step with its entry in the ledger and the hash of that."""
    ticket_id = parse_ticket_id(ticket)
    with call.open_node() as (tools, config):
        at, tenant_id = tools.clock.now(), call.tenant_of(config, tenant)
        steps = show_timeline(tools, tenant_id, ticket_id, viewer=_viewer(tools, tenant_id, session, at))
    rows = [
        (str(one.sequence_number), render_instant(one.at), one.kind, one.by or "-", one.entry_hash) for one in steps
    ]
    call.answer_table(steps, ("ENTRY", "AT", "KIND", "BY", "HASH"), rows, nothing="nothing that you may see")


@click.command(cls=ListCommand)
@session_option
@tenant_option
@click.pass_obj
def progress(call: Call, session: str | None, tenant: str | None) -> None:
    """How many tickets each reviewer answered, how soon, and how often the outcome was theirs."""
    with call.open_node() as (tools, config):
        at, tenant_id = tools.clock.now(), call.tenant_of(config, tenant)
        found = show_progress(tools, tenant_id, viewer=_viewer(tools, tenant_id, session, at), at=at)
    heads = ("REVIEWER", "ANSWERED", "MEDIAN", "AGREED", "LEASES", "HELD")
    call.answer_table(found, heads, map(_progress_row, found), nothing="nobody has answered yet")


def _viewer(tools: Tools, tenant_id: TenantId, session: str | None, at: Instant) -> Principal | None:
    if session is None:
        return None
    person = session_person(tools, session, at=at)
    require_same_tenant(person, tenant_id)
    return person


def _wanted(
    tools: Tools,
    tenant_id: TenantId,
    viewer: Principal | None,
    view_name: str | None,
    options: FilterOptions,
    *,
    settled_too: bool,
) -> QueueFilter:
    if view_name is not None:
        if viewer is None:
            raise click.UsageError("expected a session with --view, since views are people's own")
        return find_view(tools, tenant_id, viewer.id, view_name).filter
    wanted = parse_filter(options)
    if settled_too and options["state"] is None:
        return msgspec.structs.replace(wanted, state=QueueState.ANY)
    return wanted


def _listed(one: QueuedTicket) -> ListedTicket:
    ticket = one.ticket
    return ListedTicket(
        ticket_id=ticket.id,
        kind=ticket.kind,
        title=ticket.title,
        shown_hash=ticket.shown_hash,
        opened_at=ticket.opened_at,
        due_at=ticket.due_at,
        quorum=ticket.quorum,
        settlement=one.settlement,
        placement=one.placement,
        leases=one.leases,
        stages=one.stages,
        decided=one.decided,
    )


def _row(one: QueuedTicket) -> tuple[str, ...]:
    ticket = one.ticket
    placed = one.placement
    return (
        ticket.id, ticket.kind.value, _state(one), placed.priority.value, due_text(ticket), placed_text(placed),
        plain(ticket.title),
    )  # fmt: skip


def _state(one: QueuedTicket) -> str:
    if not one.settlement.is_open:
        return one.settlement.state.value
    if one.leases:
        return "leased"
    return one.settlement.state.value if one.decided is None else "decided"


def _progress_row(one: Progress) -> tuple[str, ...]:
    median = "-" if one.median_seconds is None else f"{one.median_seconds:.0f} s"
    return (
        one.by, str(one.answered), median, f"{one.agreed} of {one.settled}", str(one.open_leases), str(one.held)
    )  # fmt: skip
