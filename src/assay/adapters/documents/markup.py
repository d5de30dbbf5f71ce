"""Steps that the readers of HTML and XML share: text of an element, and tables of cells."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.verdicts.graph.extract_blocks import Block, BlockKind

if TYPE_CHECKING:
    from lxml.etree import _Element

_ROWS = frozenset({"tr", "row"})
_CELLS = frozenset({"td", "th", "entry", "ent"})
_MOST_SPAN = 100


class Writer:
    """Collects blocks; `line` is the position of the block."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []

    def heading(self, text: str) -> None:
        self._put(BlockKind.HEADING, text)

    def text(self, text: str) -> None:
        self._put(BlockKind.TEXT, text)

    def table(self, rows: tuple[tuple[str, ...], ...], caption: str = "") -> None:
        if rows:
            block = Block(kind=BlockKind.TABLE, text=caption, line=len(self.blocks) + 1, rows=rows)
            self.blocks.append(block)

    def _put(self, kind: BlockKind, text: str) -> None:
        if text:
            self.blocks.append(Block(kind=kind, text=text, line=len(self.blocks) + 1))


def local_name(element: "_Element") -> str:
    """The tag without its namespace, in lower case; empty for entities."""
    tag = element.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def children(element: "_Element") -> Iterator["_Element"]:
    return (child for child in element if isinstance(child.tag, str))


def text_of(element: "_Element") -> str:
    """All text inside, with single spaces; a line break is a space."""
    return " ".join("".join(_texts(element)).split())


def _texts(element: "_Element") -> Iterator[str]:
    if local_name(element) in {"script", "style"}:
        return
    yield element.text or ""
    for child in element:
        if local_name(child) == "br":
            yield " "
        elif isinstance(child.tag, str):
            yield from _texts(child)
        else:
            # An entity that is not resolved stands as it is written.
            yield child.text or ""
        yield child.tail or ""


def own_text(element: "_Element", inner: frozenset[str]) -> str:
    """The text of an element without that of children with these names."""
    parts = [element.text or ""]
    for child in element:
        if isinstance(child.tag, str) and local_name(child) not in inner:
            parts += list(_texts(child))
        parts.append(child.tail or "")
    return " ".join("".join(parts).split())


def has_any(element: "_Element", names: frozenset[str]) -> bool:
    return any(local_name(node) in names for node in element.iter() if node is not element)


def table_rows(table: "_Element") -> tuple[tuple[str, ...], ...]:
    """The cells, with spanned cells repeated, in rows of one width."""
    rows: list[list[str]] = []
    spans: dict[int, tuple[int, str]] = {}
    for row in table.iter():
        if local_name(row) not in _ROWS:
            continue
        cells: list[str] = []
        for cell in children(row):
            if local_name(cell) not in _CELLS:
                continue
            _repeat(cells, spans)
            text, across, down = text_of(cell), _span(cell, "colspan"), _span(cell, "rowspan")
            for _ in range(across):
                if down > 1:
                    spans[len(cells)] = (down - 1, text)
                cells.append(text)
        _repeat(cells, spans)
        rows.append(cells)
    width = max(map(len, rows), default=0)
    return tuple((*row, *("",) * (width - len(row))) for row in map(tuple, rows) if any(row))


def _repeat(cells: list[str], spans: dict[int, tuple[int, str]]) -> None:
    while len(cells) in spans:
        left, text = spans.pop(len(cells))
        if left > 1:
            spans[len(cells)] = (left - 1, text)
        cells.append(text)


def _span(cell: "_Element", name: str) -> int:
    value = cell.get(name, "1")
    return min(max(int(value), 1), _MOST_SPAN) if value.isascii() and value.isdigit() else 1
