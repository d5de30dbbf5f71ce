"""A million records of the past judged by another graph: ours in columns, numpy written by hand, and DuckDB.

A thousand rules, four for each subject, one in three only in a jurisdiction, one in five with an exemption. The peers
are given limits that were looked up beforehand, and know that every value is a number of the right unit; ours finds
the rules of each row itself and looks. All three are asked for every verdict; DuckDB, on one thread, only counts them.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.kernel.instant import Instant
from assay.verdicts.columns import NOBODY, Column, Columns, Kind, Vocabulary, moment_of
from assay.verdicts.columns_judge import VERDICTS, ColumnJudge
from assay.verdicts.docket import checks_of
from assay.verdicts.envelope import Verdict
from assay.verdicts.graph.index import GraphIndex
from assay.verdicts.slice import slice_graph
from bench._frame import Aim, Figure, compare, print_table
from bench._graphs import RULES_PER_SUBJECT
from bench.slice import indexed

if TYPE_CHECKING:
    from numpy import ndarray

__all__ = ["figures"]

_RECORDS = 1_000_000
_RULES = 1_000
_BATCH = 65_536
_SECONDS = 0.4
_NOW = Instant(datetime(2024, 6, 1, tzinfo=UTC))
_UNIT = "mg/Nm3"
_METRICS = ("air.metric0", "air.metric1")


class _Load(NamedTuple):
    """Records as arrays; `starting` is the condition of the exemptions."""

    subjects: "ndarray"
    values: "tuple[ndarray, ndarray]"
    starting: "ndarray"


class _Joined(NamedTuple):
    """One limit on one metric for each subject that has such a rule, and whether that has an exemption."""

    metric: int
    is_upper: bool
    limits: "ndarray"
    has_exemption: "ndarray"


def _load() -> _Load:
    random = np.random.default_rng(7)
    subjects = random.integers(0, _RULES // RULES_PER_SUBJECT, _RECORDS).astype(np.int32)
    values = (random.uniform(0, 260, _RECORDS).round(2), random.uniform(0, 260, _RECORDS).round(2))
    return _Load(subjects, values, random.random(_RECORDS) < 0.1)


def _batches(load: _Load, vocabulary: Vocabulary) -> list[Columns]:
    for number in range(_RULES // RULES_PER_SUBJECT):
        _ = vocabulary.subjects[f"subject{number}"]
    unit = vocabulary.units[_UNIT]
    return [_batch(load, slice(start, start + _BATCH), unit) for start in range(0, _RECORDS, _BATCH)]


def _batch(load: _Load, part: slice, unit: int) -> Columns:
    subjects = load.subjects[part]
    count = len(subjects)
    nothing = np.full(count, NOBODY, np.int32)
    starting = np.where(load.starting[part], np.uint8(Kind.TRUE), np.uint8(Kind.FALSE))
    measured = {
        metric: Column(
            np.full(count, Kind.NUMBER, np.uint8), values[part], nothing, np.full(count, unit, np.int32), True, unit
        )
        for metric, values in zip(_METRICS, load.values, strict=True)
    }
    return Columns(
        names=[""] * count,
        moments=np.full(count, moment_of(_NOW), np.int64),
        subjects=subjects,
        jurisdictions=nothing,
        metrics={**measured, "startup": Column(starting, np.full(count, np.nan), nothing, nothing, False, NOBODY)},
    )


def _ours(index: GraphIndex, load: _Load) -> Callable[[], int]:
    vocabulary = Vocabulary.empty()
    judge, batches = ColumnJudge(index, vocabulary), _batches(load, vocabulary)
    flag = VERDICTS.index(Verdict.FLAG)

    def run() -> int:
        judged = [judge.judge(batch).verdicts for batch in batches]
        return sum(int(np.count_nonzero(told == flag)) for verdicts in judged for told in verdicts)

    return run


def _joined(index: GraphIndex) -> list[_Joined]:
    """What a hand-written join starts from: no subject has two rules of one kind on one metric."""
    count = _RULES // RULES_PER_SUBJECT
    joined = {
        (metric, is_upper): _Joined(
            place, is_upper, np.full(count, np.inf if is_upper else -np.inf), np.zeros(count, bool)
        )
        for place, metric in enumerate(_METRICS)
        for is_upper in (False, True)
    }
    for number in range(count):
        for part in slice_graph(index, f"subject{number}", as_of=_NOW).rules:
            for check in checks_of(part):
                found = joined[check.metric, check.predicate == "must_not_exceed"]
                found.limits[number] = check.value
                found.has_exemption[number] = bool(check.waivers)
    return list(joined.values())


def _by_hand(joined: list[_Joined], load: _Load) -> Callable[[], int]:
    def run() -> int:
        flagged = 0
        for one in joined:
            values = load.values[one.metric]
            limits = one.limits.take(load.subjects)
            is_unmet = values > limits if one.is_upper else values < limits
            is_unmet &= ~(load.starting & one.has_exemption.take(load.subjects))
            flagged += int(np.count_nonzero(is_unmet))
        return flagged

    return run


_QUERY = """
SELECT count(*) FILTER (
    WHERE CASE WHEN metric = 0 AND is_upper THEN value0 > limits WHEN metric = 0 THEN value0 < limits
               WHEN is_upper THEN value1 > limits ELSE value1 < limits END AND NOT (starting AND has_exemption)
)
FROM records JOIN rules USING (subject)
"""


def _by_duckdb(joined: list[_Joined], load: _Load) -> Callable[[], int]:
    import duckdb  # noqa: PLC0415  a peer, which only this figure needs

    database = duckdb.connect(":memory:")
    database.execute("SET threads TO 1")
    records = {"subject": load.subjects, "starting": load.starting, "value0": load.values[0], "value1": load.values[1]}
    rules = _rules_table(joined)
    for name, table in (("records", records), ("rules", rules)):
        database.register("given", table)
        database.execute(f"CREATE TABLE {name} AS SELECT * FROM given")  # noqa: S608 - one of two names
        database.unregister("given")

    def run() -> int:
        row: Any = database.execute(_QUERY).fetchone()
        return int(row[0])

    return run


def _rules_table(joined: list[_Joined]) -> "dict[str, ndarray]":
    subjects = np.arange(len(joined[0].limits), dtype=np.int32)
    return {
        "subject": np.tile(subjects, len(joined)),
        "metric": np.repeat(np.array([one.metric for one in joined], np.int32), len(subjects)),
        "is_upper": np.repeat(np.array([one.is_upper for one in joined]), len(subjects)),
        "limits": np.concatenate([one.limits for one in joined]),
        "has_exemption": np.concatenate([one.has_exemption for one in joined]),
    }


def figures() -> list[Figure]:
    index, load = indexed(_RULES), _load()
    ours, joined = _ours(index, load), _joined(index)
    by_hand, by_duckdb = _by_hand(joined, load), _by_duckdb(joined, load)
    # A figure for three that do not say the same would be worth nothing.
    assert ours() == by_hand() == by_duckdb() > 0  # noqa: S101 - as above
    name = "1,000,000 records by another graph"
    return [
        compare(name, ours, by_hand, peer_name="numpy by hand", target=0.3, unit="runs/s", seconds=_SECONDS),
        compare(name, ours, by_duckdb, peer_name="DuckDB", target=1, unit="runs/s", seconds=_SECONDS, aim=Aim.AT_LEAST),
    ]


if __name__ == "__main__":
    print_table(figures())
