"""Permits on every database: one claim for each permit, and what the ledger has of them is found by its own index."""

from msgspec.structs import replace

from assay.facts.permits import (
    DefinitionApproved,
    GatewayCalled,
    GatewayReleased,
    MandateEnded,
    MandateSigned,
    MandateUsed,
    claimed_entry,
    ended_entry,
    gateway_entry,
    issued_entry,
    mandate_ended_entry,
    reported_entry,
    signed_entry,
    used_entry,
)
from assay.identity.risk import RiskTier
from assay.kernel.ids import KeyId, PrincipalId, TicketId
from assay.permits.gateway import ToolRow
from assay.permits.mandate import MandateId, Seat
from assay.permits.permit import Effect, Permit, permit_names
from assay.ports.database import Database, Unit
from tests.contract._kit import refused
from tests.contract._records import ACME, later
from tests.permits.test_mandate import TERMS
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
    unit.record(reported_entry(permit(1), TOOL, Effect.FAILED, None, is_late=False, at=later(2)))
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


MANDATE = MandateId("mnd_" + "a" * 26)


def fill_mandates(unit: Unit) -> None:
    """A mandate that was signed, used twice and revoked."""
    signed = MandateSigned(
        mandate_id=MANDATE,
        terms=TERMS,
        seats=(Seat(role="ops_team", people=1),),
        signed_by=(PrincipalId("user:otto"),),
        proposed_by=TERMS.agent,
        ticket_id=TicketId("tkt_" + "a" * 26),
    )
    unit.record(signed_entry(ACME, signed, at=later(0)))
    for position, total in ((1, "20"), (2, "50")):
        used = MandateUsed(
            mandate_id=MANDATE, position=position, bundle_hash=PERMIT.bundle_hash, amount="30", total=total
        )
        unit.record(used_entry(ACME, used, at=later(position)))
    ended = MandateEnded(mandate_id=MANDATE, by=TOOL, reason="not needed")
    unit.record(mandate_ended_entry(ACME, ended, at=later(3)))


def test_a_mandate_is_found_with_its_last_use_and_its_end(database: Database) -> None:
    database.write(fill_mandates)

    def look(unit: Unit) -> None:
        store = unit.permits
        signed = store.find_mandate(ACME, MANDATE)
        assert signed is not None
        assert store.mandates_for(ACME, TERMS.agent, after=later(0)) == (signed,)
        assert store.mandates_for(ACME, TERMS.agent, after=TERMS.expires_at) == ()
        assert store.mandates_for(ACME, TOOL, after=later(0)) == ()
        assert store.mandate_page(ACME, before=99, limit=9) == (signed,)
        assert store.mandate_page(ACME, before=99, limit=9, agent=TOOL) == ()
        last = store.last_use(ACME, MANDATE)
        assert last is not None
        assert (last.position, last.total) == (2, "50")
        assert [one.position for one in store.uses(ACME, MANDATE, before=99, limit=9)] == [2, 1]
        assert [one.position for one in store.uses(ACME, MANDATE, before=2, limit=9)] == [1]
        end = store.find_end(ACME, MANDATE)
        assert end is not None
        assert end.reason == "not needed"
        assert store.mandate_logged(ACME, MANDATE) == {"mandate.signed": 1, "mandate.used": 3, "mandate.ended": 4}

    database.read(look)


def test_a_place_in_a_mandate_is_taken_once(database: Database) -> None:
    database.write(fill_mandates)
    again = MandateUsed(mandate_id=MANDATE, position=2, bundle_hash=PERMIT.bundle_hash, amount="1", total="51")
    with refused("store.conflict"):
        database.write(lambda unit: unit.record(used_entry(ACME, again, at=later(9))))


def fill_gateway(unit: Unit) -> None:
    """A released table, a definition that was approved after it, and a call."""
    row = ToolRow(tool="files__read", definition_hash=PERMIT.bundle_hash, tier=RiskTier.READ_ONLY)
    released = GatewayReleased(version=1, rows=(row,), key_id=KEY, signature="00", released_by=PrincipalId("user:otto"))
    unit.record(gateway_entry(ACME, released, at=later(0)))
    approved = DefinitionApproved(
        tool=row.tool, definition_hash=PERMIT.arguments_hash, approved_by=PrincipalId("user:otto"), reason="read it"
    )
    unit.record(gateway_entry(ACME, approved, at=later(1)))
    called = GatewayCalled(
        tool=row.tool,
        agent=TERMS.agent,
        definition_hash=row.definition_hash,
        arguments_hash=PERMIT.arguments_hash,
        result_hash=PERMIT.bundle_hash,
        permit_id=None,
        threat="0.0000",
        is_withheld=False,
    )
    unit.record(gateway_entry(ACME, called, at=later(2)))


def test_a_gateway_has_its_last_table_the_definitions_since_and_its_calls(database: Database) -> None:
    database.write(fill_gateway)

    def look(unit: Unit) -> None:
        store = unit.permits
        table = store.gateway_table(ACME)
        assert table is not None
        assert (table.version, table.sequence_number) == (1, 1)
        assert [one.reason for one in store.definitions(ACME, after=1)] == ["read it"]
        assert store.definitions(ACME, after=2) == ()
        assert [one.tool for one in store.gateway_calls(ACME, before=99, limit=9)] == ["files__read"]
        assert store.gateway_calls(ACME, before=99, limit=9, agent=TOOL) == ()

    database.read(look)
