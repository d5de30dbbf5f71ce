"""The text of a regulation as clauses and sentences: numbering read, list items joined with what introduces them.

lines -> headings, numbered paragraphs, items -> clauses with the label a lawyer would cite -> sentences
"""

import re
from collections.abc import Iterator

from msgspec import Struct

__all__ = ["Clause", "Sentence", "read_clauses", "read_title", "split_sentences"]

_MARK = re.compile(r"^\s{0,3}#{1,6}\s+")
_HEADING = re.compile(
    r"(?P<word>Article|Art\.|Section|Sec\.|Regulation|Rule|Annex|Part|Chapter|Schedule|§)\s*"
    r"(?P<number>[0-9]+[a-z]?(?:\.[0-9]+)*|[IVXLC]+|[A-Z])\b\s*(?:[—–:.-]\s*(?P<title>\S.*))?",
)
# Without a dash after the number, only a few words that end nowhere are a title: `Article 5 Limits`.
_BARE_HEADING = re.compile(
    r"(?P<word>Article|Section|Regulation|Rule|Annex|Part|Chapter|Schedule) (?P<number>[0-9]+[a-z]?|[IVXLC]+) "
    r"(?P<title>[A-Z][^.;:]{0,80})",
)
_DOTTED = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)+)\.?\s+(?P<rest>\S.*)")
_PARAGRAPH = re.compile(r"(?:\((?P<round>[0-9]{1,3}[a-z]?)\)|(?P<plain>[0-9]{1,3})\.)\s+(?P<rest>\S.*)")
_ITEM = re.compile(r"(?:[-*]\s+)?\((?P<letter>[a-z]|[ivx]{1,5})\)\s+(?P<rest>\S.*)")
_SHORT = {"Art.": "Article", "Sec.": "Section", "§": "§"}
# After these a full stop ends no sentence.
_ABBREVIATION = re.compile(r"(?:\b(?:Art|Arts|No|Nos|Reg|Sec|para|paras|approx|e\.g|i\.e|cf|vol|St|Dr))\.$")
# An item that demands by itself needs no introduction.
_DEMANDS = re.compile(r"\b(?:must|shall|should|may|applies|apply|does not|is prohibited|are prohibited)\b")
_END = re.compile(r"(?<=[.;])\s+(?=[A-Z“\"‘'(])")


class Clause(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A numbered piece of text. `label` is how it is cited; `lead` introduces it where it is an item of a list.

    `line` is where it starts, counted from 1.
    """

    label: str
    text: str
    line: int
    title: str = ""
    lead: str = ""


class Sentence(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One sentence, and the clause it stands in; an item of a list is completed by its introduction."""

    text: str
    clause: str
    line: int


class _Place:
    """Where the reader is: the heading, the paragraph below it, the item below that."""

    def __init__(self) -> None:
        self.heading = ""
        self.title = ""
        self.paragraph = ""
        self.item = ""
        self.lead = ""

    @property
    def label(self) -> str:
        return f"{self.heading}{self.paragraph}{self.item}" or "preamble"

    def enter_heading(self, word: str, number: str, title: str) -> None:
        self.heading = f"{_SHORT.get(word, word)} {number}".strip()
        self.title, self.paragraph, self.item, self.lead = title, "", "", ""

    def enter_paragraph(self, number: str) -> None:
        # A bare "1." is an article of its own where no heading stands above it.
        self.paragraph = f"({number})" if self.heading else number
        self.item = self.lead = ""

    def enter_item(self, letter: str) -> None:
        self.item = f"({letter})"


def read_title(text: str) -> str | None:
    """The first heading that numbers nothing, or the first line if it numbers nothing either."""
    lines = [line for line in text.splitlines() if line.strip()]
    marked = [_MARK.sub("", line).strip() for line in lines if _MARK.match(line)]
    found = next((line for line in marked if not (_HEADING.fullmatch(line) or _BARE_HEADING.fullmatch(line))), None)
    if found is not None or not lines:
        return found
    first = _MARK.sub("", lines[0]).strip()
    is_numbered = any(pattern.fullmatch(first) for pattern in (_HEADING, _BARE_HEADING, _DOTTED, _PARAGRAPH, _ITEM))
    return None if is_numbered else first[:200]


def read_clauses(text: str) -> tuple[Clause, ...]:
    """In the order of the text; what stands before the first number is the preamble, and the title is left out."""
    place, title = _Place(), read_title(text)
    clauses: list[Clause] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = _MARK.sub("", raw).strip()
        if not line or (line == title and not clauses):
            continue
        rest = _enter(place, line)
        if rest is None:
            continue
        is_new = not clauses or clauses[-1].label != place.label
        if is_new:
            clauses.append(Clause(label=place.label, text=rest, line=number, title=place.title, lead=place.lead))
        else:
            last = clauses[-1]
            clauses[-1] = Clause(
                label=last.label, text=f"{last.text} {rest}", line=last.line, title=last.title, lead=last.lead
            )
        if not place.item and rest.endswith(":"):
            place.lead = clauses[-1].text
    return tuple(clauses)


def split_sentences(clause: Clause) -> Iterator[Sentence]:
    """Items come with their introduction; an introduction alone says nothing yet."""
    lead = _last(clause.lead).removesuffix(":").strip() if clause.lead else ""
    for part in _parts(clause.text):
        text = part.rstrip(".;").removesuffix(" and").removesuffix(" or").strip().rstrip(",;").strip()
        if text and not part.endswith(":"):
            is_whole = not lead or _DEMANDS.search(text) is not None
            yield Sentence(text=text if is_whole else f"{lead} {text}", clause=clause.label, line=clause.line)


def _enter(place: _Place, line: str) -> str | None:
    """Move to where a line says it is; what it says beyond its number, None for a heading alone."""
    bare = _BARE_HEADING.fullmatch(line)
    if bare is not None and _DEMANDS.search(line) is None:
        place.enter_heading(bare["word"], bare["number"], bare["title"])
        return None
    if heading := _HEADING.fullmatch(line):
        title = heading["title"] or ""
        # A sentence after the number is text, a few words are a title.
        is_text = title.endswith((".", ":", ";"))
        place.enter_heading(heading["word"], heading["number"], "" if is_text else title)
        return title if is_text else None
    if dotted := _DOTTED.fullmatch(line):
        place.enter_heading("", dotted["number"], "")
        return _enter_inner(place, dotted["rest"])
    if paragraph := _PARAGRAPH.fullmatch(line):
        place.enter_paragraph(paragraph["round"] or paragraph["plain"])
        return _enter_inner(place, paragraph["rest"])
    return _enter_inner(place, line)


def _enter_inner(place: _Place, line: str) -> str:
    item = _ITEM.fullmatch(line)
    if item is None:
        return line
    place.enter_item(item["letter"])
    return item["rest"]


def _parts(text: str) -> Iterator[str]:
    kept = ""
    for part in _END.split(" ".join(text.split())):
        kept = f"{kept} {part}".strip()
        if not _ABBREVIATION.search(kept):
            yield kept
            kept = ""
    if kept:
        yield kept


def _last(text: str) -> str:
    return list(_parts(text))[-1] if text else ""
