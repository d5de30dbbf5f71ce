"""Proof that obligations contradict, by the solver z3 (the extra `prove`); never on the way of a verdict.

demands -> exists an instant at which all are in force -> no value satisfies them -> a line that says so
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any

from assay.kernel.instant import instant_of, render_instant
from assay.verdicts.errors import GraphError
from assay.verdicts.graph.conflict import Demand
from assay.verdicts.graph.constraint import Constraint, Member, Number, Span

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_EVERYWHERE = Span()


class Z3Prover:
    """Decides by itself, from the demands alone; the validator's own arithmetic is not asked."""

    def __init__(self) -> None:
        self._z3: Any = _import_z3()

    def explain(self, demands: tuple[Demand, ...]) -> str | None:
        """One line with the instant and the demands that exclude each other, or None where they can be met together."""
        at = self._common_instant(demands)
        if at is None:
            return None
        core = self._core(demands)
        if core is None:
            return None
        shown = render_instant(instant_of(_EPOCH + at * _MICROSECOND))
        return f"at {shown} no value satisfies {' and '.join(core)} (z3 {self._z3.get_version_string()}: unsat)"

    def _common_instant(self, demands: Sequence[Demand]) -> int | None:
        """The first microsecond at which all are in force; z3 is asked for it, so that the dates are proven too."""
        solver, at = self._z3.Optimize(), self._z3.Int("at")
        for demand in demands:
            solver.add(at >= _microseconds(demand.start), at <= _microseconds(demand.end))
        solver.minimize(at)
        return solver.model()[at].as_long() if solver.check() == self._z3.sat else None

    def _core(self, demands: Sequence[Demand]) -> list[str] | None:
        """The ids of a smallest set that contradicts; None where all can be met."""
        solver, value = self._z3.Solver(), _Value(self._z3)
        solver.set("core.minimize", True)
        solver.add(value.is_one_kind)
        for number, demand in enumerate(demands):
            solver.assert_and_track(value.satisfies(demand.constraint), f"d{number}")
        if solver.check() != self._z3.unsat:
            return None
        numbers = sorted(int(str(name)[1:]) for name in solver.unsat_core())
        return [f"`{demands[number].obligation.id}`" for number in numbers]


class _Value:
    """An unknown value: a number, a text or a truth value, and exactly one of these."""

    def __init__(self, z3: ModuleType) -> None:
        self._z3: Any = z3
        self._number, self._text, self._truth = self._z3.Real("number"), self._z3.String("text"), self._z3.Bool("truth")
        self._kind = self._z3.Int("kind")
        self.is_one_kind = self._z3.And(self._kind >= 0, self._kind <= 2)  # noqa: PLR2004  three kinds

    def satisfies(self, constraint: Constraint) -> object:
        parts = [self._z3.Not(self._equals(member)) for member in constraint.excluded]
        if constraint.allowed is not None:
            parts.append(self._z3.Or([self._equals(member) for member in constraint.allowed]))
        if constraint.span != _EVERYWHERE:
            parts.append(self._kind == 0)
            parts.extend(self._bounds(constraint.span))
        return self._z3.And(parts)

    def _bounds(self, span: Span) -> list[object]:
        found = []
        if span.low is not None:
            low = self._exact(span.low)
            found.append(self._number > low if span.low_open else self._number >= low)
        if span.high is not None:
            high = self._exact(span.high)
            found.append(self._number < high if span.high_open else self._number <= high)
        return found

    def _equals(self, member: Member) -> object:
        value = member[1]
        if isinstance(value, bool):
            return self._z3.And(self._kind == 2, self._truth == value)  # noqa: PLR2004  the third kind
        if isinstance(value, str):
            return self._z3.And(self._kind == 1, self._text == self._z3.StringVal(value))
        return self._z3.And(self._kind == 0, self._number == self._exact(value))

    def _exact(self, number: Number) -> Any:  # noqa: ANN401  z3 has no types
        top, bottom = number.as_integer_ratio()
        return self._z3.Q(top, bottom)


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _import_z3() -> ModuleType:
    try:
        import z3  # noqa: PLC0415  heavy, and needed for this alone
    except ImportError as error:
        raise GraphError.prover_missing("expected the extra `prove` to be installed, got no z3") from error
    return z3  # type: ignore[no-any-return]  # z3 has no types
