"""Every stage can say what it read, where it routed, and what it recorded; a skipped one is found."""

import pytest
from msgspec.structs import replace

from assay.delivery.annotate import GateMark, deliver
from assay.delivery.outcome import Outcome
from assay.delivery.plugin import Category
from assay.delivery.rule import RuleRef
from assay.delivery.tally import recount
from assay.delivery.trace import (
    Loop,
    Stage,
    check_trace,
    gather_trace,
    loop_at_delivery,
    loop_at_outcome,
    loop_at_query,
    loop_at_root_cause,
)
from assay.delivery.trigger import Move
from assay.kernel.digest import digest_of
from tests.delivery.answers import OUTPUT, RULE, make_annotation, report
from tests.delivery.items import THOUGHT, conclusion, make_item
from tests.delivery.signals import make_signal
from tests.identity.people import NOON, later

_ANNOTATION = make_annotation(["capability"])
_REF = RuleRef(rule_id=RULE, version=3)


def _loops() -> list[Loop]:
    item = make_item(plugin_id="slm-ukc", purva_paksha=THOUGHT)
    tally = recount([Outcome.FAILURE] * 3)
    return [
        loop_at_root_cause(item, conclusion(Category.ROUTING), answer_id="ans_1", pair_id="p-1"),
        loop_at_outcome(make_signal(), _REF, tally, Move.OPEN, answer_id="ans_1", item_id="rca_1"),
        loop_at_delivery(_ANNOTATION, receiver="user:amira", event_id="7", at=NOON),
        loop_at_query(_ANNOTATION, report(["capability"]), state="sha256:1"),
    ]


@pytest.mark.clause("pramana", "9")
def test_all_four_stages_tell_read_route_and_record() -> None:
    trace = gather_trace("ans_1", _loops())
    assert [one.stage for one in trace.loops] == list(Stage)
    assert check_trace(trace, until=Stage.ROOT_CAUSE) == ()
    query, delivery, outcome, root = trace.loops
    assert query.read == ("state sha256:1",)
    assert query.route == (
        "strand capability: present",
        "strand knowledge: not_confirmed",
        "strand proof: not_confirmed",
    )
    assert query.record == ("level PRAMANA-1", "rule MAR-YK-007@3")
    assert delivery.route == ("delivered with its annotation to user:amira",)
    assert delivery.record[0] == "event query.answered 7"
    assert "consecutive failures 3" in outcome.record[0]
    assert outcome.record[1] == "root cause: open rca_1"
    assert root.route == ("reviewer user:amira", "plugin slm-ukc")
    assert root.record[2] == "training pair p-1"


@pytest.mark.clause("pramana", "9")
@pytest.mark.parametrize("skipped", range(4))
def test_a_skipped_stage_is_found(skipped: int) -> None:
    loops = [one for number, one in enumerate(reversed(_loops())) if number != skipped]
    stage = list(Stage)[skipped]
    assert check_trace(gather_trace("ans_1", loops), until=Stage.ROOT_CAUSE) == (f"no {stage} stage",)
    assert check_trace(gather_trace("ans_1", loops), until=Stage.QUERY) == (("no query stage",) if skipped == 0 else ())


@pytest.mark.parametrize(("name", "told"), [("read", "READ"), ("route", "ROUTE"), ("record", "RECORD")])
def test_a_stage_that_leaves_one_out_is_found(name: str, told: str) -> None:
    *rest, query = _loops()
    broken = replace(query, **{name: ()})
    assert check_trace(gather_trace("ans_1", [*rest, broken]), until=Stage.QUERY) == (f"query has no {told}",)


def test_a_trace_is_of_one_answer_and_in_order() -> None:
    late = loop_at_delivery(_ANNOTATION, receiver="user:bela", event_id="9", at=later(hours=1))
    other = replace(late, answer_id="ans_2")
    trace = gather_trace("ans_1", [late, other, *_loops()])
    assert [one.at for one in trace.loops if one.stage is Stage.DELIVERY] == [NOON, later(hours=1)]
    assert {one.answer_id for one in trace.loops} == {"ans_1"}


def test_a_withheld_answer_is_told_with_its_computed_level() -> None:
    body = deliver(OUTPUT, _ANNOTATION, floor=3)
    loop = loop_at_delivery(body.annotation, receiver="user:amira", event_id="7", at=NOON)
    assert loop.read == ("level PRAMANA-1",)
    assert loop.route == ("withheld below the floor to user:amira",)
    mark = GateMark(decision="DEFER", reason="in doubt", policy_hash=digest_of(b"policy"))
    held = deliver(OUTPUT, make_annotation(["capability"], gate=mark), floor=0).annotation
    assert loop_at_delivery(held, receiver="user:amira", event_id="7", at=NOON).route == (
        "withheld by the gates to user:amira",
    )


def test_an_outcome_that_opens_nothing_says_so() -> None:
    loop = loop_at_outcome(make_signal(), _REF, recount([]), Move.NONE, answer_id="ans_1")
    assert loop.record[1] == "root cause: none"
    plain = loop_at_root_cause(make_item(), conclusion(Category.ROUTING), answer_id="ans_1", pair_id="p")
    assert plain.route == ("reviewer user:amira",)
