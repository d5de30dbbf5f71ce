"""Truth and verdicts of the sample: high water around a port over four days, and four sectors under their laws."""

import json
from collections.abc import Iterator, Mapping
from datetime import timedelta
from hashlib import sha256
from typing import Any

from assay.surfaces.cli.contract_template import render_contract
from assay.surfaces.cli.shipped import find_shipped
from assay.surfaces.sample.stage import Stage

_WATER, _DAM = "earth.high_water.v1", "earth.dam_breach.v1"
_REPORTERS = ("user:amira", "user:ben", "user:cem", "user:dina", "user:femke", "sensor:maas-1", "sensor:maas-2")
_ROLES = {"user:rita": "specialist", "user:sam": "official"}
_PORT = (51.905, 4.46)
# The shipped policy, but for newcomers: a week is too short to earn standing.
_NEWCOMERS = (("id: flow_v1\n", "id: port_v1\n"), ("initial_standing: 300\n", "initial_standing: 600\n"))
_WEAKNESSES = ("quick_authority", "sybils_lift_each_other", "collusion_outvotes")
_HELD_LEFT = 2
_WET = 0.3
_SECTORS = ("energy", "finance", "manufacturing", "maritime")


def report_floods(stage: Stage) -> str:
    """Four days of reports in many cells, two rounds a day; people decide about a dam."""
    for text in (render_contract(_WATER), render_contract(_DAM, is_critical=True)):
        stage.do("user:olga", "contract.release", document=text)
    policy = find_shipped("trust/flow_v1.yaml").read_text()
    for shipped, ours in _NEWCOMERS:
        policy = policy.replace(shipped, ours, 1)
    stage.do("user:olga", "policy.register", document=policy, accept=_WEAKNESSES)
    stage.do("user:ada", "agents.admit", agents=[*_REPORTERS, *_ROLES])
    for name, role in _ROLES.items():
        stage.do("user:ada", "agent.grant", agent_id=name, role=role)
    count = 0
    for number in range(stage.size.rounds):
        keys = [_report(stage, report) for report in _round(stage, number)]
        count += len(keys)
        wanted = tuple(dict.fromkeys(keys))
        stage.do("user:olga", "states.score", keys=wanted)
        stage.do("user:olga", "states.compile", keys=wanted)
        stage.clock.advance(timedelta(hours=9))
    breach = {"present": True, "level": 4.5}
    first, second = (_report(stage, _observation(stage, _DAM, who, _PORT, breach, tag="dam")) for who in _REPORTERS[:2])
    dam = min(first, second)
    stage.do("user:olga", "states.score", keys=(dam,))
    stage.do("user:olga", "state.compile", key=dam)
    asked = stage.do("user:rita", "question.show", key=dam)
    stage.do("user:rita", "vote.cast", truthkey=dam, vote_type="RATIFY", seen=asked.shown_hash, reason="seen on site")
    stage.do("user:olga", "penalty.request", agent_id="user:femke", points=40, reason="reported from another city")
    return f"{count} reports of high water in {stage.size.cells} cells, and a dam that two people vote on"


def _round(stage: Stage, number: int) -> Iterator[dict[str, Any]]:
    """Reports of one round: the water rises from the west, and one reporter exaggerates."""
    for cell in range(stage.size.cells):
        place = (_PORT[0] + 0.02 * (cell // 3), _PORT[1] + 0.03 * (cell % 3))
        level = max(0.0, 0.4 * number - 0.25 * (cell % 3))
        for index, who in enumerate(_REPORTERS[: 3 + (cell + number) % 3]):
            said = level + (1.8 if who == "user:cem" else 0.05 * index)
            payload = {"present": said > _WET, "level": round(said, 2)}
            yield _observation(stage, _WATER, who, place, payload, tag=f"{number}-{cell}")


def _observation(
    stage: Stage, claim_type: str, who: str, place: tuple[float, float], payload: Mapping[str, object], *, tag: str
) -> dict[str, Any]:
    name = who.replace(":", "-")
    content = f"{claim_type}/{name}/{tag}"
    return {
        "observation_id": f"{tag}-{name}-{claim_type}",
        "claim_type": claim_type,
        "reported_at": stage.at(),
        "reporter_id": who,
        "reporter_context": {"standing": "silver", "trust_score": 0.6, "source_type": "human"},
        "geo": {"lat": place[0], "lon": place[1]},
        "payload": payload,
        "evidence_refs": [
            {
                "uri": f"https://evidence.port.example/{name}/{tag}.jpg",
                "sha256": sha256(content.encode()).hexdigest(),
                "mime_type": "image/jpeg",
            }
        ],
    }


def _report(stage: Stage, observation: dict[str, Any]) -> str:
    return str(stage.do("service:relay", "observation.record", observation=json.dumps(observation).encode()).truthkey)


def judge_sectors(stage: Stage) -> str:
    """Load the law of each sector, reviewed and signed; judge its records; attest all held verdicts but a few."""
    judged = 0
    for sector in _SECTORS[: stage.size.sectors]:
        _load_graph(stage, find_shipped(f"graphs/{sector}.json").read_bytes())
        lines = b"".join(
            find_shipped(f"telemetry/{sector}.jsonl").read_bytes().splitlines(keepends=True)[: stage.size.records]
        )
        judged += sum(1 for _ in stage.do("service:plant", "telemetry.evaluate_lines", records=lines))
        stage.clock.advance(timedelta(hours=3))
    held = stage.do("user:eve", "verdicts.held", limit=200).items
    for row in held[_HELD_LEFT:]:
        stage.do(
            "user:eve",
            "verdict.attest",
            ticket_id=row.ticket.id,
            seen=row.ticket.shown_hash,
            reason="compared with the log of the plant",
        )
    return f"{judged} records of {stage.size.sectors} sectors judged, {_HELD_LEFT} of {len(held)} held verdicts left"


def _load_graph(stage: Stage, document: bytes) -> None:
    signer = stage.graph_signer
    assert signer is not None  # noqa: S101 - the sample made it
    asked = stage.do("user:olga", "graph.review", document=document)
    stage.do(
        "user:rita",
        "ticket.answer",
        ticket_id=asked.ticket.id,
        choice="accept",
        seen=asked.ticket.shown_hash,
        reason="read against the published text",
    )
    prepared = stage.do("user:olga", "graph.release.prepare", content_hash=asked.content_hash)
    signed = stage.do(
        "user:olga",
        "graph.release",
        content_hash=asked.content_hash,
        public_key=signer.public_key.hex(),
        signature=signer.sign(bytes.fromhex(prepared.message)).hex(),
    )
    stage.do("user:olga", "graph.load", document=signed.document)
