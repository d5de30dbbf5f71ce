"""Permits on every database: one claim for each permit, and what the ledger has of them is found by its own index."""

from msgspec.structs import replace

from assay.facts.permits import claimed_entry, ended_entry, issued_entry, reported_entry
from assay.kernel.ids import KeyId, PrincipalId
from assay.permits.permit import Effect, Permit, permit_names
from assay.ports.database import Database, Unit
from tests.contract._kit import refused
from tests.contract._records import ACME, later
from tests.permits.test_permit import PERMIT

KEY = KeyId("sha256:" + "0" * 64)
TOOL = PrincipalId("service:records")


def permit(number: int = 1) -> Permit:
    name, nonce = permit_names(bytes([number]) * 32)
    return replace(PERMIT, tenant_id=ACME, permit_id=name, nonce=nonce)


def fill_permits(unit: Unit) -> None:
    """One row in each table, and a second permit of the same bundle."""
    unit.record(issued_entry(permit(1), KEY, at=later(0)))
    unit.record(claimed_entry(permit(1), TOOL, report_due_at=later(9), at=later(1)))
    unit.record(reported_entry(permit(1), TOOL, Effect.FAILED, None, "no such row", is_late=False, at=later(2)))
    unit.record(issued_entry(permit(2), KEY, at=later(3)))
    unit.record(ended_entry(permit(2), "revoked", by=TOOL, reason="not needed", at=later(4)))


def test_rows_are_found_by_permit_bundle_and_agent(database: Database) -> None:
    database.write(fill_permits)

    def look(unit: Unit) -> None:
        store, names = unit.permits, [permit(1).permit_id, permit(2).permit_id]
        first, second = store.of_bundle(ACME, PERMIT.bundle_hash)
        assert [first.permit_id, second.permit_id] == names
        assert store.find(ACME, names[0]) == first
        assert store.find(ACME, permit(3).permit_id) is None
        assert store.page(ACME, before=99, limit=9) == (second, first)
        assert store.page(ACME, before=99, limit=1, agent=PERMIT.agent) == (second,)
        assert store.page(ACME, before=99, limit=9, agent=TOOL) == ()
        assert [one.claimed_by for one in store.claims(ACME, names)] == [TOOL]
        assert [one.effect for one in store.reports(ACME, names)] == [Effect.FAILED]
        assert [one.how for one in store.ends(ACME, names)] == ["revoked"]
        assert store.logged(ACME, names) == (1, 2, 3, 4, 5)
        assert store.logged(ACME, names[:1]) == (1, 2, 3)
        assert store.logged_of_bundle(ACME, PERMIT.bundle_hash) == (1, 4)

    database.read(look)


def test_a_permit_is_claimed_once(database: Database) -> None:
    database.write(lambda unit: unit.record(issued_entry(permit(1), KEY, at=later(0))))
    claim = claimed_entry(permit(1), TOOL, report_due_at=later(5), at=later(1))
    database.write(lambda unit: unit.record(claim))
    with refused("store.conflict"):
        database.write(lambda unit: unit.record(claim))
    head = database.read(lambda unit: unit.ledger.head(ACME))
    assert head.sequence_number == 2
    overdue = database.read(lambda unit: unit.permits.unreported(ACME, later(5)))
    assert [one.permit_id for one in overdue] == [permit(1).permit_id]
    assert database.read(lambda unit: unit.permits.unreported(ACME, later(4))) == ()
