"""Webhooks and agreements with others: added once, found again, and the same on both databases."""

from assay.adapters.credential_seal import HmacSeal
from assay.ports.database import Database, Unit
from tests.contract._kit import Kit, refused
from tests.contract._records import ACME, GLOBEX
from tests.contract._subscribers import agreement, attempts, ended, webhook
from tests.contract._unchecked import put


def test_a_webhook_is_there_until_it_ended(unchecked: Database) -> None:
    """It is still known afterwards, and nothing brings it back."""

    def fill(unit: Unit) -> None:
        put(unit, ACME, webhook())
        put(unit, ACME, webhook("whk_2", place=5))
        put(unit, ACME, ended())

    unchecked.write(fill)
    assert unchecked.read(lambda unit: unit.webhooks.webhooks(ACME)) == (webhook("whk_2", place=5),)
    assert unchecked.read(lambda unit: unit.webhooks.find_webhook(ACME, "whk_1")) == webhook()
    assert unchecked.read(lambda unit: unit.webhooks.is_ended(ACME, "whk_1"))
    assert not unchecked.read(lambda unit: unit.webhooks.is_ended(ACME, "whk_2"))
    assert unchecked.read(lambda unit: unit.webhooks.webhooks(GLOBEX)) == ()
    with refused("store.conflict"):
        unchecked.write(lambda unit: put(unit, ACME, webhook(place=9)))
    with refused("store.conflict"):
        unchecked.write(lambda unit: put(unit, ACME, ended(place=9)))


def test_attempts_are_of_one_event_at_a_time_and_only_as_they_were_stored(kit: Kit) -> None:
    """Whoever can write to the database makes an event neither wait nor be given up."""
    database = kit.open(seal=HmacSeal(b"k" * 32, frozenset()))
    database.write(lambda unit: unit.webhooks.put_attempts(ACME, attempts(7, 1)))
    database.write(lambda unit: unit.webhooks.put_attempts(ACME, attempts(7, 2)))
    assert database.read(lambda unit: unit.webhooks.find_attempts(ACME, "whk_1", 7)) == attempts(7, 2)
    assert database.read(lambda unit: unit.webhooks.find_attempts(GLOBEX, "whk_1", 7)) is None
    for change in ("attempts = 10", "changed_at = replace(changed_at, '2026', '2036')", "mac = ''"):
        kit.force(f"UPDATE webhook_attempt SET {change}")
        assert database.read(lambda unit: unit.webhooks.find_attempts(ACME, "whk_1", 7)) is None
        database.write(lambda unit: unit.webhooks.put_attempts(ACME, attempts(7, 2)))
    kit.force("UPDATE webhook_attempt SET position = 8")
    assert database.read(lambda unit: unit.webhooks.find_attempts(ACME, "whk_1", 8)) is None
    database.write(lambda unit: unit.webhooks.put_attempts(ACME, attempts(9, 1)))
    assert database.read(lambda unit: unit.webhooks.find_attempts(ACME, "whk_1", 7)) is None
    database.write(lambda unit: unit.webhooks.drop_attempts(ACME, "whk_1"))
    assert database.read(lambda unit: unit.webhooks.find_attempts(ACME, "whk_1", 9)) is None
    database.close()


def test_the_latest_agreement_with_a_peer_is_in_force(unchecked: Database) -> None:
    def fill(unit: Unit) -> None:
        put(unit, ACME, agreement())
        put(unit, ACME, agreement('{"new":1}', place=8))
        put(unit, ACME, agreement("{}", "quay", place=9))

    unchecked.write(fill)
    assert unchecked.read(lambda unit: unit.peers.find_agreement(ACME, "harbour")) == agreement('{"new":1}', place=8)
    assert unchecked.read(lambda unit: unit.peers.find_agreement(ACME, "nobody")) is None
    assert unchecked.read(lambda unit: unit.peers.find_agreement(GLOBEX, "harbour")) is None


def test_the_newest_event_is_known_without_reading_the_others(unchecked: Database) -> None:
    assert unchecked.read(lambda unit: unit.outbox.newest(ACME)) == 0
