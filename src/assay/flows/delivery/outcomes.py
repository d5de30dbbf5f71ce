"""Outcomes as they were reported, one by one and by session (PRAMANA 12.9)."""

from typing import Annotated

from msgspec import Meta, Struct

from assay.delivery.outcome import Signal
from assay.flows.delivery.delivery_entry import read_text
from assay.flows.errors import NotFoundError
from assay.flows.request import NEWEST, Option, Page, Paged, cut, map_page, read_number
from assay.flows.request import read_text as read_name
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.delivery_store import ReportingSession, StoredSignal


class ListOutcomes(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    answer_id: Annotated[str | None, Meta(description="Only outcomes of this answer."), Option(flag="--answer")] = None


class ListSessions(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page of the sessions."""


class ListSessionOutcomes(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    session: Annotated[str, Meta(description="`session:ID`, or `sender:ID` for a sender without sessions.")]


class OutcomeLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was reported, by whom, about which rules."""

    signal_id: str
    outcome: str
    rule_ids: tuple[str, ...]
    answer_id: str | None
    sender: str
    received_at: Instant
    sequence_number: int


def outcomes(tools: Tools, caller: Caller, request: ListOutcomes) -> Page[OutcomeLine]:
    """List reported outcomes, the newest first."""
    before = read_number("outcomes", request.cursor, start=NEWEST)

    def work(unit: Unit) -> tuple[StoredSignal, ...]:
        return unit.pages.outcomes(
            caller.tenant_id, answer_id=request.answer_id, before=before, limit=request.limit + 1
        )

    found = cut("outcomes", tools.database.read(work), request.limit, lambda row: row.sequence_number)
    return map_page(found, _line)


def outcome_sessions(tools: Tools, caller: Caller, request: ListSessions) -> Page[ReportingSession]:
    """List sessions that reported outcomes, by name: `session:ID`, or `sender:ID` for a sender without sessions."""
    after = read_name("sessions", request.cursor) or ""
    found = tools.database.read(
        lambda unit: unit.delivery.sessions(caller.tenant_id, after=after, limit=request.limit + 1)
    )
    return cut("sessions", found, request.limit, lambda one: one.session)


def session_outcomes(tools: Tools, caller: Caller, request: ListSessionOutcomes) -> Page[Signal]:
    """List what one session reported, in order."""
    after = read_number("session_outcomes", request.cursor)

    def work(unit: Unit) -> tuple[StoredSignal, ...]:
        return unit.delivery.session_signals(caller.tenant_id, request.session, after=after, limit=request.limit + 1)

    rows = tools.database.read(work)
    if not rows and not after:
        raise NotFoundError(f"tenant `{caller.tenant_id}` has no session `{request.session[:80]}` with an outcome")
    found = cut("session_outcomes", rows, request.limit, lambda row: row.sequence_number)
    return map_page(found, lambda row: read_text(row.text, Signal))


def _line(row: StoredSignal) -> OutcomeLine:
    signal = read_text(row.text, Signal)
    return OutcomeLine(
        signal_id=row.signal_id,
        outcome=signal.outcome,
        rule_ids=signal.rule_ids,
        answer_id=row.answer_id,
        sender=signal.sender,
        received_at=row.received_at,
        sequence_number=row.sequence_number,
    )
