"""The plugins that come with the node: hypotheses from earlier cases and from a model, and nothing they could write."""

import inspect

import pytest

from assay.adapters.inference.backend import Request
from assay.adapters.inference.bounded import BoundedModel
from assay.adapters.inference.scripted import ScriptedBackend
from assay.adapters.plugins.local_model import LocalModelPlugin
from assay.adapters.plugins.nearest_case import NearestCasePlugin, NoCaseError
from assay.delivery.outcome import Outcome
from assay.delivery.pair import PairInput, PairLabel, TrainingPair
from assay.delivery.plugin import Category, PluginRequest, PluginSignal, parse_reply
from assay.delivery.rule import RuleId
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import parse_instant
from tests.contract._kit import AT


def _request(rule: str = "MAR-1", context: str = "long swell at the bar") -> PluginRequest:
    signal = PluginSignal(outcome=Outcome.FAILURE, query_context=context, timestamp="2026-01-01T00:00:00Z")
    return PluginRequest(
        rule_id=RuleId(rule),
        rule_content="At least 10 %.",
        original_query="is there water",
        original_response="clear",
        phala_signals=(signal,),
    )


def _pair(rule: str, context: str, category: Category, correction: str | None = None) -> TrainingPair:
    signal = PluginSignal(outcome=Outcome.FAILURE, query_context=context, timestamp="2026-01-01T00:00:00Z")
    label = PairLabel(failure_category=category, siddhanta=f"it was {context}")
    if correction is not None:
        label = PairLabel(failure_category=category, siddhanta=f"it was {context}", corrected_rule=correction)
    return TrainingPair(
        training_pair_id=f"{rule}-{context}",
        rule_id=RuleId(rule),
        input=PairInput(query="is there water", original_response="clear", phala_signals=(signal,)),
        label=label,
        captured_by=PrincipalId("user:rita"),
        captured_at=AT,
    )


@pytest.mark.clause("pramana", "10.3")
def test_the_case_that_is_most_alike_is_proposed_again() -> None:
    cases = (
        _pair("MAR-1", "fog and rain", Category.ROUTING),
        _pair("MAR-1", "swell at the bar", Category.RULE, "At least 15 %."),
        _pair("MAR-2", "long swell at the bar", Category.APPLICATION),
    )
    request = _request()
    thought = parse_reply(NearestCasePlugin(lambda: cases).infer(request), request)
    assert (thought.failure_category, thought.proposed_correction) == (Category.RULE, "At least 15 %.")
    assert 0 < thought.confidence < 1
    assert "MAR-1" in thought.hypothesis


def test_another_rule_is_better_than_nothing_and_nothing_is_said_without_a_likeness() -> None:
    other = _pair("MAR-2", "long swell", Category.APPLICATION)
    request = _request()
    thought = parse_reply(NearestCasePlugin(lambda: (other,)).infer(request), request)
    assert (thought.failure_category, thought.proposed_correction) == (Category.APPLICATION, "")
    for cases in ((), (_unlike(),)):
        with pytest.raises(NoCaseError):
            NearestCasePlugin(lambda cases=cases: cases).infer(request)  # type: ignore[misc]  # bound at once


def _unlike() -> TrainingPair:
    return TrainingPair(
        training_pair_id="x",
        rule_id=RuleId("Z-1"),
        input=PairInput(query="qqq", original_response="zzz", phala_signals=()),
        label=PairLabel(failure_category=Category.ROUTING, siddhanta="other"),
        captured_by=PrincipalId("user:rita"),
        captured_at=parse_instant("2026-01-01T00:00:00Z"),
    )


_THOUGHT = '{"failure_category":"C","hypothesis":"swell","proposed_correction":"15%","confidence":0.5}'


@pytest.mark.clause("pramana", "10.3")
def test_a_model_is_shown_the_case_and_its_thought_is_read_strictly() -> None:
    asked: list[Request] = []

    def script(request: Request) -> str:
        asked.append(request)
        return _THOUGHT

    request = _request()
    with BoundedModel(ScriptedBackend(script)) as model:
        thought = parse_reply(LocalModelPlugin(model).infer(request), request)
    assert (thought.failure_category, thought.confidence) == (Category.RULE, 0.5)
    assert "long swell at the bar" in asked[0].prompt


def test_half_a_thought_of_a_model_is_none() -> None:
    with BoundedModel(ScriptedBackend(lambda _request: "word " * 2000)) as model, pytest.raises(Error):
        LocalModelPlugin(model).infer(_request())


@pytest.mark.clause("pramana", "14.4")
@pytest.mark.parametrize("plugin", [NearestCasePlugin, LocalModelPlugin])
def test_a_plugin_is_given_nothing_to_write_with(plugin: type) -> None:
    """Its only entrance takes a request of texts; its construction takes what reads, and no tools or store."""
    assert [*inspect.signature(plugin.infer).parameters] == ["self", "request"]  # type: ignore[attr-defined]  # both have it
    taken = {str(one.annotation) for one in inspect.signature(plugin).parameters.values()}
    assert not [name for name in taken if "Tools" in name or "Database" in name or "Unit" in name]
