"""The tokenizer: the case section of a prompt, as numbers.

prompt -> read_case -> Line for each obligation: tokens, and for each token its comparison and its place in it
The model reads nothing else of a prompt: in the case there are no texts of the record or the graph, only names for
them, so nothing written there can speak to the model. A pair of digits is one token.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from assay.model.errors import CaseSizeError, JudgeError
from assay.model.form import SECOND, Form, Limits, form_of
from assay.model.vocabulary import IDS, MAX_NAMES, READ

# A position has two numbers. The first is the number of the comparison, or one of these for what follows all of them;
# the second is the place within it, and counts from `ASKED` on in what is written.
TAIL = 30
CLOSING = 31
ASKED = 64
_CONTINUED = ASKED + 8
_WAIVING = ASKED + 16
_LAST_PLACE = 47
# Places and names of members that a cyclic form takes in turns: of a set that is demanded, and of one in an exemption.
_TURNS, _TURNS_EXEMPTING = 20, 5
_STARTS = frozenset({";", "&", "x"})
_CASE = re.compile(r"(?:^|\n)case\n((?:o\d+ [^\n]*\n)*)answer\n\Z")
_NAME = re.compile(r"([sn])(0|[1-9]\d{0,5})")
_SWITCHES = frozenset({"t", "f"})
_MIXED = " of several kinds"


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
    """Read the lines between `case` and `answer` at the very end of a prompt, in the form of its template."""
    match = _CASE.search(prompt)
    if match is None:
        raise JudgeError.case("expected a prompt that ends in a case and `answer`, got none")
    form, lines = form_of(prompt), match.group(1).splitlines()
    _require_at_most(form.limits.obligations, len(lines), "obligations")
    return tuple(read_line(line, place, form) for place, line in enumerate(lines))


def read_line(text: str, place: int, form: Form = SECOND) -> Line:
    """Read one line `oN …`, which must be the N-th."""
    name, *symbols = text.split(" ")
    if name != f"o{place}" or not symbols:
        raise JudgeError.case(f"expected line `o{place}`, got `{ascii(name)[1:-1][:40]}`")
    _require_at_most(form.limits.symbols, len(symbols), "symbols for one obligation")
    comparisons, starts = _numbered(symbols)
    _require_at_most(form.limits.comparisons, len(starts), "comparisons for one obligation")
    _require_sets(symbols, comparisons, starts, form.limits)
    return Line(
        symbols=tuple(symbols),
        tokens=tuple(
            [_token(symbol, _turns(number, form)) for symbol, number in zip(symbols, comparisons, strict=True)]
        ),
        comparisons=comparisons,
        places=_places(symbols, comparisons, form),
        starts=starts,
        asked=_asked(starts),
    )


def _require_at_most(most: int, got: int, what: str) -> None:
    if got > most:
        raise CaseSizeError(f"expected at most {most} {what}, got {got}")


def _require_sets(symbols: Sequence[str], comparisons: Sequence[int], starts: Sequence[str], limits: Limits) -> None:
    demands = starts.index("x") if "x" in starts else len(starts)
    for at, symbol in enumerate(symbols):
        if symbol != ":":
            continue
        number = comparisons[at]
        members = [one for one, other in zip(symbols, comparisons, strict=True) if other == number][1:]
        members = members[members.index(":") + 1 :]
        is_mixed = len({"b" if one in _SWITCHES else one[0] for one in members}) > 1
        if number < demands:
            most = limits.mixed_members if is_mixed else limits.members
            _require_at_most(most, len(members), f"members of a set{_MIXED if is_mixed else ''}")
            continue
        most = limits.exempting_mixed_members if is_mixed else limits.exempting_members
        _require_at_most(most, len(members), f"members of a set{_MIXED if is_mixed else ''} in an exemption")
        if len(members) > 1 and number >= demands + limits.exempting_sets:
            raise CaseSizeError(
                f"expected sets in the first {limits.exempting_sets} conditions of exemptions, "
                f"got one in condition {number - demands + 1}"
            )


def _numbered(symbols: Sequence[str]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """For each symbol the number of its comparison, and how each comparison is opened."""
    comparisons, starts = [], [""]
    for symbol in symbols:
        if symbol in _STARTS:
            starts.append(symbol)
        comparisons.append(len(starts) - 1)
    return tuple(comparisons), tuple(starts)


def _turns(comparison: int, form: Form) -> int | None:
    """After how many members places and names begin again, None where they do not: only a demand has number 0."""
    if not form.is_cyclic:
        return None
    return _TURNS_EXEMPTING if comparison else _TURNS


def _places(symbols: Sequence[str], comparisons: Sequence[int], form: Form) -> tuple[int, ...]:
    places: list[int] = []
    place, first_member = 0, None
    for symbol, comparison in zip(symbols, comparisons, strict=True):
        if symbol in _STARTS:
            place, first_member = 0, None
        turns = _turns(comparison, form)
        at = place
        if turns is not None and first_member is not None:
            at = first_member + (place - first_member) % turns
        places.append(min(at, _LAST_PLACE))
        place += 1
        if symbol == ":":
            first_member = place
    return tuple(places)


def _asked(starts: Sequence[str]) -> tuple[int, ...]:
    following = (*starts[1:], "x")
    waives = [start == "x" for start in starts]
    return tuple(
        _CONTINUED if after != "x" else _WAIVING if any(waives[: place + 1]) else ASKED
        for place, after in enumerate(following)
    )


def _token(symbol: str, turns: int | None) -> int:
    match = _NAME.fullmatch(symbol)
    if match is None:
        if symbol in READ:
            return IDS[symbol]
        raise JudgeError.case(f"expected a symbol of the case, got `{ascii(symbol)[1:-1][:40]}`")
    # The observed value is the first to be named; that two of very many others differ decides nothing.
    number = int(match.group(2))
    if turns is not None and number:
        number = 1 + (number - 1) % turns
    return IDS[f"{match.group(1)}{min(number, MAX_NAMES - 1)}"]
