"""Contracts, speakers and votes that the compiler's tests start from, each a short call."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import orjson

from assay.kernel.instant import Instant, parse_instant
from assay.truth.ai_score import AiScore, parse_ai_score
from assay.truth.compile import compile_truth_state
from assay.truth.contract import Contract, ContradictionRule, Derivation, Standing
from assay.truth.gather import Gathered
from assay.truth.number import whole_millionths
from assay.truth.observation import HashedObservation, hash_observation, parse_observation
from assay.truth.parse_contract import parse_contract
from assay.truth.reading import Readings, number_column, plan_readings, read_payload, text_column
from assay.truth.ready import ReadyObservation
from assay.truth.snapshot import AgentTrust, TrustSnapshot, freeze_snapshot
from assay.truth.state import TruthState
from assay.truth.vote import Vote, parse_vote
from assay.truth.window import WindowEvent, parse_window_event
from tests.truth.records import OBSERVATION, changed, document, hash_of_text, schema_bytes

__all__ = [
    "KEY",
    "at",
    "compiled",
    "disputed",
    "flood",
    "observed",
    "readings",
    "scored",
    "scores_for",
    "trusted",
    "voted",
    "window",
]

# The cell of 4.175 north, 73.509 east at resolution 8, and the hour after noon.
KEY = "earth:flood:h3:886142a8e7fffff:surface:2026-01-07T12:00Z"


def at(text: str) -> Instant:
    """`13:30` on the day of the key, or a whole instant."""
    return parse_instant(text if "T" in text else f"2026-01-07T{text}:00Z")


def flood(changes: Mapping[str, object] | None = None, *, name: str = "flood_v1") -> Contract:
    """A shipped contract in which the members at some dotted paths are others."""
    value = document(name)
    for path, to in (changes or {}).items():
        value = changed(value, path, to)
    schema = schema_bytes(name) if "output_schema_ref" in value else None
    return _parsed(orjson.dumps(value).decode(), schema)


@cache
def _parsed(text: str, schema: bytes | None) -> Contract:
    """Reading a contract takes longer than compiling by it, and a law is tried on the same one again and again."""
    return parse_contract(text, schema_bytes=schema)


def observed(
    reporter: str,
    payload: dict[str, object] | None = None,
    *,
    reported: str = "12:10",
    received: str | None = None,
    **members: object,
) -> HashedObservation:
    """An observation of the key, with a picture of its own; it reaches us when it is made, unless told otherwise."""
    picture = {
        "uri": "gs://kaori-evidence/a.jpg",
        "sha256": hash_of_text(f"{reporter} {reported}"),
        "mime_type": "image/jpeg",
    }
    value = {
        **OBSERVATION,
        "observation_id": f"obs-{reporter.replace(':', '-')}-{reported.replace(':', '')}".lower(),
        "reporter_id": reporter,
        "reported_at": f"2026-01-07T{reported}:00Z" if "T" not in reported else reported,
        "payload": {"severity": "high", "water_level_meters": 1.25} if payload is None else payload,
        "evidence_refs": [picture],
        **members,
    }
    observation = parse_observation(value)
    return hash_observation(observation, observation.reported_at if received is None else at(received))


def trusted(**agents: str) -> TrustSnapshot:
    """Agents `user:<name>` with a standing; `-` before it makes them inadmissible, `@0.3` after it gives the trust."""
    return freeze_snapshot("s-1", at("11:00"), {f"user:{name}": _trust(said) for name, said in agents.items()})


def _trust(said: str) -> AgentTrust:
    standing, _, score = said.lstrip("-").partition("@")
    return AgentTrust(
        standing=Standing(standing), trust_score=Decimal(score or "0.8"), admissible=not said.startswith("-")
    )


def scored(observation: HashedObservation, stage: str, score: float, **members: object) -> AiScore:
    engines = {"bouncer": "rules", "generalist": "local-vision", "specialist": "flood-segmentation"}
    return parse_ai_score(
        {
            "score_id": f"score-{stage}-{score}",
            "observation_hash": observation.observation_hash,
            "stage": stage,
            "engine": engines[stage],
            "engine_version": "1",
            "score": score,
            "scored_at": "2026-01-07T12:30:00Z",
            "failed_checks": [],
            **members,
        }
    )


def scores_for(observations: Sequence[HashedObservation], score: float = 0.95) -> list[AiScore]:
    """The bouncer lets each pass, the generalist gives the score."""
    return [given for one in observations for given in (scored(one, "bouncer", 0.9), scored(one, "generalist", score))]


def voted(voter: str, vote_type: str = "RATIFY", *, cast: str = "13:00", **members: object) -> Vote:
    return parse_vote(
        {
            "vote_id": f"vote-{voter.replace(':', '-')}-{cast.replace(':', '')}".lower(),
            "truthkey": KEY,
            "voter_id": voter,
            "vote_type": vote_type,
            "cast_at": f"2026-01-07T{cast}:00Z",
            "seen_hash": None,
            "override_status": None,
            "reason": "",
            **members,
        }
    )


def window(
    kind: str = "WINDOW_OPENED", *, occurred: str = "12:30", closes: str | None = "18:30", **members: object
) -> WindowEvent:
    return parse_window_event(
        {
            "event_id": f"event-{kind.lower()}-{occurred.replace(':', '')}",
            "truthkey": KEY,
            "kind": kind,
            "by": "policy:flow_v1",
            "occurred_at": f"2026-01-07T{occurred}:00Z",
            "closes_at": None if closes is None else f"2026-01-07T{closes}:00Z",
            "reason": "",
            **members,
        }
    )


def disputed(occurred: str, *, until: str, by: str = "user:dot") -> WindowEvent:
    """The round that somebody's dispute of a final state opened."""
    return window(occurred=occurred, closes=until, by=by, dispute_hash="d" * 64)


def readings(
    rules: Iterable[Derivation],
    contradictions: Iterable[ContradictionRule],
    spoken: Sequence[tuple[str, Mapping[str, object], int]],
) -> Readings:
    """From weights, payloads and moments."""
    plan = plan_readings(rules, contradictions)
    read = [read_payload(plan, payload) for _, payload, _ in spoken]
    texts = [text_column(tuple(one.texts[place] for one in read)) for place in range(len(plan.text_paths))]
    numbers = [number_column(tuple(one.numbers[place] for one in read)) for place in range(len(plan.number_paths))]
    return Readings(
        dict(zip(plan.text_paths, texts, strict=True)),
        dict(zip(plan.number_paths, numbers, strict=True)),
        [whole_millionths(Decimal(weight)) for weight, _, _ in spoken],
        lambda: [(place, "") for _, _, place in spoken],
    )


def compiled(
    contract: Contract,
    observations: Sequence[HashedObservation | ReadyObservation] | Gathered,
    snapshot: TrustSnapshot,
    *,
    now: str = "13:30",
    **given: Any,  # noqa: ANN401 - whatever the compiler takes
) -> TruthState:
    arguments = {
        "truth_key": KEY,
        "policy_version": contract.policy_version,
        "compiler_version": "assay-test",
        "compile_time": at(now),
        **given,
    }
    return compile_truth_state(contract, observations=observations, trust_snapshot=snapshot, **arguments)
