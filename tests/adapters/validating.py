"""Questions that tests of validators start from: a flood report that nothing speaks against, free to be spoiled."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from assay.kernel.instant import Instant, parse_instant
from assay.ports.validator import EvidenceFact, Question, Sighting
from assay.truth.contract import Route, SimilarityMethod, Stage, StageName, StageRoutes
from assay.truth.evidence import Fingerprint
from assay.truth.observation import hash_observation, parse_observation
from assay.truth.place import Location
from tests.truth.records import HASH_A, HASH_B, OBSERVATION, changed, contract

__all__ = ["HASH_A", "HASH_B", "asked", "at", "fact", "mark", "report", "sighting", "stage_of"]

_PIECES = [
    {
        "uri": f"gs://evidence/{name}.jpg",
        "sha256": sha256,
        "mime_type": "image/jpeg",
        "capture_time": "2026-01-07T11:30:00Z",
    }
    for name, sha256 in (("one", HASH_A), ("two", HASH_B))
]


def at(text: str) -> Instant:
    return parse_instant(f"2026-01-{text}Z")


def report(changes: Mapping[str, object] | None = None) -> dict[str, Any]:
    value = {**OBSERVATION, "evidence_refs": _PIECES}
    for path, to in (changes or {}).items():
        value = changed(value, path, to)
    return value


def fact(sha256: str, bits: str = "0f0f0f0f0f0f0f0f", **members: Any) -> EvidenceFact:  # noqa: ANN401 - any member
    given = {"size": 50_000, "media_type": "image/jpeg", "width": 1600, "height": 1200}
    return EvidenceFact(sha256=sha256, fingerprints=(mark(sha256, bits),), **{**given, **members})


def mark(sha256: str, bits: str, method: SimilarityMethod = SimilarityMethod.PHASH) -> Fingerprint:
    return Fingerprint(sha256=sha256, method=method, bits=bits)


def sighting(when: str, lat: float, lon: float) -> Sighting:
    return Sighting(reported_at=at(when), geo=Location(lat=lat, lon=lon))


def stage_of(*checks: str, engine: str = "rules") -> Stage:
    return Stage(
        engine=engine,
        checks=checks,
        pass_threshold=Decimal("0.6"),
        fail_threshold=Decimal("0.2"),
        routes=StageRoutes(passed=Route.ACCEPT, fail=Route.REJECT, uncertain=Route.HUMAN),
    )


def asked(
    changes: Mapping[str, object] | None = None,
    *,
    law: str = "flood_v1",
    stage: StageName = StageName.BOUNCER,
    **given: Any,  # noqa: ANN401 - any member of a question
) -> Question:
    """About a report received a minute after it was made, with facts about both of its pictures."""
    facts = (fact(HASH_A), fact(HASH_B, "00ff00ff00ff00ff"))
    return Question(
        contract=given.pop("contract", None) or contract(law),
        stage_name=stage,
        observation=hash_observation(parse_observation(report(changes))),
        received_at=given.pop("received_at", at("07T12:01:00")),
        **{"facts": facts, **given},
    )
