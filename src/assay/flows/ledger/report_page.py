"""An audit report as a page that prints well, as CSV or as JSON: pure text, no script, nothing loaded from anywhere.

Whatever strangers wrote is escaped, and characters that could hide or reorder text are written as escapes.
"""

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from html import escape

from assay.flows.csv_text import CSV, cell_of, render_table, visible
from assay.flows.ledger.check_report import render_report
from assay.flows.ledger.report_period import PeriodReport, ReportRow
from assay.kernel.checkpoint import parse_checkpoint
from assay.kernel.instant import render_instant

CSV_HEADS = (
    "sequence_number",
    "timestamp",
    "kind",
    "decision",
    "about",
    "rules",
    "by",
    "reason",
    "entry_hash",
)
_DASH = "–"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


class ReportForm(StrEnum):
    """`json` carries the entries, and is what `assay verify` checks."""

    HTML = "html"
    CSV = "csv"
    JSON = "json"


MEDIA_TYPES = {ReportForm.HTML: "text/html", ReportForm.CSV: CSV, ReportForm.JSON: "application/json"}


def render_form(report: PeriodReport, form: ReportForm) -> bytes:
    """The report in a form; the same report always gives the same bytes."""
    if form is ReportForm.JSON:
        return render_report(report)
    return (render_csv(report) if form is ReportForm.CSV else render_page(report)).encode()


def render_page(report: PeriodReport) -> str:
    """The whole page; with the same report always the same text."""
    title = f"Audit report of {report.tenant_id}"
    parts = [_head(title), _scope(report), _summary(report), _decisions(report.rows), _proofs(report)]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


def render_csv(report: PeriodReport) -> str:
    """A line for each row; a cell that a spreadsheet would calculate begins with an apostrophe."""
    return render_table(CSV_HEADS, (_cells(row) for row in report.rows))


def _cells(row: ReportRow) -> list[str]:
    lists = (row.about, row.rules, row.by)
    values = (row.sequence_number, row.timestamp, row.kind, row.decision, *lists, row.reason, row.entry_hash)
    return [cell_of(value) for value in values]


def _head(title: str) -> str:
    return f"<header>\n<h1>{_text(title)}</h1>\n</header>"


def _scope(report: PeriodReport) -> str:
    scope = report.scope
    facts = [
        ("Ledger", report.origin),
        ("Period", f"from {render_instant(scope.from_at)} to before {render_instant(scope.until)}"),
        ("Entries of", "every kind" if scope.every_kind else "decisions, and what changes who or what decides"),
        ("Rule", scope.rule or "every rule"),
        ("Subject", scope.subject or "every subject"),
        ("Made", render_instant(report.made_at)),
    ]
    rows = "\n".join(f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>" for name, value in facts)
    return f'<section aria-label="Scope">\n<dl>\n{rows}\n</dl>\n</section>'


def _summary(report: PeriodReport) -> str:
    reported = Counter((row.kind, row.decision) for row in report.rows)
    rows = [(kind, decision or _DASH, str(count)) for (kind, decision), count in sorted(reported.items())]
    left_out = sum(report.entries.values()) - len(report.rows)
    words = (
        f"<p>{len(report.rows)} of the {sum(report.entries.values())} entries of the period are in this report; "
        f"{left_out} are of other kinds, or about something else.</p>"
    )
    table = _table("Decisions by kind", ("Kind", "Decision", "Entries"), [list(map(_text, row)) for row in rows])
    return f'<section aria-labelledby="summary">\n<h2 id="summary">Summary</h2>\n{words}\n{table}\n</section>'


def _decisions(rows: Sequence[ReportRow]) -> str:
    heads = ("Entry", "When", "What was decided", "On what", "By whom", "Why")
    cells = [
        [
            f'<a href="#proof-{row.sequence_number}">{row.sequence_number}</a>',
            f'<time datetime="{_text(row.timestamp)}">{_text(row.timestamp).replace("T", "<br>", 1)}</time>',
            f"<strong>{_text(row.decision or _DASH)}</strong><br><small>{_text(row.kind)}</small>",
            _lines([*row.about, *(f"rule {rule}" for rule in row.rules)]),
            _lines(row.by),
            _text(row.reason or _DASH),
        ]
        for row in rows
    ]
    ids = [f"entry-{row.sequence_number}" for row in rows]
    table = _table("What was decided, on what, by whom", heads, cells, ids)
    return f'<section aria-labelledby="decisions">\n<h2 id="decisions">Decisions</h2>\n{table}\n</section>'


def _proofs(report: PeriodReport) -> str:
    heads = ("Entry", "Hash of the entry", "Path to the root")
    cells = [
        [
            f'<a href="#entry-{row.sequence_number}">{row.sequence_number}</a>',
            f"<code>{_text(row.entry_hash)}</code>",
            _lines([b64encode(one).decode() for one in row.inclusion_path], code=True),
        ]
        for row in report.rows
    ]
    ids = [f"proof-{row.sequence_number}" for row in report.rows]
    table = _table("Inclusion of each entry (RFC 9162)", heads, cells, ids)
    return (
        '<section aria-labelledby="proofs">\n<h2 id="proofs">Proofs</h2>\n'
        "<p>Every entry above is in the tree whose root this checkpoint signs. The same report as JSON carries the "
        "entries themselves; <code>assay verify</code> checks it offline, with nothing but a key you trust.</p>\n"
        f"<pre>{_text(report.checkpoint)}</pre>\n{_grown(report)}\n{table}\n</section>"
    )


def _grown(report: PeriodReport) -> str:
    if report.growth is None:
        return "<p>No checkpoint was signed before the first of these entries.</p>"
    size = parse_checkpoint(report.growth.checkpoint.encode()).checkpoint.size
    path = _lines([b64encode(one).decode() for one in report.growth.consistency_path], code=True)
    return (
        f"<p>The ledger only grew since this earlier checkpoint of {size} entries:</p>\n"
        f"<pre>{_text(report.growth.checkpoint)}</pre>\n<p>Consistency path:<br>{path}</p>"
    )


def _table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]], ids: Sequence[str] | None = None) -> str:
    """Cells are HTML already; the first of each row is its header."""
    if not rows:
        return f"<p>{_text(caption)}: none.</p>"
    head = "".join(f'<th scope="col">{_text(one)}</th>' for one in heads)
    names = [f' id="{_text(one)}"' for one in ids or ()] or [""] * len(rows)
    body = "\n".join(
        f'<tr{name}><th scope="row">{first}</th>{"".join(f"<td>{one}</td>" for one in rest)}</tr>'
        for name, (first, *rest) in zip(names, rows, strict=True)
    )
    return (
        f'<div class="scroll" role="region" aria-label="{_text(caption)}" tabindex="0">\n<table>\n'
        f"<caption>{_text(caption)}</caption>\n<thead>\n<tr>{head}</tr>\n</thead>\n<tbody>\n{body}\n</tbody>\n"
        "</table>\n</div>"
    )


def _lines(texts: Iterable[str], *, code: bool = False) -> str:
    shown = [f"<code>{_text(one)}</code>" if code else _text(one) for one in texts]
    return "<br>".join(shown) or _DASH


def _text(text: str) -> str:
    return escape(visible(text))


# On light and dark screens, and on paper.
STYLE = """\
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --faint: #57606a; --line: #d0d7de; --tint: #f6f8fa;
  --link: #0550ae; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --faint: #9da7b1; --line: #3d444d; --tint: #161b22; --link: #79b8ff; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 0.75rem; }
a { color: var(--link); }
dl { margin: 0; border-top: 1px solid var(--line); }
dl > div { display: grid; grid-template-columns: 9rem 1fr; gap: 1rem; padding: 0.35rem 0;
  border-bottom: 1px solid var(--line); }
dt { color: var(--faint); }
dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
.scroll:focus-visible, a:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
table { width: 100%; border-collapse: collapse; font-size: 0.9rem; }
caption { text-align: left; color: var(--faint); padding: 0.25rem 0; }
th, td { text-align: left; vertical-align: top; padding: 0.45rem 0.6rem; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; }
thead th { background: var(--tint); white-space: nowrap; }
tbody th { font-weight: 600; font-variant-numeric: tabular-nums; white-space: nowrap; }
td time { white-space: nowrap; }
[aria-labelledby="summary"] :is(th, td):last-child { text-align: right; font-variant-numeric: tabular-nums; }
tr:target { background: var(--tint); }
time, code, pre { font-family: ui-monospace, "Liberation Mono", Menlo, Consolas, monospace; font-size: 0.85em; }
small { color: var(--faint); }
pre { background: var(--tint); border: 1px solid var(--line); padding: 0.75rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
@page { size: A4; margin: 16mm 14mm;
  @bottom-right { content: "page " counter(page) " of " counter(pages);
    font: 8pt "Liberation Sans", Arial, sans-serif; } }
@media print {
  :root { --ink: #000000; --paper: #ffffff; --faint: #444444; --line: #999999; --tint: #f2f2f2; --link: #000000; }
  body { font-size: 9.5pt; }
  main { max-width: none; padding: 0; }
  h2 { break-after: avoid; }
  .scroll { overflow: visible; }
  thead { display: table-header-group; }
  tr, pre { break-inside: avoid; }
  table { font-size: 8.5pt; }
  a { text-decoration: none; }
  #proofs { break-before: page; }
}
"""
