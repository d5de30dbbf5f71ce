"""Requests with a key: one row for each, its answer once it is known, and nothing of it after its time."""

from datetime import timedelta

from msgspec import structs

from assay.flows.ledger.erase_record import erase_entry_in
from assay.kernel.commitment import seal_fields
from assay.kernel.digest import digest_of
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind, draft_entry
from assay.ports.database import Database, Unit
from assay.ports.request_store import KeptRequest
from tests.contract._kit import AT, refused
from tests.contract._records import ACME, later

_OTHER = TenantId("other")
_MARKED = "Wilhelmina Slater"
_SENSOR = PrincipalId("sensor:042")


def kept(key: str = "k-1", *, by: PrincipalId = _SENSOR, at: Instant = AT, status: int | None = None) -> KeptRequest:
    return KeptRequest(
        principal_id=by,
        request_key=key,
        fingerprint=digest_of(b"body"),
        entry=7,
        begun_at=at,
        status=status,
        headers='{"location":"/x"}',
        body='{"a":"é"}',
    )


def test_a_key_is_begun_once_by_each_principal_of_each_tenant(database: Database) -> None:
    database.write(lambda unit: unit.requests.begin(ACME, kept()))
    with refused("store.conflict"):
        database.write(lambda unit: unit.requests.begin(ACME, kept()))
    database.write(lambda unit: unit.requests.begin(ACME, kept(by=PrincipalId("sensor:043"))))
    database.write(lambda unit: unit.requests.begin(_OTHER, kept()))
    assert database.read(lambda unit: unit.requests.find(ACME, _SENSOR, "k-1")) == kept()
    assert database.read(lambda unit: unit.requests.find(ACME, _SENSOR, "k-2")) is None


def test_an_answer_is_added_to_what_was_begun_or_stands_alone(database: Database) -> None:
    """What was begun, and after which entry, stays as it was."""

    def work(unit: Unit) -> None:
        unit.requests.begin(ACME, kept())
        unit.requests.answer(ACME, kept(status=201, at=later(5)))
        unit.requests.answer(ACME, kept("k-2", status=200))

    database.write(work)
    assert database.read(lambda unit: unit.requests.find(ACME, _SENSOR, "k-1")) == kept(status=201)
    assert database.read(lambda unit: unit.requests.find(ACME, _SENSOR, "k-2")) == kept("k-2", status=200)


def test_answers_of_one_tenant_are_removed_and_its_keys_stay(database: Database) -> None:
    def work(unit: Unit) -> int:
        for tenant_id in (ACME, _OTHER):
            unit.requests.begin(tenant_id, kept())
            unit.requests.answer(tenant_id, kept(status=201))
        return unit.requests.clear_answers(ACME)

    assert database.write(work) == 1
    cleared = structs.replace(kept(), headers="{}", body="")
    assert database.read(lambda unit: unit.requests.find(ACME, _SENSOR, "k-1")) == cleared
    assert database.read(lambda unit: unit.requests.find(_OTHER, _SENSOR, "k-1")) == kept(status=201)


def test_an_erased_value_is_in_no_table(database: Database) -> None:
    """Neither behind its entry nor in an answer that was kept under a request's key."""
    body, disclosures = seal_fields({"name": _MARKED}, ["/name"], [b"s" * 16])
    receipt = database.append(draft_entry(ACME, EntryKind.NOTE, body, at=AT, disclosures=disclosures))
    answered = structs.replace(kept(status=201), body=f'{{"name":"{_MARKED}"}}', headers=f'{{"x":"{_MARKED}"}}')
    database.write(lambda unit: unit.requests.answer(ACME, answered))
    assert _holding(database) == {"disclosure", "kept_request"}
    number = receipt.sequence_number
    by = PrincipalId("user:olga")
    database.write(lambda unit: erase_entry_in(unit, ACME, number, None, by=by, reason="asked to", at=later(1)))
    assert _holding(database) == set()


def _holding(database: Database) -> set[str]:
    """The tables with the marked value in any row, as a backup would have them."""

    def look(unit: Unit) -> set[str]:
        return {
            name for name in unit.tables.names() if any(_MARKED.encode() in line for line in unit.tables.dump(name))
        }

    return database.read(look)


def test_what_is_old_is_forgotten_of_every_tenant(database: Database) -> None:
    old, new = AT, Instant(AT + timedelta(hours=1))

    def work(unit: Unit) -> int:
        for tenant_id in (ACME, _OTHER):
            unit.requests.begin(tenant_id, kept("old", at=old))
            unit.requests.begin(tenant_id, kept("new", at=new))
        return unit.requests.forget(before=new)

    assert database.write(work) == 2
    assert database.read(lambda unit: unit.requests.find(ACME, _SENSOR, "old")) is None
    assert database.read(lambda unit: unit.requests.find(_OTHER, _SENSOR, "new")) == kept("new", at=new)


def test_a_key_without_an_answer_can_be_let_go_and_one_with_it_cannot(database: Database) -> None:
    def work(unit: Unit) -> None:
        unit.requests.begin(ACME, kept())
        unit.requests.begin(_OTHER, kept())
        unit.requests.answer(ACME, kept("k-2", status=200))
        for key in ("k-1", "k-2", "never"):
            unit.requests.drop(ACME, _SENSOR, key)

    database.write(work)
    assert database.read(lambda unit: unit.requests.find(ACME, _SENSOR, "k-1")) is None
    assert database.read(lambda unit: unit.requests.find(ACME, _SENSOR, "k-2")) == kept("k-2", status=200)
    assert database.read(lambda unit: unit.requests.find(_OTHER, _SENSOR, "k-1")) == kept()
