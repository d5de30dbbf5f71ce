"""Cases of `tests/vectors/verdicts/rulings`: short graphs written out as typed documents, and replies that differ."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.kernel.key import TrustAnchors
from assay.verdicts.docket import Docket, open_docket, parts_of
from assay.verdicts.envelope import Envelope, Verdict, plain_record
from assay.verdicts.govern import Ruling, govern
from assay.verdicts.graph.hash import stamp_versions
from assay.verdicts.graph.index import build_index
from assay.verdicts.graph.open import OpenGraph, SovereigntyMode, open_graph
from assay.verdicts.graph.parse import parse_graph
from assay.verdicts.reason import RawReply, build_request, interpret_reply, provenance_of
from assay.verdicts.record import seal_envelope
from assay.verdicts.rulings import CURRENT, Rulings
from assay.verdicts.slice import Slice, slice_graph
from assay.verdicts.telemetry import Telemetry, parse_telemetry
from assay.verdicts.verify import Verification, verify
from assay.verdicts.window import window_facts
from tests.verdicts.judging import GRAPH, WEIGHTS, honest

SUBJECT = "plant-1"
_STARTS = "2020-01-01T00:00:00Z"
_CITATION = {"id": "cite", "type": "citation", "source_document": "Act", "source_clause": "1"}


@dataclass(frozen=True)
class Judged:
    """One rule after the steps of a verdict, the model's reply parsed as any reply is."""

    docket: Docket
    telemetry: Telemetry
    verification: Verification
    ruling: Ruling
    envelope: Envelope


def document_of(
    rules: Sequence[Mapping[str, Any]], jurisdictions: Sequence[Mapping[str, Any]] = (), **metadata: object
) -> dict[str, Any]:
    """The typed document of rules that a vector writes in short."""
    nodes: dict[str, list[Any]] = {
        "subjects": [{"id": SUBJECT, "type": "subject", "name": "Plant 1"}],
        "rules": [{"id": one["id"], "type": "rule", "name": one["id"], "risk_tier": one["tier"]} for one in rules],
        "obligations": [],
        "exemptions": [],
        "jurisdictions": [{"type": "jurisdiction", **one} for one in jurisdictions],
        "citations": [_CITATION],
    }
    edges: list[dict[str, str]] = []
    for one in rules:
        edges.append({"type": "applies_to", "from": one["id"], "to": SUBJECT})
        for obligation in one["obligations"]:
            edges += _add_obligation(nodes, one["id"], dict(obligation))
    told = {"name": "rulings", "schema_version": "3.0", "compiled_at": "2026-01-01T00:00:00Z", **metadata}
    document: dict[str, Any] = {"metadata": told, "nodes": nodes, "edges": edges}
    return stamp_versions(document)


def _add_obligation(nodes: dict[str, list[Any]], rule: str, fields: dict[str, Any]) -> Iterator[dict[str, str]]:
    name, scopes, conditions = fields.pop("id"), fields.pop("scope", ()), fields.pop("exemptions", ())
    dates = {"effective_date_start": fields.pop("start", _STARTS)}
    if "end" in fields:
        dates["effective_date_end"] = fields.pop("end")
    node = {"id": name, "type": "obligation", "obligation_type": fields.pop("type"), **dates, **fields}
    nodes["obligations"].append(node)
    yield {"type": "consists_of", "from": rule, "to": name}
    yield {"type": "cited_by", "from": name, "to": "cite"}
    yield from ({"type": "scoped_to", "from": name, "to": scope} for scope in scopes)
    for number, condition in enumerate(conditions):
        exemption = f"{name}-x{number}"
        nodes["exemptions"].append({"id": exemption, "type": "exemption", "condition": condition})
        yield {"type": "exempted_by", "from": name, "to": exemption}
        yield {"type": "cited_by", "from": exemption, "to": "cite"}


def record_of(measurement: Mapping[str, Any], jurisdiction: str | None = None, subject: str = SUBJECT) -> Telemetry:
    given = {"telemetry_id": "t-1", "timestamp": "2026-03-02T12:00:00Z", "subject": subject, "measurement": measurement}
    return parse_telemetry(given if jurisdiction is None else {**given, "jurisdiction": jurisdiction})


def opened(document: Mapping[str, Any]) -> OpenGraph:
    return open_graph(json.dumps(document).encode(), TrustAnchors(), mode=SovereigntyMode.ADVISORY)


def sliced(document: Mapping[str, Any], telemetry: Telemetry, rulings: Rulings = CURRENT) -> Slice:
    index = build_index(parse_graph(json.dumps(document).encode(), rulings=rulings))
    return slice_graph(index, telemetry.subject, as_of=telemetry.timestamp, jurisdiction=telemetry.jurisdiction)


def dockets_of(found: Slice, rulings: Rulings = CURRENT) -> list[Docket]:
    return [open_docket(part, is_mapped=found.subject is not None, rulings=rulings) for part in parts_of(found)]


def reply_to(docket: Docket, telemetry: Telemetry, said: str | Mapping[str, Any]) -> str:
    """What an honest model writes, but for what the vector says that it says otherwise."""
    asked: Mapping[str, Any] = {} if isinstance(said, str) else said
    facts = window_facts(docket.plans, telemetry, ())
    answer = plain_record(honest(docket, telemetry, facts))
    kept = [one for one in answer["formalizable_assertions"] if one["obligation_id"] not in asked.get("omit", ())]  # type: ignore[attr-defined]  # a list of plain objects
    for one in kept:
        one["satisfied"] = asked.get("satisfied", {}).get(one["obligation_id"], one["satisfied"])
    return json.dumps({**answer, "formalizable_assertions": kept, "verdict": asked.get("verdict", answer["verdict"])})


def judge_reply(docket: Docket, telemetry: Telemetry, text: str) -> Judged:
    """Steps 3 to 5 of a verdict, on a reply that is given."""
    facts = window_facts(docket.plans, telemetry, ())
    request = build_request(docket, telemetry, facts, seed=0)
    at = telemetry.timestamp
    reply = RawReply(text=text, backend_name="scripted", model_weight_hash=WEIGHTS, started_at=at, completed_at=at)
    read = interpret_reply(reply, docket)
    verification = verify(docket, telemetry, facts, read.answer, error=read.error)
    ruling = govern(read.answer.verdict, verification.result.status, docket.tier)
    envelope = seal_envelope(
        docket,
        read.answer,
        verification,
        ruling,
        provenance=provenance_of(request, model_weight_hash=WEIGHTS, kg_version_hash=GRAPH),
        transcript_ref="t",
    )
    return Judged(docket, telemetry, verification, ruling, envelope)


def judged_case(case: Mapping[str, Any], jurisdictions: Sequence[Mapping[str, Any]] = ()) -> Judged:
    """A case with one rule."""
    rule = {"id": "r1", "tier": case["tier"], "obligations": case["obligations"]}
    telemetry = record_of(case["measurement"], case.get("jurisdiction"))
    [docket] = dockets_of(sliced(document_of([rule], jurisdictions), telemetry))
    return judge_reply(docket, telemetry, reply_to(docket, telemetry, case["reply"]))


def verdict_or_held(ruling: Ruling) -> Verdict | None:
    return None if ruling.standing.value == "held" else ruling.verdict
