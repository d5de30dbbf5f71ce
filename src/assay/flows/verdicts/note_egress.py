"""Attempts of evaluation to leave the perimeter (SKI 6.3): in the ledger, counted there, refused until looked into.

guard's count -> entry and row of what is new -> total for ever;   a person in session, with a reason -> cleared
A restart takes nothing away: the process forgets its count, the ledger does not.
"""

from msgspec import Struct

from assay.flows.errors import NotFoundError
from assay.flows.identity.authenticate import authenticate_in, require_session
from assay.flows.tools import Tools
from assay.flows.truth.truth_entry import news_of
from assay.identity.authorise import require_role
from assay.identity.principal import BuiltInRole
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind, Receipt, draft_entry
from assay.ports.database import Unit
from assay.ports.egress import EgressRefusedError
from assay.ports.verdict_store import EgressNote
from assay.review.errors import ReasonMissingError


class EgressAttempted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of an `egress.attempted` entry: how many, and where the latest of them wanted to go."""

    attempts: int
    places: tuple[str, ...]


class EgressCleared(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of an `egress.cleared` entry: who looked into it, and what was found."""

    cleared_by: PrincipalId
    reason: str


def note_egress(tools: Tools, tenant_id: TenantId, *, at: Instant) -> None:
    """Write down what the guard counted since the last time, whatever the mode; mostly that is nothing."""
    guard, shelf = tools.guard, tools.egress
    if guard is None or shelf.unrecorded(guard) <= 0:
        return
    with shelf.writing:
        attempts = shelf.unrecorded(guard)
        if attempts <= 0:
            return
        body = EgressAttempted(attempts=attempts, places=guard.last_attempts[-attempts:])
        tools.database.write(lambda unit: _append(unit, tenant_id, EntryKind.EGRESS_ATTEMPTED, body, attempts, at))
        shelf.note_recorded(guard, attempts)


def count_egress(tools: Tools) -> int:
    """`ski_egress_attempts_total` of the node, over all its processes and restarts."""
    recorded = tools.database.read(lambda unit: unit.verdicts.egress_total())
    return recorded + max(0, tools.egress.unrecorded(tools.guard))


def is_egress_open(tools: Tools) -> bool:
    """Whether there is an attempt that nobody has looked into, of this process or of one before it."""
    if tools.egress.uncleared(tools.guard) > 0:
        return True
    return tools.database.read(lambda unit: unit.verdicts.has_open_egress())


def require_no_egress(tools: Tools) -> None:
    """Fail closed: in strict mode one attempt in this process is enough."""
    guard = tools.guard
    if tools.ski.is_strict and guard is not None and tools.egress.uncleared(guard) > 0:
        last = ", ".join(guard.last_attempts[-1:])
        raise EgressRefusedError(f"expected no attempt to leave the perimeter, got {guard.attempts}: {last[:80]}")


def require_cleared(unit: Unit, tools: Tools) -> None:
    """The same of attempts that are on record, by whichever process, until a person has looked into them."""
    if tools.ski.is_strict and unit.verdicts.has_open_egress():
        raise EgressRefusedError(
            "expected no attempt to leave the perimeter, got some on record that nobody has cleared"
        )


def clear_egress(tools: Tools, *, reason: str, credential: str, at: Instant) -> Receipt:
    """An operator, in person, has looked into all attempts so far and says what they were; evaluation may go on."""
    if not reason.strip():
        raise ReasonMissingError("expected what the attempts were, got no reason")

    def work(unit: Unit) -> Receipt:
        proved = authenticate_in(unit, credential, at=at)
        require_session(proved)
        require_role(proved.principal, (BuiltInRole.OPERATOR,))
        if not unit.verdicts.has_open_egress():
            raise NotFoundError("expected attempts that wait to be looked into, got none")
        body = EgressCleared(cleared_by=proved.principal.id, reason=reason.strip())
        return _append(unit, proved.principal.tenant_id, EntryKind.EGRESS_CLEARED, body, 0, at)

    with tools.egress.writing:
        receipt = tools.database.write(work)
        tools.egress.note_cleared(tools.guard)
    return receipt


def _append(unit: Unit, tenant_id: TenantId, kind: EntryKind, body: Struct, attempts: int, at: Instant) -> Receipt:
    news = news_of(kind, "node", {"attempts": attempts})
    receipt = unit.ledger.append(draft_entry(tenant_id, kind, body, at=at, events=(news,)))
    note = EgressNote(sequence_number=receipt.sequence_number, attempts=attempts, noted_at=at)
    unit.verdicts.add_egress(tenant_id, note)
    return receipt
