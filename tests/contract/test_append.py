"""Appends: durable when acknowledged, linked in one chain per tenant, provable from the stored tree."""

import threading
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from itertools import pairwise

import msgspec
import pytest

from assay.kernel.canonical import canonicalize
from assay.kernel.commitment import Disclosure
from assay.kernel.digest import ZERO_DIGEST, digest_of
from assay.kernel.ids import TenantId
from assay.kernel.instant import parse_instant
from assay.kernel.ledger import Receipt
from assay.kernel.tile import inclusion_path, root_hash
from assay.ports.database import Database, Unit
from assay.ports.ledger_store import StoredEntry
from tests.contract._kit import Kit, refused
from tests.contract._records import ACME, GLOBEX, note, verdict
from tests.kernel._naive_tree import naive_path, naive_root

_COLUMNS_OF_A_VERDICT = (
    "telemetry_id",
    "telemetry_hash",
    "verdict",
    "rule_id",
    "kg_version_hash",
    "model_weight_hash",
    "llm_transcript",
    "verifier_result",
)


def entries_of(database: Database, tenant_id: TenantId = ACME) -> list[StoredEntry]:
    return database.read(lambda unit: list(unit.ledger.entries(tenant_id)))


def verify_chain(entries: Sequence[StoredEntry]) -> None:
    assert [entry.sequence_number for entry in entries] == list(range(1, len(entries) + 1))
    assert entries[0].previous_hash == ZERO_DIGEST
    for before, after in pairwise(entries):
        assert after.previous_hash == before.entry_hash
    for entry in entries:
        assert entry.entry_hash == digest_of(entry.text)
        assert entry.leaf_hash == sha256(b"\x00" + entry.text).digest()


def append_many(database: Database, count: int, tenant_id: TenantId = ACME) -> list[Receipt]:
    waiting = [database.submit(note(number, tenant_id)) for number in range(count)]
    return [one.result() for one in waiting]


def _read_tile(unit: Unit, level: int, index: int, width: int) -> bytes:
    return unit.ledger.tile(ACME, level, index, width)


def test_an_empty_chain_has_the_zero_hash_as_its_head(database: Database) -> None:
    assert database.read(lambda unit: unit.ledger.head(ACME)) == (ACME, 0, ZERO_DIGEST)
    assert database.read(lambda unit: unit.ledger.tenants()) == ()
    assert database.read(lambda unit: unit.ledger.find_entry(ACME, 1)) is None


@pytest.mark.clause("ski", "7.1")
def test_the_text_is_the_canonical_form_of_every_column_but_the_hashes_of_itself(database: Database) -> None:
    """`entry_hash` is SHA-256 of the canonical entry without `entry_hash`; the columns say what the text says."""
    database.append(note(1))
    database.append(verdict())
    plain, judged = entries_of(database)
    for entry, more in ((plain, ()), (judged, _COLUMNS_OF_A_VERDICT)):
        columns = ("tenant_id", "sequence_number", "previous_hash", "timestamp", "kind", "schema_version", *more)
        whole: dict[str, object] = {name: getattr(entry, name) for name in columns}
        for name in ("llm_transcript", "verifier_result"):
            if name in more:
                whole[name] = msgspec.json.decode(getattr(entry, name))
        whole["body"] = msgspec.json.decode(entry.text)["body"]
        whole["profile"] = "ski-3.0"
        assert canonicalize(whole) == entry.text
        assert digest_of(entry.text) == entry.entry_hash


@pytest.mark.clause("ski", "7.1")
def test_an_entry_that_is_no_verdict_leaves_the_columns_of_a_verdict_empty(database: Database) -> None:
    database.append(note())
    (entry,) = entries_of(database)
    assert all(getattr(entry, name) is None for name in _COLUMNS_OF_A_VERDICT)


@pytest.mark.clause("ski", "7.1")
def test_entries_are_numbered_and_linked_within_their_tenant(database: Database) -> None:
    """Sequence 1 follows the zero hash; chains of other tenants have no part in it."""
    receipts = append_many(database, 5)
    other = database.append(note(9, GLOBEX))
    mine = entries_of(database)
    verify_chain(mine)
    verify_chain(entries_of(database, GLOBEX))
    assert [(one.sequence_number, one.entry_hash) for one in receipts] == [
        (entry.sequence_number, entry.entry_hash) for entry in mine
    ]
    assert other.sequence_number == 1
    assert database.read(lambda unit: unit.ledger.tenants()) == (ACME, GLOBEX)
    assert database.read(lambda unit: unit.ledger.head(ACME)) == (ACME, 5, receipts[-1].entry_hash)


@pytest.mark.parametrize("fraction", ["", ".5", ".000001", ".123456", ".10"])
def test_the_time_comes_back_as_it_was_hashed(database: Database, fraction: str) -> None:
    database.append(note(at=parse_instant(f"2026-01-07T12:00:00{fraction}Z")))
    (entry,) = entries_of(database)
    assert entry.timestamp == msgspec.json.decode(entry.text)["timestamp"]


@pytest.mark.parametrize(
    "text", ["tab\there", "new\nline\r", "back\\slash \\N \\.", "\u202e\u0085\u2028", "\U0001f512é", "", "\\x00"]
)
def test_odd_text_in_the_columns_of_a_verdict_comes_back_as_it_was(database: Database, text: str) -> None:
    for _ in range(6):  # one row and many rows take different ways into the database
        database.submit(verdict(text, text, {"said": text, "transcript_ref": "x"}))
    database.append(verdict(text, text, {"said": text, "transcript_ref": "x"}))
    for entry in entries_of(database):
        assert (entry.telemetry_id, entry.rule_id) == (text, text)
        assert entry.llm_transcript == canonicalize({"said": text, "transcript_ref": "x"}).decode()


@pytest.mark.parametrize("number", [0, -1, 1.5, 1e-7, 5e-324, 1.7976931348623157e308, 9007199254740991, 0.1, -2.5e-10])
def test_numbers_in_the_documents_of_a_verdict_come_back_canonical(database: Database, number: float) -> None:
    database.append(verdict(transcript_document={"n": [number, {"b": number, "a": 1}]}))
    (entry,) = entries_of(database)
    assert entry.llm_transcript == canonicalize({"n": [number, {"b": number, "a": 1}]}).decode()


@pytest.mark.parametrize("field", ["telemetry_id", "rule_id"])
@pytest.mark.parametrize("text", ["nul \x00", "lone \ud800"])
def test_text_that_some_database_cannot_store_is_refused_before_it_reaches_the_queue(
    database: Database, field: str, text: str
) -> None:
    """Other callers of the same commit are not touched, and the writer goes on."""
    draft = verdict(text) if field == "telemetry_id" else verdict(rule_id=text)
    with refused("store.unstorable_text"):
        database.append(draft)
    with refused("store.unstorable_text"):
        database.write(lambda unit: unit.record(draft))
    assert database.append(note()).sequence_number == 1


def test_events_and_disclosures_that_cannot_be_stored_are_refused_before_the_queue(database: Database) -> None:
    draft = note(events=1)
    bad_event = msgspec.structs.replace(draft.events[0], subject="nul \x00")
    with refused("store.unstorable_text"):
        database.append(msgspec.structs.replace(draft, events=(bad_event,)))
    bad_value = Disclosure(pointer="/nul\x00", salt="00" * 16, value=msgspec.Raw(b"1"))
    with refused("store.unstorable_text"):
        database.append(note(disclosures=(bad_value,)))
    assert database.append(note()).sequence_number == 1


def test_a_document_that_is_no_json_is_refused_before_the_queue(database: Database) -> None:
    draft = verdict()
    assert draft.verdict is not None
    broken = msgspec.structs.replace(draft.verdict, verifier_result=msgspec.Raw(b"{oops"))
    with refused("store.unstorable_text"):
        database.append(msgspec.structs.replace(draft, verdict=broken))
    assert database.append(note()).sequence_number == 1


def test_an_entry_is_found_and_ranges_are_in_order(database: Database) -> None:
    append_many(database, 7)

    def look(unit: Unit) -> tuple[object, ...]:
        found = unit.ledger.find_entry(ACME, 4)
        return (
            found and found.sequence_number,
            [entry.sequence_number for entry in unit.ledger.entries(ACME, first=3, last=5)],
            [entry.sequence_number for entry in unit.ledger.entries(ACME, first=6)],
            [entry.sequence_number for entry in unit.ledger.entries(ACME, first=8)],
        )

    assert database.read(look) == (4, [3, 4, 5], [6, 7], [])


def test_some_entries_are_found_at_once_also_those_of_the_same_unit(database: Database) -> None:
    append_many(database, 5)

    def look(unit: Unit) -> None:
        made = unit.record(note(9)).sequence_number
        found = unit.ledger.find_entries(ACME, [made, 2, 4, 2, 99])
        assert found == {number: unit.ledger.find_entry(ACME, number) for number in (2, 4, made)}
        assert unit.ledger.find_entries(ACME, []) == unit.ledger.find_entries(GLOBEX, [2]) == {}

    database.write(look)


def test_entries_can_be_streamed_while_other_questions_are_asked(database: Database) -> None:
    """More rows than one fetch, with a second stream and single queries in between."""
    append_many(database, 1100)

    def look(unit: Unit) -> int:
        second = unit.ledger.entries(ACME)
        agreed = 0
        for entry in unit.ledger.entries(ACME):
            assert next(second).entry_hash == entry.entry_hash
            if entry.sequence_number % 100 == 0:
                found = unit.ledger.find_entry(ACME, entry.sequence_number)
                assert found == entry
            agreed += 1
        return agreed

    assert database.read(look) == 1100


def test_the_stored_tree_is_that_of_the_specification_across_the_edges_of_tiles(kit: Kit) -> None:
    """255, 256, 257, 511 ... leaves: roots and paths from stored tiles equal the naive tree's, also after reopening."""
    sizes = (1, 2, 255, 256, 257, 511, 512, 513, 700)
    leaves: list[bytes] = []
    for size in sizes:
        database = kit.open()
        try:
            append_many(database, size - len(leaves))
            leaves = [entry.leaf_hash for entry in entries_of(database)]
            assert len(leaves) == size

            def look(unit: Unit, size: int = size) -> tuple[bytes, tuple[bytes, ...]]:
                def read(level: int, index: int, width: int) -> bytes:
                    return unit.ledger.tile(ACME, level, index, width)

                return root_hash(size, read), inclusion_path(size // 2, size, read)

            root, path = database.read(look)
            assert root == naive_root(leaves)
            assert list(path) == naive_path(size // 2, leaves)
        finally:
            database.close()


def test_a_tile_that_is_not_there_is_said_to_be_missing(database: Database) -> None:
    append_many(database, 3)
    for level, index, width in ((0, 0, 4), (0, 0, 256), (1, 0, 1), (0, 7, 1), (0, 2**60, 1), (0, 2**63, 256)):
        with refused("ledger.tile_missing"):
            database.read(partial(_read_tile, level=level, index=index, width=width))


def test_what_was_acknowledged_is_there_after_reopening_and_the_chain_goes_on(kit: Kit) -> None:
    first = kit.open()
    receipt = first.append(note(1))
    first.close()
    second = kit.open()
    found = second.read(lambda unit: unit.ledger.find_entry(ACME, 1))
    assert found is not None
    assert found.entry_hash == receipt.entry_hash
    assert second.append(note(2)).sequence_number == 2
    verify_chain(entries_of(second))
    second.close()


def test_sixteen_threads_append_to_one_chain_and_every_receipt_is_found(database: Database) -> None:
    receipts: list[Receipt] = []
    lock = threading.Lock()

    def work(worker: int) -> None:
        mine = [database.append(note(worker * 1000 + number)) for number in range(50)]
        with lock:
            receipts.extend(mine)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = entries_of(database)
    verify_chain(entries)
    assert len(entries) == 800
    assert {(one.sequence_number, one.entry_hash) for one in receipts} == {
        (entry.sequence_number, entry.entry_hash) for entry in entries
    }
    assert database.facts().commits < 800


def test_reading_sees_one_state_while_others_write(database: Database) -> None:
    append_many(database, 10)

    def look(unit: Unit) -> tuple[int, int]:
        before = unit.ledger.head(ACME).sequence_number
        database.append(note(11))
        return before, unit.ledger.head(ACME).sequence_number

    assert database.read(look) == (10, 10)
    assert database.read(lambda unit: unit.ledger.head(ACME).sequence_number) == 11


def test_a_callback_is_called_once_when_the_write_is_durable(database: Database) -> None:
    called = threading.Event()
    waiting = database.submit(note())
    waiting.add_done_callback(called.set)
    assert called.wait(10)
    assert waiting.result(0).sequence_number == 1


def test_a_callback_that_fails_does_not_stop_the_writer(database: Database) -> None:
    gate = threading.Event()
    blocked = database.submit(note(1))

    def fail() -> None:
        gate.set()
        raise RuntimeError("a caller's own mistake")

    blocked.add_done_callback(fail)
    assert gate.wait(10)
    assert database.append(note(2)).sequence_number == 2
