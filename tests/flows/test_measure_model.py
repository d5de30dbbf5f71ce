"""Any model is measured the same way: prompt, grammar, strict reading, verifier."""

import msgspec
import pytest

from assay.flows.model.case_file import RightAnswer
from assay.flows.model.measure_model import AskedReasoner, JudgeExaminee, measure_model
from assay.model.engine import Engine
from assay.model.figures import check_targets
from assay.model.weights import parse_weights
from assay.ports.model import ModelUnavailableError
from assay.ports.reasoner import ReasonerIdentity
from assay.verdicts.case import parse_case
from assay.verdicts.envelope import Verdict
from assay.verdicts.reason import RawReply, ReasonRequest
from assay.verdicts.sovereignty import Place, PlaceKind
from tests.flows._models import a_few_sealed, broken_weights, labelled, shipped
from tests.verdicts.judging import NOON


@pytest.mark.clause("ski", "2.1.3")
def test_the_shipped_judge_is_measured_with_times_and_progress() -> None:
    told: list[tuple[int, int]] = []
    found = measure_model(
        JudgeExaminee(Engine(shipped()), together=8),
        a_few_sealed(20).cases,
        report=lambda done, total: told.append((done, total)),
        timed=2,
    )
    assert check_targets(found.figures) == ()
    assert (found.wrong, found.contested) == ((), ())
    assert told == [(8, 20), (16, 20), (20, 20)]
    assert (found.timing.clock, found.timing.timed) == ("cpu", 2)
    assert found.timing.p50_ms is not None
    assert found.timing.tokens_per_second is not None


def test_a_broken_model_is_found_out_case_by_case() -> None:
    found = measure_model(JudgeExaminee(Engine(parse_weights(broken_weights()))), a_few_sealed(20).cases, timed=0)
    assert found.figures.verdict_accuracy < 0.9
    assert found.wrong
    assert found.figures.unparsable == 0
    assert found.timing.p50_ms is None


def test_a_case_that_is_too_large_costs_the_others_nothing() -> None:
    many = [f"c{n}" for n in range(20)]
    large = parse_case(
        {
            "obligations": [{"id": "o", "type": "must_not_exceed", "metric": "m", "value": 5}],
            "measurement": {"m": 6, **dict.fromkeys(many, 1)},
            "exemptions": {"o": [" and ".join(f"{name} == 1" for name in many)]},
        }
    )
    cases = (*a_few_sealed(3).cases, labelled(large))
    found = measure_model(JudgeExaminee(Engine(shipped())), cases, timed=0)
    assert (found.figures.cases, found.figures.refusals, found.figures.unparsable, found.wrong) == (4, 1, 0, ())


def test_an_answer_of_the_file_that_the_verifier_does_not_share_is_named() -> None:
    first, *_ = a_few_sealed(1).cases
    other = Verdict.CLEAR if first.expected.verdict is not Verdict.CLEAR else Verdict.FLAG
    found = measure_model(
        JudgeExaminee(Engine(shipped())),
        [msgspec.structs.replace(first, expected=RightAnswer(verdict=other))],
        timed=0,
    )
    assert (found.contested, found.wrong) == ((0,), (0,))


class _Silent:
    """A model that does not answer, or whose text is no answer, or is cut off."""

    def __init__(self, *, text: str | None, is_complete: bool = True) -> None:
        self._text, self._is_complete = text, is_complete

    def identify(self) -> ReasonerIdentity:
        return ReasonerIdentity(backend_name="test", model_weight_hash=None, place=Place(kind=PlaceKind.LOOPBACK))

    def complete(self, request: ReasonRequest) -> RawReply:
        assert request.prompt_template_id == "general-1"
        if self._text is None:
            raise ModelUnavailableError("nobody is there")
        return RawReply(
            text=self._text,
            backend_name="test",
            model_weight_hash=request.prompt_hash,
            started_at=NOON,
            completed_at=NOON,
            is_complete=self._is_complete,
        )


@pytest.mark.parametrize("model", [_Silent(text=None), _Silent(text="CLEAR"), _Silent(text="{}", is_complete=False)])
def test_any_other_model_is_asked_through_the_port_and_silence_is_wrong(model: _Silent) -> None:
    found = measure_model(AskedReasoner(model), a_few_sealed(3).cases)
    assert (found.figures.cases, found.figures.unparsable, found.figures.agreement) == (3, 3, 0)
    assert found.timing.clock == "wall"
