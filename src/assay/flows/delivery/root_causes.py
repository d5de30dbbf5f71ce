"""Root causes: failing rules that wait for a person's conclusion, and what followed from it (PRAMANA 10)."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from assay.delivery.conclude import CHOICES, Conclusion
from assay.delivery.plugin import Category
from assay.delivery.propose import Proposal
from assay.delivery.workitem import WorkItem
from assay.flows.delivery.delivery_entry import read_text
from assay.flows.delivery.item_sight import hidden_items, without_output
from assay.flows.errors import NotFoundError
from assay.flows.request import NEWEST, Option, Page, Paged, Request, cut, read_number
from assay.flows.review.answer_desk import answer_desk
from assay.flows.review.answer_review import SignedElsewhere
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import Principal
from assay.kernel.canonical import canonical_json
from assay.kernel.digest import parse_digest
from assay.kernel.ids import TenantId, TicketId
from assay.ports.database import Unit
from assay.ports.delivery_store import ConcludedItem, OpenedItem, ProposedRule
from assay.ports.signer import Signer
from assay.review.draft import Reply
from assay.review.ticket import Ticket


class ListRootCauses(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    open: Annotated[bool, Meta(description="Leave out those that are concluded."), Option(flag="--open")] = False


class ShowRootCause(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    item_id: Annotated[str, Meta(description="The id of a root cause.")]


class ShownItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A root cause: what it shows people, the ticket that asks them, and what followed from it."""

    item: WorkItem
    ticket: Ticket | None
    conclusion: Conclusion | None
    pair_id: str | None
    proposal: Proposal | None
    proposal_ticket_id: str | None

    @property
    def is_open(self) -> bool:
        return self.conclusion is None


def root_causes(tools: Tools, caller: Caller, request: ListRootCauses) -> Page[ShownItem]:
    """List root causes, the newest first: what each shows people, its ticket, and what followed from it.

    An output below the caller's floor is left out, and the ticket that shows it.
    """
    before = read_number("root_causes", request.cursor, start=NEWEST)

    def work(unit: Unit) -> Page[ShownItem]:
        rows = unit.pages.root_causes(caller.tenant_id, open_only=request.open, before=before, limit=request.limit + 1)
        page = cut("root_causes", rows, request.limit, lambda row: row.sequence_number)
        return Page(items=_shown(unit, caller.tenant_id, page.items, caller.principal), next=page.next)

    return tools.database.read(work)


def root_cause(tools: Tools, caller: Caller, request: ShowRootCause) -> ShownItem:
    """Show a root cause as its ticket shows it, and what followed from it."""

    def work(unit: Unit) -> ShownItem:
        row = unit.delivery.find_item(caller.tenant_id, request.item_id)
        if row is None:
            raise NotFoundError(f"tenant `{caller.tenant_id}` has no root cause `{request.item_id[:80]}`")
        (shown,) = _shown(unit, caller.tenant_id, (row,), caller.principal)
        return shown

    return tools.database.read(work)


def _shown(unit: Unit, tenant_id: TenantId, rows: Sequence[OpenedItem], viewer: Principal) -> tuple[ShownItem, ...]:
    """Read what is about all of them at once, since a list may be long."""
    ids = [row.item_id for row in rows]
    asked = {one.item_id: one for one in unit.delivery.asked_on(tenant_id, ids)}
    concluded = {one.item_id: one for one in unit.delivery.conclusions_on(tenant_id, ids)}
    proposed = {one.item_id: one for one in unit.delivery.proposals_on(tenant_id, ids)}
    named = {one.item_id: TicketId(one.ticket_id) for one in asked.values()}
    tickets = {one.id: one for one in unit.review.find_tickets(tenant_id, named.values())}
    items = {row.item_id: read_text(asked.get(row.item_id, row).text, WorkItem) for row in rows}
    hidden = hidden_items(unit, tenant_id, tuple(items.values()), viewer)
    return tuple(
        _line(
            item,
            tickets.get(named[item_id]) if item_id in named else None,
            concluded.get(item_id),
            proposed.get(item_id),
            hidden=item.item_id in hidden,
        )
        for item_id, item in items.items()
    )


def _line(
    item: WorkItem,
    ticket: Ticket | None,
    concluded: ConcludedItem | None,
    proposed: ProposedRule | None,
    *,
    hidden: bool,
) -> ShownItem:
    return ShownItem(
        item=without_output(item) if hidden else item,
        ticket=None if hidden else ticket,
        conclusion=None if concluded is None else read_text(concluded.text, Conclusion),
        pair_id=None if concluded is None else concluded.pair_id,
        proposal=None if proposed is None else read_text(proposed.text, Proposal),
        proposal_ticket_id=None if proposed is None else proposed.ticket_id,
    )


class ConcludeRootCause(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    item_id: Annotated[str, Meta(description="The id of a root cause.")]
    failure_category: Annotated[Category, Meta(description="A, B or C: what failed."), Option(flag="--category")]
    siddhanta: Annotated[str, Meta(description="Your conclusion, in words.")]
    seen: Annotated[str, Meta(description="The hash of what the ticket shows."), Option(metavar="HASH")]
    corrected_rule: Annotated[
        str | None,
        Meta(description="The corrected text of the rule, with category C and no other."),
        Option(form="text", metavar="FILE"),
    ] = None
    sub_category: Annotated[str | None, Meta(description="A finer category of your own.")] = None


def conclude_root_cause(
    tools: Tools,
    caller: Caller,
    request: ConcludeRootCause,
    *,
    signing: Signer | SignedElsewhere | None = None,
) -> ShownItem:
    """Conclude a root cause, as a person in their own session who saw its ticket with this hash.

    The root cause is closed and a training pair is captured; nobody else closes one. A person with a registered key
    answers the ticket instead.
    """
    asked = tools.database.read(lambda unit: unit.delivery.find_asked(caller.tenant_id, request.item_id))
    if asked is None:
        raise NotFoundError(f"tenant `{caller.tenant_id}` asks nobody about `{request.item_id[:80]}`")
    told = {"failure_category": request.failure_category.value, "siddhanta": request.siddhanta}
    optional = {"corrected_rule": request.corrected_rule, "sub_category": request.sub_category}
    body = canonical_json(told | {name: value for name, value in optional.items() if value is not None})
    reply = Reply(
        choice=CHOICES[request.failure_category],
        seen=parse_digest(request.seen),
        reason=request.siddhanta[:1000],
        body=body,
    )
    answer_desk(tools, caller, TicketId(asked.ticket_id), reply, signing=signing)
    return root_cause(tools, caller, ShowRootCause(item_id=request.item_id))
