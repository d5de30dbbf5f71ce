"""How well texts are read: texts of many styles, with graphs that were written before the rules were run on them."""

from pathlib import Path

import pytest

from assay.kernel.canonical import canonicalize
from assay.kernel.instant import parse_instant
from assay.verdicts.graph.extract_drafting import ExtractSettings
from assay.verdicts.graph.extract_report import render_report
from assay.verdicts.graph.issue import is_rejected
from assay.verdicts.graph.parse import parse_graph
from assay.verdicts.graph.validate import validate_graph
from tests.verdicts.graph.extraction_score import draft_of, score_set, texts_of

SETS = ("tuning", "sealed", "unseen")
TEXTS = [path for name in SETS for path in texts_of(name)]


@pytest.mark.parametrize(
    ("name", "precision", "recall", "tables"),
    [("tuning", 0.95, 0.95, 24), ("sealed", 0.90, 0.90, 3), ("unseen", 0.90, 0.85, 1)],
)
def test_precision_and_recall_do_not_fall(name: str, precision: float, recall: float, tables: int) -> None:
    """By clause, type, operand, unit and metric; nothing of a table is lost, and each node quotes its source."""
    score = score_set(name)
    assert score.precision >= precision
    assert score.recall >= recall
    assert score.tables_read >= tables
    assert score.quoted == score.matched
    assert score.others_matched >= 0.7 * score.others_expected
    assert score.others_matched >= 0.9 * score.others_found
    assert score.dated == score.matched or name == "unseen"


@pytest.mark.clause("ski", "3.1")
@pytest.mark.clause("ski", "3.6")
@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_a_draft_of_any_format_is_a_valid_graph(path: Path) -> None:
    """Where the text does not say since when it holds, the operator does."""
    draft = draft_of(path, ExtractSettings(effective=parse_instant("2026-01-01T00:00:00Z")))
    alternatives = {doubt.node for doubt in draft.doubts if "alternatives" in doubt.about}
    found = validate_graph(parse_graph(canonicalize(draft.document)))
    issues = tuple(issue for issue in found if issue.node not in alternatives)
    assert not is_rejected(issues), [issue for issue in issues if issue.severity in {"high", "critical"}]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_no_sentence_is_lost(path: Path) -> None:
    """Each sentence that demands is in the report: with its nodes, as a fact of the text, or as passed over."""
    report = render_report(draft_of(path))
    plain = path.read_text() if path.suffix in {".md", ".txt"} else ""
    for line in plain.splitlines():
        words = line.strip().split()
        if {"must", "shall", "should", "may"} & set(words):
            assert " ".join(words[-3:]).rstrip(".;:-—") in report
