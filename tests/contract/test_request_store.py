"""Requests with a key: one row for each, its answer once it is known, and nothing of it after its time."""

from datetime import timedelta

from assay.kernel.digest import digest_of
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Database, Unit
from assay.ports.request_store import KeptRequest
from tests.contract._kit import AT, refused
from tests.contract._records import ACME, later

_OTHER = TenantId("other")
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
