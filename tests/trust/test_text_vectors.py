"""Standings and effective trust are what an author who knew the text alone says they are."""

import json
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from assay.kernel.instant import parse_instant
from assay.trust.evolve import Fold
from assay.trust.freeze import effective_share
from assay.trust.signal import TrustSignal
from tests.trust.signals import emitted, outcome, penalty, policy, registered

_FILE: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "trust" / "by_the_text.json").read_text())
_POLICY = policy()


@pytest.mark.parametrize("steps", _FILE["logs"])
def test_a_log_of_outcomes_and_penalties_leaves_these_standings(steps: list[dict[str, Any]]) -> None:
    """Learning, the two limits, decay and both ends of the scale together, step by step."""
    fold = Fold(_POLICY)
    for agent_id in steps[0]["standings"]:
        fold.add(registered(agent_id, when="2026-01-08T00:00:00Z"))
    for place, step in enumerate(steps):
        fold.add(_signal(place, step))
        at = parse_instant(step["at"])
        got = {agent_id: fold.get_standing(agent_id, at) for agent_id in step["standings"]}
        assert got == {agent_id: Decimal(text) for agent_id, text in step["standings"].items()}, place


def _signal(place: int, step: dict[str, Any]) -> TrustSignal:
    """Each state is of a key of its own, each penalty of a ticket of its own."""
    if "penalty" in step:
        agent_id, points = step["penalty"]
        letters = sha256(str(place).encode()).hexdigest().translate(str.maketrans("01", "gh"))
        return penalty(agent_id, float(points), ticket=f"tkt_{letters[:26]}", when=step["at"])
    outcomes = [outcome(agent_id, correct, float(quality)) for agent_id, correct, quality in step["outcomes"]]
    return emitted(
        *outcomes,
        when=step["at"],
        truthkey=f"earth:flood:h3:8861892c41fffff:surface:2025-01-07T{place:02d}:00Z",
        state_hash=sha256(f"state {place}".encode()).hexdigest(),
    )


def test_effective_trust_is_the_formula_of_the_text() -> None:
    """Sigmoid, bonuses, the own probe and both phases, worked out with sixty digits."""
    parameters = _POLICY.parameters_for(None, "user:a")
    for case in _FILE["effective"]:
        share = effective_share(
            Decimal(case["standing"]),
            parameters,
            bonus=Decimal(case["bonus"]),
            in_own_probe=case["in_own_probe"],
        )
        assert share == Decimal(case["share"]), case
