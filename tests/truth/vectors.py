"""The vectors of the compiler, brought into the compiler's own types; runs as a command under any interpreter.

`python -m tests.truth.vectors` prints a line for each case: its name, and the SHA-256 of the state's bytes or a code.
"""

import json
from copy import deepcopy
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]  # ships no types

from assay.kernel.errors import Error
from assay.kernel.instant import parse_instant
from assay.truth._read import read_record
from assay.truth._wire import canonical_value
from assay.truth.ai_score import AiScore, parse_ai_score
from assay.truth.compile import compile_truth_state
from assay.truth.contract import Contract
from assay.truth.observation import HashedObservation, hash_observation, parse_observation
from assay.truth.parse_contract import parse_contract
from assay.truth.snapshot import AgentTrust, TrustSnapshot, freeze_snapshot
from assay.truth.state import TruthState, render_truth_state
from assay.truth.vote import Vote, parse_vote
from assay.truth.window import WindowEvent, parse_window_event

__all__ = ["CASES", "compiled_case", "digests"]

_ROOT = Path(__file__).parents[2]
_CONTRACTS = _ROOT / "examples" / "contracts"
_FOLDER = _ROOT / "tests" / "vectors" / "truth"
_FILE, _ROUNDS = (json.loads((_FOLDER / name).read_text()) for name in ("compile.json", "rounds.json"))
_DEFAULTS = {name: _ROUNDS[name] for name in ("trust", "observations", "scores")}
CASES: list[dict[str, Any]] = [
    *_FILE["cases"],
    *({**case, "given": _DEFAULTS | case["given"]} for case in _ROUNDS["cases"]),
]
_KEY: str = _FILE["key"]
_ENGINES = {"bouncer": "rules", "generalist": "local-vision", "specialist": "flood-segmentation"}


def compiled_case(case: dict[str, Any]) -> TruthState:
    given = case["given"]
    contract = _contract(given.get("changes", {}))
    observations = [_observation(place, one) for place, one in enumerate(given["observations"], 1)]
    return compile_truth_state(
        contract,
        _KEY,
        observations,
        _snapshot(given["trust"]),
        votes=[_vote(*vote) for vote in given.get("votes", [])],
        ai_scores=[_score(observations, *score) for score in given.get("scores", [])],
        window_events=[_event(*event) for event in given.get("window", [])],
        policy_version=contract.policy_version,
        compiler_version="vectors",
        compile_time=parse_instant(given.get("now", _at("13:30"))),
        sealed_at=[parse_instant(_at(time)) for time in given.get("sealed", [])],
    )


def _at(time: str) -> str:
    return time if "T" in time else f"2026-01-07T{time}:00Z"


def _contract(changes: dict[str, object]) -> Contract:
    value = deepcopy(_flood())
    for path, to in changes.items():
        *way, last = path.split(".")
        inner = value
        for name in way:
            inner = inner[name]
        inner[last] = to
    return _parsed(json.dumps(value))


@cache
def _flood() -> dict[str, Any]:
    value: dict[str, Any] = yaml.safe_load((_CONTRACTS / "flood_v1.yaml").read_text())
    return value


@cache
def _parsed(text: str) -> Contract:
    return parse_contract(text, schema_bytes=(_CONTRACTS / "schemas" / "output" / "flood_v1.json").read_bytes())


def _snapshot(trust: dict[str, list[Any]]) -> TrustSnapshot:
    trusts = {
        f"user:{name}": {
            "standing": standing,
            "trust_score": score,
            "admissible": more[0] if more else True,
            **({"competence": more[1]} if more[1:] else {}),
        }
        for name, (standing, score, *more) in trust.items()
    }
    agents = {name: read_record(canonical_value(one), AgentTrust) for name, one in trusts.items()}
    return freeze_snapshot("vectors", parse_instant(_at("12:00")), agents)


def _observation(place: int, said: dict[str, Any]) -> HashedObservation:
    picture = said.get("picture", f"{place:02d}")
    return hash_observation(
        received_at=parse_instant(_at(said.get("received", said["at"]))),
        observation=parse_observation(
            {
                **_FILE["observation"],
                **{name: part for name, part in said.items() if name in ("claim_type", "geo")},
                "observation_id": f"obs-{said['by']}-{said['at'].replace(':', '')}",
                "reported_at": _at(said["at"]),
                "reporter_id": f"user:{said['by']}",
                "payload": said["payload"],
                "evidence_refs": []
                if picture is None
                else [{"uri": "gs://evidence/picture", "sha256": picture * 32, "mime_type": "image/jpeg"}],
            }
        ),
    )


def _score(observations: list[HashedObservation], reporter: str, stage: str, score: float) -> AiScore:
    [one] = [one for one in observations if one.observation.reporter_id == f"user:{reporter}"]
    return parse_ai_score(
        {
            "score_id": f"score-{reporter}-{stage}",
            "observation_hash": one.observation_hash,
            "stage": stage,
            "engine": _ENGINES[stage],
            "engine_version": "1",
            "score": score,
            "scored_at": _at("12:30"),
        }
    )


def _vote(name: str, kind: str, time: str, override: str | None = None, seen: str | None = None) -> Vote:
    return parse_vote(
        {
            "vote_id": f"vote-{name}-{time.replace(':', '')}",
            "truthkey": _KEY,
            "voter_id": f"user:{name}",
            "vote_type": kind,
            "cast_at": _at(time),
            "seen_hash": seen,
            "override_status": override,
        }
    )


def _event(kind: str, time: str, closes: str | None, cause: str | None = None) -> WindowEvent:
    return parse_window_event(
        {
            "event_id": f"event-{kind.lower()}-{time.replace(':', '')}",
            "truthkey": _KEY,
            "kind": kind,
            "by": "policy:flow_v1",
            "occurred_at": _at(time),
            "closes_at": None if closes is None else _at(closes),
            "dispute_hash": sha256(cause.encode()).hexdigest() if cause else None,
        }
    )


def digests() -> dict[str, str]:
    """By case: the SHA-256 of the whole state's bytes, or the code of its refusal."""
    return {case["name"]: _digest(case) for case in CASES}


def _digest(case: dict[str, Any]) -> str:
    try:
        return sha256(render_truth_state(compiled_case(case))).hexdigest()
    except Error as error:
        return error.code


if __name__ == "__main__":
    print("\n".join(f"{name} {digest}" for name, digest in digests().items()))  # noqa: T201 - it is a command
