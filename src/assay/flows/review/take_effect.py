"""Held answers whose time has come: each counts from now on, or lapses, on record, for what came in between."""

from enum import StrEnum

from msgspec import Struct

from assay.facts.review import lapsed_entry
from assay.flows.identity.standing import require_independent
from assay.flows.known import get_principal, get_ticket
from assay.flows.review.answer_review import record_answer
from assay.flows.review.check_answer import desk_key_ring
from assay.flows.review.held_answers import find_held, parse_held
from assay.flows.review.settle_review import FollowUps, require_unsettled
from assay.flows.tools import Tools
from assay.kernel.digest import Digest
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.desk_store import HeldRow
from assay.review.draft import require_reviewer
from assay.review.hold import AnswerLapsed
from assay.review.settle import Settlement


class EffectState(StrEnum):
    COUNTS = "counts"
    LAPSED = "lapsed"


class Effect(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of one held answer; `settlement` is where its ticket stands, `code` and `problem` why it lapsed."""

    ticket_id: TicketId
    by: PrincipalId
    state: EffectState
    settlement: Settlement | None = None
    code: str | None = None
    problem: str | None = None


def take_effect(tools: Tools, tenant_id: TenantId, *, follow_ups: FollowUps, at: Instant) -> tuple[Effect, ...]:
    """One commit for each, in the order in which they were to count."""
    due = tools.database.read(lambda unit: unit.desk.held_until(tenant_id, at))
    effects = (_settle_held(tools, tenant_id, row, follow_ups, at) for row in due)
    return tuple(one for one in effects if one is not None)


def _settle_held(tools: Tools, tenant_id: TenantId, row: HeldRow, follow_ups: FollowUps, at: Instant) -> Effect | None:
    try:
        return tools.database.write(lambda unit: _count(unit, tools, tenant_id, row, follow_ups, at))
    except Error as error:
        # A database that cannot write will not write a lapse either. A record that cannot be read never counts.
        if error.blame is Blame.OURS and not isinstance(error, DamagedRecordError):
            raise
        refused = error
    return tools.database.write(lambda unit: _lapse(unit, tenant_id, row, refused, at))


def _count(
    unit: Unit, tools: Tools, tenant_id: TenantId, row: HeldRow, follow_ups: FollowUps, at: Instant
) -> Effect | None:
    ticket = get_ticket(unit, tenant_id, row.ticket_id)
    held = find_held(unit, ticket, row.by)
    if held is None:
        # Undone since it was listed.
        return None
    require_unsettled(unit, ticket)
    # Whoever was disabled or lost the role meanwhile no longer decides.
    person = get_principal(unit, tenant_id, row.by)
    require_reviewer(ticket, person, at)
    require_independent(unit, ticket, person, at)
    unit.desk.drop_held(tenant_id, ticket.id, row.by)
    # The others' turn comes next: whatever was given in time counts before the time-out does.
    more = any(one.ticket_id == ticket.id for one in unit.desk.held_until(tenant_id, at))
    ring = desk_key_ring(unit, tools.founder)
    done = record_answer(unit, held.answer, ring, follow_ups, at, more_to_come=more)
    return Effect(ticket_id=ticket.id, by=row.by, state=EffectState.COUNTS, settlement=done.settlement)


def _lapse(unit: Unit, tenant_id: TenantId, row: HeldRow, refused: Error, at: Instant) -> Effect | None:
    if unit.desk.find_held(tenant_id, row.ticket_id, row.by) is None:
        return None
    ticket = get_ticket(unit, tenant_id, row.ticket_id)
    lapsed = AnswerLapsed(ticket_id=ticket.id, answer_hash=_hash_of(row), code=refused.code, problem=str(refused))
    unit.desk.drop_held(tenant_id, ticket.id, row.by)
    unit.record(lapsed_entry(ticket, lapsed, at=at))
    return Effect(ticket_id=ticket.id, by=row.by, state=EffectState.LAPSED, code=refused.code, problem=str(refused))


def _hash_of(row: HeldRow) -> Digest | None:
    try:
        return parse_held(row).answer_hash
    except DamagedRecordError:
        return None
