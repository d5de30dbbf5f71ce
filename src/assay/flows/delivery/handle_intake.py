"""The one way of every output, whichever room reasons: nothing is delivered that did not go all of it.

authorise -> reason (a record is judged, a key compiled) -> gate -> mark -> record -> deliver
The room that reasons records what it found in its own right; what is delivered is an answer about that.
"""

from msgspec import Struct

from assay.flows.delivery.deliver_answer import AnsweredQuestion, AskQuestion, ask, require_query
from assay.flows.identity.authenticate import authenticate
from assay.flows.tools import Tools
from assay.flows.truth.compile_truth import CompiledTruth, compile_truth
from assay.flows.verdicts.evaluate import EvaluateRecord, evaluate
from assay.flows.verdicts.read_verdicts import Decided
from assay.identity.caller import Caller
from assay.kernel.instant import Instant

# The kinds of question that an intake is answered as: built in, and an operator may register them with rules.
VERDICT_QUERY = "verdict"
TRUTH_QUERY = "truth"


class Handled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a room found, and the answer about it: gated, marked, on record.

    Where the answer is withheld, what it is about is not given out beside it either; it is on record.
    """

    delivered: AnsweredQuestion
    decided: Decided | None = None
    compiled: CompiledTruth | None = None


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


def handle_key(tools: Tools, truthkey: str, *, credential: str, at: Instant) -> Handled:
    """A truth key: its state as it is compiled now, and the answer about it."""
    caller = _authorised(tools, credential, at)
    compiled = compile_truth(tools, caller.tenant_id, truthkey, at=at)
    question = {"truthkey": truthkey}
    delivered = ask(tools, caller, AskQuestion(query_type=TRUTH_QUERY, question=question)).value
    return Handled(delivered=delivered, compiled=None if delivered.body.withheld else compiled)


def _authorised(tools: Tools, credential: str, at: Instant) -> Caller:
    """Authenticate; a caller who may not be given the answer does not start the reasoning either."""
    caller = authenticate(tools, credential, at=at)
    require_query(caller.principal)
    return caller
