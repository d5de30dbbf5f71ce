"""The tokenizer: the case section of a prompt, as numbers.

prompt -> read_case -> Line for each obligation: tokens, and for each token its comparison and its place in it
The model reads nothing else of a prompt: in the case there are no texts of the record or the graph, only names for
them, so nothing written there can speak to the model. A pair of digits is one token.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from assay.model.errors import CaseFormError, CaseSizeError
from assay.model.vocabulary import IDS, MAX_NAMES, READ

__all__ = ["ASKED", "CLOSING", "MAX_COMPARISONS", "MAX_LINES", "MAX_TOKENS", "TAIL", "Line", "read_case", "read_line"]

MAX_LINES = 64
MAX_COMPARISONS = 16
# Attention adds at most this many products exactly (`engine`), with room for what is written after the line.
MAX_TOKENS = 360
# A position has two numbers. The first is the number of the comparison, or one of these for what follows all of them;
# the second is the place within it, and counts from `ASKED` on in what is written.
TAIL = 30
CLOSING = 31
ASKED = 64
_CONTINUED = ASKED + 8
_WAIVING = ASKED + 16
_LAST_PLACE = 47
_STARTS = frozenset({";", "&", "x"})
_CASE = re.compile(r"(?:^|\n)case\n((?:o\d+ [^\n]*\n)*)answer\n\Z")
_NAME = re.compile(r"([sn])(\d+)")


class Line(Struct, frozen=True, kw_only=True):
    """One obligation as the model reads it.

    `starts` says how each comparison is opened: `;`, `&`, `x`, or not at all; `asked` is the place at which the answer
    to it begins: it differs where a demand ends, where an exemption ends, and where something is continued.
    """

    symbols: tuple[str, ...]
    tokens: tuple[int, ...]
    comparisons: tuple[int, ...]
    places: tuple[int, ...]
    starts: tuple[str, ...]
    asked: tuple[int, ...]


def read_case(prompt: str) -> tuple[Line, ...]:
    """The lines between `case` and `answer` at the very end of a prompt."""
    match = _CASE.search(prompt)
    if match is None:
        raise CaseFormError("expected a prompt that ends in a case and `answer`, got none")
    lines = match.group(1).splitlines()
    if len(lines) > MAX_LINES:
        raise CaseSizeError(f"expected at most {MAX_LINES} obligations, got {len(lines)}")
    return tuple(read_line(line, place) for place, line in enumerate(lines))


def read_line(text: str, place: int) -> Line:
    """One line `oN …`, which must be the N-th."""
    name, *symbols = text.split(" ")
    if name != f"o{place}" or not symbols:
        raise CaseFormError(f"expected line `o{place}`, got `{ascii(name)[1:-1][:40]}`")
    if len(symbols) > MAX_TOKENS:
        raise CaseSizeError(f"expected at most {MAX_TOKENS} symbols for one obligation, got {len(symbols)}")
    comparisons, places, starts = _positions(symbols)
    if len(starts) > MAX_COMPARISONS:
        raise CaseSizeError(f"expected at most {MAX_COMPARISONS} comparisons for one obligation, got {len(starts)}")
    return Line(
        symbols=tuple(symbols),
        tokens=tuple([_token(symbol) for symbol in symbols]),
        comparisons=comparisons,
        places=places,
        starts=starts,
        asked=_asked(starts),
    )


def _positions(symbols: Sequence[str]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[str, ...]]:
    comparisons, places, starts = [], [], [""]
    place = 0
    for symbol in symbols:
        if symbol in _STARTS:
            starts.append(symbol)
            place = 0
        comparisons.append(len(starts) - 1)
        places.append(min(place, _LAST_PLACE))
        place += 1
    return tuple(comparisons), tuple(places), tuple(starts)


def _asked(starts: Sequence[str]) -> tuple[int, ...]:
    following = (*starts[1:], "x")
    waives = [start == "x" for start in starts]
    return tuple(
        _CONTINUED if after != "x" else _WAIVING if any(waives[: place + 1]) else ASKED
        for place, after in enumerate(following)
    )


def _token(symbol: str) -> int:
    if symbol in READ:
        return IDS[symbol]
    match = _NAME.fullmatch(symbol)
    if match is None:
        raise CaseFormError(f"expected a symbol of the case, got `{ascii(symbol)[1:-1][:40]}`")
    # The observed value is the first to be named; that two of very many others differ decides nothing.
    return IDS[f"{match.group(1)}{MAX_NAMES - 1}"]
