"""The registry's memory: on a node's database, and in the file that the workers of one service share."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from assay.adapters.service_file import ServiceFile
from assay.flows.registry.node_memory import NodeMemory
from assay.kernel.instant import Instant
from assay.ports.database import Database
from assay.ports.registry_store import RegistryStore, ServiceMemory
from tests.contract._kit import AT, Kit, PostgresKit, SqliteKit, refused
from tests.contract._records import ACME, GLOBEX
from tests.contract._registry import (
    action,
    counts,
    entry,
    fact,
    key,
    lease,
    node_key,
    node_key_end,
    proof,
    revoked,
    tier,
)
from tests.contract._unchecked import put


@pytest.fixture(params=["file", "sqlite", "postgresql"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServiceMemory]:
    if request.param == "file":
        file = ServiceFile(tmp_path / "service.db")
        yield file
        file.close()
        return
    kit: Kit
    if request.param == "sqlite":
        kit = SqliteKit(tmp_path / "assay.db")
    else:
        kit = PostgresKit(request.getfixturevalue("postgres_cluster"))
    database = kit.open()
    yield NodeMemory(database=database)
    database.close()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[ServiceFile]:
    """The file of a service has its own facts and proofs; a node has those of its ledger."""
    opened = ServiceFile(tmp_path / "service.db")
    yield opened
    opened.close()


def _at(seconds: float) -> Instant:
    return Instant(AT + timedelta(seconds=seconds))


def test_a_place_among_the_facts_of_a_switch_is_taken_once(file: ServiceFile) -> None:
    """Of two workers that fire at once one is told, and nothing of its unit of work remains."""
    file.write(lambda store: store.add_fact(ACME, fact(1)))

    def late(store: RegistryStore) -> None:
        store.count_up(ACME, "port", "attempts")
        store.add_fact(ACME, fact(1, kind="restored"))

    with refused("store.conflict"):
        file.write(late)
    file.write(lambda store: store.add_fact(ACME, fact(2, kind="restored")))
    file.write(lambda store: store.add_fact(ACME, fact(1, service="other")))
    found = file.read(lambda store: store.facts(ACME, "port"))
    assert [(one.position, one.kind) for one in found] == [(1, "fired"), (2, "restored")]
    assert file.read(lambda store: store.facts(GLOBEX, "port")) == ()
    assert file.read(lambda store: store.counted(ACME, "port", "attempts")) == 0


def test_a_worker_says_anew_what_it_saw_and_who_is_gone_is_forgotten(memory: ServiceMemory) -> None:
    for one in (counts("w1", text="a"), counts("w1", text="b", at=_at(9)), counts("w2", at=_at(5))):
        memory.write(lambda store, one=one: store.put_counts(ACME, one))  # type: ignore[misc]  # bound at once
    assert memory.read(lambda store: store.counts(ACME, "port", since=_at(6))) == (counts("w1", text="b", at=_at(9)),)
    assert memory.write(lambda store: store.drop_counts(ACME, "port", before=_at(6))) == 1
    assert len(memory.read(lambda store: store.counts(ACME, "port", since=AT))) == 1


def test_a_counter_never_gives_a_number_twice(memory: ServiceMemory) -> None:
    assert [memory.write(lambda store: store.count_up(ACME, "port", "announce")) for _ in range(3)] == [1, 2, 3]
    assert memory.write(lambda store: store.count_up(ACME, "other", "announce")) == 1
    assert memory.read(lambda store: store.counted(ACME, "port", "announce")) == 3
    assert memory.read(lambda store: store.counted(GLOBEX, "port", "announce")) == 0


@pytest.mark.clause("forja", "FRJ-007")
def test_a_logged_action_is_found_and_is_logged_once(memory: ServiceMemory) -> None:
    memory.write(lambda store: store.log_action(ACME, action("a")))
    memory.write(lambda store: store.log_action(ACME, action("b", at=_at(1))))
    assert memory.read(lambda store: store.find_action(ACME, "a")) == action("a")
    assert memory.read(lambda store: store.find_action(ACME, "c")) is None
    assert [one.log_id for one in memory.read(lambda store: store.actions(ACME, "port", limit=9))] == ["b", "a"]
    with refused("store.conflict"):
        memory.write(lambda store: store.log_action(ACME, action("a", at=_at(2))))


def test_a_key_is_revoked_once_and_stays_among_those_that_were_known(unchecked: Database) -> None:
    unchecked.write(lambda unit: put(unit, ACME, node_key()))
    assert unchecked.read(lambda unit: unit.registry.revoked_keys(ACME, "port")) == ()
    unchecked.write(lambda unit: put(unit, ACME, node_key_end()))
    assert unchecked.read(lambda unit: unit.registry.revoked_keys(ACME, "port")) == (revoked(),)
    assert unchecked.read(lambda unit: unit.registry.revoked_keys(GLOBEX, "port")) == ()
    assert unchecked.read(lambda unit: unit.registry.keys(ACME, "port")) == (key(),)
    for row in (node_key(), node_key_end()):
        with refused("store.conflict"):
            unchecked.write(lambda unit, row=row: put(unit, ACME, row))  # type: ignore[misc]  # bound at once


def test_leases_and_entries_follow_what_was_heard_last(memory: ServiceMemory) -> None:
    for one in (lease("i1"), lease("i2", service="a"), lease("i1", text="new")):
        memory.write(lambda store, one=one: store.put_lease(ACME, one))  # type: ignore[misc]  # bound at once
    assert memory.read(lambda store: store.leases(ACME, "port")) == (lease("i1", text="new"),)
    assert [one.service_id for one in memory.read(lambda store: store.leases(ACME))] == ["a", "port"]
    memory.write(lambda store: store.drop_lease(ACME, "port", "i1"))
    assert memory.read(lambda store: store.leases(ACME, "port")) == ()
    for seen in (entry("port"), entry("a"), entry("port", "new")):
        memory.write(lambda store, seen=seen: store.put_entry(ACME, seen))  # type: ignore[misc]  # bound at once
    assert memory.read(lambda store: store.entries(ACME)) == (entry("a"), entry("port", "new"))
    memory.write(lambda store: store.drop_entry(ACME, "a"))
    assert memory.read(lambda store: store.entries(ACME)) == (entry("port", "new"),)


def test_proofs_are_kept_by_time(file: ServiceFile) -> None:
    file.write(lambda store: store.add_proof(ACME, proof(_at(5))))
    file.write(lambda store: store.add_proof(ACME, proof(AT)))
    assert file.read(lambda store: store.proofs(ACME, "port", since=AT)) == (proof(AT), proof(_at(5)))
    assert file.read(lambda store: store.proofs(ACME, "port", since=_at(1))) == (proof(_at(5)),)
    assert file.read(lambda store: store.latest_proof(ACME, "port")) == proof(_at(5))
    assert file.read(lambda store: store.latest_proof(GLOBEX, "port")) is None


def test_a_worker_that_waits_too_long_for_another_is_told(tmp_path: Path) -> None:
    """The first is in the middle of writing; the second gives up, and writes once the first is done."""
    first, second = ServiceFile(tmp_path / "s.db"), ServiceFile(tmp_path / "s.db", patience=0.05)

    def slow(store: RegistryStore) -> None:
        store.add_fact(ACME, fact(1))
        with refused("store.busy"):
            second.write(lambda other: other.add_fact(ACME, fact(1)))

    first.write(slow)
    with refused("store.conflict"):
        second.write(lambda other: other.add_fact(ACME, fact(1)))
    first.close()
    second.close()


@pytest.mark.clause("forja", "FRJ-015")
def test_changes_of_a_tier_are_kept_in_order_and_each_version_once(memory: ServiceMemory) -> None:
    for one in (tier(1), tier(2), tier(1, subject="ai:other")):
        memory.write(lambda store, one=one: store.add_tier_change(ACME, one))  # type: ignore[misc]  # bound at once
    with refused("store.conflict"):
        memory.write(lambda store: store.add_tier_change(ACME, tier(2)))
    assert memory.read(lambda store: store.tier_changes(ACME, "ai:planner")) == (tier(1), tier(2))
    assert memory.read(lambda store: store.tier_changes(GLOBEX, "ai:planner")) == ()
