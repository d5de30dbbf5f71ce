"""The words of a verdict: every kind of obligation reads well, and no stranger's text looks like ours."""

import io
from collections.abc import Callable
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.adapters.clock import SystemClock
from assay.flows.verdicts.explain_verdict import Clause, ExplainedObligation, ExplainedRule
from assay.flows.verdicts.read_verdicts import RuleVerdict
from assay.kernel.digest import ZERO_DIGEST
from assay.surfaces.cli.table import table_text
from assay.surfaces.cli.verdict_text import rule_line, told_obligation
from assay.verdicts.envelope import Verdict
from assay.verdicts.govern import Standing
from assay.verdicts.predicate import Doubt, Outcome
from assay.verdicts.window_fact import WindowKind

OBLIGATION = ExplainedObligation(
    obligation_id="o",
    summary=None,
    metric="so2",
    predicate="must_not_exceed",
    limit=35,
    unit="mg",
    window_seconds=None,
    window_kind=None,
    observed=40,
    observed_unit="mg",
    outcome=Outcome.BREACHED,
    doubt=None,
    exemption_id=None,
    clauses=(Clause(source_document="2010/75/EU", source_clause="Annex V"),),
)
VERDICT = RuleVerdict(
    rule_id="r",
    tier="medium",
    standing=Standing.FINAL,
    verdict=Verdict.FLAG,
    reason="because",
    sequence_number=1,
    entry_hash=ZERO_DIGEST,
    recorded_at=SystemClock().now(),
)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "so2 is 40 mg, must not exceed 35 mg (breached)"),
        ({"predicate": "must", "limit": True, "observed": False, "unit": None, "observed_unit": None},
         "so2 is false, must be true (breached)"),
        ({"predicate": "must_be_one_of", "limit": ("a", "b"), "observed": "c", "unit": None, "observed_unit": None},
         'so2 is "c", must be one of "a", "b" (breached)'),
        ({"predicate": "must_be_within", "limit": (1, 2.5), "observed": None},
         "so2 is missing, must be within 1 to 2.5 mg (breached)"),
        ({"predicate": "should", "outcome": Outcome.UNFOLLOWED}, "so2 is 40 mg, should be 35 mg (not followed)"),
        ({"window_kind": WindowKind.COUNT, "window_seconds": 90, "unit": None, "observed_unit": None},
         "so2 has the count 40 over 90 s, must not exceed 35 (breached)"),
        ({"window_kind": WindowKind.RUN, "window_seconds": 60, "predicate": "must_be_below", "limit": 60,
          "observed": 120}, "so2 has failed for 2 min, must be below 1 min (breached)"),
        ({"window_kind": WindowKind.AGE, "predicate": "must_be_recorded_within", "limit": 172800, "observed": None,
          "outcome": Outcome.STALE}, "so2 was not recorded before, must be recorded within 2 d (stale)"),
        ({"outcome": Outcome.UNDETERMINED, "doubt": Doubt.EXEMPTION, "exemption_id": "ex:1"},
         "so2 is 40 mg, must not exceed 35 mg (perhaps exempt, a person must judge by ex:1)"),
        ({"metric": "", "predicate": "discretionary", "summary": "is it fair", "outcome": None},
         "is it fair: at discretion"),
    ],
)  # fmt: skip
def test_each_kind_of_obligation_reads_as_a_sentence(changes: dict[str, Any], expected: str) -> None:
    """Limit and observation with their units, spans of time in the largest that fits, and what it came to."""
    assert told_obligation(replace(OBLIGATION, **changes)) == expected


def test_many_obligations_are_told_by_those_that_decide() -> None:
    """What is met is left out of a FLAG; more than three are counted."""
    met = replace(OBLIGATION, outcome=Outcome.SATISFIED, metric="met")
    rule = ExplainedRule(
        rule_id="r", rule_name="Rule", sequence_number=1, is_graph_kept=True, obligations=(met, *[OBLIGATION] * 5)
    )
    line = click.unstyle(rule_line("t", "s", VERDICT, rule))
    assert line.startswith("t  FLAG           Rule (medium tier): so2 is 40 mg")
    assert line.endswith("[2010/75/EU, Annex V]; and 2 more; because")
    assert "met" not in line
    gone = replace(rule, obligations=(), is_graph_kept=False)
    assert "its graph is not kept any more" in rule_line("t", "s", VERDICT, gone)


@given(text=st.text(min_size=1), place=st.sampled_from(["metric", "predicate", "unit", "observed", "summary", "name"]))
def test_no_text_of_strangers_breaks_a_line_or_moves_the_cursor(text: str, place: str) -> None:
    """Whatever a graph or a record says, a verdict stays one line of visible characters."""
    changed = OBLIGATION if place == "name" else replace(OBLIGATION, **{place: text})
    clause = Clause(source_document=text, source_clause=text)
    rule = ExplainedRule(
        rule_id="r",
        rule_name=text if place == "name" else None,
        sequence_number=1,
        is_graph_kept=True,
        obligations=(replace(changed, clauses=(clause,)),),
    )
    line = click.unstyle(rule_line(text, text, VERDICT, rule))
    assert line.isprintable()


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "is_wide"), [(_Terminal, False), (io.StringIO, True)])
def test_a_table_is_as_wide_as_the_terminal_and_whole_in_a_file(
    stream: Callable[[], io.StringIO], monkeypatch: pytest.MonkeyPatch, *, is_wide: bool
) -> None:
    """At a terminal long cells wrap; in a file a row stays a line."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    text = table_text(("NAME", "COUNT"), [("word " * 30, "7")], stream=stream())
    assert max(map(len, text.splitlines())) > 40 if is_wide else max(map(len, text.splitlines())) <= 40
    assert text.count("word") == 30
    assert (len(text.splitlines()) == 2) is is_wide


def test_on_a_narrow_terminal_a_row_is_a_block_and_no_word_is_torn(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is typed into the next command stays whole; what says nothing is left out."""
    monkeypatch.setenv("COLUMNS", "40")
    rows = [("tkt_" + "a" * 26, "-", "2026-01-07T12:00:00Z"), ("tkt_" + "b" * 26, "me", "")]
    text = table_text(("TICKET", "FOR", "DUE"), rows, stream=_Terminal())
    assert text.split("\n\n") == [
        f"TICKET  {rows[0][0]}\nDUE     2026-01-07T12:00:00Z",
        f"TICKET  {rows[1][0]}\nFOR     me",
    ]
