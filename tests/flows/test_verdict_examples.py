"""The shipped graphs and telemetry, through the whole journey: every verdict as it was written for it, and replayed."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.flows.verdicts.read_verdicts import show_verdict
from assay.flows.verdicts.replay_verdict import replay_verdicts
from assay.verdicts.replay import summarise_replays
from tests.flows._node import TENANT
from tests.flows._verdicts import HonestModel, VerdictDesk, opened_verdicts
from tests.verdict_calls import evaluate_many, list_held

_EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[VerdictDesk]:
    with opened_verdicts(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize("sector", ["energy", "finance", "manufacturing", "maritime"])
def test_each_record_gets_the_verdict_that_was_written_for_it(desk: VerdictDesk, sector: str) -> None:
    """As soon as a person has attested what is held."""
    document = (_EXAMPLES / "graphs" / f"{sector}.json").read_bytes()
    desk.load(desk.release(document).document)
    desk.thinks(HonestModel(document))
    lines = (_EXAMPLES / "telemetry" / f"{sector}.jsonl").read_bytes().splitlines()
    results = list(evaluate_many(desk.tools, lines, credential=desk.sensor, workers=4))
    assert [one.message for one in results if one.code] == []
    for held in list_held(desk.tools, TENANT, at=desk.at(minutes=7)):
        desk.attest(held.ticket.id)
    expected = json.loads((_EXAMPLES / "telemetry" / f"{sector}.expected.json").read_text())["expected"]
    for case in expected:
        found = show_verdict(desk.tools, TENANT, case["telemetry_id"])
        rules = {one.rule_id: one.verdict for one in found.verdicts if one.rule_id}
        assert (found.overall.verdict, rules) == (case["verdict"], case.get("rules", {})), case["why"]
    summary = summarise_replays(replay_verdicts(desk.tools, TENANT))
    assert summary.is_clean, summary.counts
