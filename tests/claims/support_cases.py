"""Labelled cases of the support check, made from texts that were written by hand; the same seed gives the same cases.

text + quote + claim -> quote changed in layout, in its words, in its place, put together, or left without its content
"""

import json
from collections.abc import Iterator
from hashlib import sha256
from random import Random
from typing import NamedTuple

from assay.claims.bundle import EvidencePointer
from assay.claims.passage import Passage, SupportResult
from tests.claims.making import NOW, VECTORS

__all__ = ["SupportCase", "support_cases"]

_OTHER_WORDS = (
    "never",
    "formerly",
    "officially",
    "silver",
    "eleven",
    "harbour",
    "beyond",
    "largely",
    "winter",
    "merely",
)


class SupportCase(NamedTuple):
    expected: SupportResult
    how: str
    claim: str
    passage: Passage
    pointer: EvidencePointer
    content: bytes | None
    contents: dict[str, bytes]


class _Text(NamedTuple):
    source: str
    text: str
    quotes: list[str]
    supported: list[tuple[int, str]]
    contradicted: list[tuple[int, str]]
    unclear: list[tuple[int, str]]


def support_cases(seed: int = 20) -> Iterator[SupportCase]:
    """More than 500 cases, of every result."""
    rows = json.loads((VECTORS / "support" / "texts.json").read_text())["items"]
    texts = [_Text(**row) for row in rows]
    chance = Random(seed)  # noqa: S311  the same cases each time
    for place, text in enumerate(texts):
        other = texts[(place + 1 + chance.randrange(len(texts) - 1)) % len(texts)]
        yield from _found(text, chance)
        yield from _lost(text, other, chance)


def _found(text: _Text, chance: Random) -> Iterator[SupportCase]:
    for number, claim in text.supported:
        quote = text.quotes[number]
        yield _case(text, SupportResult.SUPPORTED, "exact", claim, quote)
        yield _case(text, SupportResult.SUPPORTED, "layout", claim, _laid_out(quote, chance))
        yield _case(text, SupportResult.SUPPORTED, "offset", claim, quote, offset=text.text.index(quote))
        part = quote.rstrip(".").split()
        yield _case(text, SupportResult.SUPPORTED, "part", claim, " ".join(part[: max(3, len(part) - 2)]))
    for label, claims in ((SupportResult.CONTRADICTED, text.contradicted), (SupportResult.UNCLEAR, text.unclear)):
        for number, claim in claims:
            yield _case(text, label, "claim", claim, text.quotes[number])
            yield _case(text, label, "claim, layout", claim, _laid_out(text.quotes[number], chance))


def _lost(text: _Text, other: _Text, chance: Random) -> Iterator[SupportCase]:
    for number, claim in text.supported:
        quote = text.quotes[number]
        yield _case(text, SupportResult.NOT_FOUND, "words changed", claim, _reworded(quote, chance))
        yield _case(text, SupportResult.NOT_FOUND, "made up", claim, f"{chance.choice(_OTHER_WORDS)} {claim} indeed so")
        yield _case(text, SupportResult.MISATTRIBUTED, "other source", claim, other.quotes[number], beside=other)
        wrong = text.text.index(quote) + chance.choice((-40, 25, 60, 90))
        yield _case(text, SupportResult.MISATTRIBUTED, "wrong offset", claim, quote, offset=max(wrong, 0) or 31)
        yield _case(text, SupportResult.STITCHED, "fragments", claim, _stitched(text, number, chance))
    claim = text.supported[0][1]
    bare = _case(text, SupportResult.ABSENT, "not held", claim, text.quotes[0])
    yield bare._replace(content=None, contents={})
    yield bare._replace(content=b"%PDF-1.7 \xff", contents={})


def _case(
    text: _Text,
    expected: SupportResult,
    how: str,
    claim: str,
    quote: str,
    *,
    offset: int | None = None,
    beside: _Text | None = None,
) -> SupportCase:
    content = text.text.encode()
    pointer = EvidencePointer(
        source=text.source, source_confidence=0.9, evidence_hash=sha256(content).hexdigest(), retrieved_at=NOW
    )
    passage = Passage(place=0, quote=quote) if offset is None else Passage(place=0, quote=quote, offset=offset)
    contents = {text.source: content} | ({} if beside is None else {beside.source: beside.text.encode()})
    return SupportCase(expected, how, claim, passage, pointer, content, contents)


def _laid_out(quote: str, chance: Random) -> str:
    """Other blanks, line breaks, dashes and quotation marks around the same words."""
    words = quote.split()
    joined = "".join(f"{word}{chance.choice((' ', '  ', chr(10), ' ', chr(0xA0)))}" for word in words).strip()
    return chance.choice(("{}", "“{}”", '"{}"', "{}  ")).format(joined)


def _reworded(quote: str, chance: Random) -> str:
    """One word in four is another."""
    words = quote.rstrip(".").split()
    for place in range(chance.randrange(3), len(words), 3):
        words[place] = chance.choice(_OTHER_WORDS)
    return " ".join(words)


def _stitched(text: _Text, number: int, chance: Random) -> str:
    """The beginning of one sentence and the end of another."""
    first = text.quotes[number].rstrip(".").split()
    others = [quote.rstrip(".").split() for place, quote in enumerate(text.quotes) if place != number]
    second = chance.choice([one for one in others if len(one) >= 4])
    gap = chance.choice((" ", " ... ", " … "))
    return f"{' '.join(first[:4])}{gap}{' '.join(second[-4:])}"
