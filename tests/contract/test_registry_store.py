"""The registry's memory: on a node's database, and in the file that the workers of one service share."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from assay.adapters.clock import SystemClock
from assay.adapters.credential_seal import HmacSeal
from assay.adapters.service_file import ServiceFile
from assay.flows.registry.node_memory import NodeMemory
from assay.flows.registry.registry_entry import tier_entry
from assay.flows.registry.switch_facts import ATTEMPTS, SELF_TESTS
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Database, Unit
from assay.ports.registry_store import ServiceStore
from assay.registry.tier_change import TierChange
from tests.contract._kit import AT, Kit, refused
from tests.contract._records import ACME, GLOBEX
from tests.contract._registry import (
    action,
    counts,
    fact,
    key,
    lease,
    listed,
    node_key,
    node_key_end,
    proof,
    revoked,
    tier,
)
from tests.contract._unchecked import put


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

    def late(store: ServiceStore) -> None:
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


def test_a_worker_says_anew_what_it_saw_and_who_is_gone_is_forgotten(file: ServiceFile) -> None:
    for one in (counts("w1", text="a"), counts("w1", text="b", at=_at(9)), counts("w2", at=_at(5))):
        file.write(lambda store, one=one: store.put_counts(ACME, one))  # type: ignore[misc]  # bound at once
    assert file.read(lambda store: store.counts(ACME, "port", since=_at(6))) == (counts("w1", text="b", at=_at(9)),)
    assert file.write(lambda store: store.drop_counts(ACME, "port", before=_at(6))) == 1
    assert len(file.read(lambda store: store.counts(ACME, "port", since=AT))) == 1


def test_a_counter_never_gives_a_number_twice(file: ServiceFile) -> None:
    assert [file.write(lambda store: store.count_up(ACME, "port", "announce")) for _ in range(3)] == [1, 2, 3]
    assert file.write(lambda store: store.count_up(ACME, "other", "announce")) == 1
    assert file.read(lambda store: store.counted(ACME, "port", "announce")) == 3
    assert file.read(lambda store: store.counted(GLOBEX, "port", "announce")) == 0


@pytest.mark.clause("forja", "FRJ-007")
def test_a_logged_action_is_found_and_is_logged_once(file: ServiceFile) -> None:
    file.write(lambda store: store.log_action(ACME, action("a")))
    file.write(lambda store: store.log_action(ACME, action("b", at=_at(1))))
    assert file.read(lambda store: store.find_action(ACME, "a")) == action("a")
    assert file.read(lambda store: store.find_action(ACME, "c")) is None
    assert [one.log_id for one in file.read(lambda store: store.actions(ACME, "port", limit=9))] == ["b", "a"]
    with refused("store.conflict"):
        file.write(lambda store: store.log_action(ACME, action("a", at=_at(2))))


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


def test_leases_and_entries_follow_what_was_heard_last(database: Database) -> None:
    for one in (lease("i1"), lease("i2", service="a"), lease("i1", text='{"new":1}')):
        database.write(lambda unit, one=one: unit.registry.put_lease(ACME, one))  # type: ignore[misc]  # bound at once
    assert database.read(lambda unit: unit.registry.leases(ACME, "port")) == (lease("i1", text='{"new":1}'),)
    assert [one.service_id for one in database.read(lambda unit: unit.registry.leases(ACME))] == ["a", "port"]
    database.write(lambda unit: unit.registry.drop_lease(ACME, "port", "i1"))
    assert database.read(lambda unit: unit.registry.leases(ACME, "port")) == ()
    for draft in (listed("port"), listed("a"), listed("port", tier=3)):
        database.write(lambda unit, draft=draft: unit.record(draft))  # type: ignore[misc]  # bound at once
    found = database.read(lambda unit: unit.registry.entries(ACME))
    assert [(one.service_id, one.sequence_number) for one in found] == [("a", 2), ("port", 3)]
    assert '"tier":3' in found[1].text

    def unlist(unit: Unit) -> None:
        unit.record(listed("a", is_there=False))
        unit.registry.drop_entry(ACME, "a")

    database.write(unlist)
    assert database.read(lambda unit: unit.registry.entries(ACME)) == found[1:]


def test_a_lease_that_was_changed_inserted_or_moved_is_not_there(kit: Kit) -> None:
    """Whoever can write to the database makes nobody look for a service where it never was."""
    database = kit.open(seal=HmacSeal(b"k" * 32, frozenset()))
    database.write(lambda unit: unit.registry.put_lease(ACME, lease("i1")))
    assert database.read(lambda unit: unit.registry.leases(ACME)) == (lease("i1"),)
    for column in ("announce", "service_id", "instance_id", "tenant_id", "lease"):
        kit.force(f"UPDATE service_lease SET {column} = 'x' || {column}")
        for tenant in (ACME, TenantId(f"x{ACME}")):
            assert database.read(lambda unit, tenant=tenant: unit.registry.leases(tenant)) == ()  # type: ignore[misc]  # bound at once
        kit.force(f"UPDATE service_lease SET {column} = substr({column}, 2)")
        assert database.read(lambda unit: unit.registry.leases(ACME)) == (lease("i1"),)
    kit.force("UPDATE service_lease SET expires_at = replace(expires_at, '2026', '2036')")
    assert database.read(lambda unit: unit.registry.leases(ACME)) == ()
    kit.force("DELETE FROM service_lease")
    kit.force(
        "INSERT INTO service_lease (tenant_id, service_id, instance_id, lease, announce, expires_at)"
        f" VALUES ('{ACME}', 'port', 'i9', '{{}}', '{{}}', '2036-01-01T00:00:00.000000Z')"
    )
    assert database.read(lambda unit: unit.registry.leases(ACME)) == ()
    database.close()


def test_what_a_node_counts_is_an_entry_each(database: Database) -> None:
    memory = NodeMemory(database=database, clock=SystemClock())
    for _ in range(3):
        memory.write(lambda store: store.count_up(ACME, "port", ATTEMPTS))
    memory.write(lambda store: store.count_up(ACME, "port", SELF_TESTS))
    assert memory.read(lambda store: store.counted(ACME, "port", ATTEMPTS)) == 3
    assert memory.read(lambda store: store.counted(ACME, "port", SELF_TESTS)) == 1
    assert memory.read(lambda store: store.counted(GLOBEX, "port", ATTEMPTS)) == 0
    for work in (
        lambda store: store.add_fact(ACME, fact(1)),
        lambda store: store.log_action(ACME, action()),
        lambda store: store.add_proof(ACME, proof()),
    ):
        with refused("registry.unknown_action"):
            memory.write(work)


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

    def slow(store: ServiceStore) -> None:
        store.add_fact(ACME, fact(1))
        with refused("store.busy"):
            second.write(lambda other: other.add_fact(ACME, fact(1)))

    first.write(slow)
    with refused("store.conflict"):
        second.write(lambda other: other.add_fact(ACME, fact(1)))
    first.close()
    second.close()


@pytest.mark.clause("forja", "FRJ-015")
def test_changes_of_a_tier_are_kept_in_order_and_each_version_once(database: Database) -> None:
    for one in (tier(1), tier(2), tier(1, subject="ai:other")):
        database.write(lambda unit, one=one: unit.record(tier_entry(ACME, one)))  # type: ignore[misc]  # bound at once
    with refused("store.conflict"):
        database.write(lambda unit: unit.record(tier_entry(ACME, tier(2))))
    found = database.read(lambda unit: unit.registry.tier_changes(ACME, "ai:planner"))
    assert [msgspec.json.decode(one.text, type=TierChange) for one in found] == [tier(1), tier(2)]
    assert database.read(lambda unit: unit.registry.tier_changes(GLOBEX, "ai:planner")) == ()
