"""The history of a ticket as the ledger has it: every entry about it, with its place and its hash."""

import json
from typing import Any

from msgspec import Struct

from assay.flows.request import Page
from assay.flows.review.show_ticket import ShowTicket, get_readable
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import Principal
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId, TenantId, parse_ticket_id
from assay.kernel.instant import Instant, parse_instant
from assay.kernel.ledger import EntryKind
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.review.sight import is_blind

# What others said, and that they said it; kept back where each shall judge by themselves.
SAID = frozenset(
    {
        EntryKind.TICKET_ANSWERED,
        EntryKind.TICKET_ANSWER_HELD,
        EntryKind.TICKET_ANSWER_UNDONE,
        EntryKind.TICKET_ANSWER_LAPSED,
        EntryKind.TICKET_COMMENTED,
    }
)
_ACTORS = ("by", "opened_by", "answered_by")


class TimelineEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One step; `body` is that of the entry, where erased words stay commitments. Nobody acts in a time-out."""

    sequence_number: int
    entry_hash: Digest
    kind: str
    at: Instant
    by: PrincipalId | None
    body: dict[str, Any]


def timeline(tools: Tools, caller: Caller, request: ShowTicket) -> Page[TimelineEntry]:
    """List everything that happened to a ticket, each step with its ledger entry and the hash of that.

    Where several people must answer, a reviewer who has yet to answer does not see what others said.
    """
    tenant_id, ticket_id, viewer = caller.tenant_id, parse_ticket_id(request.ticket_id), caller.viewer

    def look(unit: Unit) -> tuple[TimelineEntry, ...]:
        ticket = get_readable(unit, tenant_id, ticket_id, viewer)
        numbers = unit.outbox.entries_about(tenant_id, ticket_id)
        steps = tuple(_step(unit, tenant_id, number) for number in numbers)
        answered = [one.by for one in unit.review.answers(tenant_id, ticket_id)]
        settled = unit.review.find_settlement(tenant_id, ticket_id) is not None
        if viewer is None or not is_blind(ticket, viewer, answered, settled=settled):
            return steps
        return tuple(one for one in steps if one.kind not in SAID or _is_own(one, steps, viewer))

    return Page(items=tools.database.read(look))


def _is_own(step: TimelineEntry, steps: tuple[TimelineEntry, ...], viewer: Principal) -> bool:
    """What they said themselves; nobody acts in a lapse, which names the held answer that never counted."""
    if step.kind != EntryKind.TICKET_ANSWER_LAPSED:
        return step.by == viewer.id
    held = (one for one in steps if one.kind == EntryKind.TICKET_ANSWER_HELD and one.by == viewer.id)
    return step.body.get("answer_hash") in {one.body.get("answer_hash") for one in held}


def _step(unit: Unit, tenant_id: TenantId, sequence_number: int) -> TimelineEntry:
    entry = unit.ledger.find_entry(tenant_id, sequence_number)
    if entry is None:
        raise DamagedRecordError(f"an event names entry {sequence_number} of `{tenant_id}`, which is not there")
    try:
        body: dict[str, Any] = json.loads(entry.text)["body"]
        return TimelineEntry(
            sequence_number=sequence_number,
            entry_hash=parse_digest(entry.entry_hash),
            kind=entry.kind,
            at=parse_instant(entry.timestamp),
            by=_actor(body),
            body=body,
        )
    except (ValueError, KeyError, TypeError, Error) as error:
        raise DamagedRecordError(f"entry {sequence_number} of `{tenant_id}` cannot be read: {error}") from error


def _actor(body: dict[str, Any]) -> PrincipalId | None:
    held = body.get("answer")
    found = held if isinstance(held, dict) else body
    return next((PrincipalId(found[name]) for name in _ACTORS if name in found), None)
