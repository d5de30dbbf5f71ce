"""Values that a database does not take are their owner's answer, and nobody else's."""

import threading

import pytest
from msgspec import Raw

from assay.adapters.waiting import Waiting
from assay.kernel.commitment import Disclosure
from assay.kernel.ledger import Draft, Receipt, prepare
from assay.ports.database import Database, Unit
from tests.contract._kit import refused
from tests.contract._records import ACME, GLOBEX, note, verdict
from tests.contract.test_append import entries_of, verify_chain


def _secret(pointer: str) -> Disclosure:
    return Disclosure(pointer=pointer, salt="ab" * 16, value=Raw(b'"v"'))


def _submit_unchecked(database: Database, draft: Draft) -> Waiting[Receipt]:
    """Past the check on the caller's thread, as a value would go that the check does not know to be refused."""
    waiting: Waiting[Receipt] = database._writer().submit(prepare(draft))  # type: ignore[attr-defined]  # the fault
    return waiting


@pytest.mark.parametrize("pointer", ["/" + "x" * 1024, "/" + "\u00e9" * 512], ids=["letters", "accents"])
def test_a_pointer_too_long_for_an_index_is_refused_before_it_reaches_the_queue(
    database: Database, pointer: str
) -> None:
    with refused("store.key_length"):
        database.submit(note(1, disclosures=(_secret(pointer),)))
    with refused("store.key_length"):
        database.write(lambda unit: unit.record(note(1, disclosures=(_secret(pointer),))))
    longest = "/" + "x" * 1023
    assert database.append(note(2, disclosures=(_secret(longest),))).sequence_number == 1
    (kept,) = database.read(lambda unit: unit.ledger.disclosures(ACME, 1))
    assert kept.pointer == longest


def test_a_name_too_long_for_an_index_is_refused_alike_on_every_database(database: Database) -> None:
    with refused("store.key_length"):
        database.write(lambda unit: unit.outbox.confirm(ACME, "s" * 1025, 1))
    database.write(lambda unit: unit.outbox.confirm(ACME, "s" * 1024, 1))


def test_a_row_that_the_database_refuses_costs_its_caller_and_nobody_else(database: Database) -> None:
    """Five callers share a commit; the value of one is not text at all, which only storing it shows."""
    database.append(note(0))
    entered, gate = threading.Event(), threading.Event()

    def block(_unit: Unit) -> None:
        entered.set()
        gate.wait(20)

    blocker = database._writer().submit(block)  # type: ignore[attr-defined]  # one batch behind it
    assert entered.wait(20)
    kept = [database.submit(note(1, events=1)), database.submit(note(2, GLOBEX))]
    guilty = _submit_unchecked(database, note(3, disclosures=(_secret("/lone \ud800"),)))
    kept += [database.submit(note(4)), database.submit(note(5, disclosures=(_secret("/fine"),)))]
    gate.set()
    blocker.result(20)
    with refused("store.row_refused"):
        guilty.result(20)
    assert [one.result(20).sequence_number for one in kept] == [2, 1, 3, 4]
    assert database.append(note(6)).sequence_number == 5
    for tenant_id in (ACME, GLOBEX):
        verify_chain(entries_of(database, tenant_id))
    events = database.read(lambda unit: unit.outbox.events(ACME, after=0, limit=9))
    assert [event.ledger_sequence for event in events] == [2]


def test_two_disclosures_for_one_pointer_are_refused_before_they_reach_the_queue(database: Database) -> None:
    with refused("store.unstorable_text"):
        database.submit(note(1, disclosures=(_secret("/a"), _secret("/a"))))
    assert database.append(note(2)).sequence_number == 1


def test_the_text_of_an_escaped_u0000_is_kept_and_the_character_refused(database: Database) -> None:
    """JSON columns are parsed by the database: six characters that spell an escape are no U+0000."""
    spelt, said = ({"reasoning": text, "transcript_ref": "t"} for text in ("\\u0000", "\x00"))
    kept = database.write(lambda unit: unit.record(verdict(transcript_document=spelt)))
    assert kept.sequence_number == 1
    with refused("store.unstorable_text"):
        database.submit(verdict(transcript_document=said))
