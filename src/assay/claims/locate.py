"""Where the words of a quote stand in a document, if they do.

content -> text -> part that a selector names -> words with their places;   quote -> words -> HERE | ELSEWHERE | …
Words are compared, so that line breaks, hyphens at line ends and curly quotes do not matter; signs and digits do.
"""

import csv
import io
import re
from enum import StrEnum
from functools import lru_cache
from html import unescape
from itertools import pairwise
from typing import NamedTuple
from unicodedata import normalize

from msgspec import UNSET

from assay.claims.passage import Passage, Selector
from assay.kernel.errors import JsonError
from assay.kernel.json_text import JsonValue, parse_json

_WORD = re.compile(r"(?<!\w)[-+]?\d[\d.,:/]*(?:\d|%)|(?<!\w)[-+]?\d|[^\W_]+(?:['.-][^\W_]+)*|[%$€£°]")
_SAME_CHARACTERS = str.maketrans(
    {"“": '"', "”": '"', "‘": "'", "’": "'", "\u2010": "-", "\u2011": "-", "\u2212": "-", "–": "-", "—": "-"}
)
_LINE_HYPHEN = re.compile(r"(?<=[^\W\d_])-[ \t]{0,8}\n\s{0,16}(?=[^\W\d_])|\u00ad")
_GAP = re.compile(r"\[?(?:\.\.\.|…)\]?")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z0-9\"'(])|\n\s*\n")
# A fragment of fewer words says nothing about where a quote comes from.
_FRAGMENT = 3
_COVERED = 0.9
_WORDS_OF_PATH = re.compile(r"[/_.~-]+")
_IS_HTML = re.compile(
    r"\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--.{0,2000}?-->\s*)?<(?:!doctype html|html)\b", re.IGNORECASE | re.DOTALL
)
# What a page holds and no reader sees, from its beginning to its end.
_UNSEEN = (
    ("<!--", "-->"),
    ("<script", "</script"),
    ("<style", "</style"),
    ("<head", "</head"),
    ("<template", "</template"),
)
_INLINE = re.compile(
    r"</?(?:a|abbr|b|bdi|cite|code|data|dfn|em|font|i|kbd|mark|q|s|samp|small|span|strong|sub|sup|time|u|var)\b[^<>]*>",
    re.IGNORECASE,
)
_TAG = re.compile(r"<[^<>]*>")
_LONGEST_PAGE = 2 * 1024 * 1024
# Around a quote: the rest of a word, or of a number with its sign and its points.
_COMES_BEFORE = re.compile(r"^(?:\w[\w'.-]|[.,:/+\u2010-\u2014\u2212-]\d|[\w]['\u2019])")
_GOES_ON = re.compile(r"[\w%\u00ad]|['\u2019.\u2010\u2011-]\w|[,:/]\d")
_NEAR = 400
# Most sentences begin within this.
_CLOSE = 80
# Longer texts are not taken apart into words: that would cost more than a gate may.
LONGEST_SEARCHED = 256 * 1024
_PAGE_BREAK = "\f"
# So many words before an offset may begin the quote: an agent counts from a quotation mark or a blank.
_SLACK = 2


class Place(StrEnum):
    HERE = "here"
    ELSEWHERE = "elsewhere"
    FRAGMENTS = "fragments"
    NOWHERE = "nowhere"
    UNSEARCHED = "unsearched"


class Location(NamedTuple):
    """`start` and `end` are in the characters of the text, where the words are found whole."""

    place: Place
    start: int = 0
    end: int = 0


class _Words(NamedTuple):
    joined: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]


def readable_text(content: bytes) -> str | None:
    """The text of a document, of HTML what a reader sees of it; None where its bytes are no text."""
    if content.startswith(b"%PDF-"):
        return None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if not _IS_HTML.match(text):
        return text
    return _seen_text(text) if len(text) <= _LONGEST_PAGE else None


@lru_cache(maxsize=16)
def _seen_text(html: str) -> str:
    """HTML without scripts, comments and tags; what is no tag inside a line begins a new one."""
    bare = html
    for first, last in _UNSEEN:
        bare = _cut_out(bare, first, last)
    return unescape(_TAG.sub("\n", _INLINE.sub("", bare)))


def _cut_out(html: str, first: str, last: str) -> str:
    """The text without any stretch from `first` to `last`; in one pass, whatever the text holds."""
    plain = html.lower()
    if len(plain) != len(html):
        plain = html
    kept, place = [], 0
    while (start := plain.find(first, place)) >= 0:
        kept.append(html[place:start])
        end = plain.find(last, start + len(first))
        if end < 0:
            return "".join(kept)
        place = end + len(last)
    return "".join((*kept, html[place:]))


def selected_part(text: str, selector: Selector) -> str | None:
    """The page, value or cell that a selector names; None where there is none such."""
    if selector.page is not UNSET:
        pages = text.split(_PAGE_BREAK)
        return pages[selector.page - 1] if 1 <= selector.page <= len(pages) else None
    if selector.pointer is not UNSET:
        return _json_part(text, selector.pointer)
    if selector.row is not UNSET and selector.column is not UNSET:
        return _cell(text, selector.row, selector.column)
    return None


def selected_context(text: str, selector: Selector) -> str | None:
    """The value that a selector names, with what it is of: the names on its path, or the other cells of its row."""
    part = selected_part(text, selector)
    if part is not None and selector.pointer is not UNSET:
        return f"{_WORDS_OF_PATH.sub(' ', selector.pointer)}: {part}"
    if part is None or selector.row is UNSET or selector.column is UNSET:
        return part
    row = zip(_rows(text)[0], _rows(text)[selector.row], strict=False)
    others = (cell for name, cell in row if name != selector.column)
    return f"{' '.join(others)} {_WORDS_OF_PATH.sub(' ', selector.column)}: {part}"


def locate(text: str, passage: Passage) -> Location:
    """Where the quote of a passage stands; with an offset or a selector, anywhere else is ELSEWHERE.

    A text that is very long is searched letter by letter only; what is not found so is UNSEARCHED.
    """
    if passage.selector is UNSET:
        verbatim = _verbatim(text, passage)
        if verbatim is not None:
            return verbatim
    return Location(Place.UNSEARCHED) if len(text) > LONGEST_SEARCHED else _by_words(text, passage)


def _by_words(text: str, passage: Passage) -> Location:
    wanted = _words(passage.quote)
    if not wanted.starts:
        return Location(Place.NOWHERE)
    whole = _words(text)
    found = _found(whole, wanted)
    if found is None:
        return Location(Place.FRAGMENTS if _is_stitched(whole, passage.quote) else Place.NOWHERE)
    if passage.selector is not UNSET:
        part = selected_part(text, passage.selector)
        is_here = part is not None and _found(_words(part), wanted) is not None
        return Location(Place.HERE if is_here else Place.ELSEWHERE, *found)
    if passage.offset is UNSET:
        return Location(Place.HERE, *found)
    at = _found_at(whole, wanted, passage.offset)
    return Location(Place.ELSEWHERE, *found) if at is None else Location(Place.HERE, *at)


def _verbatim(text: str, passage: Passage) -> Location | None:
    """The quote where it stands letter by letter, which most do; None leaves it to the words."""
    quote = passage.quote.strip()
    start = text.find(quote, 0 if passage.offset is UNSET else max(passage.offset - _SLACK, 0))
    if start < 0 or not quote or (passage.offset is not UNSET and abs(start - passage.offset) > _SLACK):
        return None
    end = start + len(quote)
    # A word, a number or a sign that goes on outside of the quote is another one: the words tell.
    is_whole = not _COMES_BEFORE.search(text[max(start - 1, 0) : start + 1]) and not _GOES_ON.match(text[end : end + 2])
    return Location(Place.HERE, start, end) if is_whole and _WORD.search(quote) else None


def sentences_around(text: str, start: int, end: int) -> tuple[str, ...]:
    """The sentences that a stretch of a text touches; of a very long one, what is near."""
    low, high = max(start - _NEAR, 0), min(end + _NEAR, len(text))
    near = max(start - _CLOSE, low)
    bounds = _bounds(text, near, high, end)
    if near > low and bounds[0] > start:
        # The sentence begins further back.
        near, bounds = low, _bounds(text, low, high, end)
    if near == low:
        bounds.insert(0, low)
    return tuple(text[first:last].strip() for first, last in pairwise(bounds) if first < end and last > start)


def _bounds(text: str, low: int, high: int, end: int) -> list[int]:
    """Where sentences end from `low` on, up to the first end that is not before `end`; else up to `high`."""
    bounds: list[int] = []
    for found in _SENTENCE_END.finditer(text, low, high):
        bounds.append(found.end())
        if found.end() >= end:
            return bounds
    return [*bounds, high]


@lru_cache(maxsize=16)
def _words(text: str) -> _Words:
    """The words in one form; what is a hyphen at a line's end in the text joins two parts of one word."""
    plain = text.translate(_SAME_CHARACTERS)
    joins = {found.start(): found.end() for found in _LINE_HYPHEN.finditer(plain)}
    words: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for found in _WORD.finditer(plain):
        word = normalize("NFKC", found.group()).casefold()
        if words and joins.get(ends[-1]) == found.start():
            words[-1] += word
            ends[-1] = found.end()
            continue
        words.append(word)
        starts.append(found.start())
        ends.append(found.end())
    return _Words(f" {' '.join(words)} ", tuple(starts), tuple(ends))


def _found(whole: _Words, wanted: _Words) -> tuple[int, int] | None:
    at = whole.joined.find(wanted.joined)
    return None if at < 0 else _stretch(whole, wanted, at)


def _found_at(whole: _Words, wanted: _Words, offset: int) -> tuple[int, int] | None:
    """The quote where the offset says, give or take the blanks and marks before it."""
    at = whole.joined.find(wanted.joined)
    while at >= 0:
        first, last = _stretch(whole, wanted, at)
        if abs(first - offset) <= _SLACK:
            return first, last
        at = whole.joined.find(wanted.joined, at + 1)
    return None


def _stretch(whole: _Words, wanted: _Words, at: int) -> tuple[int, int]:
    first = whole.joined.count(" ", 0, at + 1) - 1
    return whole.starts[first], whole.ends[first + len(wanted.starts) - 1]


def _is_stitched(whole: _Words, quote: str) -> bool:
    """Whether nearly all of a quote is made of fragments of the text, more than one of them."""
    parts = [_words(part).joined.split() for part in _GAP.split(quote)]
    words = [word for part in parts for word in part]
    covered = fragments = place = 0
    while place < len(words):
        length = _longest_run(whole.joined, words, place)
        if length >= _FRAGMENT:
            covered, fragments = covered + length, fragments + 1
        place += max(length, 1)
    return fragments > 1 and covered >= _COVERED * len(words)


def _longest_run(joined: str, words: list[str], place: int) -> int:
    """How many of the words from that place on stand in a row in the text."""
    low, high = 0, len(words) - place
    while low < high:
        middle = (low + high + 1) // 2
        if f" {' '.join(words[place : place + middle])} " in joined:
            low = middle
        else:
            high = middle - 1
    return low


def _json_part(text: str, pointer: str) -> str | None:
    try:
        value: JsonValue = parse_json(text)
    except JsonError:
        return None
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isascii() and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return None if isinstance(value, dict | list) else str(value)


def _cell(text: str, row: int, column: str) -> str | None:
    rows = _rows(text)
    if not rows or column not in rows[0] or not 1 <= row < len(rows):
        return None
    place = rows[0].index(column)
    return rows[row][place] if place < len(rows[row]) else None


@lru_cache(maxsize=16)
def _rows(text: str) -> list[list[str]]:
    first_line = text.partition("\n")[0]
    return list(csv.reader(io.StringIO(text), delimiter="\t" if "\t" in first_line else ","))
