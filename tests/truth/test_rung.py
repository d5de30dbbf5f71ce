"""The rung that is due."""

from hypothesis import given
from hypothesis import strategies as st

from assay.truth.ai_score import AiScore
from assay.truth.contract import StageName
from assay.truth.ladder import Ending, climb_ladder
from assay.truth.rung import find_due_rung
from tests.truth.compiling import flood, observed, scored

_SAID = observed("user:ann")
_ROUTING = flood().ai_validation_routing
_SCORE = st.none() | st.sampled_from([0.0, 0.15, 0.2, 0.5, 0.6, 0.8, 0.85, 1.0])


@given(bouncer=_SCORE, generalist=_SCORE, specialist=_SCORE)
def test_a_rung_is_due_exactly_where_the_climb_waits(
    bouncer: float | None, generalist: float | None, specialist: float | None
) -> None:
    """One more score at that rung, and the climb goes on from there."""
    given_scores = {"bouncer": bouncer, "generalist": generalist, "specialist": specialist}
    scores: dict[tuple[str, StageName], AiScore] = {
        (_SAID.observation_hash, StageName(name)): scored(_SAID, name, score)
        for name, score in given_scores.items()
        if score is not None
    }
    due = find_due_rung(_ROUTING, _SAID.observation_hash, scores)
    assert (due is not None) is (climb_ladder(_ROUTING, _SAID.observation_hash, scores).ending is Ending.WAITING)
    if due is not None:
        assert (_SAID.observation_hash, due) not in scores
        more = {**scores, (_SAID.observation_hash, due): scored(_SAID, due.value, 1.0)}
        assert find_due_rung(_ROUTING, _SAID.observation_hash, more) != due


def test_the_bouncer_is_due_first() -> None:
    assert find_due_rung(_ROUTING, _SAID.observation_hash, {}) is StageName.BOUNCER


def test_a_rung_that_the_contract_leaves_out_is_never_due() -> None:
    """The ladder waits there for ever, which no engine can change."""
    alone = flood(
        {
            "ai_validation_routing.generalist": ...,
            "ai_validation_routing.specialist": ...,
            "ai_validation_routing.bouncer.routes": {"pass": "accept", "fail": "reject", "uncertain": "human"},
        }
    )
    routing = alone.ai_validation_routing
    scores = {(_SAID.observation_hash, StageName.BOUNCER): scored(_SAID, "bouncer", 1.0)}
    assert find_due_rung(routing, _SAID.observation_hash, scores) is None
