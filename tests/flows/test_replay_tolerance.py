"""A model that is not exact may write something else in a replay, as far as the receipt's tolerance goes (SKI 8.2)."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.adapters.clock import SystemClock
from assay.adapters.reasoning.judge import JudgeReasoner, shipped_weights
from assay.adapters.reasoning.judge_here import JudgeHere
from assay.flows.verdicts.replay_verdict import replay_verdicts
from assay.ports.reasoner import ReasonerIdentity
from assay.verdicts.reason import RawReply, ReasonRequest
from assay.verdicts.replay import ReplayResult, ReplayStep
from tests.flows._node import TENANT
from tests.flows._verdicts import VerdictDesk, opened_verdicts, rule


@cache
def _judge() -> JudgeReasoner:
    return JudgeReasoner(JudgeHere(shipped_weights()), SystemClock())


class _Shaky:
    """A judge on other hardware: its scores are `by` off, and where `is_other` it writes another text."""

    def __init__(self, *, tolerance: int, by: int = 0, is_other: bool = False) -> None:
        self._tolerance, self._by, self._is_other = tolerance, by, is_other

    def identify(self) -> ReasonerIdentity:
        return replace(_judge().identify(), is_exact=self._tolerance == 0, score_tolerance=self._tolerance)

    def complete(self, request: ReasonRequest) -> RawReply:
        reply = _judge().complete(request)
        return replace(reply, text=reply.text.replace("more", "MORE")) if self._is_other else reply

    def score(self, request: ReasonRequest, token_ids: Sequence[int]) -> RawReply:
        reply = _judge().score(request, token_ids)
        moved = tuple(tuple((token, score + self._by) for token, score in top) for top in reply.top_scores or ())
        return replace(reply, top_scores=moved)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[VerdictDesk]:
    with opened_verdicts(tmp_path) as opened:
        opened.judge_by(rule("so2"))
        opened.settings(weights=(shipped_weights().expected,), is_backend_tagged=False)
        yield opened


def _replayed(desk: VerdictDesk) -> tuple[ReplayResult, str]:
    (found,) = replay_verdicts(desk.tools, TENANT)
    return found.result, next(one.detail for one in found.steps if one.step is ReplayStep.TRANSCRIPT)


@pytest.mark.clause("ski", "8.2")
def test_another_text_matches_only_within_the_tolerance_of_the_receipt(desk: VerdictDesk) -> None:
    desk.use(reasoner=_Shaky(tolerance=3))
    desk.decide({"so2": 36.5})
    desk.use(reasoner=_Shaky(tolerance=3, by=3, is_other=True))
    assert _replayed(desk) == (ReplayResult.MATCH, "within the receipt's tolerance")
    desk.use(reasoner=_Shaky(tolerance=3, by=4, is_other=True))
    assert _replayed(desk) == (ReplayResult.REPLAY_DIVERGENCE, "the model wrote something else")


@pytest.mark.clause("ski", "8.2")
def test_a_receipt_without_a_tolerance_allows_no_other_text(desk: VerdictDesk) -> None:
    """Nor does it help that the model of the replay would grant itself one."""
    desk.use(reasoner=_Shaky(tolerance=0))
    desk.decide({"so2": 36.5})
    desk.use(reasoner=_Shaky(tolerance=9, is_other=True))
    assert _replayed(desk) == (ReplayResult.REPLAY_DIVERGENCE, "the model wrote something else")
