"""Records as columns: one array for each fact, so that a rule is judged for many records in one step.

records -> ColumnGatherer.add, one by one -> take -> Columns
A column keeps all that a comparison can see of a reading; texts and units are numbers in it, names of which `Codes`
keeps. Every number of a record is one of binary64, so an array of binary64 holds it exactly.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import TYPE_CHECKING

from assay.kernel.instant import Instant
from assay.verdicts.telemetry import Reading, Scalar, find_reading

if TYPE_CHECKING:
    from numpy import ndarray

# In a column of codes: no text, no unit, no jurisdiction.
NOBODY = -1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_ORDINAL = _EPOCH.toordinal()
_DAY = 86_400_000_000
_SECOND = 1_000_000


class Kind(IntEnum):
    """What a reading holds. One that is not there and one that is null are the same to every predicate."""

    MISSING = 0
    FALSE = 1
    TRUE = 2
    NUMBER = 3
    TEXT = 4


class Codes(dict[str, int]):
    """Names numbered in the order in which they came; a name that is looked up is known from then on."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __missing__(self, name: str) -> int:
        self[name] = number = len(self)
        self.names.append(name)
        return number


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Shared by all columns of a run, so that a code means the same in each."""

    subjects: Codes
    jurisdictions: Codes
    texts: Codes
    units: Codes
    rules: Codes

    @classmethod
    def empty(cls) -> "Vocabulary":
        return cls(Codes(), Codes(), Codes(), Codes(), Codes())


@dataclass(frozen=True, slots=True)
class Column:
    """The readings of one metric: `numbers` is NaN and `texts` is NOBODY where a reading is of another kind.

    `is_plain` says that every reading is a number, and `units` then has at most one name: `the_unit`.
    """

    kinds: "ndarray"
    numbers: "ndarray"
    texts: "ndarray"
    units: "ndarray"
    is_plain: bool
    the_unit: int

    def at(self, rows: "ndarray") -> "Column":
        """These rows alone; what is said of all is not asked again."""
        return Column(
            self.kinds.take(rows),
            self.numbers.take(rows),
            self.texts.take(rows),
            self.units.take(rows),
            self.is_plain,
            self.the_unit,
        )

    def is_foreign(self, unit: int) -> "ndarray":
        """Where a reading names a unit other than this one; a rule that names none takes any."""
        found: ndarray = (self.units != NOBODY) & (self.units != unit) & (unit != NOBODY)
        return found


@dataclass(frozen=True, slots=True)
class Columns:
    """`moments` are microseconds since 1970; `names` the records' own ids; `metrics` those that were asked for."""

    names: Sequence[str]
    moments: "ndarray"
    subjects: "ndarray"
    jurisdictions: "ndarray"
    metrics: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.names)

    def at(self, rows: "ndarray") -> "Columns":
        return Columns(
            names=[self.names[row] for row in rows.tolist()],
            moments=self.moments[rows],
            subjects=self.subjects[rows],
            jurisdictions=self.jurisdictions[rows],
            metrics={metric: column.at(rows) for metric, column in self.metrics.items()},
        )


class ColumnGatherer:
    """Takes records one by one and keeps, of their readings, those of the metrics that rules ask for."""

    def __init__(self, metrics: Iterable[str], vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._metrics = {metric: _ColumnGatherer(vocabulary) for metric in sorted(set(metrics))}
        self._clear()

    def __len__(self) -> int:
        return len(self._names)

    def add(
        self, name: str, at: Instant, subject: str, jurisdiction: str | None, readings: Mapping[str, Reading]
    ) -> None:
        self._names.append(name)
        self._moments.append(moment_of(at))
        self._subjects.append(self._vocabulary.subjects[subject])
        self._jurisdictions.append(NOBODY if jurisdiction is None else self._vocabulary.jurisdictions[jurisdiction])
        for metric, column in self._metrics.items():
            column.add(find_reading(readings, metric))

    def take(self) -> Columns:
        """What was added since the last time."""
        import numpy as np  # noqa: PLC0415  numpy is loaded with the first columns, not with the package

        taken = Columns(
            names=self._names,
            moments=np.array(self._moments, np.int64),
            subjects=np.array(self._subjects, np.int32),
            jurisdictions=np.array(self._jurisdictions, np.int32),
            metrics={metric: column.take() for metric, column in self._metrics.items()},
        )
        self._clear()
        return taken

    def _clear(self) -> None:
        self._names: list[str] = []
        self._moments: list[int] = []
        self._subjects: list[int] = []
        self._jurisdictions: list[int] = []


class _ColumnGatherer:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._clear()

    def add(self, reading: Reading | None) -> None:
        value: Scalar = None if reading is None else reading.value
        unit = None if reading is None else reading.unit
        kind = _kind(value)
        self._kinds.append(kind)
        self._numbers.append(float(value) if kind is Kind.NUMBER else _NAN)  # type: ignore[arg-type]  # a number
        self._texts.append(self._vocabulary.texts[value] if isinstance(value, str) else NOBODY)
        self._units.append(NOBODY if unit is None else self._vocabulary.units[unit])

    def take(self) -> Column:
        import numpy as np  # noqa: PLC0415  see above

        kinds, units = np.array(self._kinds, np.uint8), np.array(self._units, np.int32)
        named = {unit for unit in set(self._units) if unit != NOBODY}
        column = Column(
            kinds=kinds,
            numbers=np.array(self._numbers, np.float64),
            texts=np.array(self._texts, np.int32),
            units=units,
            is_plain=len(named) <= 1 and bool((kinds == Kind.NUMBER).all()),
            the_unit=next(iter(named), NOBODY),
        )
        self._clear()
        return column

    def _clear(self) -> None:
        self._kinds: list[int] = []
        self._numbers: list[float] = []
        self._texts: list[int] = []
        self._units: list[int] = []


_NAN = float("nan")
_KINDS = {bool: Kind.FALSE, int: Kind.NUMBER, float: Kind.NUMBER, str: Kind.TEXT}


def _kind(value: Scalar) -> Kind:
    return Kind.TRUE if value is True else _KINDS.get(type(value), Kind.MISSING)


def time_order(columns: Columns) -> "ndarray":
    """The rows by moment, and by name where several have the same."""
    import numpy as np  # noqa: PLC0415  see above

    moments, names = columns.moments.tolist(), columns.names
    return np.array(sorted(range(len(names)), key=lambda row: (moments[row], names[row])), np.int64)


def moment_of(at: Instant) -> int:
    """Microseconds since 1970, exactly."""
    seconds = (at.hour * 60 + at.minute) * 60 + at.second
    return (at.toordinal() - _EPOCH_ORDINAL) * _DAY + seconds * _SECOND + at.microsecond


def instant_at(moment: int) -> Instant:
    return Instant(_EPOCH + timedelta(microseconds=moment))
