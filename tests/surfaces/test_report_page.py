"""The report as a page and as CSV: hostile text stays text, and the page stands alone."""

import csv
import io
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.flows.ledger.report_page import CSV_HEADS, render_csv, render_page
from assay.flows.ledger.report_period import Growth, PeriodReport, ReportRow, ReportScope
from assay.kernel.digest import digest_of
from assay.kernel.ids import TenantId
from assay.kernel.instant import parse_instant
from tests.kernel._signing import ORIGIN, head, signed

_AT = parse_instant("2026-03-01T12:00:00Z")
_NOTE = signed(head([b"a", b"b"])).note.received.decode()
_HOSTILE = "<script>alert('x')</script>\"&amp;<img src=x onerror=y>\u202egnp.exe\x00\x1b[2J"


def _row(number: int = 1, *, text: str = "clear", reason: str = "why") -> ReportRow:
    return ReportRow(
        sequence_number=number,
        timestamp="2026-03-01T11:00:00Z",
        kind=text,
        decision=text,
        about=(text, "stack"),
        rules=(text,),
        by=(text,),
        reason=reason,
        entry_hash=digest_of(b"a"),
        entry="{}",
        inclusion_path=(bytes(32), bytes(32)),
    )


def _report(*rows: ReportRow, rule: str | None = None, subject: str | None = None, grown: bool = True) -> PeriodReport:
    return PeriodReport(
        tenant_id=TenantId("acme"),
        origin=ORIGIN,
        made_at=_AT,
        scope=ReportScope(from_at=_AT, until=_AT, rule=rule, subject=subject),
        entries={"verdict": 3},
        rows=rows,
        checkpoint=_NOTE,
        tree_size=2,
        keys=(),
        retirements=(),
        growth=Growth(checkpoint=_NOTE, consistency_path=(bytes(32),)) if grown else None,
    )


class _Page(HTMLParser):
    """Which elements with which attributes, whether they are closed in order, and all the text."""

    _VOID = frozenset({"meta", "br"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self._VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.text += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@given(st.text(max_size=40), st.text(max_size=40))
def test_whatever_strangers_wrote_adds_no_element(text: str, reason: str) -> None:
    """The page with it has exactly the elements of the page without."""
    page = _Page(render_page(_report(_row(text=text or "x", reason=reason or "x"), rule=text or "x", subject="x")))
    plain = _Page(render_page(_report(_row(text="x", reason="x"), rule="x", subject="x")))
    assert [name for name, _ in page.elements] == [name for name, _ in plain.elements]


def test_hostile_text_is_shown_and_cannot_hide() -> None:
    """Markup is text; what would reorder or hide text is written as an escape."""
    page = render_page(_report(_row(text=_HOSTILE, reason=_HOSTILE), rule=_HOSTILE, subject=_HOSTILE))
    assert "<script" not in page
    assert "<img" not in page
    assert not {"\u202e", "\x00", "\x1b"} & set(page)
    assert "<script>alert('x')</script>" in _Page(page).text
    assert "\\u202egnp.exe\\x00\\x1b[2J" in _Page(page).text


def test_the_page_stands_alone() -> None:
    """No script, nothing loaded, nothing sent: a policy in the page itself says so too."""
    page = _Page(render_page(_report(_row())))
    names = {name for name, _ in page.elements}
    assert names.isdisjoint({"script", "link", "img", "iframe", "object", "form", "base"})
    assert all((one["href"] or "").startswith("#") for one in page.named("a"))
    policy = next(one["content"] for one in page.named("meta") if one.get("http-equiv") == "Content-Security-Policy")
    assert (policy or "").startswith("default-src 'none'")


def test_tables_have_captions_and_headers_and_every_link_has_its_target() -> None:
    """What a screen reader needs: a language, one heading of the first level, scopes, names of regions."""
    page = _Page(render_page(_report(_row(1), _row(2))))
    assert page.named("html") == [{"lang": "en"}]
    assert len(page.named("h1")) == 1
    assert len(page.named("table")) == len(page.named("caption")) == 3
    assert {one.get("scope") for one in page.named("th")} == {"col", "row"}
    ids = [one["id"] for _, one in page.elements if "id" in one]
    assert len(ids) == len(set(ids))
    assert {(one["href"] or "")[1:] for one in page.named("a")} <= set(ids)
    assert all(one.get("aria-label") for one in page.named("div") if one.get("role") == "region")


@pytest.mark.parametrize("grown", [True, False])
def test_the_checkpoint_is_on_the_page_as_it_was_signed(*, grown: bool) -> None:
    text = _Page(render_page(_report(_row(), grown=grown))).text
    assert _NOTE in text
    assert ("No checkpoint was signed before" in text) is not grown


def test_a_report_without_rows_says_so() -> None:
    assert "What was decided, on what, by whom: none." in _Page(render_page(_report())).text


@given(st.lists(st.text(max_size=20), max_size=4))
def test_csv_reads_back_and_no_cell_is_a_formula(texts: list[str]) -> None:
    rows = [_row(number, text=text or "x", reason=text) for number, text in enumerate(texts, 1)]
    lines = list(csv.reader(io.StringIO(render_csv(_report(*rows)), newline="")))
    assert lines[0] == list(CSV_HEADS)
    assert len(lines) == len(texts) + 1
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for line in lines for cell in line)


def test_a_cell_that_would_be_calculated_begins_with_an_apostrophe() -> None:
    assert "'=1+1" in render_csv(_report(_row(reason="=1+1")))
