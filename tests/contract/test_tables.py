"""Rows as JSON lines: what one database wrote, either can load, and it is the same again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.ports.database import Database, Unit
from tests.contract._kit import Kit, PostgresKit, SqliteKit, refused
from tests.contract._records import ACME, later, note
from tests.contract._truth import mark, record, state
from tests.contract._unchecked import UNCHECKED, put
from tests.contract.test_append import entries_of, verify_chain
from tests.contract.test_append_only import _fill
from tests.postgres_cluster import PostgresCluster


def _dump(unit: Unit) -> dict[str, list[bytes]]:
    return {name: list(unit.tables.dump(name)) for name in unit.tables.names()}


def _load(database: Database, lines: dict[str, list[bytes]]) -> None:
    def work(unit: Unit) -> None:
        for name in unit.tables.names():
            assert unit.tables.is_empty(name)
            assert unit.tables.load(name, lines[name]) == len(lines[name])

    database.write(work)


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path, postgres_cluster: PostgresCluster) -> Iterator[Database]:
    """An empty database of either engine, whichever the rows came from."""
    kit: Kit = SqliteKit(tmp_path / "target.db") if request.param == "sqlite" else PostgresKit(postgres_cluster)
    opened = kit.open(projector=UNCHECKED)
    yield opened
    opened.close()


def test_rows_of_every_table_can_be_loaded_by_either_database(database: Database, target: Database) -> None:
    """The copy holds the same rows, verifies, and its chain goes on where the first one stood."""
    _fill(database)
    lines = database.read(_dump)
    assert all(lines[name] for name in lines if name != "outbox_cursor")
    _load(target, lines)
    assert target.read(_dump) == lines
    entries = entries_of(target)
    verify_chain(entries)
    assert entries == entries_of(database)
    assert target.append(note()).sequence_number == len(entries) + 1


def test_truth_and_trust_answer_the_same_from_a_copy(unchecked: Database, target: Database) -> None:
    """Thousands of rows, so that a key's versions are spread over several loads and must still follow each other."""

    def fill(unit: Unit) -> None:
        for number in range(1, 1401):
            key = f"key-{number % 3}"
            put(unit, ACME, record(number, key))
            put(unit, ACME, state((number + 2) // 3, key, at=later(number), through=number, number=number))
        put(unit, ACME, record(2000, "key-1"))
        unit.trust.put_mark(ACME, mark(7))

    unchecked.write(fill)
    _load(target, unchecked.read(_dump))

    def answers(unit: Unit) -> tuple[object, ...]:
        return (
            list(unit.truth.records(ACME, "key-1")),
            list(unit.truth.keys(ACME, stale_only=True)),
            unit.truth.history(ACME, "key-2"),
            list(unit.truth.gold(ACME)),
            list(unit.truth.gold(ACME, known_at=later(700))),
            unit.trust.find_mark(ACME, mark(7).policy_hash),
        )

    assert target.read(answers) == unchecked.read(answers)
    assert target.read(lambda unit: list(unit.truth.keys(ACME, stale_only=True))) == ["key-1"]
    with refused("store.conflict"):
        target.write(lambda unit: put(unit, ACME, state(1, "key-1")))


@pytest.mark.parametrize(
    "lines",
    [
        ['["acme","k",2,"c","s","h","h","h","2026-01-07T12:00:00.000000Z",null,1,"{}",1]'],
        ['["acme","k",1,"c","s","h","h","h","2026-01-07T12:00:00Z",null,1,"{}",1]'],
        [
            f'["acme","k",{version},"c","s","h","h","h","2026-01-07T12:00:0{10 - version}.000000Z",null,1,"{{}}",1]'
            for version in range(1, 9)
        ],
    ],
    ids=["no first version", "a time that does not sort", "times that fall"],
)
def test_states_that_do_not_follow_are_not_loaded(database: Database, lines: list[str]) -> None:
    with refused("store.append_only", "store.row_refused"):
        database.write(lambda unit: unit.tables.load("truth_state", [f"{line}\n".encode() for line in lines]))
    assert database.read(lambda unit: list(unit.truth.gold(ACME))) == []


@pytest.mark.parametrize(
    "line",
    [
        b'["acme","one","p","e","AAAA","t","note",null,null,null,null,null,null,null,null,"3.0.0","x"]\n',
        b'["acme",1,"p","e","AAAA","no time","note",null,null,null,null,null,null,null,null,"3.0.0","x"]\n',
    ],
    ids=["a number that is text", "a time that is none"],
)
@pytest.mark.parametrize("count", [1, 9])
def test_rows_that_do_not_fit_are_refused_in_our_words(database: Database, line: bytes, count: int) -> None:
    with refused("store.row_refused", "store.statement", "ledger.broken_link", "store.conflict", "backup.row"):
        database.write(lambda unit: unit.tables.load("ledger", [line] * count))
    assert database.append(note()).sequence_number == 1
