"""Answers about what a room finds: a record is judged or a key compiled, and the result is delivered as an answer.

may query -> evaluate or compile -> ask: gate, mark, record, deliver
The room records what it found in its own right; the answer is a second entry about it.
"""

from msgspec import Struct

from assay.flows.delivery.deliver_answer import AnsweredQuestion, AskQuestion, ask, require_query
from assay.flows.request import Request
from assay.flows.tools import Tools
from assay.flows.truth.compile_all import CompiledState, compiled_state
from assay.flows.truth.compile_truth import compile_truth
from assay.flows.truth.states import KeyName
from assay.flows.verdicts.evaluate import EvaluateRecord, evaluate
from assay.flows.verdicts.read_verdicts import Decided
from assay.identity.caller import Caller

# The kinds of question that an intake is answered as: built in, and an operator may register them with rules.
VERDICT_QUERY = "verdict"
TRUTH_QUERY = "truth"


class AnswerKey(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    key: KeyName


class Handled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a room found, and the answer about it: gated, marked, on record.

    Where the answer is withheld, what it is about is not given out beside it either; it is on record.
    """

    delivered: AnsweredQuestion
    decided: Decided | None = None
    compiled: CompiledState | None = None


def answer_record(tools: Tools, caller: Caller, request: EvaluateRecord) -> Handled:
    """Judge one telemetry record, and deliver its verdicts as an answer: gated, marked, recorded.

    Where no rule covers its subject there is none to name, and the answer cannot be marked unless the operator
    registered the kind of question `verdict` with a rule for that; the verdict is recorded all the same.
    """
    require_query(caller.principal)
    decided = evaluate(tools, caller, request).value
    question = {"telemetry_id": decided.telemetry_id}
    delivered = ask(tools, caller, AskQuestion(query_type=VERDICT_QUERY, question=question)).value
    return Handled(delivered=delivered, decided=None if delivered.body.withheld else decided)


def answer_key(tools: Tools, caller: Caller, request: AnswerKey) -> Handled:
    """Compile a key, and deliver its state as an answer: gated, marked, recorded."""
    require_query(caller.principal)
    compiled = compile_truth(tools, caller.tenant_id, request.key, at=caller.at)
    question = {"truthkey": request.key}
    delivered = ask(tools, caller, AskQuestion(query_type=TRUTH_QUERY, question=question)).value
    return Handled(delivered=delivered, compiled=None if delivered.body.withheld else compiled_state(compiled))
