"""The one way of every output, whichever room reasons: nothing is delivered that did not go all of it.

authorise -> reason (a record is judged, a key compiled) -> gate -> mark -> record -> deliver
The room that reasons records what it found in its own right; what is delivered is an answer about that.
"""

from collections.abc import Mapping

from msgspec import Struct

from assay.flows.delivery.deliver_answer import Delivered, deliver_answer, require_query
from assay.flows.identity.authenticate import authenticate_in
from assay.flows.tools import Tools
from assay.flows.truth.compile_truth import CompiledTruth, compile_truth
from assay.flows.verdicts.evaluate_record import evaluate_record
from assay.flows.verdicts.read_verdict import Decided
from assay.identity.principal import Principal
from assay.kernel.instant import Instant
from assay.ports.database import Unit

__all__ = ["TRUTH_QUERY", "VERDICT_QUERY", "Handled", "handle_key", "handle_record"]

# The kinds of question that an intake is answered as: built in, and an operator may register them with rules.
VERDICT_QUERY = "verdict"
TRUTH_QUERY = "truth"


class Handled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a room found, and the answer about it: gated, marked, on record.

    Where the answer is withheld, what it is about is not given out beside it either; it is on record.
    """

    delivered: Delivered
    decided: Decided | None = None
    compiled: CompiledTruth | None = None


def handle_record(tools: Tools, given: bytes | str | Mapping[str, object], *, credential: str, at: Instant) -> Handled:
    """A telemetry record: its verdicts, and the answer about them.

    Where no rule speaks about its subject there is none to name, and the answer cannot be marked unless the operator
    registered the kind of question `verdict` with a rule for that; the verdict is on record all the same.
    """
    tools.database.read(lambda unit: _authorised(unit, credential, at))
    decided = evaluate_record(tools, given, credential=credential, at=at)
    delivered = deliver_answer(
        tools, VERDICT_QUERY, {"telemetry_id": decided.telemetry_id}, credential=credential, at=at
    )
    return Handled(delivered=delivered, decided=None if delivered.body.withheld else decided)


def handle_key(tools: Tools, truthkey: str, *, credential: str, at: Instant) -> Handled:
    """A truth key: its state as it is compiled now, and the answer about it."""
    principal = tools.database.read(lambda unit: _authorised(unit, credential, at))
    compiled = compile_truth(tools, principal.tenant_id, truthkey, at=at)
    delivered = deliver_answer(tools, TRUTH_QUERY, {"truthkey": truthkey}, credential=credential, at=at)
    return Handled(delivered=delivered, compiled=None if delivered.body.withheld else compiled)


def _authorised(unit: Unit, credential: str, at: Instant) -> Principal:
    """Whoever may not be given the answer does not set a room to work either."""
    principal = authenticate_in(unit, credential, at=at).principal
    require_query(principal)
    return principal
