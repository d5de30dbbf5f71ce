"""Units that a graph declares convertible: exact fractions, written in the document and signed with it.

metadata.unit_conversions -> read_units -> UnitTable; unit of a record + unit of an obligation -> Conversion -> Fraction
A pair is declared once, in either direction; the other way follows. Nothing is composed, and nothing is guessed: a unit
that no declaration names is another unit. `metadata.require_units` makes a measurement without a unit undetermined.
"""

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

from msgspec import Struct

from assay.kernel.json_text import JsonValue

# In the metadata of a graph.
UNITS = "unit_conversions"


class Conversion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A number of unit `source` is `factor` times it, and `offset` more, of unit `target`."""

    source: str
    target: str
    factor: Fraction
    offset: Fraction = Fraction(0)

    def convert(self, value: float) -> Fraction:
        """Exactly, from the number's own decimal text."""
        return self.convert_exactly(Decimal(repr(value)))

    def convert_exactly(self, value: Decimal | Fraction) -> Fraction:
        return Fraction(value) * self.factor + self.offset

    def inverted(self) -> "Conversion":
        return Conversion(
            source=self.target, target=self.source, factor=1 / self.factor, offset=-self.offset / self.factor
        )


class UnitTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Conversions by their target; `is_required` where every measurement of a metric with a unit must name its own."""

    by_target: dict[str, tuple[Conversion, ...]] = {}
    is_required: bool = False

    def into(self, units: Iterable[str | None]) -> tuple[Conversion, ...]:
        """Every conversion into one of these units, in one order."""
        wanted = sorted({unit for unit in units if unit in self.by_target and unit is not None})
        return tuple(one for unit in wanted for one in self.by_target[unit])


def conversion_lines(conversions: Iterable[Conversion]) -> list[dict[str, JsonValue]]:
    """As a document declares them, each in the direction in which it is used."""
    return [
        {"from": one.source, "to": one.target, "factor": str(one.factor), "offset": str(one.offset)}
        for one in conversions
    ]
