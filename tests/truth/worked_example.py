"""The example that `docs/truth.md` explains: `examples/truth/flood.json`, compiled under the shipped contract."""

import json
from pathlib import Path
from typing import Any

from assay.kernel.instant import parse_instant
from assay.truth.ai_score import AiScore, parse_ai_score
from assay.truth.compile import compile_truth_state
from assay.truth.contract import Contract
from assay.truth.observation import hash_observation, observation_hash, parse_observation
from assay.truth.parse_contract import parse_contract
from assay.truth.snapshot import parse_snapshot
from assay.truth.state import TruthState
from assay.truth.vote import parse_vote
from assay.truth.window import parse_window_event

_EXAMPLES = Path(__file__).parents[2] / "examples"
GIVEN: dict[str, Any] = json.loads((_EXAMPLES / "truth" / "flood.json").read_text())


def example_contract() -> Contract:
    file = _EXAMPLES / str(GIVEN["contract"])
    schema = (file.parent / "schemas" / "output" / "flood_v1.json").read_bytes()
    return parse_contract(file.read_text(), schema_bytes=schema)


def compiled_example() -> TruthState:
    law = example_contract()
    observations = [parse_observation(one) for one in GIVEN["observations"]]
    hashes = {one.observation_id: observation_hash(one) for one in observations}
    return compile_truth_state(
        law,
        GIVEN["truthkey"],
        [hash_observation(one) for one in observations],
        parse_snapshot(GIVEN["trust_snapshot"]),
        votes=[parse_vote(_vote(one)) for one in GIVEN["votes"]],
        ai_scores=[_score(one, hashes) for one in GIVEN["ai_scores"]],
        window_events=[parse_window_event(_window())],
        policy_version=law.policy_version,
        compiler_version=GIVEN["compiler_version"],
        compile_time=parse_instant(GIVEN["compile_time"]),
    )


def _vote(given: dict[str, Any]) -> dict[str, Any]:
    name = str(given["voter_id"]).partition(":")[2]
    return {"vote_id": f"vote-{name}", "truthkey": GIVEN["truthkey"], **given}


def _score(given: dict[str, Any], hashes: dict[str, str]) -> AiScore:
    said = {key: value for key, value in given.items() if key != "observation_id"}
    return parse_ai_score(
        {
            "score_id": f"score-{given['observation_id']}-{given['stage']}",
            "observation_hash": hashes[given["observation_id"]],
            "engine_version": "1",
            "scored_at": "2026-01-07T12:25:00Z",
            **said,
        }
    )


def _window() -> dict[str, Any]:
    return {
        "event_id": "window-1",
        "truthkey": GIVEN["truthkey"],
        "kind": "WINDOW_OPENED",
        "by": "policy:validation_flow",
        "occurred_at": GIVEN["window"]["opened_at"],
        "closes_at": GIVEN["window"]["closes_at"],
    }
