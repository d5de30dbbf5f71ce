"""A document as blocks: headings, paragraphs and tables, in the order of the text.

plain text or Markdown -> lines -> blocks. Readers of other formats (HTML, XML, PDF) produce the same blocks.
"""

import re
from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct


class BlockKind(StrEnum):
    HEADING = "heading"
    TEXT = "text"
    TABLE = "table"


class Block(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One piece of a document. A table has `rows`, its header rows first; `text` is then its caption.

    `line` is where it starts, counted from 1: a line of a text, or the position of the block in other formats.
    """

    kind: BlockKind
    text: str
    line: int
    rows: tuple[tuple[str, ...], ...] = ()


_MARK = re.compile(r"^\s{0,3}#{1,6}\s+(?P<text>.*?)\s*#*$")
_UNDERLINE = re.compile(r"^\s{0,3}(?:={3,}|-{3,})\s*$")
_RULE = re.compile(r"^\s*(?:[-*_=]\s*){3,}$")
_PIPE_RULE = re.compile(r"^\s*\|?\s*:?-{1,}:?\s*(?:\|\s*:?-{1,}:?\s*)*\|?\s*$")
_GAP = re.compile(r"\s{2,}|\t+")
_EMPHASIS = re.compile(r"(?<!\w)(?:\*\*|__|\*)(?=\S)(?P<inner>[^*_]+?)(?<=\S)(?:\*\*|__|\*)(?!\w)")
# A line that begins like this is a paragraph of its own.
_STARTS = re.compile(
    r"^\s*(?:[-*•·–]\s|\.[0-9]{1,2}\s|\(?[0-9]{1,3}[A-Za-z]?[.)]|\([0-9a-zA-Z]{1,5}\)|[a-z]{1,4}\)\s|[a-z]\.\s"
    r"|[0-9A-Z]+(?:\.[0-9]+)+\.?\s|§"
    r"|[\"“‘][^\"”’]{1,60}[\"”’]|(?:\*\*)?[A-Z][A-Za-z -]{2,40}(?:\*\*)?:(?:\*\*)?\s|[0-9]{1,2} [A-Z])"
)
_HEADING_LINE = re.compile(
    r"^\s*(?:(?:Article|Section|Regulation|Rule|Annex|ANNEX|Part|PART|Chapter|CHAPTER|Schedule|SCHEDULE|Table|Condition|CONDITION"
    r"|Requirement|REQUIREMENT|§)"
    r"\s*[0-9A-Z][0-9A-Za-z.-]*\b(?:\s*[—–:.-]\s*[^.;]{1,80})?|[A-Z][A-Z0-9 ,'’&()/-]{3,80})\s*$"
)
# `4  Storage`, alone in its line, with a sentence in the next.
_SHORT_TITLE = re.compile(
    r"^\s*[0-9]{1,2}(?:\.[0-9]{1,2})*\.?\s+[A-Z][A-Za-z-]+(?: (?:and|of|or|for|[a-z-]+)){0,3}\s*$"
)
_SENTENCE = re.compile(r"^\s*[A-Z][a-z]")
_LONGEST_CELL = 60
_FEWEST_ROWS = 3


def read_blocks(text: str) -> tuple[Block, ...]:
    """Read plain text or Markdown."""
    return tuple(_blocks(text.expandtabs(8).splitlines()))


def _blocks(lines: list[str]) -> Iterator[Block]:
    held: list[str] = []
    start = index = 0
    while index < len(lines):
        line = lines[index]
        table = _pipe_table(lines, index) or (_aligned_table(lines, index) if not held else None)
        is_underlined = index + 1 < len(lines) and bool(line.strip()) and _UNDERLINE.match(lines[index + 1]) is not None
        mark = _MARK.match(line)
        is_rule = _RULE.match(line) is not None
        ends = table is not None or mark is not None or (is_underlined and not held) or is_rule or not line.strip()
        is_title = len(held) == 1 and _SHORT_TITLE.match(held[0]) is not None and _SENTENCE.match(line) is not None
        if held and (
            ends or is_title or _STARTS.match(line) or _HEADING_LINE.match(line) or _HEADING_LINE.match(held[-1])
        ):
            yield _text(held, start)
            held = []
        if table is not None:
            yield Block(kind=BlockKind.TABLE, text="", line=index + 1, rows=table[0])
            index = table[1]
            continue
        if mark is not None or (is_underlined and not is_rule):
            words = line if mark is None else mark["text"]
            yield Block(kind=BlockKind.HEADING, text=_plain(words), line=index + 1)
            index += 1 if mark is not None else 2
            continue
        if line.strip() and not is_rule:
            start = start if held else index + 1
            held.append(line.strip())
        index += 1
    if held:
        yield _text(held, start)


def _text(lines: list[str], start: int) -> Block:
    return Block(kind=BlockKind.TEXT, text=_plain(" ".join(lines)), line=start)


def _plain(text: str) -> str:
    """Without Markdown's emphasis."""
    return _EMPHASIS.sub(lambda found: found["inner"], text).strip()


_Table = tuple[tuple[tuple[str, ...], ...], int]


def _pipe_table(lines: list[str], index: int) -> _Table | None:
    """Rows with `|` between the cells, and a line of dashes below the first."""
    if "|" not in lines[index] or index + 1 >= len(lines) or "|" not in lines[index + 1]:
        return None
    if _PIPE_RULE.match(lines[index + 1]) is None:
        return None
    rows = [_cells(lines[index])]
    end = index + 2
    while end < len(lines) and "|" in lines[end] and lines[end].strip():
        if _PIPE_RULE.match(lines[end]) is None:
            rows.append(_cells(lines[end]))
        end += 1
    width = len(rows[0])
    return tuple((*row, *("",) * width)[:width] for row in rows), end


def _cells(line: str) -> tuple[str, ...]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return tuple(_plain(cell) for cell in re.split(r"(?<!\\)\|", inner))


def _aligned_table(lines: list[str], index: int) -> _Table | None:
    """Rows whose cells are separated by two spaces or more, all of the same width, without a sentence in the first."""
    rows: list[tuple[str, ...]] = []
    end = index
    while end < len(lines) and lines[end].strip() and len(rows) < len(lines):
        if _RULE.match(lines[end]) and rows:
            end += 1
            continue
        cells = tuple(cell.strip() for cell in _GAP.split(lines[end].strip()))
        if len(cells) < 2 or (rows and len(cells) != len(rows[0])) or max(map(len, cells)) > _LONGEST_CELL:  # noqa: PLR2004  one column is no table
            break
        rows.append(cells)
        end += 1
    if len(rows) < _FEWEST_ROWS or any(_STARTS.match(row[0] + " ") for row in rows) or rows[0][-1].endswith((".", ";")):
        return None
    return tuple(rows), end
