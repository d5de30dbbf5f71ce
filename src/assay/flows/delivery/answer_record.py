"""An answer as it is stored, and how answers and failed questions are recorded, with their SENSE events.

The ledger has the hash of the whole row; a salt keeps the hash from confirming a guess of a withheld output.
"""

from typing import Any

from msgspec import UNSET, Struct

from assay.delivery.annotate import Annotation, AnswerBody, question_digest
from assay.delivery.answerer import Question
from assay.delivery.query import Shortfall
from assay.delivery.rule import render_ref
from assay.delivery.sense import StandardEvent
from assay.delivery.strand import StrandReport
from assay.delivery.twowrong import Step
from assay.facts.delivery import AnswerDelivered
from assay.flows.delivery.delivery_entry import delivery_entry, read_text, sense
from assay.flows.errors import NotFoundError
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.kernel.digest import Digest
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind
from assay.ports.database import Unit


class AnswerRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`annotation` is the one before any floor; `withheld` says whether this reader got the output.

    `salt` is in the row alone.
    """

    question: Question
    answerer: str
    output: Any
    annotation: Annotation
    strands: StrandReport
    steps: tuple[Step, ...]
    claims: tuple[Any, ...]
    shortfall: Shortfall | None
    withheld: bool
    salt: str


def find_record(unit: Unit, tenant_id: TenantId, answer_id: str) -> AnswerRecord | None:
    row = unit.delivery.find_answer(tenant_id, answer_id)
    return None if row is None else read_text(row.text, AnswerRecord)


def get_record(unit: Unit, tenant_id: TenantId, answer_id: str) -> AnswerRecord:
    found = find_record(unit, tenant_id, answer_id)
    if found is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no answer `{answer_id[:80]}`")
    return found


class QueryFailed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `query.failed` entry."""

    query_type: str
    asked_by: PrincipalId
    question_hash: Digest
    code: str


def answer_entry(
    tools: Tools,
    tenant_id: TenantId,
    record: AnswerRecord,
    body: AnswerBody,
    *,
    record_hash: Digest,
    at: Instant,
    resumed: bool = False,
) -> Draft:
    """The entry of an answer; `record_hash` is that of its row, as it was stored when the answer was first given."""
    annotation, asked = record.annotation, record.question
    entry = AnswerDelivered(
        asked_by=asked.asked_by,
        session_id=asked.session_id,
        answerer=record.answerer,
        question_hash=question_digest(asked.question),
        output_hash=body.annotation.output_hash,
        record_hash=record_hash,
        level=annotation.authenticity_level,
        strands=record.strands,
        shortfall=record.shortfall,
        delivered=body.annotation,
        resumed=True if resumed else UNSET,
    )
    answered: dict[str, Any] = {
        "answer_id": annotation.answer_id,
        "query_type": annotation.query_type,
        "asked_by": asked.asked_by,
        "authenticity_level": str(body.authenticity_level),
        "computed_level": str(annotation.authenticity_level),
        "withheld": body.withheld,
        "rules": [render_ref(ref) for ref in annotation.rules],
    }
    if record.shortfall is not None:
        answered["shortfall"] = {
            "expected_level": str(record.shortfall.expected_level),
            "owner": record.shortfall.owner,
        }
    service = tools.delivery.service
    events = (
        sense(StandardEvent.QUERY_RECEIVED, asked.query_type, _received(asked), service=service, at=asked.asked_at),
        sense(StandardEvent.QUERY_ANSWERED, annotation.answer_id, answered, service=service, at=at),
    )
    return delivery_entry(tenant_id, EntryKind.ANSWER_DELIVERED, entry, at=at, events=events)


def failure_entry(tools: Tools, principal: Principal, asked: Question, error: Error, *, at: Instant) -> Draft:
    """The question was received, and that nobody answered it is on record."""
    entry = QueryFailed(
        query_type=asked.query_type,
        asked_by=asked.asked_by,
        question_hash=question_digest(asked.question),
        code=error.code,
    )
    service = tools.delivery.service
    told = {"query_type": asked.query_type, "asked_by": asked.asked_by, "code": error.code}
    events = (
        sense(StandardEvent.QUERY_RECEIVED, asked.query_type, _received(asked), service=service, at=asked.asked_at),
        sense(EntryKind.QUERY_FAILED, asked.query_type, told, service=service, at=at),
    )
    return delivery_entry(principal.tenant_id, EntryKind.QUERY_FAILED, entry, at=at, events=events)


def _received(asked: Question) -> dict[str, Any]:
    told: dict[str, Any] = {"query_type": asked.query_type, "asked_by": asked.asked_by}
    return told if asked.session_id is None else {**told, "session_id": asked.session_id}
