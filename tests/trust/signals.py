"""Signals, policies and folds that tests start from, as plain values anyone can read."""

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]  # ships no types

from assay.kernel.instant import Instant, parse_instant
from assay.trust.evolve import Fold
from assay.trust.parse_policy import parse_policy
from assay.trust.policy import TrustPolicy
from assay.trust.signal import TrustSignal, parse_signal

EXAMPLES = Path(__file__).parents[2] / "examples" / "trust"
KEY = "earth:flood:h3:8861892c41fffff:surface:2026-01-07T12:00Z"
OTHER_KEY = "earth:flood:h3:8861892c43fffff:surface:2026-01-07T12:00Z"
CLAIM_TYPE = "earth.flood.v1"
NODE = "service:node"
SIGNER = "sha256:" + "0" * 64
TICKET = "tkt_" + "a" * 26
DAY_ONE = "2026-01-08T10:00:00Z"


def policy_text(name: str = "flow_v1") -> str:
    return (EXAMPLES / f"{name}.yaml").read_text()


def policy_document(name: str = "flow_v1") -> dict[str, Any]:
    """A policy as another reader sees it, free to be spoiled."""
    value: dict[str, Any] = yaml.safe_load(policy_text(name))
    return value


def policy(**changes: object) -> TrustPolicy:
    """The shipped policy with some blocks replaced."""
    return parse_policy(yaml.safe_dump({**policy_document(), **changes}))


def at(day: int = 0, hour: int = 10) -> str:
    """Days from 8 January 2026 on."""
    return (parse_instant(DAY_ONE).replace(hour=hour) + timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%SZ")


def instant(day: int = 0, hour: int = 10) -> Instant:
    return parse_instant(at(day, hour))


def signal(kind: str, body: dict[str, object], *, by: str = NODE, when: str = DAY_ONE) -> TrustSignal:
    return parse_signal({"signal_id": "s", "kind": kind, "agent_id": by, "occurred_at": when, "object": body})


def registered(agent_id: str, *, when: str = DAY_ONE) -> TrustSignal:
    return signal("AGENT_REGISTERED", {"agent_id": agent_id}, when=when)


def outcome(agent_id: str, correct: object = True, quality: object = 1, **more: object) -> dict[str, object]:  # noqa: FBT002 - reads as what is recorded
    return {"agent_id": agent_id, "role": "reporter", "correct": correct, "quality": quality, **more}


def emitted(*outcomes: dict[str, object], when: str = DAY_ONE, **more: object) -> TrustSignal:
    body: dict[str, object] = {
        "truthkey": KEY,
        "claim_type": CLAIM_TYPE,
        "state_hash": "a" * 64,
        "status": "VERIFIED_TRUE",
        "signed_by": SIGNER,
        "outcomes": list(outcomes),
        **more,
    }
    return signal("TRUTHSTATE_EMITTED", body, when=when)


def endorsed(by: str, whom: str, weight: object = 1, *, when: str = DAY_ONE) -> TrustSignal:
    return signal("ENDORSEMENT", {"endorsed": whom, "weight": weight}, by=by, when=when)


def penalty(agent_id: str, points: object, *, ticket: str = TICKET, when: str = DAY_ONE) -> TrustSignal:
    body: dict[str, object] = {
        "agent_id": agent_id,
        "points": points,
        "ticket_id": ticket,
        "answer_hashes": ["b" * 64],
    }
    return signal("PENALTY_APPLIED", body, by="user:judge", when=when)


def fold_of(*signals: TrustSignal, under: TrustPolicy | None = None) -> Fold:
    fold = Fold(under or policy())
    for one in signals:
        fold.add(one)
    return fold


def standing(fold: Fold, agent_id: str, day: int = 0, hour: int = 10) -> Decimal:
    return fold.get_standing(agent_id, instant(day, hour))
