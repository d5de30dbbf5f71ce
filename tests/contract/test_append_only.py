"""Append-only at the storage layer: the strongest hands that leave the triggers on change nothing (SKI 7.2)."""

import sqlite3

import psycopg
import pytest
from msgspec import Raw

from assay.adapters.sql.table_store import TABLES
from assay.kernel.commitment import Disclosure
from assay.ports.database import Database, Unit
from assay.ports.truth_store import RecordKind
from assay.review.settle import settle
from tests.contract._access import fill_access
from tests.contract._claims import fill_claims
from tests.contract._delivery import fill_delivery
from tests.contract._desk import fill_desk
from tests.contract._index import pages, record_segment, segment
from tests.contract._kit import Kit, PostgresKit, refused
from tests.contract._model import fill_models
from tests.contract._people import add_credential, add_person
from tests.contract._records import (
    ACME,
    answer_of,
    checkpoint,
    later,
    note,
    person,
    ticket,
    transcript,
    verdict,
)
from tests.contract._registry import fill_registry
from tests.contract._subscribers import fill_subscribers
from tests.contract._truth import KEY_A, contract, mark, policy, record, signal, snapshot, state
from tests.contract._unchecked import put
from tests.contract._verdicts import activation, drop, judged, version
from tests.contract._verdicts import note as egress_note
from tests.contract.test_append import entries_of, verify_chain
from tests.contract.test_identity_store import _api_key
from tests.contract.test_ledger_store import _endorsement
from tests.contract.test_permit_store import fill_gateway, fill_mandates, fill_permits
from tests.contract.test_request_store import kept

# Each with a column that could be changed without breaking any other rule.
_APPEND_ONLY = {
    "ledger": "kind",
    "subtree": "hash",
    "tile": "hashes",
    "checkpoint": "note",
    "key_fact": "record",
    "transcript": "record",
    "outbox": "subject",
    "credential": "record",
    "signing_key": "record",
    "ticket": "record",
    "answer": "record",
    "settlement": "record",
    "truth_contract": "document",
    "truth_record": "text",
    "trust_snapshot": "text",
    "truth_state": "text",
    "trust_signal": "text",
    "trust_policy": "document",
    "graph_version": "document",
    "graph_activation": "mode",
    "telemetry_drop": "records",
    "verdict_index": "verdict",
    "egress_note": "attempts",
    "switch_fact": "text",
    "service_key": "public_key",
    "service_key_end": "reason",
    "service_proof": "text",
    "tier_change": "text",
    "claims_policy": "document",
    "claims_bundle": "text",
    "claims_decision": "text",
    "claims_turn": "taken_at",
    "claims_evidence": "size",
    "rule_version": "content",
    "rule_certification": "text",
    "query_type": "text",
    "reporter_grant": "text",
    "delivered_answer": "text",
    "outcome_signal": "text",
    "rule_outcome": "outcome",
    "root_cause": "text",
    "root_cause_ticket": "text",
    "root_cause_conclusion": "text",
    "rule_proposal": "text",
    "answer_finding": "text",
    "training_pair": "text",
    "training_job": "text",
    "training_result": "text",
    "webhook": "text",
    "webhook_end": "made_by",
    "peer_agreement": "text",
    "model": "manifest",
    "model_evaluation": "figures",
    "model_activation": "weight_hash",
    "permit": "text",
    "permit_claim": "claimed_by",
    "permit_report": "detail",
    "permit_end": "reason",
    "mandate": "text",
    "mandate_use": "amount",
    "mandate_end": "reason",
    "gateway_table": "text",
    "gateway_definition": "reason",
    "gateway_call": "threat",
    "desk_act": "text",
    "desk_escalation": "text",
    "index_segment": "leaves",
    "index_page": "content",
}
_NAMES = (
    "claim_type",
    "record_id",
    "record_hash",
    "signal_id",
    "policy_id",
    "document_hash",
    "telemetry_id",
    "ticket_id",
    "bundle_hash",
    "resumes",
)
_REFUSALS = (
    sqlite3.IntegrityError,
    psycopg.errors.RaiseException,
    psycopg.errors.UniqueViolation,
    psycopg.DatabaseError,
)


def _fill(database: Database) -> None:
    """One row at least in every table."""

    def work(unit: Unit) -> None:
        asked = ticket()
        secret = Disclosure(pointer="/a", salt="ab" * 16, value=Raw(b"1"))
        for number in range(300):
            unit.record(note(number, events=1, disclosures=(secret,)))
        recorded = unit.record(verdict())
        unit.ledger.add_checkpoint(checkpoint(1, "note\n"))
        unit.keys.add(_endorsement(1), recorded)
        unit.transcripts.add(ACME, transcript())
        add_person(unit, person())
        add_credential(unit, _api_key("a"))
        unit.review.add_ticket(asked)
        unit.review.add_answer(answer_of(asked))
        unit.review.add_settlement(ACME, settle(asked, [answer_of(asked)], at=later(2)))
        _fill_truth(unit)
        _fill_verdicts(unit)
        fill_registry(unit)
        fill_claims(unit)
        fill_delivery(unit)
        fill_subscribers(unit)
        fill_models(unit)
        fill_permits(unit)
        fill_mandates(unit)
        fill_gateway(unit)
        fill_desk(unit)
        fill_access(unit)
        record_segment(unit, segment(), pages())
        unit.requests.begin(ACME, kept())

    database.write(work)


def _fill_truth(unit: Unit) -> None:
    put(unit, ACME, contract(schema_text="{}"))
    put(unit, ACME, record(1))
    put(unit, ACME, record(2, kind=RecordKind.VOTE))
    put(unit, ACME, snapshot())
    put(unit, ACME, state(1, through=1))
    put(unit, ACME, state(2, through=2, at=later(1), due_at=later(9)))
    unit.truth.note_due(ACME, KEY_A, 2, later(9))
    put(unit, ACME, signal(3))
    put(unit, ACME, policy(4))
    unit.trust.put_mark(ACME, mark(3))


def _fill_verdicts(unit: Unit) -> None:
    put(unit, ACME, version(), activation(), drop(), egress_note(), judged(6, standing="held", ticket_id="tkt_1"))


@pytest.fixture
def filled(kit: Kit) -> Kit:
    database = kit.open()
    _fill(database)
    database.close()
    return kit


def _rows(kit: Kit, table: str) -> list[tuple[object, ...]]:
    return kit.force(f"SELECT * FROM {table} ORDER BY 1, 2")


def _refused_by_storage(kit: Kit, statement: str, words: str) -> None:
    with pytest.raises(_REFUSALS, match=words):
        kit.force(statement)


@pytest.mark.clause("ski", "7.2")
def test_update_and_delete_are_refused_on_every_append_only_table(filled: Kit) -> None:
    """By the table itself, whoever asks; nothing has changed afterwards."""
    for table, column in _APPEND_ONLY.items():
        before = _rows(filled, table)
        assert before, table
        _refused_by_storage(filled, f"UPDATE {table} SET {column} = {column}", "append-only: UPDATE refused")
        _refused_by_storage(filled, f"DELETE FROM {table}", "append-only: DELETE refused")
        assert _rows(filled, table) == before


@pytest.mark.clause("ski", "7.2")
@pytest.mark.clause("ski", "7.4")
def test_the_list_of_append_only_tables_is_complete(kit: Kit) -> None:
    """A table added later is append-only, or is named here as one that is not."""
    if isinstance(kit, PostgresKit):
        found = kit.force("SELECT relname FROM pg_class WHERE relnamespace = 'assay'::regnamespace AND relkind = 'r'")
    else:
        found = kit.force("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    changing = {"chain", "disclosure", "outbox_cursor", "schema_migration", "trust_mark", "truth_due"}
    changing |= {"claims_evidence_content", "service_entry", "service_lease"}
    changing |= {"login_failure", "request_nonce", "rule_counter", "webhook_attempt", "kept_request"}
    changing |= {"desk_draft", "desk_held", "desk_lease", "desk_pending", "desk_view", "ticket_place"}
    assert {str(row[0]) for row in found} == _APPEND_ONLY.keys() | changing


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("key_fact", "position"),
        ("checkpoint", "number"),
        ("outbox", "position"),
        ("truth_contract", "sequence_number"),
        ("truth_record", "sequence_number"),
        ("truth_state", "version"),
        ("trust_signal", "sequence_number"),
        ("trust_policy", "sequence_number"),
        ("graph_version", "sequence_number"),
        ("graph_activation", "sequence_number"),
        ("telemetry_drop", "sequence_number"),
        ("verdict_index", "sequence_number"),
        ("egress_note", "sequence_number"),
        ("claims_policy", "sequence_number"),
        ("claims_bundle", "sequence_number"),
        ("claims_decision", "position"),
        ("desk_act", "sequence_number"),
    ],
)
def test_nothing_can_be_put_before_the_first_place(filled: Kit, table: str, column: str) -> None:
    """What comes first is believed first, so there are no places before it."""
    kept = TABLES[table].columns
    for place in (0, -1):
        # Under names of its own, so that only the place can be what is wrong with it.
        changed = {**dict.fromkeys(_NAMES, "'fresh'"), column: str(place)}
        values = ", ".join(changed.get(one, one) for one in kept)
        statement = f"INSERT INTO {table} ({', '.join(kept)}) SELECT {values} FROM {table}"
        with pytest.raises(_REFUSALS, match=r"(?i)check constraint"):
            filled.force(f"{statement} LIMIT 1")


@pytest.mark.clause("ski", "7.2")
def test_truncate_is_refused_where_it_exists(filled: Kit) -> None:
    """SQLite has no TRUNCATE; its DELETE of everything is a DELETE."""
    for table in (*_APPEND_ONLY, "chain"):
        if isinstance(filled, PostgresKit):
            _refused_by_storage(filled, f"TRUNCATE {table} CASCADE", "TRUNCATE refused")
        else:
            _refused_by_storage(filled, f"DELETE FROM {table} WHERE 1", "append-only|never deleted")


@pytest.mark.clause("ski", "7.2")
def test_a_row_cannot_be_replaced(filled: Kit) -> None:
    """Not by REPLACE, not by an upsert, not by way of a second unique key."""
    for table, column in _APPEND_ONLY.items():
        before = _rows(filled, table)
        if isinstance(filled, PostgresKit):
            statement = (
                f"INSERT INTO {table} SELECT * FROM {table} ON CONFLICT ON CONSTRAINT {table}_pkey"
                f" DO UPDATE SET {column} = EXCLUDED.{column}"
            )
            _refused_by_storage(filled, statement, "append-only: UPDATE refused")
        else:
            _refused_by_storage(filled, f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}", "place is taken")
        assert _rows(filled, table) == before


@pytest.mark.clause("ski", "7.2")
@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("ticket", {"ticket_id": "'tkt_other'"}),
        ("answer", {"position": "position + 1"}),
        ("truth_record", {"record_hash": "'other'", "sequence_number": "sequence_number + 10"}),
        ("truth_record", {"record_id": "'other'", "sequence_number": "sequence_number + 10"}),
        ("truth_record", {"record_id": "'other'", "record_hash": "'other'", "truthkey": "'other'"}),
        ("trust_signal", {"sequence_number": "sequence_number + 10"}),
        ("trust_signal", {"signal_id": "'other'"}),
        ("trust_policy", {"sequence_number": "sequence_number + 10"}),
        ("trust_policy", {"policy_id": "'other'"}),
        ("graph_version", {"document_hash": "'other'"}),
        ("verdict_index", {"sequence_number": "sequence_number + 10"}),
        ("claims_policy", {"sequence_number": "sequence_number + 10"}),
        ("claims_policy", {"policy_id": "'other'"}),
    ],
    ids=str,
)
def test_a_second_unique_key_opens_no_way_to_replace(filled: Kit, table: str, change: dict[str, str]) -> None:
    before = _rows(filled, table)
    columns = TABLES[table].columns
    values = ", ".join(change.get(name, name) for name in columns)
    replace = "INSERT INTO" if isinstance(filled, PostgresKit) else "INSERT OR REPLACE INTO"
    statement = f"{replace} {table} ({', '.join(columns)}) SELECT {values} FROM {table}"
    _refused_by_storage(filled, statement, "place is taken|duplicate key")
    assert _rows(filled, table) == before


@pytest.mark.clause("kaori", "17")
@pytest.mark.parametrize(
    "change",
    [
        {"version": "4"},
        {"version": "3", "truthkey": "'other'"},
        {"version": "3", "tenant_id": "'globex'"},
        {"version": "3", "compile_time": "'2026-01-07T12:01:00.249999Z'"},
        {"version": "3", "through": "1"},
    ],
    ids=["a gap", "no first version", "another tenant's", "an earlier time", "fewer records"],
)
def test_a_state_that_does_not_follow_is_refused(filled: Kit, change: dict[str, str]) -> None:
    """By the table itself, whoever asks: what was known at an instant can be looked up by it."""
    before = _rows(filled, "truth_state")
    columns = TABLES["truth_state"].columns
    values = ", ".join(change.get(name, name) for name in columns)
    statement = f"INSERT INTO truth_state ({', '.join(columns)}) SELECT {values} FROM truth_state WHERE version = 2"
    _refused_by_storage(filled, statement, "must follow the one before it")
    assert _rows(filled, "truth_state") == before


def test_states_that_follow_each_other_may_come_in_one_statement(filled: Kit) -> None:
    """As a restored backup has them; and one bad row among them costs them all."""
    columns = TABLES["truth_state"].columns
    for last, words in (("9", "must follow"), ("4", None)):
        values = ", ".join("n" if name == "version" else name for name in columns)
        statement = (
            f"INSERT INTO truth_state ({', '.join(columns)}) SELECT {values} FROM truth_state AS s,"
            f" (SELECT 3 AS n UNION ALL SELECT {last}) AS more WHERE s.version = 2 ORDER BY n"
        )
        if words:
            _refused_by_storage(filled, statement, words)
        else:
            filled.force(statement)
    assert filled.force("SELECT version FROM truth_state ORDER BY version") == [(1,), (2,), (3,), (4,)]


def test_a_fold_mark_may_be_replaced_and_nothing_else_of_trust(filled: Kit) -> None:
    database = filled.open()
    database.write(lambda unit: unit.trust.put_mark(ACME, mark(9)))
    assert database.read(lambda unit: unit.trust.find_mark(ACME, mark(9).policy_hash)) == mark(9)
    database.close()


def test_a_fold_mark_is_not_taken_away_nor_given_to_another_policy(filled: Kit) -> None:
    """On SQLite by triggers; on PostgreSQL the application has no right to do either."""
    if isinstance(filled, PostgresKit):
        pytest.skip("tests/faults/test_postgres_attacks.py tries it as the application")
    _refused_by_storage(filled, "DELETE FROM trust_mark", "DELETE refused")
    _refused_by_storage(filled, "UPDATE trust_mark SET policy_hash = 'x'", "stays under its policy")


@pytest.mark.clause("ski", "7.1")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sequence_number": "sequence_number + 2"}, "chain broken"),
        ({"sequence_number": "sequence_number + 1", "previous_hash": "previous_hash"}, "chain broken"),
        ({"tenant_id": "'fresh'", "sequence_number": "1"}, "chain broken"),
        ({"tenant_id": "'fresh'", "sequence_number": "2"}, "chain broken"),
        ({"sequence_number": "0"}, "constraint|chain broken"),
    ],
    ids=["a gap", "a forged link", "a first entry after something", "no first entry", "before the first"],
)
def test_a_row_that_does_not_follow_is_refused(filled: Kit, change: dict[str, str], words: str) -> None:
    columns = [
        "tenant_id",
        "sequence_number",
        "previous_hash",
        "entry_hash",
        "leaf_hash",
        "timestamp",
        "kind",
        "schema_version",
        "text",
    ]
    values = [change.get(name, "entry_hash" if name == "previous_hash" else name) for name in columns]
    [(last,)] = filled.force("SELECT max(sequence_number) FROM ledger")
    statement = (
        f"INSERT INTO ledger ({', '.join(columns)}) SELECT {', '.join(values)} FROM ledger"
        f" WHERE sequence_number = {last}"
    )
    _refused_by_storage(filled, statement, words)
    database = filled.open()
    verify_chain(entries_of(database))
    assert database.append(note()).sequence_number == int(str(last)) + 1
    database.close()


def test_a_chain_never_shrinks_and_is_never_deleted(filled: Kit) -> None:
    _refused_by_storage(filled, "UPDATE chain SET sequence_number = sequence_number - 1", "never shrinks")
    _refused_by_storage(filled, "UPDATE chain SET epoch = epoch - 1", "never shrinks")
    _refused_by_storage(filled, "DELETE FROM chain", "never deleted|append-only: DELETE refused")


def test_the_content_of_evidence_is_kept_or_erased_and_never_changed(filled: Kit) -> None:
    changed = "UPDATE claims_evidence_content SET sha256 = sha256"
    _refused_by_storage(filled, changed, "never changed|append-only: UPDATE refused")
    filled.force("DELETE FROM claims_evidence_content")
    assert filled.force("SELECT count(*) FROM claims_evidence_content") == [(0,)]
    assert filled.force("SELECT count(*) FROM claims_evidence") == [(1,)]


def test_a_disclosure_is_kept_or_erased_and_never_changed(filled: Kit) -> None:
    _refused_by_storage(filled, "UPDATE disclosure SET value = '2'", "never changed|append-only: UPDATE refused")
    filled.force("DELETE FROM disclosure WHERE sequence_number = 1")
    assert filled.force("SELECT count(*) FROM disclosure WHERE pointer = '/a'") == [(299,)]


@pytest.mark.clause("ski", "7.2")
def test_a_refusal_reaches_the_caller_of_a_unit_with_a_code(filled: Kit) -> None:
    """And the writer goes on, since only that unit was refused."""
    database = filled.open()
    before = database.read(lambda unit: unit.ledger.head(ACME)).sequence_number
    for statement in ("UPDATE ledger SET kind = 'x'", "DELETE FROM transcript", "DELETE FROM ledger"):
        with refused("store.append_only" if filled.writer_may_try else "store.not_permitted"):
            database.write(lambda unit, sql=statement: unit._session.run(sql))  # type: ignore[misc]  # bound at once
    assert database.append(note()).sequence_number == before + 1
    database.close()
