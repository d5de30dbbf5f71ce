"""An answer as it is kept: what was asked and said, what it rests on, and how it was marked."""

from typing import Any

from msgspec import Struct

from assay.delivery.annotate import Annotation
from assay.delivery.answerer import Question
from assay.delivery.query import Shortfall
from assay.delivery.strand import StrandReport
from assay.delivery.twowrong import Step
from assay.flows.delivery.delivery_entry import read_text
from assay.flows.errors import NotFoundError
from assay.kernel.ids import TenantId
from assay.ports.database import Unit

__all__ = ["AnswerRecord", "find_record", "get_record"]


class AnswerRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`annotation` is the one before any floor; `withheld` says whether this reader got the output."""

    question: Question
    answerer: str
    output: Any
    annotation: Annotation
    strands: StrandReport
    steps: tuple[Step, ...]
    claims: tuple[Any, ...]
    shortfall: Shortfall | None
    withheld: bool


def find_record(unit: Unit, tenant_id: TenantId, answer_id: str) -> AnswerRecord | None:
    row = unit.delivery.find_answer(tenant_id, answer_id)
    return None if row is None else read_text(row.text, AnswerRecord)


def get_record(unit: Unit, tenant_id: TenantId, answer_id: str) -> AnswerRecord:
    found = find_record(unit, tenant_id, answer_id)
    if found is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no answer `{answer_id[:80]}`")
    return found
