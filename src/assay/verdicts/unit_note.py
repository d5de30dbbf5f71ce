"""What an envelope says about units: both numbers of a conversion, and a measurement that names no unit.

docket + record -> unit_notes -> lines of `notes`, one for each obligation that is concerned
"""

from collections.abc import Iterator
from fractions import Fraction

from assay.verdicts._tell import teller_of
from assay.verdicts.comparison import exact_number, shown_fraction
from assay.verdicts.docket import Docket
from assay.verdicts.predicate import Check, converted_value
from assay.verdicts.rulings import Rulings
from assay.verdicts.telemetry import Reading, Telemetry, find_reading


def unit_notes(docket: Docket, telemetry: Telemetry) -> tuple[str, ...]:
    """None under the first rulings, which neither converted nor told."""
    if docket.rulings is Rulings.FIRST:
        return ()
    return tuple(
        [note for check in docket.checks if _unit(check) is not None for note in _notes(docket, check, telemetry)]
    )


def _unit(check: Check) -> str | None:
    return check.unit if check.plan is None else check.plan.unit


def _exact(check: Check, reading: Reading) -> Fraction | None:
    """What the record's own number becomes; the others of a window were told with their records."""
    if check.plan is None:
        return converted_value(check, reading)
    known = None if reading.unit is None else check.plan.conversions.get(reading.unit)
    if known is None or isinstance(reading.value, bool) or not isinstance(reading.value, int | float):
        return None
    return known.convert(reading.value)


def _notes(docket: Docket, check: Check, telemetry: Telemetry) -> Iterator[str]:
    reading = find_reading(telemetry.readings, check.metric)
    if reading is None or reading.value is None:
        return
    tell = teller_of(docket.rulings)
    name, unit = tell.name(check.obligation_id), tell.text(_unit(check) or "")
    exact = _exact(check, reading)
    if exact is not None:
        given = f"{tell.value(reading.value)} {tell.text(reading.unit or '')}"
        shown = shown_fraction(exact)
        about = "" if shown is not None and exact_number(shown) == exact else f", exactly {exact}"
        yield f"unit.converted: {name}: {given} is {tell.value(shown)} {unit}{about}"
    elif reading.unit is None:
        is_required = check.requires_unit if check.plan is None else check.plan.requires_unit
        what = "and is not compared" if is_required else f"and is taken as {unit}"
        yield f"unit.absent: {name}: the record names no unit, {what}"
