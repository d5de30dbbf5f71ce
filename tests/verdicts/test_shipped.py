"""The shipped graphs judge the shipped telemetry as a person reading the cited texts did."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from msgspec.json import encode

from assay.verdicts.docket import open_docket, parts_of
from assay.verdicts.envelope import Verdict, VerifierStatus
from assay.verdicts.govern import govern, strictest
from assay.verdicts.graph.index import build_index
from assay.verdicts.graph.node import RiskTier
from assay.verdicts.graph.parse import parse_graph
from assay.verdicts.reason import RawReply, interpret_reply
from assay.verdicts.slice import slice_graph
from assay.verdicts.telemetry import parse_telemetry
from assay.verdicts.verify import verify
from assay.verdicts.window import window_facts
from assay.verdicts.window_fact import BufferedRecord, buffer_record
from tests.verdicts.judging import NOON, WEIGHTS, honest

EXAMPLES = Path(__file__).parents[2] / "examples"
SECTORS = ("energy", "finance", "manufacturing", "maritime")


def judged(sector: str) -> dict[str, dict[str, Any]]:
    """Every record in its order, through all steps, with a model that tells the truth."""
    index = build_index(parse_graph((EXAMPLES / "graphs" / f"{sector}.json").read_bytes()))
    buffers: defaultdict[str, list[BufferedRecord]] = defaultdict(list)
    verdicts: dict[str, dict[str, Any]] = {}
    for line in (EXAMPLES / "telemetry" / f"{sector}.jsonl").read_text().splitlines():
        telemetry = parse_telemetry(line)
        found = slice_graph(index, telemetry.subject, as_of=telemetry.timestamp, jurisdiction=telemetry.jurisdiction)
        rules, rulings = {}, []
        for part in parts_of(found):
            docket = open_docket(part, is_mapped=found.subject is not None)
            facts = window_facts(docket.plans, telemetry, buffers[telemetry.subject])
            reply = RawReply(
                text=encode(honest(docket, telemetry, facts)).decode(),
                backend_name="honest",
                model_weight_hash=WEIGHTS,
                started_at=NOON,
                completed_at=NOON,
            )
            read = interpret_reply(reply, docket)
            checked = verify(docket, telemetry, facts, read.answer, error=read.error)
            assert checked.result.status in {VerifierStatus.AGREED, VerifierStatus.UNVERIFIABLE}
            # As if a person had attested what is high: the examples say what the verdict is, not whether it is held.
            rulings.append(govern(read.answer.verdict, checked.result.status, RiskTier.MEDIUM))
            rules[docket.rule_id] = read.answer.verdict.value
        buffers[telemetry.subject].append(buffer_record(telemetry))
        verdicts[telemetry.telemetry_id] = {"verdict": strictest(rulings).verdict, "rules": rules}
    return verdicts


@pytest.mark.parametrize("sector", SECTORS)
def test_each_record_gets_the_verdict_that_was_written_for_it(sector: str) -> None:
    expected = json.loads((EXAMPLES / "telemetry" / f"{sector}.expected.json").read_text())["expected"]
    verdicts = judged(sector)
    assert verdicts.keys() == {case["telemetry_id"] for case in expected}
    for case in expected:
        found = verdicts[case["telemetry_id"]]
        named = {rule: verdict for rule, verdict in found["rules"].items() if rule}
        assert (found["verdict"], named) == (case["verdict"], case.get("rules", {})), case["why"]


@pytest.mark.clause("ski", "4.1")
def test_all_five_verdicts_occur() -> None:
    occurring = {record["verdict"] for sector in SECTORS for record in judged(sector).values()}
    assert occurring == set(Verdict)
