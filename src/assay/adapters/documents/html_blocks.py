"""HTML as blocks: headings, paragraphs, lists, tables; the classes and layout tables of EUR-Lex are understood."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from assay.adapters.documents.markup import Writer, children, has_any, local_name, own_text, table_rows, text_of
from assay.verdicts.graph.extract_blocks import Block

if TYPE_CHECKING:
    from lxml.etree import _Element

_SKIPPED = frozenset({"script", "style", "head", "nav", "footer", "template", "noscript", "svg"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "legend", "summary"})
_BLOCKS = frozenset(
    {
        *("p", "div", "section", "article", "main", "header", "aside", "table", "ul", "ol", "dl", "form"),
        *("blockquote", "pre", "figure", "fieldset", "details", "address", "center", "body", "hr", *_HEADINGS),
    }
)
_LISTS = frozenset({"ul", "ol", "dl", "table", "p", "div"})
# `oj-ti-art`, `ti-art`, `sti-art`, `doc-ti`, `ti-section-1`, `ti-grseq-1`, `title-article-norm`, `title-division-1`
_TITLE_CLASS = re.compile(r"\b(?:oj-)?(?:s?ti-[a-z]+[-0-9]*|doc-ti|title-[a-z-]+[0-9]*|stitle-[a-z-]+)\b")
_MARKER = re.compile(r"\(?(?:[0-9]{1,3}[a-z]?|[a-z]{1,5}|[A-Z])[.)]|[—–•·-]|[0-9]{1,3}")
_ROMAN = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
_ALPHABET = 26


def html_blocks(root: "_Element") -> tuple[Block, ...]:
    writer = Writer()
    _walk(root, writer)
    return tuple(writer.blocks)


def _walk(element: "_Element", writer: Writer) -> None:
    name = local_name(element)
    if name in _SKIPPED or not name:
        return
    if name in _HEADINGS or (name == "p" and _TITLE_CLASS.search(element.get("class", ""))):
        writer.heading(text_of(element))
    elif name == "table":
        _table(element, writer)
    elif name in {"ul", "ol"}:
        _list(element, writer)
    elif name == "dl":
        _terms(element, writer)
    elif has_any(element, _BLOCKS):
        _mixed(element, writer)
    else:
        writer.text(text_of(element))


def _mixed(element: "_Element", writer: Writer) -> None:
    """Blocks inside an element, and the text that stands loose between them."""
    loose = [element.text or ""]
    for child in element:
        name = local_name(child)
        if name in _BLOCKS or (name and has_any(child, _BLOCKS)):
            writer.text(" ".join("".join(loose).split()))
            loose = []
            _walk(child, writer)
        elif name and name not in _SKIPPED:
            loose.append(" " if name == "br" else text_of(child))
        loose.append(child.tail or "")
    writer.text(" ".join("".join(loose).split()))


def _table(table: "_Element", writer: Writer) -> None:
    """A table whose rows are a marker and a text is a list that was laid out as a table."""
    rows = [[cell for cell in children(row) if local_name(cell) in {"td", "th"}] for row in _own_rows(table)]
    filled = [[cell for cell in row if text_of(cell)] for row in rows]
    is_layout = all(len(row) == 2 and _MARKER.fullmatch(text_of(row[0])) for row in filled if row)  # noqa: PLR2004  marker and text
    if is_layout and any(filled):
        for row in filled:
            if row:
                _marked(text_of(row[0]), row[1], writer)
        return
    if all(len(row) <= 1 for row in filled):
        for row in filled:
            for cell in row:
                _mixed(cell, writer)
        return
    caption = next((text_of(child) for child in children(table) if local_name(child) == "caption"), "")
    writer.table(table_rows(table), caption)


def _own_rows(table: "_Element") -> list["_Element"]:
    found: list[_Element] = []
    for child in children(table):
        if local_name(child) == "tr":
            found.append(child)
        elif local_name(child) in {"tbody", "thead", "tfoot"}:
            found += [row for row in children(child) if local_name(row) == "tr"]
    return found


def _marked(marker: str, body: "_Element", writer: Writer) -> None:
    """The marker in front of the first text of its body; lists and tables inside follow."""
    inner = Writer()
    _mixed(body, inner)
    _prefix(marker, inner.blocks, writer)


def _prefix(marker: str, blocks: list[Block], writer: Writer) -> None:
    shown = {"—": "-", "–": "-", "•": "-", "·": "-"}.get(marker, marker)
    for index, block in enumerate(blocks):
        if block.rows:
            writer.table(block.rows, block.text)
        else:
            writer.text(f"{shown} {block.text}" if index == 0 else block.text)


def _list(element: "_Element", writer: Writer) -> None:
    mark = _marks(element)
    for index, item in enumerate(child for child in children(element) if local_name(child) == "li"):
        inner = Writer()
        text = own_text(item, _LISTS)
        inner.text(text)
        for child in children(item):
            if local_name(child) in _LISTS:
                _walk(child, inner)
        first = inner.blocks[0].text if inner.blocks else ""
        # Many pages write the number themselves.
        has_number = re.match(r"\(?[0-9a-zA-Z]{1,4}[.)]\s|[0-9]+(?:\.[0-9]+)+\s", first) is not None
        if has_number:
            for block in inner.blocks:
                writer.table(block.rows, block.text) if block.rows else writer.text(block.text)
        else:
            _prefix(mark(index), inner.blocks, writer)


def _marks(element: "_Element") -> Callable[[int], str]:
    if local_name(element) == "ul":
        return lambda _: "-"
    start = element.get("start", "1")
    first = int(start) if start.isascii() and start.isdigit() else 1
    kind = element.get("type", "1")
    if kind in {"a", "A"}:
        return lambda index: f"({chr(ord(kind) + (first - 1 + index) % _ALPHABET)})"
    if kind == "i":
        return lambda index: f"({_ROMAN[(first + index) % 10]})" if first + index < len(_ROMAN) else "-"
    return lambda index: f"{first + index}."


def _terms(element: "_Element", writer: Writer) -> None:
    """A list of terms: `term: meaning`."""
    term = ""
    for child in element.iter():
        if local_name(child) == "dt":
            term = text_of(child).rstrip(":")
        elif local_name(child) == "dd":
            writer.text(f"{term}: {text_of(child)}" if term else text_of(child))
            term = ""
