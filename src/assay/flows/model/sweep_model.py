"""Ask a judge about every size and position up to its limits: what it gets wrong, and what it wrongly calls CLEAR.

sweep cases -> requests -> judge -> verdicts beside the verifier's own -> counts by family; larger cases -> refusals
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from json import loads

from msgspec import Struct

from assay.model.engine import Engine
from assay.model.errors import CaseSizeError
from assay.model.form import SECOND, Limits
from assay.model.judge import judge, judge_many
from assay.model.sweep.case import SweepCase
from assay.model.sweep.cover import beyond_limits, sweep_cases
from assay.verdicts.case import OpenCase, expected_of, open_case, parse_case
from assay.verdicts.envelope import Verdict
from assay.verdicts.reason import build_request

_TOGETHER = 64
_SHOWN = 20


class SweptFamily(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`wrong` are verdicts that differ from the verifier's; `silent_clears` those of them that are CLEAR.

    `refused` are cases within the limits that the judge did not read. `examples` name the first wrong ones.
    """

    family: str
    cases: int = 0
    wrong: int = 0
    silent_clears: int = 0
    refused: int = 0
    examples: tuple[str, ...] = ()


class Sweep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`beyond` are cases just over a limit, of which `beyond_refused` were refused; `every` says how it was thinned."""

    limits: Limits
    every: int
    families: tuple[SweptFamily, ...]
    beyond: int
    beyond_refused: int

    @property
    def cases(self) -> int:
        return sum(one.cases for one in self.families)

    @property
    def wrong(self) -> int:
        return sum(one.wrong for one in self.families)

    @property
    def silent_clears(self) -> int:
        return sum(one.silent_clears for one in self.families)

    @property
    def refused(self) -> int:
        return sum(one.refused for one in self.families)

    @property
    def is_clean(self) -> bool:
        """Nothing was wrongly called CLEAR, everything within the limits was read, and nothing beyond them."""
        return not self.silent_clears and not self.refused and self.beyond == self.beyond_refused


class _Count:
    """What is counted of one family while the sweep runs."""

    __slots__ = ("cases", "examples", "refused", "silent", "wrong")

    def __init__(self) -> None:
        self.cases = self.wrong = self.silent = self.refused = 0
        self.examples: list[str] = []


def sweep_model(
    engine: Engine,
    *,
    every: int = 1,
    report: Callable[[int], None] = lambda _done: None,
    limits: Limits = SECOND.limits,
) -> Sweep:
    """Ask about all cases of the sweep, or each `every`-th; `report` is told how many are done."""
    counts: dict[str, _Count] = {}
    done = 0
    for part in _parts(sweep_cases(limits, every=every)):
        opened = [open_case(parse_case(one.case)) for one in part]
        for one, case, verdict in zip(part, opened, _verdicts(engine, opened), strict=True):
            _add(counts.setdefault(one.family, _Count()), one, expected_of(case).verdict, verdict)
        done += len(part)
        report(done)
    beyond = [open_case(parse_case(one.case)) for one in beyond_limits(limits)]
    return Sweep(
        limits=limits,
        every=every,
        families=tuple(_family(name, count) for name, count in counts.items()),
        beyond=len(beyond),
        beyond_refused=sum(_verdict(engine, case) is None for case in beyond),
    )


def _parts(cases: Iterable[SweepCase]) -> Iterator[list[SweepCase]]:
    left = iter(cases)
    while part := list(islice(left, _TOGETHER)):
        yield part


def _verdicts(engine: Engine, opened: list[OpenCase]) -> list[str | None]:
    """The judge's verdict on each; None where it refused the case for its size."""
    try:
        answers = judge_many(engine, [_asked(one) for one in opened])
    except CaseSizeError:
        return [_verdict(engine, one) for one in opened]
    return [str(loads(answer.text)["verdict"]) for answer in answers]


def _verdict(engine: Engine, case: OpenCase) -> str | None:
    try:
        return str(loads(judge(engine, *_asked(case)).text)["verdict"])
    except CaseSizeError:
        return None


def _asked(case: OpenCase) -> tuple[str, bytes]:
    request = build_request(case.docket, case.telemetry, case.facts, seed=0)
    return request.prompt, bytes(request.grammar)


def _add(count: _Count, one: SweepCase, expected: Verdict, verdict: str | None) -> None:
    count.cases += 1
    if verdict is None:
        count.refused += 1
    elif verdict != expected:
        count.wrong += 1
        count.silent += verdict == Verdict.CLEAR
        if len(count.examples) < _SHOWN:
            count.examples.append(f"{one.place}: expected {expected}, got {verdict}")


def _family(name: str, count: _Count) -> SweptFamily:
    return SweptFamily(
        family=name,
        cases=count.cases,
        wrong=count.wrong,
        silent_clears=count.silent,
        refused=count.refused,
        examples=tuple(count.examples),
    )
