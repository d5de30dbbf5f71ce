"""A general model behind a server: bound by its grammar or refused, read strictly, never believed over the record."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assay.adapters.clock import SystemClock
from assay.adapters.inference.bounded import BoundedModel, Bounds
from assay.adapters.inference.exchange import Exchange
from assay.adapters.inference.openai_compatible import OpenAiCompatible
from assay.adapters.reasoning.general import GeneralReasoner
from assay.flows.verdicts.read_verdicts import show_verdict
from assay.flows.verdicts.replay_verdict import replay_verdicts
from assay.flows.verdicts.sovereignty import attest_sovereignty
from assay.verdicts.graph.open import SovereigntyMode
from assay.verdicts.replay import summarise_replays
from assay.verdicts.sovereignty import Place, PlaceKind
from tests.adapters.inference.loopback import served
from tests.adapters.inference.obeying import OpenAiServer, only_value, smallest
from tests.contract._kit import refused
from tests.flows._node import TENANT
from tests.flows._verdicts import WEIGHTS, VerdictDesk, opened_verdicts, rule

Writes = Callable[[dict[str, Any]], str]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[VerdictDesk]:
    with opened_verdicts(tmp_path) as opened:
        yield opened


@contextmanager
def asked_by(desk: VerdictDesk, writes: Writes, *, is_strict: bool = True) -> Iterator[OpenAiServer]:
    """The desk with a general model behind a real server on loopback."""
    script = OpenAiServer(writes)
    with served(script) as server:
        backend = OpenAiCompatible(Exchange(server.address), model="m", weight_hash=WEIGHTS)
        model = BoundedModel(backend, Bounds(timeout_seconds=20))
        place = Place(kind=PlaceKind.LOOPBACK)
        desk.settings(mode=SovereigntyMode.STRICT if is_strict else SovereigntyMode.ADVISORY)
        desk.use(reasoner=GeneralReasoner(model, SystemClock(), place=place, is_exact=True, is_strict=is_strict))
        yield script


def _schema(asked: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = asked["response_format"]["json_schema"]["schema"]
    return schema


def _is_canary(asked: dict[str, Any]) -> bool:
    return "canary" in _schema(asked)["properties"]


def says(verdict: str, observed: float, *, satisfied: bool, around: str = "{}") -> Writes:
    """A server that is bound, and says this of one obligation; `around` is what it writes around its JSON."""

    def write(asked: dict[str, Any]) -> str:
        if _is_canary(asked):
            return only_value(_schema(asked))
        reply = smallest(_schema(asked)) | {"verdict": verdict, "reasoning": "because"}
        reply["formalizable_assertions"][0] |= {"observed": observed, "satisfied": satisfied}
        return around.replace("{}", json.dumps(reply))

    return write


@pytest.mark.clause("ski", "5.2")
def test_an_honest_general_model_is_agreed_with_and_its_template_is_on_record(desk: VerdictDesk) -> None:
    desk.judge_by(rule("so2"))
    with asked_by(desk, says("FLAG", 36, satisfied=False)):
        decided = desk.decide({"so2": 36})
        assert decided.overall.verdict == "FLAG"
        envelope = decided.verdicts[0].envelope
        assert envelope is not None
        assert envelope.model_provenance.prompt_template_id == "general-1"
        assert (envelope.verifier_result.status, envelope.verifier_result.divergences) == ("AGREED", ())
        assert summarise_replays(replay_verdicts(desk.tools, TENANT)).is_clean


@pytest.mark.clause("ski", "5.4")
@pytest.mark.parametrize("tier", ["medium", "high"])
def test_a_lying_general_model_never_turns_a_breach_into_clear(desk: VerdictDesk, tier: str) -> None:
    desk.judge_by(rule("so2", tier=tier))
    with asked_by(desk, says("CLEAR", 34, satisfied=True)):
        decided = desk.decide({"so2": 36})
    assert decided.overall.verdict != "CLEAR"
    envelope = decided.verdicts[0].envelope
    assert envelope is None or envelope.verifier_result.divergences


@pytest.mark.clause("ski", "5.2")
@pytest.mark.parametrize(
    "around",
    ["<think>36 is less than 35</think>{}", "```json\n{}\n```", "Sure! {}", "{} I hope that helps.", "{}{}"],
)
def test_text_outside_the_json_is_a_divergence_and_never_repaired(desk: VerdictDesk, around: str) -> None:
    desk.judge_by(rule("so2"))
    with asked_by(desk, says("FLAG", 36, satisfied=False, around=around)):
        decided = desk.decide({"so2": 36})
        assert decided.overall.verdict == "DISCRETIONARY"
        envelope = decided.verdicts[0].envelope
        assert envelope is not None
        assert any(one.startswith("reply.unparsed") for one in envelope.verifier_result.divergences)
        assert summarise_replays(replay_verdicts(desk.tools, TENANT)).counts.get("REPLAY_DIVERGENCE", 0) == 0


def _unbound(asked: dict[str, Any]) -> str:
    """A server that ignores its grammar, with a model that happens to write the right JSON."""
    return "no" if _is_canary(asked) else says("FLAG", 36, satisfied=False)(asked)


@pytest.mark.clause("ski", "2.1.3")
def test_strict_mode_takes_no_verdict_of_a_server_that_is_not_bound(desk: VerdictDesk) -> None:
    desk.judge_by(rule("so2"))
    with asked_by(desk, _unbound), refused("model.grammar_unbound"):
        desk.decide({"so2": 36}, name="t-1")
    with refused("flow.not_found"):
        show_verdict(desk.tools, TENANT, "t-1")


@pytest.mark.clause("ski", "2.1.3")
def test_advisory_mode_lists_among_the_divergences_that_a_server_is_not_bound(desk: VerdictDesk) -> None:
    desk.judge_by(rule("so2"))
    with asked_by(desk, _unbound, is_strict=False):
        decided = desk.decide({"so2": 36})
        envelope = decided.verdicts[0].envelope
        assert envelope is not None
        assert [one.partition(":")[0] for one in envelope.verifier_result.divergences] == ["model.grammar_unbound"]
        assert (decided.overall.verdict, envelope.verifier_result.status) == ("FLAG", "AGREED")
        assert summarise_replays(replay_verdicts(desk.tools, TENANT)).is_clean


@pytest.mark.clause("ski", "9.3")
def test_a_node_whose_model_gives_no_receipts_says_that_level_3_is_not_claimed(desk: VerdictDesk) -> None:
    desk.judge_by(rule("so2"))
    with asked_by(desk, says("CLEAR", 30, satisfied=True)):
        document = attest_sovereignty(desk.tools, TENANT, at=desk.at(minutes=1)).document
    assert document.receipts == "Level 3 is not claimed: the backend `openai-compatible` gives no receipts"
