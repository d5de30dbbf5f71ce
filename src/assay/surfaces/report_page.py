"""An audit report as a page that prints well, and as CSV: pure text, no script, nothing loaded from anywhere.

Whatever strangers wrote is escaped, and characters that could hide or reorder text are written as escapes.
"""

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape

from assay.flows.ledger.report_period import PeriodReport, ReportRow
from assay.kernel.checkpoint import parse_checkpoint
from assay.kernel.instant import render_instant
from assay.surfaces.csv_text import cell_of, render_table, visible
from assay.surfaces.report_style import STYLE

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
