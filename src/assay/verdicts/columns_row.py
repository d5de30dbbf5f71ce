"""One row of columns read back as a record, and judged as any record is: for what columns cannot judge exactly."""

from collections import defaultdict
from collections.abc import Sequence

from assay.verdicts.columns import NOBODY, Column, Columns, Kind, Vocabulary, instant_at
from assay.verdicts.envelope import Verdict
from assay.verdicts.predicate import Check, judge
from assay.verdicts.slice import PlaceDoubt
from assay.verdicts.telemetry import Reading, Scalar
from assay.verdicts.verify import expected_verdict
from assay.verdicts.window import facts_at
from assay.verdicts.window_fact import BufferedRecord


class RowReader:
    """INVARIANT: of the metrics that were gathered, a row read back compares and adds up as the record did."""

    def __init__(self, columns: Columns, vocabulary: Vocabulary) -> None:
        self._columns = columns
        self._vocabulary = vocabulary
        self._known: dict[int, BufferedRecord] = {}
        self._of_subject: defaultdict[int, list[int]] = defaultdict(list)
        for row, subject in enumerate(columns.subjects.tolist()):
            self._of_subject[subject].append(row)

    def record(self, row: int) -> BufferedRecord:
        known = self._known.get(row)
        if known is None:
            readings = {metric: self._reading(column, row) for metric, column in self._columns.metrics.items()}
            moment = instant_at(int(self._columns.moments[row]))
            known = BufferedRecord(telemetry_id=self._columns.names[row], timestamp=moment, readings=readings)
            self._known[row] = known
        return known

    def earlier(self, row: int) -> list[BufferedRecord]:
        """Those of the same subject in the rows before it."""
        rows = self._of_subject[int(self._columns.subjects[row])]
        return [self.record(other) for other in rows if other < row]

    def _reading(self, column: Column, row: int) -> Reading:
        unit = int(column.units[row])
        return Reading(
            value=self._value(column, row), unit=None if unit == NOBODY else self._vocabulary.units.names[unit]
        )

    def _value(self, column: Column, row: int) -> Scalar:
        kind = column.kinds[row]
        if kind == Kind.NUMBER:
            return float(column.numbers[row])
        if kind == Kind.TEXT:
            return self._vocabulary.texts.names[int(column.texts[row])]
        return None if kind == Kind.MISSING else bool(kind == Kind.TRUE)


def judge_row(
    reader: RowReader, row: int, checks: Sequence[Check], *, is_mapped: bool, doubt: PlaceDoubt | None = None
) -> Verdict:
    """What the verifier makes of one row by itself."""
    now = reader.record(row)
    plans = [check.plan for check in checks if check.plan is not None]
    facts = facts_at(plans, now, reader.earlier(row)) if plans else {}
    judgements = [judge(check, now.readings, facts) for check in checks]
    return expected_verdict(judgements, is_mapped=is_mapped, doubt=doubt)
