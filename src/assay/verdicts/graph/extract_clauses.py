"""Blocks of a document as clauses and sentences: numbering read, list items joined with their introduction.

blocks -> headings, numbered paragraphs, items -> clauses with the label a lawyer would cite -> sentences
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.verdicts.graph.extract_blocks import Block, BlockKind

_KEYWORD = (
    r"(?:Article|ARTICLE|Art\.|Section|SECTION|Sec\.|Regulation|Rule|Annex|ANNEX|Schedule|SCHEDULE|Appendix"
    r"|Clause|Table|Condition|CONDITION|Requirement|REQUIREMENT"
    r"|§§?)"
)
_CONTAINER = r"(?:Part|PART|Chapter|CHAPTER|Title|TITLE|Subpart|SUBPART|Division|Book|Subchapter|SUBCHAPTER)"
_NUMBER = r"(?:[0-9]+[a-zA-Z]?(?:[.-](?:[0-9]+|[A-Z]\b))*|[A-Z]{1,2}[.-]?[0-9]+(?:[.-][0-9]+)*|[IVXLC]+|[A-Z])"
_HEADING = re.compile(
    rf"(?P<word>{_KEYWORD}|{_CONTAINER})\s*(?P<number>{_NUMBER})\b\.?\s*(?:[—–:.-]+\s*)?(?P<title>\S.*)?"
)
_ALONE = re.compile(r"(?P<word>ANNEX|Annex|SCHEDULE|Schedule|APPENDIX|Appendix)")
_NUMBERED_TITLE = re.compile(
    r"(?P<number>[0-9]{1,3}[A-Z]?(?:[.-][0-9]+)*|[A-Z](?:\.[0-9]+)*|[IVXLC]+)(?:[.)]\s*(?:[—–-]\s*)?|\s+(?:[—–-]\s*)?)"
    r"(?P<title>[A-Z“\"‘'(].*)"
)
_DOTTED = re.compile(r"(?P<number>(?:[0-9]{1,3}|[A-Z])(?:\.[0-9]{1,3})+[a-z]?)\.?\s+(?P<rest>\S.*)")
# `A1. Nobody may …`, `R-12: …`: a code of letters and digits.
_CODED = re.compile(r"(?P<number>[A-Z]{1,4}-?[0-9]{1,3}(?:[.-][0-9]+)*)[.:)]\s+(?P<rest>[A-Z“\"‘'(].*)")
# `4 § Barriers`: the number stands before the sign.
_SIGN_BEHIND = re.compile(r"^(?P<number>[0-9]+ ?[a-z]?) ?§\.?\s*")
_PLAIN = re.compile(r"(?P<number>[0-9]{1,3}[A-Z]?)\.(?:\s+|\s*[—–-]\s*(?=\())(?P<rest>\S.*)")
_UNDOTTED = re.compile(r"(?P<number>[0-9]{1,3})(?:\s+(?=[A-Z])|(?=\([0-9a-z]\)\s))(?P<rest>\S.*)")
_ROUND = re.compile(r"\(?(?P<number>[0-9]{1,3}[a-z]?)\)\s*(?P<rest>\S.*)")
_LETTER = re.compile(
    r"(?:\((?P<in>[a-z]{1,5}|[A-Z])\)\s*|(?P<out>[a-z]|[ivx]{1,5})\)\s+|(?P<dot>[a-z])\.\s+)(?P<rest>\S.*)"
)
_POINT = re.compile(r"\.(?P<number>[0-9]{1,2})\s+(?P<rest>\S.*)")
_BULLET = re.compile(r"[-*•·–]\s+(?P<rest>\S.*)")
_ROMAN = re.compile(r"x{0,3}(?:ix|iv|v?i{0,3})")
_SHORT = {"Art.": "Article", "Sec.": "Section", "§§": "§", "ARTICLE": "Article", "SECTION": "Section", "ANNEX": "Annex"}
_SHORT |= {
    "CONDITION": "Condition",
    "REQUIREMENT": "Requirement",
    "SCHEDULE": "Schedule",
    "PART": "Part",
    "CHAPTER": "Chapter",
    "TITLE": "Title",
    "SUBPART": "Subpart",
}
_INNER = re.compile(r"(?P<title>[A-Z][^.]{1,80}\.)\s+(?=\([0-9a-zA-Z]{1,4}\)[\s(])")
# After these a full stop ends no sentence.
_ABBREVIATION = re.compile(
    r"(?:\b(?:Art|Arts|No|Nos|Reg|Sec|para|paras|approx|e\.g|i\.e|cf|vol|St|Dr|min|max|Fig|etc|Ltd|Inc|Co|ca|resp)"
    r"|\b[A-Z](?:\.[A-Z])*)\.$"
)
DEMANDS = re.compile(
    r"\b(?:must|MUST|shall|SHALL|should|SHOULD|may|MAY|can|will|applies|apply|(?:does|do) not apply"
    r"|(?:is|are) (?:not )?(?:prohibited|required|forbidden|allowed"
    r"|permitted|entitled|to be)|ha(?:s|ve) (?:to|the right)|means(?! of)|needs? to|cannot)\b"
)
_WHOLE = re.compile(DEMANDS.pattern.replace("|may|MAY|can|will", ""))
_FINITE = re.compile(r" (?:is|are|has|have|does|do|can|meets?)\b")
_MEETS = re.compile(
    r"(?:\b(?:[\w-]+ ){0,3}(?:meets?|satisf(?:y|ies)|compl(?:y|ies) with|fulfils?"
    r"|observed?)) the following(?: [\w-]+){0,3}$",
    re.IGNORECASE,
)
_OWN_MODAL = re.compile(r"(?:A|An|The|Each|Every|Any|No|[A-Z][a-z]+s) .*?\b(?:may|can|will)\b")
_LEADS_IN = re.compile(r"\b(?:ensure|that|if|provided|where|when)(?: [\w -]{0,40})?$")
_TITLE_WORDS = re.compile(r"(?!.*\b(?:is|are|has|have|must|shall|may)\b)[A-Z0-9][\w’' -]{0,60}")
_COMPARED_LEVELS = re.compile(
    r"(?P<words>at least|at most|not more than|no more than) the following (?P<noun>[a-z -]+)$"
)
_BOUND_LEVELS = re.compile(r"\bthe following (?P<side>minimum|maximum) [a-z]+\b", re.IGNORECASE)
_FOLLOWING = re.compile(
    r"\b(?:(?:any|all|each|one|either) of )?the following(?: (?:items|things|information|particulars|records"
    r"|documents|data"
    r"|substances|materials|measures|details|points|matters|conditions|requirements|activities|acts))?\b",
    re.IGNORECASE,
)
_END = re.compile(r"(?<=[.;!])\s+(?=[A-Z“\"‘'(])")
_SEMICOLON = re.compile(r";\s+(?:and |but |or )?")
_LEADS = re.compile(r"[:—–-]$|\bthe following(?: [\w-]+){0,4}\.$")
_CAPTION = re.compile(rf"(?:Table|TABLE)\s+(?P<number>{_NUMBER})\b\.?\s*(?:[—–:.-]+\s*)?(?P<title>\S.*)?")
_LONGEST_TITLE = 90
_MOST_LEVELS = 8


_FIRST = frozenset({"1", "a", "A", "i"})


class Clause(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A numbered piece of text. `label` is how it is cited; `lead` introduces it where it is an item of a list.

    `line` is where it starts, counted from 1. `title` is the heading that it stands under.
    """

    label: str
    text: str
    line: int
    title: str = ""
    lead: str = ""
    is_lead: bool = False  # whether its last sentence introduces the items below


class Table(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table in its clause; `lead` is the text that stands before it, `caption` its own heading."""

    label: str
    rows: tuple[tuple[str, ...], ...]
    line: int
    title: str = ""
    lead: str = ""


class Sentence(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One sentence, and the clause it stands in.

    `words` are those of the source; `text` completes an item of a list with its introduction, `lead`.
    """

    text: str
    clause: str
    line: int
    words: str
    lead: str = ""
    is_alternative: bool = False  # `…; or`: the next item takes its place


class _Level(Struct, kw_only=True):
    """One level of the numbering: how it is written, its number, and what introduces the levels below."""

    style: str
    number: str
    lead: str = ""
    is_container: bool = False


class _Place:
    """Where the reader is."""

    def __init__(self) -> None:
        self.levels: list[_Level] = []
        self.title = ""
        self.bullet = False
        self.named: str | None = None  # a heading without a number, until a number follows
        self.caption: tuple[str, str] | None = None  # the number and the title of the next table
        self.restarts = False  # whether paragraphs are counted anew below each heading

    @property
    def label(self) -> str:
        shown = [level for level in self.levels if not level.is_container] or self.levels
        if not shown:
            return "preamble"
        first, *rest = shown
        head = first.number if first.style != "round" or len(shown) > 1 else f"({first.number})"
        return head + "".join(f"({level.number})" for level in rest)

    @property
    def lead(self) -> str:
        above = self.levels if self.bullet else self.levels[:-1]
        return " ".join(level.lead for level in above if level.lead)

    def enter(self, style: str, number: str) -> None:
        """Go to a number: beside one of the same style, else below the last."""
        self.bullet = False
        if self.named is not None and number in _FIRST and (style != "plain" or self.restarts):
            self.head("named", self.named, self.named)
        self.named = None
        at = next((index for index, level in enumerate(self.levels) if level.style == style), None)
        if at is None and style == "plain" and number != "1":
            # `1. Definitions` is a heading, and `2. The operator shall …` its neighbour.
            at = next((index for index, level in enumerate(self.levels) if level.style == "title"), None)
        if at is not None:
            del self.levels[at:]
        self.levels.append(_Level(style=style, number=number))

    def head(self, style: str, number: str, title: str, *, is_container: bool = False) -> None:
        is_annex = number.startswith(("Annex", "Schedule", "Appendix"))
        above = [level for level in self.levels if level.is_container and not is_container and not is_annex]
        self.levels = [*above[:1], _Level(style=style, number=number, is_container=is_container)]
        self.title, self.bullet, self.named = title, False, None


def read_title(blocks: Sequence[Block]) -> str | None:
    """The first heading that numbers nothing, or the first line if it numbers nothing either."""
    heads = [block.text for block in blocks if block.kind is BlockKind.HEADING]
    found = next((text for text in heads if text and not _is_numbered(text)), None)
    if found is not None:
        return found[:200]
    first = next((block.text for block in blocks if block.kind is BlockKind.TEXT), None)
    return None if first is None or _is_numbered(first) else _first_sentence(first)[:200]


def _first_sentence(text: str) -> str:
    return next(iter(_parts(text)), text)


def _is_numbered(text: str) -> bool:
    patterns = (_HEADING, _NUMBERED_TITLE, _DOTTED, _PLAIN, _ROUND, _LETTER)
    return any(pattern.fullmatch(text) for pattern in patterns)


def read_clauses(blocks: Sequence[Block]) -> tuple[Clause | Table, ...]:
    """In the order of the text; the text before the first number is the preamble, and the title is left out."""
    place, title = _Place(), read_title(blocks)
    place.restarts = sum(block.text.startswith(("1. ", "1) ")) for block in blocks) > 1
    found: list[Clause | Table] = []
    for index, given in enumerate(blocks):
        block = replace(given, text=_SIGN_BEHIND.sub(r"§ \g<number> ", given.text))
        if not found and block.text == title:
            continue
        if block.kind is BlockKind.TABLE:
            found.append(_table(place, block, found))
            continue
        is_heading = block.kind is BlockKind.HEADING or _looks_like_heading(block, blocks[index + 1 : index + 2])
        caption = _CAPTION.fullmatch(block.text) if is_heading else None
        if caption is not None:
            # The text below a table goes on where it was.
            place.caption = (f"Table {caption['number']}", caption["title"] or "")
            continue
        rest = _enter_heading(place, block.text) if is_heading else _enter_text(place, block.text)
        for text in rest:
            lead = place.lead if place.bullet or _is_marked(block.text) else ""
            is_lead = _LEADS.search(text) is not None
            found.append(
                Clause(label=place.label, text=text, line=block.line, title=place.title, lead=lead, is_lead=is_lead)
            )
            if _LEADS.search(text) and place.levels and not place.bullet:
                place.levels[-1].lead = last_sentence(text)
            elif text.endswith((":", "—")) and not place.levels:
                place.levels.append(_Level(style="none", number="preamble", lead=last_sentence(text)))
    return tuple(found)


def _table(place: _Place, block: Block, found: list[Clause | Table]) -> Table:
    if place.named is not None:
        place.head("named", place.named, place.named)
    last = found[-1] if found else None
    lead = last.text if isinstance(last, Clause) and last.label == place.label else ""
    label, title = place.caption or (place.label, place.title)
    place.caption = None
    return Table(label=label, rows=block.rows, line=block.line, title=block.text or title, lead=lead)


def _looks_like_heading(block: Block, following: Sequence[Block]) -> bool:
    """A short line that ends nowhere and demands nothing, with something below it."""
    text = block.text
    if not following or len(text) > _LONGEST_TITLE or text[-1:] in ".;:,—-" or DEMANDS.search(text):
        return False
    if re.match(r"[0-9A-Z.]+\s+[a-z]", text) and not _HEADING.fullmatch(text):
        return False
    if _LETTER.fullmatch(text) or _BULLET.fullmatch(text) or _ROUND.fullmatch(text) or re.search(r"\w: ", text):
        return False
    return text[:1].isupper() or text[:1].isdigit() or text[:1] == "§"


def _enter_heading(place: _Place, text: str) -> list[str]:
    """Go to where a heading says it is; a sentence after its number is text."""
    alone = _ALONE.fullmatch(text)
    if alone is not None:
        place.head("word", _SHORT.get(alone["word"], alone["word"].title()), "")
        return []
    heading = _HEADING.fullmatch(text)
    if heading is not None:
        word, title = _SHORT.get(heading["word"], heading["word"]), heading["title"] or ""
        is_text = DEMANDS.search(title) is not None and title.endswith((".", ":", ";"))
        is_container = re.fullmatch(_CONTAINER, heading["word"]) is not None
        label = f"{word} {heading['number']}"
        annex = next((level.number.partition(",")[0] for level in place.levels if not level.is_container), "")
        if is_container and annex.startswith(("Annex", "Schedule", "Appendix")):
            label, is_container = f"{annex}, {label}", False
        place.head("word", label, "" if is_text else title, is_container=is_container)
        return [title] if is_text else []
    numbered = _NUMBERED_TITLE.fullmatch(text)
    if numbered is not None:
        place.head("title", numbered["number"], numbered["title"])
        return []
    if place.title == "" and place.levels and place.levels[-1].style == "word" and place.named is None:
        # The line below `Article 3` is its title.
        place.title = text
        return []
    place.named = place.title = text
    return []


def _enter_text(place: _Place, text: str) -> list[str]:
    """Go to where a paragraph says it is; its words beyond the number, in pieces where it goes on to a number below."""
    bullet = _BULLET.fullmatch(text)
    if bullet is not None and (_CODED.fullmatch(bullet["rest"]) or _DOTTED.fullmatch(bullet["rest"])):
        text = bullet["rest"]
    heading = _HEADING.fullmatch(text)
    # `Section 5.4 does not apply` and `Paragraph 2 …` begin sentences, not clauses.
    is_heading = heading is not None and re.match(r".*[0-9A-Z]\b\.?\s*[—–:.-]", text[: heading.start("title") or None])
    if heading is not None and heading["title"] and is_heading:
        word = _SHORT.get(heading["word"], heading["word"])
        place.head("word", f"{word} {heading['number']}", "")
        return _enter_inner(place, heading["title"])
    if dotted := _DOTTED.fullmatch(text):
        place.head("dotted", dotted["number"], place.title)
        return _enter_inner(place, dotted["rest"])
    coded = _CODED.fullmatch(text)
    if coded is not None:
        place.head("coded", coded["number"], place.title)
        return _enter_inner(place, coded["rest"])
    if plain := _PLAIN.fullmatch(text):
        place.enter("plain", plain["number"])
        return _enter_inner(place, plain["rest"])
    undotted = _UNDOTTED.fullmatch(text)
    is_sentence = DEMANDS.search(text) is not None or text.endswith((".", ":"))
    if undotted is not None and is_sentence and _follows(place, undotted["number"]):
        place.enter("plain", undotted["number"])
        return _enter_inner(place, undotted["rest"])
    return _enter_inner(place, text)


def _follows(place: _Place, number: str) -> bool:
    last = next((level.number for level in place.levels if level.style == "plain"), "0")
    if not last.isdigit():
        return False
    is_below_heading = any(level.style == "word" and not level.is_container for level in place.levels)
    return int(number) == int(last) + 1 or (is_below_heading and int(number) > int(last))


def _enter_inner(place: _Place, text: str) -> list[str]:
    """Go down the numbers that a paragraph begins with; `(b) Leaks. (1) A leak …` has a title between two."""
    for _ in range(_MOST_LEVELS):
        rest = _enter_number(place, text)
        if rest is None:
            inner = _INNER.match(text)
            if inner is None or not place.levels:
                break
            place.title, rest = inner["title"].rstrip("."), text[inner.end() :]
        text = rest
    bullet = _BULLET.fullmatch(text)
    if place.named is not None:
        # Text below a heading without a number is cited by the heading.
        place.head("named", place.named, place.named)
    place.bullet = bullet is not None
    return [text if bullet is None else bullet["rest"]]


def _enter_number(place: _Place, text: str) -> str | None:
    """Go to the number at the beginning of a text; the text behind it, None where there is no number."""
    bullet = _BULLET.fullmatch(text)
    text = text if bullet is None else bullet["rest"]
    for pattern, style in ((_POINT, "point"), (_ROUND, "round")):
        if found := pattern.fullmatch(text):
            place.enter(style, found["number"])
            return found["rest"]
    letter = _LETTER.fullmatch(text)
    if letter is None:
        return None
    mark = letter["in"] or letter["out"] or letter["dot"]
    kind = _letter_style(place, mark, letter["rest"])
    if kind is None:
        return None
    place.enter(kind, mark)
    return letter["rest"]


def _letter_style(place: _Place, mark: str, rest: str) -> str | None:
    if mark.isupper():
        return "capital"
    if len(mark) == 1 and re.match(r"(?:[A-Z][^.]{1,80}\.\s+)?\(1\)", rest):
        # `(i) Hearing protectors. (1) …`: numbers stand below letters, and below no small numerals.
        return "letter"
    last = next((level.number for level in reversed(place.levels) if level.style == "letter"), "")
    is_next = len(mark) == 1 and len(last) == 1 and ord(mark) == ord(last) + 1
    if _ROMAN.fullmatch(mark) and not is_next:
        return "roman"
    return "letter" if len(mark) == 1 or mark == mark[0] * len(mark) else None


def _is_marked(text: str) -> bool:
    return any(
        pattern.fullmatch(text) for pattern in (_DOTTED, _CODED, _PLAIN, _UNDOTTED, _POINT, _ROUND, _LETTER, _BULLET)
    )


def split_sentences(clause: Clause) -> Iterator[Sentence]:
    """Items come with their introduction; an introduction alone is part of its items."""
    lead = clause.lead.rstrip(":—–-. ").strip()
    parts = list(_parts(clause.text))
    for part in parts:
        words = part.rstrip(".;").removesuffix(" and").removesuffix(" or").strip().rstrip(",;").strip()
        if words and not (_LEADS.search(part) and part == last_sentence(clause.text) and clause.is_lead):
            is_title = (
                part is parts[0] and len(parts) > 1 and part.endswith(".") and _TITLE_WORDS.fullmatch(words) is not None
            )
            is_whole = not lead or is_title or _is_whole(lead, words)
            text = words if is_whole else _completed(lead, words)
            yield Sentence(
                text=text,
                clause=clause.label,
                line=clause.line,
                words=words,
                lead="" if is_whole else lead,
                is_alternative=part.rstrip(" ,;").endswith(" or"),
            )


def _is_whole(lead: str, words: str) -> bool:
    """Whether an item demands by itself; one with a verb of permission does, unless the introduction leads into it."""
    if _WHOLE.search(words):
        return True
    return _OWN_MODAL.match(words) is not None and _LEADS_IN.search(lead) is None


def _completed(lead: str, item: str) -> str:
    """`shall deliver the following to the port` and `oily water`: the item takes the place of `the following`."""
    lower = item if item[1:2].isupper() or not item[:1].isalpha() else item[:1].lower() + item[1:]
    if _MEETS.search(lead) and _FINITE.search(item):
        return f"The person responsible must ensure that {lower}"
    compared = _COMPARED_LEVELS.search(lead)
    if compared is not None:
        return f"{lead[: compared.start()]}{compared['noun']} of {compared['words']} {lower}"
    bound = _BOUND_LEVELS.search(lead)
    if bound is not None:
        return f"{lead[: bound.start()]}a {bound['side']} of {lower}{lead[bound.end() :]}"
    following = _FOLLOWING.search(lead)
    return f"{lead} {lower}" if following is None else f"{lead[: following.start()]}{lower}{lead[following.end() :]}"


def _parts(text: str) -> Iterator[str]:
    kept = ""
    for part in _END.split(" ".join(text.split())):
        kept = f"{kept} {part}".strip()
        if not _ABBREVIATION.search(kept):
            yield from _halves(kept)
            kept = ""
    if kept:
        yield from _halves(kept)


def _halves(text: str) -> Iterator[str]:
    """Two demands with a semicolon between them are two sentences."""
    parts = _SEMICOLON.split(text)
    if len(parts) > 1 and all(DEMANDS.search(part) for part in parts if part):
        yield from (part for part in parts if part)
    else:
        yield text


def last_sentence(text: str) -> str:
    return list(_parts(text))[-1] if text else ""
