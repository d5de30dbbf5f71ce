"""Webhooks and agreements with others: added once, found again, and the same on both databases."""

from assay.ports.database import Database, Unit
from assay.ports.webhook_store import LetterState
from tests.contract._kit import refused
from tests.contract._records import ACME, GLOBEX
from tests.contract._subscribers import agreement, ended, letter, webhook
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


def test_a_letter_is_dead_then_due_then_gone(unchecked: Database) -> None:
    def fill(unit: Unit) -> None:
        for position in (7, 3):
            unit.webhooks.put_letter(ACME, letter(position))
        unit.webhooks.put_letter(ACME, letter(7, LetterState.DUE))

    def found(state: LetterState) -> list[int]:
        rows = unchecked.read(lambda unit: unit.webhooks.letters(ACME, "whk_1", state=state))
        return [one.position for one in rows]

    unchecked.write(fill)
    assert (found(LetterState.DEAD), found(LetterState.DUE)) == ([3], [7])
    one = unchecked.read(lambda unit: unit.webhooks.find_letter(ACME, "whk_1", 7))
    assert one == letter(7, LetterState.DUE)
    assert unchecked.read(lambda unit: unit.webhooks.find_letter(GLOBEX, "whk_1", 7)) is None
    unchecked.write(lambda unit: unit.webhooks.drop_letter(ACME, "whk_1", 7))
    assert (found(LetterState.DEAD), found(LetterState.DUE)) == ([3], [])
    assert unchecked.read(lambda unit: unit.webhooks.letters(GLOBEX, "whk_1", state=LetterState.DEAD)) == ()


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
