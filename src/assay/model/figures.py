"""Figures: how good a model was found to be on a file of cases, and whether another is worse.

cases, each with what was expected and what came -> count_cases -> Figures; two of them -> check_worse -> reasons
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from msgspec import UNSET, Struct, UnsetType

from assay.model.card import TypeFigures

_BREACH, _CLEAR = "FLAG", "CLEAR"
_UNPARSABLE = "unparsable"
# Verdicts must not get worse at all. How an answer is put may, by so much: the verifier sees every single one.
_SLACK = 0.001


class MarkedCase(Struct, frozen=True, kw_only=True):
    """One case: the right verdict, the model's (None: nothing readable came), and its assertions by type.

    `is_refused`: it is larger than the model reads, which the model said.
    """

    expected: str
    got: str | None
    agreed: bool
    assertions: tuple[tuple[str, bool], ...] = ()
    is_refused: bool = False


class Figures(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rates are from 0 to 1. `silent_clear` is the share of breaches that were called CLEAR, of which there were so
    many; `agreement` that of answers in which the verifier differs in nothing; `confusion` counts by expected and got.
    `refused` cases were larger than the model reads: they are in no rate; it is absent where there are none.
    """

    cases: int
    verdict_accuracy: float
    assertion_accuracy: float
    flag_recall: float
    silent_clear: float
    silent_clears: int
    agreement: float
    unparsable: int
    types: dict[str, TypeFigures]
    confusion: dict[str, dict[str, int]]
    refused: int | UnsetType = UNSET

    @property
    def refusals(self) -> int:
        return 0 if self.refused is UNSET else self.refused


class Timing(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long single verdicts on two obligations took; `clock` is `cpu` or `wall`. None where nothing was timed."""

    clock: str
    timed: int
    p50_ms: float | None
    p95_ms: float | None
    tokens_per_second: float | None


def count_cases(marked: Iterable[MarkedCase]) -> Figures:
    """The same figures for the same cases in any order."""
    confusion: defaultdict[str, Counter[str]] = defaultdict(Counter)
    asserted, right = Counter[str](), Counter[str]()
    agreed = refused = 0
    for one in marked:
        if one.is_refused:
            refused += 1
            continue
        confusion[one.expected][one.got or _UNPARSABLE] += 1
        agreed += one.agreed
        for kind, is_right in one.assertions:
            asserted[kind] += 1
            right[kind] += is_right
    total, breaches = sum(map(Counter.total, confusion.values())), confusion[_BREACH].total()
    return Figures(
        cases=total + refused,
        verdict_accuracy=_share(sum(row[name] for name, row in confusion.items()), total),
        assertion_accuracy=_share(right.total(), asserted.total()),
        flag_recall=_share(confusion[_BREACH][_BREACH], breaches),
        silent_clear=1 - _share(breaches - confusion[_BREACH][_CLEAR], breaches),
        silent_clears=confusion[_BREACH][_CLEAR],
        agreement=_share(agreed, total),
        unparsable=sum(row[_UNPARSABLE] for row in confusion.values()),
        types={kind: TypeFigures(asserted=asserted[kind], right=right[kind]) for kind in sorted(asserted)},
        confusion={name: dict(sorted(row.items())) for name, row in sorted(confusion.items()) if row},
        refused=refused or UNSET,
    )


def check_worse(before: Figures, after: Figures, where: str) -> tuple[str, ...]:
    """Every figure that got worse on the same cases, with both values; nothing where none did."""
    if before.cases != after.cases:
        return (f"{where}: {after.cases} cases instead of {before.cases}",)
    rising = (
        ("verdict accuracy", before.verdict_accuracy, after.verdict_accuracy, 0.0),
        ("FLAG recall", before.flag_recall, after.flag_recall, 0.0),
        ("fewer silent CLEARs", -before.silent_clears, -after.silent_clears, 0.0),
        ("fewer unparsable answers", -before.unparsable, -after.unparsable, 0.0),
        ("fewer refused cases", -before.refusals, -after.refusals, 0.0),
        ("assertion accuracy", before.assertion_accuracy, after.assertion_accuracy, _SLACK),
        ("agreement", before.agreement, after.agreement, _SLACK),
    )
    return tuple(
        f"{where}: {name} {abs(new):.6g} after {abs(old):.6g}" for name, old, new, slack in rising if new < old - slack
    )


def check_targets(figures: Figures) -> tuple[str, ...]:
    """Every figure that a judge must reach and this one does not; nothing where it reaches all."""
    least = (
        ("verdict accuracy", figures.verdict_accuracy, 0.99),
        ("assertion accuracy", figures.assertion_accuracy, 0.995),
        ("FLAG recall", figures.flag_recall, 0.995),
        ("agreement", figures.agreement, 0.995),
    )
    most = (("silent CLEAR", figures.silent_clear, 0.001), ("unparsable", figures.unparsable, 0))
    short = [f"{name} {found:.6g}, expected at least {wanted}" for name, found, wanted in least if found < wanted]
    return (
        *short,
        *(f"{name} {found:.6g}, expected at most {wanted}" for name, found, wanted in most if found > wanted),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
