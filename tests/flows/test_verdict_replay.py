"""What was judged can be judged again from what is stored, and nothing unchecked is called clean."""

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.verdicts.replay_verdict import replay_verdict, replay_verdicts
from assay.kernel.canonical import canonical_digest
from assay.kernel.digest import digest_of
from assay.kernel.instant import render_instant
from assay.verdicts.envelope import Verdict
from assay.verdicts.graph.open import SovereigntyMode
from assay.verdicts.replay import Replay, ReplayResult, ReplayStep, ReplaySummary, StepResult, summarise_replays
from tests.contract._kit import refused
from tests.flows._node import TENANT, damage
from tests.flows._verdicts import HonestModel, VerdictDesk, graph_document, opened_verdicts, rule


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[VerdictDesk]:
    with opened_verdicts(tmp_path) as opened:
        yield opened


def _summary(desk: VerdictDesk) -> ReplaySummary:
    return summarise_replays(replay_verdicts(desk.tools, TENANT))


def _at(step: ReplayStep, replay: Replay) -> StepResult:
    return next(one.result for one in replay.steps if one.step is step)


@pytest.mark.clause("ski", "8.1")
def test_every_kind_of_verdict_replays(desk: VerdictDesk) -> None:
    """Clear, flagged, unmapped, held, attested, declined, by windows, by the fast path, and where the model failed."""
    desk.settings(fast_path_n=2)
    desk.judge_by(
        rule("low", "low"),
        rule("window", kind="must_average_within", value=[0, 20], window_seconds=60),
        rule("high", "high", value=30),
    )
    model = desk.tools.reasoner
    for n in range(4):
        desk.decide({"so2": 10 * n}, name=f"t-{n}", at=desk.at(minutes=5, seconds=n))
    desk.decide({"so2": 1}, subject="chimney", name="unmapped")
    tickets = [
        one.ticket_id
        for n in (0, 1)
        for one in desk.decide({"so2": 10 * n}, name=f"t-{n}", at=desk.at(minutes=5, seconds=n)).verdicts
        if one.ticket_id
    ]
    desk.attest(tickets[0])
    desk.attest(tickets[1], "decline")
    desk.use(reasoner=model)
    summary = _summary(desk)
    assert summary.counts[ReplayResult.REPLAY_DIVERGENCE] == 0, list(replay_verdicts(desk.tools, TENANT))
    assert summary.counts[ReplayResult.MATCH] == 4 * 3 + 1 + 2
    assert summary.is_clean


@pytest.mark.clause("ski", "8.1")
def test_a_record_that_is_timed_to_the_nanosecond_is_judged_and_replays(desk: VerdictDesk) -> None:
    """Also by its row, which has the instant that was read."""
    desk.judge_by(rule("limit"), rule("window", kind="must_average_within", value=[0, 20], window_seconds=60))
    timed = render_instant(desk.at(minutes=5).replace(microsecond=0)).removesuffix("Z") + ".1234567Z"
    decided = desk.decide({"so2": 10}, timestamp=timed)
    assert (decided.overall.verdict, len(decided.verdicts)) == (Verdict.CLEAR, 2)
    assert decided.telemetry_hash == canonical_digest(desk.record({"so2": 10}, timestamp=timed))
    assert _summary(desk).is_clean
    assert audit_ledger(desk.tools, TENANT, full=True, leave_mark=False).holds
    assert not desk.decide({"so2": 10}, timestamp=timed).is_new


@pytest.mark.clause("ski", "8.1")
@pytest.mark.parametrize("text", ["", "{}", "x" * 300_000, '{"a":"\ud800"}'])
def test_replies_that_could_not_be_read_replay(desk: VerdictDesk, text: str) -> None:
    desk.judge_by(rule("limit"))
    desk.thinks(lambda _: text)
    desk.decide({"so2": 40})
    assert _summary(desk).is_clean, list(replay_verdicts(desk.tools, TENANT))


def test_lies_replay_as_the_lies_they_were(desk: VerdictDesk) -> None:
    desk.judge_by(rule("limit", "low"))
    assert desk.model is not None
    desk.thinks(lambda request: desk.model(request).replace("FLAG", "CLEAR") if desk.model else "")
    desk.decide({"so2": 40})
    assert _summary(desk).is_clean


@pytest.mark.clause("ski", "8.2")
def test_a_model_that_says_something_else_now_is_a_divergence(desk: VerdictDesk) -> None:
    desk.judge_by(rule("limit"))
    number = desk.decide({"so2": 40}).verdicts[0].sequence_number
    desk.thinks(lambda _: "{}")
    replay = replay_verdict(desk.tools, TENANT, number)
    assert replay.result is ReplayResult.REPLAY_DIVERGENCE
    assert _at(ReplayStep.TRANSCRIPT, replay) is StepResult.DIVERGED
    assert not _summary(desk).is_clean


def test_what_cannot_be_had_again_is_not_clean(desk: VerdictDesk) -> None:
    """No model, or one of other weights: the rest is checked, and the whole is incomplete."""
    assert not _summary(desk).is_clean
    desk.judge_by(rule("limit"))
    number = desk.decide({"so2": 40}).verdicts[0].sequence_number
    desk.use(reasoner=None)
    replay = replay_verdict(desk.tools, TENANT, number)
    assert replay.result is ReplayResult.INCOMPLETE
    assert _at(ReplayStep.WEIGHTS, replay) is StepResult.NOT_CHECKED
    assert _at(ReplayStep.VERIFIER, replay) is StepResult.MATCH
    desk.thinks(lambda _: "{}", weights=digest_of(b"others"))
    assert not _summary(desk).is_clean
    with refused("flow.not_found"):
        replay_verdict(desk.tools, TENANT, 1)


@pytest.mark.clause("ski", "3.5")
def test_a_verdict_by_an_unsigned_graph_replays_by_its_content(desk: VerdictDesk) -> None:
    document = graph_document(rule("limit"))
    desk.settings(mode=SovereigntyMode.ADVISORY)
    desk.load(document)
    desk.thinks(HonestModel(document))
    desk.decide({"so2": 40})
    desk.settings(mode=SovereigntyMode.STRICT)
    assert _summary(desk).is_clean


def test_an_old_verdict_replays_by_the_graph_of_its_time(desk: VerdictDesk) -> None:
    desk.judge_by(rule("limit"))
    first = desk.decide({"so2": 33}).verdicts[0]
    old = desk.model
    desk.judge_by(rule("limit", value=30), compiled_at="2026-02-01T00:00:00Z")
    assert old is not None
    desk.thinks(old)
    assert first.verdict is Verdict.CLEAR
    assert replay_verdict(desk.tools, TENANT, first.sequence_number).result is ReplayResult.MATCH


@pytest.mark.parametrize(
    ("statement", "step"),
    [
        ("UPDATE transcript SET record = replace(record, 'FLAG', 'XXXX')", ReplayStep.TRANSCRIPT),
        ("UPDATE graph_version SET document = replace(document, '35', '36')", ReplayStep.GRAPH),
        (
            "UPDATE ledger SET text = CAST(replace(text, 'FLAG', 'CLAR') AS BLOB) WHERE kind = 'verdict'",
            ReplayStep.CHAIN,
        ),
        ("UPDATE ledger SET text = 'x' WHERE kind = 'verdict'", ReplayStep.CHAIN),
        ("UPDATE ledger SET schema_version = '2.1.0' WHERE kind = 'verdict'", ReplayStep.CHAIN),
        ("UPDATE ledger SET verdict = 'CLEAR' WHERE kind = 'verdict'", ReplayStep.CHAIN),
    ],
    ids=["transcript", "graph", "entry", "no entry", "version", "column"],
)
def test_what_was_tampered_with_does_not_replay(tmp_path: Path, statement: str, step: ReplayStep) -> None:
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(rule("limit"))
        number = desk.decide({"so2": 40}).verdicts[0].sequence_number
        damage(tmp_path / "node", statement)
        replay = replay_verdict(desk.tools, TENANT, number)
        assert replay.result in (ReplayResult.REPLAY_DIVERGENCE, ReplayResult.INCOMPLETE)
        assert _at(step, replay) is not StepResult.MATCH
        assert not _summary(desk).is_clean


@pytest.mark.clause("ski", "8.3")
def test_entries_before_version_three_are_skipped_and_named(tmp_path: Path) -> None:
    """A ledger that holds nothing else was not replayed, and is not clean."""
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(rule("limit"))
        number = desk.decide({"so2": 40}).verdicts[0].sequence_number
        row = desk.read(lambda unit: unit.ledger.find_entry(TENANT, number))
        assert row is not None
        text = row.text.replace(b'"schema_version":"3.0.0"', b'"schema_version":"2.1.0"')
        damage(
            tmp_path / "node",
            f"UPDATE ledger SET text = x'{text.hex()}', entry_hash = '{digest_of(text)}' WHERE kind = 'verdict'",
        )
        summary = _summary(desk)
        assert (summary.counts[ReplayResult.SKIPPED_PRE_V3], summary.is_clean) == (1, False)


def test_a_transcript_that_is_gone_leaves_the_replay_incomplete(tmp_path: Path) -> None:
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(rule("limit"))
        desk.decide({"so2": 40})
        damage(tmp_path / "node", "DELETE FROM transcript")
        (replay,) = replay_verdicts(desk.tools, TENANT)
        assert replay.result is ReplayResult.INCOMPLETE


def test_the_report_can_be_written_as_json(desk: VerdictDesk) -> None:
    desk.judge_by(rule("limit"))
    desk.decide({"so2": 40})
    (replay,) = replay_verdicts(desk.tools, TENANT)
    assert json.loads(msgspec.json.encode(replay))["result"] == "MATCH"
