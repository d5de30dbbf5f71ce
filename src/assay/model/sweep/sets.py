"""Sets: every size and every position of the member that is observed, demanded and in exemptions."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from assay.model.form import Limits
from assay.model.sweep.case import SweepCase, breached_with, condition, listed, member, single

_DEMANDS = ("must_be_one_of", "must_not_be_one_of", "must", "must_not", "should")
_FILLERS = ("switch", "number", "text", "in")
# Up to this size every kind of demand is asked about every position; above it, the two that sets are made for.
_SMALL = 48


def plain_sets(limits: Limits) -> Iterator[SweepCase]:
    """Sets of texts and sets of numbers; the last two observed are a stranger, and one of another kind."""
    for demand, kind, size in product(_DEMANDS, ("text", "number"), range(1, limits.members + 1)):
        values = [member(kind, at) for at in range(size)]
        observed = [*values, *_strangers(kind)]
        places = range(len(observed))
        if size > _SMALL and demand not in _DEMANDS[:2]:
            places = range(size - 1, len(observed))
        for at in places:
            yield single("sets", (demand, kind, size, at), {"type": demand, "value": values}, observed[at])


def _strangers(kind: str) -> tuple[Any, Any]:
    return ("zz", 99_999) if kind == "text" else (99_999, "zz")


def mixed_sets(limits: Limits) -> Iterator[SweepCase]:
    """Every order of kinds in sets of texts, numbers and at most one switch; strangers of each kind."""
    for size in range(2, limits.mixed_members + 1):
        for values, observed, place in _mixed(size):
            for demand in _DEMANDS:
                yield single("mixed sets", (demand, *place), {"type": demand, "value": values}, observed)
    for size in range(2, limits.exempting_mixed_members + 1):
        for values, observed, place in _mixed(size):
            for word, before in product(("in", "not in"), range(limits.exempting_sets)):
                yield _exempting("mixed sets", (word, before, *place), "switch", before, 0, (word, values, observed))


def _mixed(size: int) -> Iterator[tuple[list[Any], Any, tuple[object, ...]]]:
    for kinds in product("tns", repeat=size):
        if len(set(kinds)) == 1 or kinds.count("s") > 1:
            continue
        values = [{"t": f"t{at}", "n": at + 1, "s": True}[kind] for at, kind in enumerate(kinds)]
        for at, observed in enumerate([*values, "zz", 99_999, False]):
            yield values, observed, ("".join(kinds), at)


def exempting_sets(limits: Limits) -> Iterator[SweepCase]:
    """Sets in each condition that may have one, with none or all other conditions after it, of each kind."""
    most = limits.comparisons - 1
    for filler, before, word in product(_FILLERS, range(limits.exempting_sets), ("in", "not in")):
        for kind, size in product(("text", "number"), range(1, limits.exempting_members + 1)):
            values = [member(kind, at) for at in range(size)]
            for at, observed in enumerate([*values, *_strangers(kind)]):
                for after in {0, most - before - 1}:
                    place = (filler, before, word, kind, size, at, after)
                    yield _exempting("sets in exemptions", place, filler, before, after, (word, values, observed))


def _exempting(
    family: str, place: tuple[object, ...], filler: str, before: int, after: int, asked: tuple[str, list[Any], Any]
) -> SweepCase:
    word, values, observed = asked
    measurement: dict[str, Any] = {"set": observed}
    first = [condition(filler, f"b{at}", "holds", measurement) for at in range(before)]
    # Sets stand among the first conditions alone; what follows them is a switch where the filler is a set.
    style = "switch" if filler == "in" else filler
    last = [condition(style, f"a{at}", "holds", measurement) for at in range(after)]
    text = " and ".join([*first, f"set {word} {listed(values)}", *last])
    return breached_with(family, place, [text], measurement)
