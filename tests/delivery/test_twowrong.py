"""A success by two wrong steps is found, confirmed by replay alone, and found again when a rule turns out wrong."""

from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.delivery.errors import DeliveryError
from assay.delivery.outcome import Outcome
from assay.delivery.rule import RuleRef
from assay.delivery.twowrong import (
    Replay,
    Standing,
    Step,
    StepKind,
    StepVerdict,
    Success,
    TwoWrong,
    confirm,
    remark,
    replays_needed,
    suspect,
)
from tests.delivery.answers import RULE
from tests.raising import raises

_S, _F = Outcome.SUCCESS, Outcome.FAILURE
_VERSION = RuleRef(rule_id=RULE, version=3)


def _step(ref: str, verdict: StepVerdict = StepVerdict.WRONG, kind: StepKind = StepKind.PARAMETERS) -> Step:
    evidence = None if verdict is StepVerdict.UNKNOWN else "verifier"
    return Step(kind=kind, ref=ref, verdict=verdict, evidence=evidence)


_ROUTE, _UNITS = _step("route", kind=StepKind.ROUTE), _step("units")
_SUSPECTED = suspect(_S, [_ROUTE, _UNITS])
_CONFIRMING = (
    Replay(repaired=("route",), outcome=_F),
    Replay(repaired=("units",), outcome=_F),
    Replay(repaired=("units", "route"), outcome=_S),
)


@pytest.mark.clause("pramana", "12.4")
def test_a_success_with_two_wrong_steps_is_suspected() -> None:
    assert (_SUSPECTED.standing, _SUSPECTED.wrong) == (Standing.SUSPECTED, ("route", "units"))
    assert _SUSPECTED.is_tainted


@pytest.mark.parametrize("outcome", [_F, Outcome.PARTIAL, Outcome.INDETERMINATE])
def test_only_a_success_is_suspected(outcome: Outcome) -> None:
    assert suspect(outcome, [_ROUTE, _UNITS]).standing is Standing.NONE


@given(st.lists(st.sampled_from(list(StepVerdict)), max_size=6))
def test_the_count_of_wrong_steps_decides(verdicts: list[StepVerdict]) -> None:
    found = suspect(_S, [_step(str(number), verdict) for number, verdict in enumerate(verdicts)])
    assert (found.standing is Standing.SUSPECTED) == (verdicts.count(StepVerdict.WRONG) >= 2)
    assert found.is_tainted == (found.standing is Standing.SUSPECTED)


@pytest.mark.clause("pramana", "12.4")
def test_it_is_confirmed_when_each_repair_alone_fails_and_all_together_succeed() -> None:
    assert replays_needed(_SUSPECTED) == (("route",), ("units",), ("route", "units"))
    found = confirm(_SUSPECTED, _CONFIRMING)
    assert (found.standing, found.is_tainted) == (Standing.CONFIRMED, True)


@pytest.mark.parametrize("missing", range(3))
def test_a_missing_replay_leaves_the_suspicion(missing: int) -> None:
    rest = [one for number, one in enumerate(_CONFIRMING) if number != missing]
    assert confirm(_SUSPECTED, rest).standing is Standing.SUSPECTED


@pytest.mark.parametrize("changed", range(3))
def test_a_replay_that_shows_otherwise_clears_it(changed: int) -> None:
    other = [
        Replay(repaired=one.repaired, outcome=_S if one.outcome is _F else _F) if number == changed else one
        for number, one in enumerate(_CONFIRMING)
    ]
    found = confirm(_SUSPECTED, other)
    assert (found.standing, found.is_tainted) == (Standing.CLEARED, False)


@pytest.mark.parametrize("outcome", [Outcome.PARTIAL, Outcome.INDETERMINATE])
def test_an_undecided_or_contradicted_replay_leaves_the_suspicion(outcome: Outcome) -> None:
    undecided = (Replay(repaired=("route",), outcome=outcome), *_CONFIRMING[1:])
    assert confirm(_SUSPECTED, undecided).standing is Standing.SUSPECTED
    contradicted = (*_CONFIRMING, Replay(repaired=("route",), outcome=_S))
    assert confirm(_SUSPECTED, contradicted).standing is Standing.SUSPECTED


@pytest.mark.parametrize("missing", range(3))
@pytest.mark.parametrize("changed", range(3))
def test_one_that_shows_otherwise_clears_it_whichever_of_the_others_is_missing(missing: int, changed: int) -> None:
    """The order of steps in an answer says nothing about it."""
    otherwise = [
        Replay(repaired=one.repaired, outcome=_S if one.outcome is _F else _F) if number == changed else one
        for number, one in enumerate(_CONFIRMING)
        if number != missing
    ]
    expected = Standing.SUSPECTED if changed == missing else Standing.CLEARED
    assert confirm(_SUSPECTED, otherwise).standing is expected


def test_what_was_not_suspected_needs_no_replay() -> None:
    calm = suspect(_S, [_ROUTE])
    assert replays_needed(calm) == ()
    assert confirm(calm, _CONFIRMING) == calm


@given(st.integers(2, 4), st.randoms(use_true_random=False))
def test_confirmation_is_exactly_the_rule_over_every_pattern_of_replays(count: int, chance: object) -> None:
    """Against a plain statement of the rule, for all outcomes of the single repairs and of all together."""
    refs = [f"s{number}" for number in range(count)]
    finding = suspect(_S, [_step(ref) for ref in refs])
    for failing in chain.from_iterable(combinations(refs, size) for size in range(count + 1)):
        for together in (_S, _F):
            replays = [Replay(repaired=(ref,), outcome=_F if ref in failing else _S) for ref in refs]
            replays.append(Replay(repaired=tuple(refs), outcome=together))
            chance.shuffle(replays)  # type: ignore[attr-defined]  # a random.Random
            expected = set(failing) == set(refs) and together is _S
            assert (confirm(finding, replays).standing is Standing.CONFIRMED) == expected


def test_a_verdict_needs_evidence_and_a_step_stands_there_once() -> None:
    with raises(DeliveryError.step):
        Step(kind=StepKind.ROUTE, ref="r", verdict=StepVerdict.WRONG)
    with raises(DeliveryError.step):
        Step(kind=StepKind.ROUTE, ref="r", evidence="x")
    with raises(DeliveryError.step):
        suspect(_S, [_ROUTE, _ROUTE])


def _success(*steps: Step, name: str = "ans_1") -> Success:
    return Success(answer_id=name, steps=steps, finding=suspect(_S, steps))


@pytest.mark.clause("pramana", "12.4")
def test_a_rule_found_wrong_marks_the_earlier_successes_of_that_version_again() -> None:
    used = _step(f"{RULE}@3", StepVerdict.UNKNOWN, StepKind.RULE)
    other = _step(f"{RULE}@2", StepVerdict.UNKNOWN, StepKind.RULE)
    before = _success(_UNITS, used)
    assert before.finding.standing is Standing.NONE
    alone, elsewhere = _success(used, name="ans_2"), _success(_UNITS, other, name="ans_3")
    first, second = remark(_VERSION, [before, alone, elsewhere], evidence="item:1")
    assert (first.answer_id, first.is_newly_tainted, first.after.wrong) == ("ans_1", True, ("units", f"{RULE}@3"))
    assert (second.answer_id, second.is_newly_tainted) == ("ans_2", False)
    assert first.steps[1].evidence == "item:1"
    again = Success(answer_id="ans_1", steps=first.steps, finding=first.after)
    assert remark(_VERSION, [again], evidence="item:2") == ()


def test_a_success_that_was_tainted_before_is_not_newly_so() -> None:
    used = _step(f"{RULE}@3", StepVerdict.UNKNOWN, StepKind.RULE)
    [found] = remark(_VERSION, [_success(_ROUTE, _UNITS, used)], evidence="item:1")
    assert (found.is_newly_tainted, len(found.after.wrong)) == (False, 3)
    assert isinstance(found.before, TwoWrong)
