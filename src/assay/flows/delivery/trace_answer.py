"""The mini-loop of one answer: what each stage read, routed and recorded (PRAMANA 9)."""

from msgspec import Struct

from assay.delivery.trace import Loop, Stage, Trace, check_trace, gather_trace
from assay.flows.delivery.answer_record import AnswerRecord, get_proven
from assay.flows.delivery.delivery_entry import read_text
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.ports.database import Unit

__all__ = ["ShownTrace", "trace_answer"]


class ShownTrace(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`problems` are the stages that were skipped before the last one that is there; empty if none was."""

    answer_id: str
    query_type: str
    level: str
    trace: Trace
    problems: tuple[str, ...]


def trace_answer(tools: Tools, tenant_id: TenantId, answer_id: str) -> ShownTrace:
    def work(unit: Unit) -> tuple[AnswerRecord, Trace]:
        loops = [read_text(one.text, Loop) for one in unit.delivery.loops(tenant_id, answer_id)]
        return get_proven(unit, tenant_id, answer_id), gather_trace(answer_id, loops)

    record, trace = tools.database.read(work)
    last = max((one.stage for one in trace.loops), key=list(Stage).index, default=Stage.DELIVERY)
    return ShownTrace(
        answer_id=answer_id,
        query_type=record.annotation.query_type,
        level=record.annotation.authenticity_level,
        trace=trace,
        problems=check_trace(trace, until=last),
    )
