"""A verdict rests on a transcript, and an audit finds it missing, exchanged or altered."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.ledger.audit_mark import AuditReport
from assay.flows.tools import Tools
from tests.flows._node import TENANT, append_notes, damage, new_node, opened
from tests.flows._transcripts import add_transcript, verdict_on


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[Tools]:
    with opened(new_node(tmp_path)) as one:
        yield one


def _found(report: AuditReport) -> tuple[str | None, int | None]:
    assert report.holds == (report.code is None)
    return report.code, report.first_bad_entry


@pytest.mark.clause("ski", "7.4")
def test_a_verdict_holds_with_the_transcript_it_names(tools: Tools) -> None:
    tools.database.append(verdict_on(tools, add_transcript(tools).transcript_id))
    report = audit_ledger(tools, TENANT)
    assert (report.holds, report.transcripts_checked) == (True, 1)


@pytest.mark.clause("ski", "7.4")
@pytest.mark.parametrize("full", [False, True])
def test_a_verdict_whose_transcript_is_not_kept_is_named(tools: Tools, *, full: bool) -> None:
    tools.database.append(verdict_on(tools, add_transcript(tools).transcript_id))
    bad = tools.database.append(verdict_on(tools, "sha256:" + "0" * 64))
    append_notes(tools, 3)
    assert _found(audit_ledger(tools, TENANT, full=full)) == ("ledger.transcript_missing", bad.sequence_number)


@pytest.mark.clause("ski", "7.4")
@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("DELETE FROM transcript WHERE transcript_id = '{first}'", "ledger.transcript_missing"),
        ("UPDATE transcript SET record = {other} WHERE transcript_id = '{first}'", "ledger.transcript_missing"),
        ("UPDATE transcript SET record = replace(record, 'hot', 'hat')", "signature.transcript_id"),
        ("UPDATE transcript SET record = 7", "store.damaged_record"),
    ],
)
def test_a_transcript_changed_behind_our_back_is_found_by_its_verdict(
    tools: Tools, tmp_path: Path, statement: str, code: str
) -> None:
    """Deleted, exchanged for another that holds, altered, or no transcript any more."""
    first, second = add_transcript(tools), add_transcript(tools, "is it cold?")
    bad = tools.database.append(verdict_on(tools, first.transcript_id))
    other = f"(SELECT record FROM transcript WHERE transcript_id = '{second.transcript_id}')"
    damage(tmp_path / "node", statement.format(first=first.transcript_id, other=other))
    assert _found(audit_ledger(tools, TENANT)) == (code, bad.sequence_number)


@pytest.mark.clause("ski", "7.4")
def test_an_audit_that_goes_on_reads_the_transcripts_of_new_entries_alone(tools: Tools, tmp_path: Path) -> None:
    """What an earlier run verified is read again only when everything is."""
    old, new = add_transcript(tools), add_transcript(tools, "is it cold?")
    first = tools.database.append(verdict_on(tools, old.transcript_id))
    assert audit_ledger(tools, TENANT).transcripts_checked == 2
    tools.database.append(verdict_on(tools, new.transcript_id))
    damage(tmp_path / "node", f"DELETE FROM transcript WHERE transcript_id = '{old.transcript_id}'")
    report = audit_ledger(tools, TENANT)
    assert (report.holds, report.transcripts_checked) == (True, 1)
    assert _found(audit_ledger(tools, TENANT, full=True)) == ("ledger.transcript_missing", first.sequence_number)
