"""Exact factors between units, by pint (the extra `units`); only while a graph is written, never for a verdict."""

import re
from fractions import Fraction
from types import ModuleType
from typing import Any

from assay.verdicts.errors import GraphError
from assay.verdicts.graph.unit import Conversion

# As regulations write them: `m3`, and `Nm3` for a cubic metre under normal conditions, which is no other unit's.
_POWER = re.compile(r"(?<=[A-Za-z])([23])(?![0-9A-Za-z])")
_NORMAL = re.compile(r"\bNm(?=[\^]?3)")
_LONGEST = 10**30


class PintUnits:
    """Implements `verdicts.graph.draft_units.UnitBook` with definitions read as fractions."""

    def __init__(self) -> None:
        self._pint = _import_pint()
        self._registry: Any = self._pint.UnitRegistry(non_int_type=Fraction)

    def find(self, source: str, target: str) -> Conversion | None:
        is_normal = [bool(_NORMAL.search(unit)) for unit in (source, target)]
        if is_normal[0] is not is_normal[1]:
            return None  # at normal conditions and not: that is a matter of temperature and pressure
        try:
            zero, one = (self._converted(number, source, target) for number in (0, 1))
        except (self._pint.PintError, ValueError, TypeError, ArithmeticError, AttributeError, AssertionError):
            return None  # whatever pint cannot read is a unit that it does not know
        factor, offset = one - zero, zero
        parts = (factor.numerator, factor.denominator, abs(offset.numerator), offset.denominator)
        if factor <= 0 or max(parts) >= _LONGEST:
            return None  # such as a constant that is itself rounded
        return Conversion(source=source, target=target, factor=factor, offset=offset)

    def _converted(self, number: int, source: str, target: str) -> Fraction:
        quantity = self._registry.Quantity(Fraction(number), _spelled(source))
        found = quantity.to(_spelled(target)).magnitude
        return found if isinstance(found, Fraction) else Fraction(found) if isinstance(found, int) else _refuse(found)


def _refuse(found: object) -> Fraction:
    raise ValueError(f"expected a fraction, got {found}")


def _spelled(unit: str) -> str:
    return _POWER.sub(r"^\1", _NORMAL.sub("m", unit))


def _import_pint() -> ModuleType:
    try:
        import pint  # noqa: PLC0415  heavy, and needed for this alone
    except ImportError as error:
        raise GraphError.units_missing('pint is missing: pip install "assay[units]"') from error
    return pint
