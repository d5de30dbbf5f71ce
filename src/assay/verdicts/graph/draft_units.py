"""Drafting unit conversions into a graph: factors come from a book of units once, and are then the graph's own.

document + units that records use + UnitBook -> the document with `unit_conversions`, for people to review and sign
"""

from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct

from assay.kernel.json_text import JsonValue
from assay.verdicts.graph.parse import read_graph
from assay.verdicts.graph.unit import UNITS, Conversion, conversion_lines


class UnitBook(Protocol):
    """Somebody who knows units; asked while a graph is written, never for a verdict."""

    def find(self, source: str, target: str) -> Conversion | None:
        """An exact conversion; None where it knows none, or none that a fraction of 30 digits writes."""
        ...


class DraftedUnits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`drafted` were added to the document; `unknown` are units of records that no obligation's unit was found for."""

    document: dict[str, JsonValue]
    drafted: tuple[tuple[str, str], ...]
    unknown: tuple[str, ...]


def draft_units(document: dict[str, JsonValue], units: Iterable[str], book: UnitBook) -> DraftedUnits:
    """Each unit against the units of all obligations; pairs that are declared already stay as they are."""
    graph = read_graph(document)
    known = {(one.source, one.target) for group in graph.units.by_target.values() for one in group}
    targets = sorted({node.unit for node in graph.obligations if node.unit})
    found: list[Conversion] = []
    unknown = []
    for unit in dict.fromkeys(units):
        wanted = [target for target in targets if target != unit]
        new = [book.find(unit, target) for target in wanted if (unit, target) not in known]
        drafted = [one for one in new if one is not None]
        found.extend(drafted)
        if not drafted and unit not in targets and not any((unit, target) in known for target in targets):
            unknown.append(unit)
    metadata = document.get("metadata")
    kept = dict(metadata) if isinstance(metadata, dict) else {}
    before = kept.get(UNITS)
    listed: list[JsonValue] = [*(before if isinstance(before, list) else []), *conversion_lines(found)]
    told: dict[str, JsonValue] = {name: value for name, value in document.items() if name != "signature"}
    return DraftedUnits(
        document={**told, "metadata": {**kept, **({UNITS: listed} if listed else {})}},
        drafted=tuple((one.source, one.target) for one in found),
        unknown=tuple(unknown),
    )
