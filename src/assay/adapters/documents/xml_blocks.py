"""XML of legislation as blocks: Akoma Ntoso, eCFR, USLM and CLML by the names of their elements.

An element with a number and a heading becomes a heading; one with a number alone puts it in front of its first text.
"""

import re
from typing import TYPE_CHECKING

from assay.adapters.documents.markup import Writer, children, has_any, local_name, table_rows, text_of
from assay.verdicts.graph.extract_blocks import Block

if TYPE_CHECKING:
    from lxml.etree import _Element

_SKIPPED = frozenset(
    {"meta", "metadata", "identification", "script", "style", "ukm", "commentaries", "toc", "teiheader"}
)
_NUMBERS = frozenset({"num", "pnumber", "enum", "number"})
_HEADINGS = frozenset({"heading", "head", "header", "subheading", "doctitle", "ti", "hd1", "hd2", "subject"})
_LEAVES = frozenset({"p", "fp", "text", "para", "note", "auth", "source", "cita", "longtitle", "block", "ednote", "np"})
_TABLES = frozenset({"table", "gpotable", "informaltable"})
_UNITS = frozenset({"section", "article", "rule", "regulation", "clause", "hcontainer"})
_CONTAINERS = frozenset({"part", "chapter", "title", "book", "division", "subpart", "subtitle", "annex", "schedule"})
_BLOCKS = _LEAVES | _TABLES | _HEADINGS | _NUMBERS | _UNITS | _CONTAINERS | {"content", "intro", "item", "list"}
# CLML writes the numbers of its levels without marks.
_BARE = {"p1": "{}.", "p2": "({})", "p3": "({})", "p4": "({})", "p5": "({})"}


def xml_blocks(root: "_Element") -> tuple[Block, ...]:
    writer = Writer()
    _walk(root, writer)
    return tuple(writer.blocks)


def _walk(element: "_Element", writer: Writer) -> None:
    name = local_name(element)
    if not name or name in _SKIPPED:
        return
    if name in _TABLES:
        writer.table(_rows(element), _caption(element))
        return
    number, heading = _child(element, _NUMBERS), _child(element, _HEADINGS)
    if number is not None and name not in _NUMBERS:
        _numbered(element, number, heading, writer)
    elif name in _HEADINGS:
        writer.heading(text_of(element))
    elif name in _LEAVES and not has_any(element, _TABLES | {"item"}):
        writer.text(text_of(element))
    elif has_any(element, _BLOCKS) or len(element):
        _loose(element, writer)
    else:
        writer.text(text_of(element))


def _loose(element: "_Element", writer: Writer) -> None:
    """Inner blocks; an element with text beside its children, and no block among them, is one paragraph."""
    is_inline = not has_any(element, _BLOCKS) and _has_text(element)
    if is_inline:
        writer.text(text_of(element))
        return
    writer.text(" ".join((element.text or "").split()))
    for child in element:
        if isinstance(child.tag, str):
            _walk(child, writer)
        writer.text(" ".join((child.tail or "").split()))


def _has_text(element: "_Element") -> bool:
    has_entity = any(not isinstance(child.tag, str) for child in element)
    return has_entity or bool((element.text or "").strip()) or any((child.tail or "").strip() for child in element)


def _numbered(element: "_Element", number: "_Element", heading: "_Element | None", writer: Writer) -> None:
    name, num = local_name(element), text_of(number)
    num = _BARE[name].format(num.strip("().")) if name in _BARE and num else num
    inner = Writer()
    for child in children(element):
        if child is not number and child is not heading:
            _walk(child, inner)
    blocks = inner.blocks
    if heading is not None and (name in _UNITS | _CONTAINERS or not blocks or name in _BARE):
        writer.heading(_title(num, text_of(heading)))
    elif name in _CONTAINERS or (name in _UNITS and re.search(r"[A-Za-z§]", num)):
        writer.heading(num)
    else:
        title = "" if heading is None else text_of(heading).rstrip(".") + ". "
        _put_prefixed(f"{num} {title}".strip(), blocks, writer)
        return
    for block in blocks:
        _put(block, writer)


def _title(number: str, heading: str) -> str:
    """`3. Wholesome water`, `Part I — Preliminary`, `§ 97.103 Standards.`"""
    if re.fullmatch(r"[0-9]+[A-Za-z]?", number):
        return f"{number}. {heading}"
    if re.search(r"[A-Za-z§]", number):
        return f"{number.rstrip('.')} — {heading}"
    return f"{number} {heading}"


def _put_prefixed(prefix: str, blocks: list[Block], writer: Writer) -> None:
    for index, block in enumerate(blocks):
        if index == 0 and not block.rows:
            writer.text(f"{prefix} {block.text}")
        else:
            _put(block, writer)


def _put(block: Block, writer: Writer) -> None:
    if block.rows:
        writer.table(block.rows, block.text)
    elif block.kind == "heading":
        writer.heading(block.text)
    else:
        writer.text(block.text)


def _child(element: "_Element", names: frozenset[str]) -> "_Element | None":
    return next((child for child in children(element) if local_name(child) in names), None)


def _caption(element: "_Element") -> str:
    names = frozenset({"caption", "ttitle", "title"})
    found = next((node for node in element.iter() if local_name(node) in names), None)
    return "" if found is None else text_of(found)


def _rows(element: "_Element") -> tuple[tuple[str, ...], ...]:
    """Rows of cells; GPOTABLE keeps its header cells apart."""
    heads = tuple(text_of(node) for node in element.iter() if local_name(node) == "ched")
    rows = table_rows(element)
    return (heads, *rows) if heads and rows and len(heads) == len(rows[0]) else rows
