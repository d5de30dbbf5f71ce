"""How sure the judge was of a verdict: drawn by the weights that judged, exact by seed, told as an estimate."""

from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest

from assay.adapters.clock import SystemClock
from assay.adapters.reasoning.judge import JudgeReasoner, JudgeWeights, shipped_weights
from assay.adapters.reasoning.judge_here import JudgeHere
from assay.claims.bundle import UncertaintyMethod
from assay.flows.verdicts.estimate_verdict import EstimatedVerdict, JudgeSampling, estimate_verdict, weights_of_verdict
from assay.kernel.digest import digest_of
from tests.contract._kit import refused
from tests.flows._node import TENANT
from tests.flows._verdicts import VerdictDesk, opened_verdicts, rule
from tests.model.networks import untrained


@cache
def _judge() -> JudgeReasoner:
    return JudgeReasoner(JudgeHere(shipped_weights()), SystemClock())


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VerdictDesk]:
    """A node with one verdict of the judge on each of two rules, the second one held."""
    with opened_verdicts(tmp_path_factory.mktemp("estimates")) as opened:
        opened.judge_by(rule("so2"), rule("nox", "high", metric="nox"))
        opened.settings(weights=(shipped_weights().expected,), is_backend_tagged=False)
        opened.use(reasoner=_judge())
        opened.decide({"so2": 36.5, "nox": 2})
        yield opened


def _estimate(desk: VerdictDesk, heat: str = "1", seed: int = 0, answers: int = 5) -> EstimatedVerdict:
    drawn = JudgeSampling(temperature=Decimal(heat), seed=seed, answers=answers)
    return estimate_verdict(desk.tools, TENANT, "t-1", _judge(), rule_id="so2", sampling=drawn)


@pytest.mark.clause("claimbundle", "semantic-entropy")
def test_the_judge_of_a_verdict_is_asked_again_and_named(desk: VerdictDesk) -> None:
    """Where it is sure, all that it draws is what it said; nothing is recorded of the asking."""
    head = desk.tools.database.read(lambda unit: unit.ledger.head(TENANT))
    found = _estimate(desk, "0.5")
    assert {one.verdict for one in found.drawn} == {found.verdict} == {"FLAG"}
    assert (found.estimate.value, found.estimate.cost.answers) == (0.0, 5)
    assert found.estimate.judge == f"same verdict, drawn by judge {shipped_weights().expected}"
    assert [one.drawing.seed for one in found.drawn] == [0, 1, 2, 3, 4]
    assert weights_of_verdict(desk.tools, TENANT, "t-1", "so2") == found.model_weight_hash
    assert desk.tools.database.read(lambda unit: unit.ledger.head(TENANT)) == head


def test_the_same_seed_draws_the_same_and_heat_draws_doubt(desk: VerdictDesk) -> None:
    """At a great temperature every verdict that the grammar allows is drawn; by another seed, others."""
    hot = _estimate(desk, "10", answers=12)
    assert hot == _estimate(desk, "10", answers=12)
    assert 0.0 < hot.estimate.value <= 1.0
    assert len({one.verdict for one in hot.drawn}) > 1
    assert [one.logprob for one in hot.drawn] != [one.logprob for one in _estimate(desk, "10", 100, 12).drawn]
    # Reply n has the seed of the first one and n more: a longer sample begins as a shorter one.
    assert _estimate(desk, "10", answers=3).drawn == hot.drawn[:3]


@pytest.mark.clause("claimbundle", "model-disagreement")
def test_disagreement_has_its_own_three_temperatures(desk: VerdictDesk) -> None:
    drawn = JudgeSampling(method=UncertaintyMethod.MODEL_DISAGREEMENT, seed=7)
    found = estimate_verdict(desk.tools, TENANT, "t-1", _judge(), rule_id="so2", sampling=drawn)
    assert [str(one.drawing.temperature) for one in found.drawn] == ["0.8", "1.0", "1.2"]
    assert found.estimate.method is UncertaintyMethod.MODEL_DISAGREEMENT
    with refused("claims.sample"):
        sampling = JudgeSampling(method=UncertaintyMethod.CONFORMAL_SET)
        estimate_verdict(desk.tools, TENANT, "t-1", _judge(), rule_id="so2", sampling=sampling)


def test_only_the_weights_that_judged_say_how_sure_they_were(desk: VerdictDesk, tmp_path: Path) -> None:
    """And a held verdict tells nothing of what the model said."""
    content = untrained()
    file = tmp_path / "other.bin"
    file.write_bytes(content)
    other = JudgeReasoner(JudgeHere(JudgeWeights(file=file, expected=digest_of(content))), SystemClock())
    with refused("model.weights"):
        estimate_verdict(desk.tools, TENANT, "t-1", other, rule_id="so2")
    with refused("receipt.none"):
        estimate_verdict(desk.tools, TENANT, "t-1", _judge(), rule_id="nox")
    with refused("flow.not_found"):
        estimate_verdict(desk.tools, TENANT, "t-1", _judge())
    with refused("model.bad_request"):
        _estimate(desk, "0")
