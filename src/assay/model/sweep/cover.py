"""All families of a sweep, whole or thinned out; and cases just beyond each limit."""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from assay.model.form import Limits
from assay.model.sweep.case import SweepCase, breached_with, listed, member, single
from assay.model.sweep.conditions import conditions, exemptions
from assay.model.sweep.numbers import digits, ranges, scales
from assay.model.sweep.obligations import obligations
from assay.model.sweep.sets import exempting_sets, mixed_sets, plain_sets


def sweep_cases(limits: Limits, *, every: int = 1) -> Iterator[SweepCase]:
    """All cases within the limits, or each `every`-th of them."""
    found = chain(
        plain_sets(limits),
        mixed_sets(limits),
        exempting_sets(limits),
        conditions(limits),
        exemptions(limits),
        obligations(limits),
        digits(),
        scales(),
        ranges(),
    )
    return islice(found, 0, None, every)


def beyond_limits(limits: Limits) -> Iterator[SweepCase]:
    """One more than each limit allows, each of which must be refused."""
    many = [{"id": f"ob-{at}", "type": "must", "metric": "m"} for at in range(limits.obligations + 1)]
    yield SweepCase(family="beyond", place="obligations", case={"obligations": many, "measurement": {"m": True}})
    yield _set("members", [member("text", at) for at in range(limits.members + 1)])
    yield _set("mixed_members", [member(("text", "number")[at % 2], at) for at in range(limits.mixed_members + 1)])
    switches: dict[str, Any] = {f"c{at}": True for at in range(limits.comparisons)}
    held = [f"{name} == true" for name in switches]
    yield breached_with("beyond", "comparisons", [" and ".join(held)], switches)
    texts = [member("text", at) for at in range(limits.exempting_members + 1)]
    yield breached_with("beyond", "exempting_members", [f"s not in {listed(texts)}"], {"s": "t0"})
    several = [member(("text", "number")[at % 2], at) for at in range(limits.exempting_mixed_members + 1)]
    yield breached_with("beyond", "exempting_mixed_members", [f"s not in {listed(several)}"], {"s": "t0"})
    late = [*held[: limits.exempting_sets], 's not in ["a", "b"]']
    yield breached_with("beyond", "exempting_sets", [" and ".join(late)], {**switches, "s": "a"})


def _set(place: str, values: list[Any]) -> SweepCase:
    return single("beyond", place, {"type": "must_not_be_one_of", "value": values}, values[0])
