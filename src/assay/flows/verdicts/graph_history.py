"""The verdicts of the past as columns: each record once, with what was computed from the rules of its time.

entries of the ledger -> HistoryReader.batches -> JudgedHistory: the records' columns and their past verdicts
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import Raw, Struct

from assay.kernel.instant import parse_instant
from assay.kernel.ledger import EntryKind
from assay.ports.ledger_store import StoredEntry
from assay.verdicts.columns import ColumnGatherer, Columns, Vocabulary, time_order
from assay.verdicts.columns_change import PastVerdicts
from assay.verdicts.columns_judge import VERDICTS
from assay.verdicts.comparison import nfc
from assay.verdicts.docket import UNRULED
from assay.verdicts.graph.index import GraphIndex
from assay.verdicts.predicate import Judgement
from assay.verdicts.slice import PlaceDoubt
from assay.verdicts.telemetry import recorded_readings
from assay.verdicts.verify import expected_verdict

# What settles a held verdict is no second one; what the second runtime judged has another body.
_KINDS = frozenset({EntryKind.VERDICT.value, EntryKind.VERDICT_HELD.value})
# Few enough values at a time to stay close to the processor; no fewer rows than make arrays worth while.
_VALUES = 2**20
_FEWEST, _MOST = 1024, 2**16


class PastBody(Struct, frozen=True, gc=False):
    """What is needed of a verdict's body: much is read, so no more than that."""

    telemetry: Raw
    is_mapped: bool
    judgements: tuple[Judgement, ...]
    doubt: PlaceDoubt | None = None


class _Entry(Struct, frozen=True, gc=False):
    body: PastBody


class _Told(Struct, frozen=True):
    """A record as it stands in an entry, where only one that was accepted stands."""

    timestamp: str
    subject: str
    measurement: dict[str, Any]
    jurisdiction: str | None = None


_ENTRY = msgspec.json.Decoder(_Entry)
_TOLD = msgspec.json.Decoder(_Told)


def read_body(entry: StoredEntry) -> PastBody:
    return _ENTRY.decode(entry.text).body


@dataclass(frozen=True, slots=True)
class JudgedHistory:
    columns: Columns
    past: PastVerdicts


class HistoryReader:
    """`is_whole`: one batch with everything, in order of time, since windows look back at it.

    A subject is put down by its id in `index`, where it is one: records that name it otherwise are the same one's.
    """

    def __init__(self, metrics: set[str], vocabulary: Vocabulary, index: GraphIndex, *, is_whole: bool) -> None:
        self._index = index
        self._gatherer = ColumnGatherer(metrics, vocabulary)
        self._vocabulary = vocabulary
        self._is_whole = is_whole
        self._size = max(_FEWEST, min(_MOST, _VALUES // (len(metrics) + 1)))
        self._past: list[tuple[int, int, int]] = []

    def batches(self, entries: Iterable[StoredEntry]) -> Iterator[JudgedHistory]:
        rows = (row for row in entries if row.kind in _KINDS)
        # The entries of one record follow each other.
        for _, group in groupby(rows, key=attrgetter("telemetry_id")):
            self._add(list(group))
            if not self._is_whole and len(self._gatherer) >= self._size:
                yield self._take()
        if len(self._gatherer):
            yield self._take()

    def _add(self, entries: list[StoredEntry]) -> None:
        bodies = [read_body(entry) for entry in entries]
        for entry, body in zip(entries, bodies, strict=True):
            verdict = VERDICTS.index(expected_verdict(body.judgements, is_mapped=body.is_mapped, doubt=body.doubt))
            self._past.append((len(self._gatherer), self._vocabulary.rules[entry.rule_id or UNRULED], verdict))
        told = _TOLD.decode(bodies[0].telemetry)
        self._gatherer.add(
            entries[0].telemetry_id or "",
            parse_instant(told.timestamp),
            self._subject(nfc(told.subject)),
            nfc(told.jurisdiction) if told.jurisdiction else None,
            recorded_readings(told.measurement),
        )

    def _subject(self, named: str) -> str:
        found = self._index.find_subject(named)
        return named if found is None or self._index.find_measured(named) is not None else found.id

    def _take(self) -> JudgedHistory:
        import numpy as np  # noqa: PLC0415  numpy is loaded with the first columns, not with the package

        columns, past = self._gatherer.take(), np.array(self._past, np.int64).reshape(-1, 3)
        self._past = []
        rows = past[:, 0]
        if self._is_whole:
            order = time_order(columns)
            place = np.empty_like(order)
            place[order] = np.arange(len(order))
            columns, rows = columns.at(order), place[rows]
        return JudgedHistory(columns, PastVerdicts(rows, past[:, 1], past[:, 2].astype(np.uint8)))
