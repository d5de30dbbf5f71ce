"""The mini-loop: at every stage what was READ, where it was ROUTED, and what was RECORDED (PRAMANA 9).

query -> delivery -> outcome -> root cause, each a Loop;   the loops of one answer -> Trace -> check_trace
"""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from assay.delivery.annotate import Annotation
from assay.delivery.conclude import Conclusion
from assay.delivery.outcome import Signal
from assay.delivery.rule import RuleRef, render_ref
from assay.delivery.strand import StrandReport
from assay.delivery.tally import Tally
from assay.delivery.trigger import Move
from assay.delivery.workitem import WorkItem
from assay.kernel.instant import Instant


class Stage(StrEnum):
    """In the order in which they come."""

    QUERY = "query"
    DELIVERY = "delivery"
    OUTCOME = "outcome"
    ROOT_CAUSE = "root_cause"


_ORDER = list(Stage)


class Loop(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One turn of the loop. INVARIANT: none of the three is empty; a stage that skips one has broken the chain."""

    stage: Stage
    answer_id: str
    read: tuple[str, ...]
    route: tuple[str, ...]
    record: tuple[str, ...]
    at: Instant


class Trace(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All turns about one answer, by stage and then by time."""

    answer_id: str
    loops: tuple[Loop, ...]


def loop_at_query(annotation: Annotation, strands: StrandReport, *, state: str) -> Loop:
    """READ the STATE, ROUTE to the strands, RECORD level and rules; `state` is the hash or revision that was read."""
    return Loop(
        stage=Stage.QUERY,
        answer_id=annotation.answer_id,
        read=(f"state {state}",),
        route=tuple(f"strand {one.strand}: {'present' if one.present else one.absence}" for one in strands.results),
        record=(f"level {_level(annotation)}", *(f"rule {render_ref(ref)}" for ref in annotation.rules)),
        at=annotation.answered_at,
    )


def loop_at_delivery(annotation: Annotation, *, receiver: str, event_id: str, at: Instant) -> Loop:
    """READ the level, ROUTE the answer with its annotation, RECORD the SENSE event."""
    why = "below the floor" if isinstance(annotation.authenticity_level_floor, int) else "by the gates"
    how = f"withheld {why}" if annotation.withheld is True else "delivered with its annotation"
    return Loop(
        stage=Stage.DELIVERY,
        answer_id=annotation.answer_id,
        read=(f"level {_level(annotation)}",),
        route=(f"{how} to {receiver}",),
        record=(f"event query.answered {event_id}", "an outcome is awaited"),
        at=at,
    )


def loop_at_outcome(
    signal: Signal, rule: RuleRef, tally: Tally, move: Move, *, answer_id: str, item_id: str | None = None
) -> Loop:
    """READ the rules, ROUTE the signal to the rule's own registry, RECORD counters and threshold."""
    run = f"consecutive failures {tally.consecutive_failures}"
    return Loop(
        stage=Stage.OUTCOME,
        answer_id=answer_id,
        read=(f"rule {render_ref(rule)}",),
        route=(f"outcome {signal.outcome} of {signal.signal_id} to the registry of {rule.rule_id}",),
        record=(
            f"total {tally.total}, success {tally.success}, failure {tally.failure}, {run}",
            f"root cause: {move}" if item_id is None else f"root cause: {move} {item_id}",
        ),
        at=signal.received_at,
    )


def loop_at_root_cause(item: WorkItem, conclusion: Conclusion, *, answer_id: str, pair_id: str) -> Loop:
    """READ the registry, ROUTE to a person (and a plugin), RECORD the Siddhanta and the training pair."""
    plugin = () if item.plugin_id is None else (f"plugin {item.plugin_id}",)
    return Loop(
        stage=Stage.ROOT_CAUSE,
        answer_id=answer_id,
        read=(f"{item.signals} signals of {render_ref(item.rule)}, confidence {item.tally.confidence}",),
        route=(f"reviewer {conclusion.concluded_by}", *plugin),
        record=(
            f"category {conclusion.failure_category}",
            f"siddhanta {conclusion.siddhanta}",
            f"training pair {pair_id}",
        ),
        at=conclusion.concluded_at,
    )


def gather_trace(answer_id: str, loops: Iterable[Loop]) -> Trace:
    own = [one for one in loops if one.answer_id == answer_id]
    return Trace(answer_id=answer_id, loops=tuple(sorted(own, key=lambda one: (_ORDER.index(one.stage), one.at))))


def check_trace(trace: Trace, *, until: Stage) -> tuple[str, ...]:
    """What is missing up to this stage: a stage that was skipped, or a turn without one of its three parts."""
    seen = {one.stage for one in trace.loops}
    skipped = [f"no {one} stage" for one in _ORDER[: _ORDER.index(until) + 1] if one not in seen]
    empty = [
        f"{one.stage} has no {name}"
        for one in trace.loops
        for name, part in (("READ", one.read), ("ROUTE", one.route), ("RECORD", one.record))
        if not part
    ]
    return (*skipped, *empty)


def _level(annotation: Annotation) -> str:
    computed = annotation.computed_level
    return str(computed if isinstance(computed, str) else annotation.authenticity_level)
