"""Rows of delivery and registry that were changed behind our back are returned by no reader, on both databases."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from msgspec import Struct

from assay.adapters.clock import SystemClock
from assay.adapters.postgres.provision import provision
from assay.adapters.sql.row import columns_of
from assay.delivery.federate import Agreement
from assay.facts import delivery as facts
from assay.facts import registry as registry_facts
from assay.facts.kinds import Projected
from assay.facts.projector import row_of
from assay.facts.table import PROJECTOR
from assay.flows.delivery.training import captured_pairs, list_jobs, run_training, trigger_training
from assay.flows.delivery.webhooks import list_webhooks
from assay.flows.identity.tiers import load_tier_changes
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.registry.fire_switch import fire_switch
from assay.flows.registry.own_service import own_proof
from assay.flows.registry.registry_entry import listing_entry, tier_entry
from assay.flows.registry.service_keys import live_keys
from assay.flows.registry.switch_facts import load_switch
from assay.identity.caller import local_caller
from assay.kernel.entry import read_entry
from assay.kernel.instant import parse_instant
from assay.kernel.key import key_id_of
from assay.kernel.ledger import Draft
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.delivery_store import RuleCounters
from assay.ports.trainer import TrainingResult, TrainingState
from assay.registry.discover import ServiceEntry
from assay.registry.tier_change import TierChange
from assay.registry.trip import Fired, FiringCause, SenseFigures
from tests.acting import register_service, revoke_service_key
from tests.delivering import (
    add_webhook,
    agree_with_peer,
    list_items,
    performed,
    recount_rules,
    remove_webhook,
    show_agreement,
    walked,
)
from tests.flows._delivery import RULE, Delivery, opened_delivery
from tests.flows._people import ADMIN, TENANT
from tests.postgres_cluster import PostgresCluster

_PEER = "harbour"
_TABLES = (*facts.TABLES, *registry_facts.TABLES)
_CHECKED = {table.name: table for table in _TABLES if isinstance(table.form, Projected) and not table.pending}
# What a column is changed to where appending a letter, or adding a thousand, breaks another rule of the table.
_OTHERWISE = {
    "outcome": "CASE outcome WHEN 'success' THEN 'failure' ELSE 'success' END",
    "failure_category": "CASE failure_category WHEN 'A' THEN 'B' ELSE 'A' END",
    "kind": "CASE kind WHEN 'fired' THEN 'restored' ELSE 'fired' END",
    "bound": "NULL",
    "short_of": "'PRAMANA-3'",
    "batched_until": "'2026-01-01T00:00:00.000000Z'",
}
_KEY = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
_FIRED = Fired(
    service_id="port",
    episode=1,
    cause=FiringCause.ERROR_RATE,
    reason="9 of 100 requests failed",
    snapshot=SenseFigures(requests=100, errors=9, active_tier=3),
    fired_at=parse_instant("2026-01-07T12:00:00Z"),
)
_COLUMNS = {
    "rule_outcome": "signal_id",
    "service_key": "public_key",
    "service_key_end": "reason",
    "webhook_end": "made_by",
    "rule_counter": "item_id",
}
_INTEGERS = frozenset(
    {
        "position",
        "sequence_number",
        "version",
        "rule_version",
        "through",
        "pairs",
        "total",
        "success",
        "failure",
        "partial",
        "indeterminate",
        "consecutive_failures",
        "tainted_success",
        "streak",
        "absorbed",
    }
)


class Attacker:
    """Somebody with every right on the database: triggers are off, and each change is taken back afterwards."""

    def __init__(self, run: Callable[[str], list[tuple[Any, ...]]]) -> None:
        self.run = run

    def change(self, table: str, statement: str, look: Callable[[], object]) -> None:
        self.run(f"CREATE TABLE kept_rows AS SELECT * FROM {table}")
        try:
            self.run(statement)
            look()
        finally:
            self.run(f"DELETE FROM {table}")
            self.run(f"INSERT INTO {table} SELECT * FROM kept_rows")
            self.run("DROP TABLE kept_rows")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def attacked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Delivery, Attacker]]:
    folder = tmp_path_factory.mktemp("attacked")
    if request.param == "sqlite":
        with opened_delivery(folder) as node:
            run = partial(_sqlite, folder / "node" / "assay.db")
            for (name,) in run("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
                run(f"DROP TRIGGER {name}")
            yield _filled(node), Attacker(run)
        return
    cluster: PostgresCluster = request.getfixturevalue("postgres_cluster")
    name = cluster.create_database()
    provision(cluster.dsn(name), at=SystemClock().now())
    with opened_delivery(folder, database=cluster.dsn(name, "assay_app")) as node:
        run = partial(_postgres, cluster.dsn(name))
        for (table,) in run("SELECT DISTINCT event_object_table FROM information_schema.triggers"):
            run(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
        yield _filled(node), Attacker(run)


def _sqlite(path: Path, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path, timeout=30)) as connection, connection:
        return connection.execute(statement).fetchall()


def _postgres(dsn: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn, options="-c search_path=assay") as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def _filled(empty: Delivery) -> Delivery:
    """A node with rows in every table: answers, a success, a concluded failure, a job, a peer, webhooks."""
    node = empty.ready()
    answers = [node.ask().answer_id for _ in range(2)]
    mark: dict[str, Any] = {"authenticity_level": "PRAMANA-2", "strands_available": ["capability", "knowledge"]}
    node.report("success", answer_id=answers[0], key="s", **mark)
    node.fail(3)
    [item] = list_items(node.tools, TENANT, open_only=True)
    node.conclude(item.item.item_id)
    at = node.desk.at(minutes=12)
    trigger_training(node.tools, TENANT, size=1, at=at)
    run_training(node.with_settings(trainer=_Trainer()).tools, TENANT, at=at)
    agree_with_peer(node.tools, Agreement(peer=_PEER), credential=node.olga, at=at)
    add_webhook(node.tools, TENANT, "https://hooks.example/1", by=ADMIN, at=at)
    added = add_webhook(node.tools, TENANT, "https://hooks.example/2", by=ADMIN, at=at)
    remove_webhook(node.tools, TENANT, added.webhook.webhook_id, by=ADMIN, at=at)
    node.prove()
    fire_switch(node.tools, TENANT, _FIRED, at=_FIRED.fired_at)
    register_service(node.tools, TENANT, "port", _KEY, by=ADMIN, at=at)
    revoke_service_key(node.tools, TENANT, "port", key_id_of(_KEY), reason="stolen", by=ADMIN, at=at)
    for service in ("port", "gone"):
        found = ServiceEntry(id=service, domain="port", capability_mask=1, tier=2)
        node.tools.database.write(partial(_record, draft=listing_entry(TENANT, service, found, "served", at=at)))
    node.tools.database.write(_unlist)
    change = TierChange(
        subject="ai:planner",
        version=1,
        from_tier=1,
        to_tier=2,
        reason="more work",
        ticket_id=None,
        changed_by=ADMIN,
        changed_at=at,
    )
    node.tools.database.write(partial(_record, draft=tier_entry(TENANT, change)))
    return node


def _record(unit: Unit, draft: Draft) -> None:
    unit.record(draft)


def _unlist(unit: Unit) -> None:
    unit.record(listing_entry(TENANT, "gone", None, "offline or expired", at=_FIRED.fired_at))
    unit.registry.drop_entry(TENANT, "gone")


class _Trainer:
    def train(self, *_: object, **__: object) -> TrainingResult:
        return TrainingResult(state=TrainingState.PASSED_OVER, reason="nothing to learn")


def _read(node: Delivery, table: str) -> object:
    """Every row of a table, by the function that all stores read with."""
    kind = row_of(_CHECKED[table])
    assert kind is not None
    return node.tools.database.read(lambda unit: unit._rows.all(kind, "", ()))  # type: ignore[attr-defined]  # of SQL


def _doors(node: Delivery) -> dict[str, Callable[[], object]]:
    """How each table is read by callers."""
    tools, local = node.tools, local_caller(TENANT, at=node.desk.at(minutes=12))
    return {
        "rule_version": lambda: walked(tools, local, "rules.list"),
        "rule_certification": lambda: walked(tools, local, "rules.list"),
        "rule_counter": lambda: walked(tools, local, "rules.list"),
        "answer_finding": lambda: recount_rules(tools, TENANT),
        "query_type": lambda: walked(tools, local, "queries.list"),
        "reporter_grant": lambda: node.report("failure", key="again"),
        "delivered_answer": lambda: walked(tools, local, "answers.list"),
        "outcome_signal": lambda: walked(tools, local, "outcomes.list"),
        "rule_outcome": lambda: recount_rules(tools, TENANT),
        "root_cause": lambda: list_items(tools, TENANT),
        "root_cause_ticket": lambda: list_items(tools, TENANT),
        "root_cause_conclusion": lambda: list_items(tools, TENANT),
        "rule_proposal": lambda: list_items(tools, TENANT),
        "training_pair": lambda: captured_pairs(tools.database, TENANT),
        "training_job": lambda: list_jobs(tools, TENANT),
        "training_result": lambda: list_jobs(tools, TENANT),
        "peer_agreement": lambda: show_agreement(tools, TENANT, _PEER),
        "switch_fact": lambda: tools.database.read(lambda unit: load_switch(unit.registry, TENANT, "port")),
        "service_key": lambda: tools.database.read(lambda unit: live_keys(unit.registry, TENANT, "port")),
        "service_key_end": lambda: tools.database.read(lambda unit: live_keys(unit.registry, TENANT, "port")),
        "service_entry": lambda: walked(tools, local, "services.list"),
        "tier_change": lambda: tools.database.read(lambda unit: load_tier_changes(unit, TENANT, "ai:planner")),
        "service_proof": lambda: own_proof(tools, TENANT),
        "webhook": lambda: list_webhooks(tools, TENANT),
        "webhook_end": lambda: list_webhooks(tools, TENANT),
    }


def _damaged(look: Callable[[], object]) -> Callable[[], None]:
    def expect() -> None:
        with pytest.raises(DamagedRecordError):
            look()

    return expect


@pytest.mark.parametrize("table", _CHECKED)
def test_no_changed_column_is_read(attacked: tuple[Delivery, Attacker], table: str) -> None:
    node, attacker = attacked
    kind = row_of(_CHECKED[table])
    assert kind is not None
    assert _read(node, table)
    for column in ("tenant_id", *columns_of(kind)):
        if column in _INTEGERS:
            value = f"{column} + 1000"
        elif column.endswith("_at"):
            value = f"replace({column}, '20', '19')"
        else:
            value = _OTHERWISE.get(column, f"coalesce({column}, '') || 'x'")
        attacker.change(table, f"UPDATE {table} SET {column} = {value}", _damaged(lambda: _read(node, table)))
    assert _read(node, table)


@pytest.mark.parametrize("table", _CHECKED)
def test_no_door_returns_or_uses_a_changed_row(attacked: tuple[Delivery, Attacker], table: str) -> None:
    node, attacker = attacked
    column = _COLUMNS.get(table, "text")
    statement = f"UPDATE {table} SET {column} = coalesce({column}, '') || ' '"
    attacker.change(table, statement, _damaged(_doors(node)[table]))


@pytest.mark.parametrize("table", _CHECKED)
def test_a_row_of_another_entry_is_refused(attacked: tuple[Delivery, Attacker], table: str) -> None:
    """A copy under the number of an entry that says nothing of it: inserted, or moved there."""
    node, attacker = attacked
    statement = (
        f"UPDATE {table} SET sequence_number = 1 WHERE sequence_number = (SELECT max(sequence_number) FROM {table})"
    )
    attacker.change(table, statement, _damaged(lambda: _read(node, table)))


@pytest.mark.parametrize("attack", ["change", "delete", "move"])
@pytest.mark.parametrize("table", _CHECKED)
def test_a_full_audit_reports_it(attacked: tuple[Delivery, Attacker], table: str, attack: str) -> None:
    node, attacker = attacked
    column = _COLUMNS.get(table, "text")
    newest = f"sequence_number = (SELECT max(sequence_number) FROM {table})"
    statement = {
        "change": f"UPDATE {table} SET {column} = coalesce({column}, '') || ' ' WHERE {newest}",
        "delete": f"DELETE FROM {table} WHERE {newest}",
        "move": f"UPDATE {table} SET tenant_id = 'elsewhere' WHERE {newest}",
    }[attack]

    def audit() -> None:
        assert not audit_ledger(node.tools, TENANT, full=True).holds

    attacker.change(table, statement, audit)


def test_an_audit_holds_where_nothing_was_changed(attacked: tuple[Delivery, Attacker]) -> None:
    """Also after every attack was taken back."""
    report = audit_ledger(attacked[0].tools, TENANT, full=True)
    assert (report.holds, report.message) == (True, None)


_COUNTS = (
    "UPDATE rule_counter SET success = success + 5, total = total + 5",
    "UPDATE rule_counter SET failure = 0, total = total - failure",
)


@pytest.mark.parametrize("forged", _COUNTS)
def test_forged_counters_are_refused_by_every_door(attacked: tuple[Delivery, Attacker], forged: str) -> None:
    node, attacker = attacked
    tools, local = node.tools, local_caller(TENANT, at=node.desk.at(minutes=12))

    def doors() -> None:
        for look in (
            lambda: walked(tools, local, "rules.list"),
            lambda: performed(tools, local, "rule.show", rule_id=RULE),
            lambda: walked(tools, local, "rules.alerts"),
            lambda: recount_rules(tools, TENANT),
            lambda: node.report("failure", key="after"),
        ):
            _damaged(look)()
        assert not audit_ledger(tools, TENANT, full=True).holds

    attacker.change("rule_counter", forged, doors)


def test_counters_that_were_deleted_or_put_back_are_counted_again(attacked: tuple[Delivery, Attacker]) -> None:
    """A row of an earlier entry is a true one of its time; it is neither shown nor counted on."""
    node, attacker = attacked
    tools, local = node.tools, local_caller(TENANT, at=node.desk.at(minutes=12))

    def stands() -> object:
        return performed(tools, local, "rule.show", rule_id=RULE)

    before = stands()

    def same() -> None:
        assert stands() == before
        assert not audit_ledger(tools, TENANT, full=True).holds

    attacker.change("rule_counter", "DELETE FROM rule_counter", same)
    earlier = next(
        row
        for number in range(1, node.desk.head() + 1)
        for row in tools.database.read(lambda unit, number=number: _projected(unit, number))  # type: ignore[misc]  # bound at once
        if isinstance(row, RuleCounters) and row.rule_id == RULE
    )
    changes = ", ".join(f"{name} = {getattr(earlier, name)}" for name in ("total", "success", "failure", "streak"))
    statement = (
        f"UPDATE rule_counter SET {changes}, consecutive_failures = {earlier.consecutive_failures}, item_id = NULL,"
        f" absorbed = 0, batched_until = NULL, sequence_number = {earlier.sequence_number} WHERE rule_id = '{RULE}'"
    )
    attacker.change("rule_counter", statement, same)


def _projected(unit: Unit, number: int) -> tuple[Struct, ...]:
    stored = unit.ledger.find_entry(TENANT, number)
    assert stored is not None
    return PROJECTOR.project(read_entry(stored.text))


def test_letters_follow_from_the_ledger_alone(attacked: tuple[Delivery, Attacker]) -> None:
    """There is no row of a letter to forge or to delete."""
    _, attacker = attacked
    with pytest.raises((sqlite3.Error, psycopg.Error)):
        attacker.run("SELECT 1 FROM webhook_letter")
