"""Canonical bytes and SHA-256 of a nested record of 1.8 KB, beside rfc8785; and reading the same text strictly."""

import json
from datetime import datetime
from hashlib import sha256

import orjson
import rfc8785
from msgspec import Struct, convert

from assay.kernel.canonical import Profile, canonical_hash, canonicalize
from assay.kernel.json_text import parse_json
from bench._frame import Figure, compare, print_table

__all__ = ["RECORD", "figures"]


def _assertion(number: int) -> dict[str, object]:
    return {
        "obligation_id": f"obl-{number:04d}",
        "predicate": "max_value",
        "metric": "cold_chain.temperature_c",
        "expected": 8.5,
        "observed": 7.25 + number / 10,
        "satisfied": number % 3 != 0,
        "source": {"document": "sop-114", "clause": f"4.{number}", "page": 12 + number},
    }


# As it comes from a parser: dicts and lists, keys not in order, a few floats, a few nulls, ASCII but for one word.
RECORD: dict[str, object] = {
    "verdict": "FLAG",
    "subject": "shipment:eu-central/2026-000417",
    "kind": "verdict.final",
    "sequence": 90_071_992,
    "risk_tier": "medium",
    "confidence": 0.8125,
    "recorded_at": "2026-01-07T12:00:00.25Z",
    "site": "Zürich",
    "human_attestation": None,
    "hashes": {"graph": "sha256:" + "3f" * 32, "prompt": "sha256:" + "a7" * 32, "previous": "sha256:" + "0c" * 32},
    "assertions": [_assertion(number) for number in range(1, 7)],
    "window": {"from": "2026-01-07T11:00:00Z", "to": "2026-01-07T12:00:00Z", "values": [6.9, 7.1, 7.35, 8.2, 8.75]},
    "notes": ["two readings missing between 11:20 and 11:30", "door opened twice"],
}
_ASCII = RECORD | {"site": "Basel"}
_INTEGRAL = RECORD | {"confidence": 1.0}
_TEXT = orjson.dumps(RECORD)


def _peer(record: dict[str, object]) -> str:
    return sha256(rfc8785.dumps(record)).hexdigest()  # type: ignore[arg-type]  # its alias wants invariant containers


def _hashing(record: dict[str, object], profile: Profile, *, target: float, note: str) -> Figure:
    """The peer always writes RFC 8785, which is the nearest it has to `kaori-2.1`."""
    # A figure for other bytes would be worth nothing.
    assert canonical_hash(record) == _peer(record)  # noqa: S101 - as above
    return compare(
        f"canonical + SHA-256, {len(canonicalize(record, profile))} bytes",
        lambda: canonical_hash(record, profile),
        lambda: _peer(record),
        peer_name="rfc8785",
        target=target,
        note=note,
    )


class _Source(Struct, frozen=True, kw_only=True):
    document: str
    clause: str
    page: int


class _Assertion(Struct, frozen=True, kw_only=True):
    obligation_id: str
    predicate: str
    metric: str
    expected: float
    observed: float
    satisfied: bool
    source: _Source


class _Window(Struct, frozen=True, kw_only=True, rename={"start": "from", "end": "to"}):
    start: str
    end: str
    values: tuple[float, ...]


class _Verdict(Struct, frozen=True, kw_only=True):
    """The same record as our own code holds it."""

    verdict: str
    subject: str
    kind: str
    sequence: int
    risk_tier: str
    confidence: float
    recorded_at: datetime
    site: str
    human_attestation: str | None
    hashes: dict[str, str]
    assertions: tuple[_Assertion, ...]
    window: _Window
    notes: tuple[str, ...]


def _of_a_struct() -> Figure:
    """The peer knows no structs: it is given the dictionaries for nothing, and its instant as text."""
    record = convert(RECORD, _Verdict)
    assert canonical_hash(record) == _peer(RECORD)  # noqa: S101 - as above
    return compare(
        f"canonical + SHA-256 of a struct, {len(canonicalize(record))} bytes",
        lambda: canonical_hash(record),
        lambda: _peer(RECORD),
        peer_name="rfc8785 of dictionaries",
        target=4,
        note="ski-3.0",
    )


def figures() -> list[Figure]:
    return [
        _hashing(RECORD, Profile.SKI, target=5, note="ski-3.0"),
        _hashing(_ASCII, Profile.SKI, target=5, note="ski-3.0, ASCII"),
        _hashing(_INTEGRAL, Profile.SKI, target=2, note="ski-3.0, with a float that must be rewritten"),
        _hashing(RECORD, Profile.KAORI, target=5, note="kaori-2.1"),
        _of_a_struct(),
        compare(
            "strict JSON, same text",
            lambda: parse_json(_TEXT),
            lambda: json.loads(_TEXT),
            peer_name="json.loads (not strict)",
            target=0.4,
        ),
    ]


if __name__ == "__main__":
    print_table(figures())
