"""What lies beside the chain: checkpoints, erasable values, transcripts, the node's own key facts."""

import pytest
from msgspec import Raw

from assay.kernel.commitment import Disclosure
from assay.kernel.digest import digest_of
from assay.kernel.key import (
    Endorsement,
    KeyPurpose,
    KeyRecord,
    Retirement,
    RetirementDraft,
    SigningMethod,
    endorsement_message,
    retirement_message,
    seal_endorsement,
    seal_retirement,
)
from assay.kernel.ledger import EntryKind, draft_entry
from assay.kernel.transcript import verify_transcript
from assay.ports.database import Database, Unit
from tests.contract._kit import AT, Kit, refused
from tests.contract._records import ACME, GLOBEX, KEY, KEY_ID, checkpoint, later, note, transcript
from tests.contract.test_append import entries_of

_SECRETS = (
    Disclosure(pointer="/name", salt="ab" * 16, value=Raw(b'"Amira \\u0000 \xc3\xa9"')),
    Disclosure(pointer="/address/street~1", salt="cd" * 16, value=Raw(b'{"a":[1,2.5,null]}')),
)


def test_the_newest_checkpoint_counts_and_older_ones_are_found_by_size(database: Database) -> None:
    kept = [checkpoint(4, "four\n"), checkpoint(8, "eight\n"), checkpoint(8, "eight again\n")]
    for one in kept:
        database.write(lambda unit, one=one: unit.ledger.add_checkpoint(one))  # type: ignore[misc]  # bound at once
    database.write(lambda unit: unit.ledger.add_checkpoint(checkpoint(1, "theirs\n", GLOBEX)))

    def look(unit: Unit) -> tuple[object, ...]:
        return (
            unit.ledger.find_checkpoint(ACME),
            unit.ledger.find_checkpoint(ACME, at_most=7),
            unit.ledger.find_checkpoint(ACME, at_most=3),
            list(unit.ledger.checkpoints(ACME)),
            list(unit.ledger.checkpoints(ACME, after=4)),
        )

    assert database.read(look) == (kept[2], kept[0], None, kept, kept[1:])


def test_the_newest_entry_of_a_kind_is_found_by_its_own_index(database: Database) -> None:
    """Of the tenant alone, among stored entries; a kind that has none has no newest."""
    for kind in (EntryKind.GRAPH_ACTIVATED, EntryKind.NOTE, EntryKind.GRAPH_ACTIVATED, EntryKind.NOTE):
        draft = draft_entry(ACME, kind, {}, at=AT)
        database.write(lambda unit, draft=draft: unit.append(draft))  # type: ignore[misc]  # bound at once
    activated = draft_entry(GLOBEX, EntryKind.MODEL_ACTIVATED, {}, at=AT)
    database.write(lambda unit: unit.append(activated))

    def look(unit: Unit) -> list[int | None]:
        kinds = (EntryKind.GRAPH_ACTIVATED, EntryKind.MODEL_ACTIVATED, EntryKind.CLAIMS_POLICY)
        return [unit.ledger.find_latest(tenant_id, kind) for tenant_id in (ACME, GLOBEX) for kind in kinds]

    assert database.read(look) == [3, None, None, None, 1, None]


def test_disclosures_come_back_in_the_order_of_their_pointers(database: Database) -> None:
    database.append(note(1))
    database.append(note(2, disclosures=_SECRETS))
    found = database.read(lambda unit: unit.ledger.disclosures(ACME, 2))
    assert found == tuple(sorted(_SECRETS, key=lambda one: one.pointer))
    assert database.read(lambda unit: unit.ledger.disclosures(ACME, 1)) == ()


def test_erasing_removes_value_and_salt_for_good_and_leaves_the_chain(kit: Kit) -> None:
    """Those named, or all; what was not there is not said to be erased."""
    first = kit.open()
    first.append(note(1, disclosures=_SECRETS))
    before = entries_of(first)
    assert first.write(lambda unit: unit.ledger.erase(ACME, 1, ("/name", "/nothing"))) == ("/name",)
    assert first.write(lambda unit: unit.ledger.erase(ACME, 1, ("/name",))) == ()
    first.scrub()
    first.close()
    second = kit.open()
    assert second.read(lambda unit: unit.ledger.disclosures(ACME, 1)) == (_SECRETS[1],)
    assert second.write(lambda unit: unit.ledger.erase(ACME, 1, None)) == ("/address/street~1",)
    assert second.read(lambda unit: unit.ledger.disclosures(ACME, 1)) == ()
    assert entries_of(second) == before
    second.close()


def test_erasing_is_undone_with_the_unit_that_fails(database: Database) -> None:
    database.append(note(1, disclosures=_SECRETS))

    def fail(unit: Unit) -> None:
        unit.ledger.erase(ACME, 1, None)
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - the unit's own
        database.write(fail)
    assert len(database.read(lambda unit: unit.ledger.disclosures(ACME, 1))) == 2


@pytest.mark.clause("ski", "7.4")
def test_a_transcript_is_kept_apart_from_the_ledger_and_still_verifies(database: Database) -> None:
    """Found by the id that its content gives it, in its own tenant only, NUL and all."""
    kept = [transcript("one"), transcript("two")]
    for one in kept:
        database.write(lambda unit, one=one: unit.transcripts.add(ACME, one))  # type: ignore[misc]  # bound at once
    found = database.read(lambda unit: unit.transcripts.find(ACME, kept[0].transcript_id))
    assert found == kept[0]
    assert found is not None
    verify_transcript(found, KEY.public_key().public_bytes_raw())
    everything = database.read(lambda unit: list(unit.transcripts.all(ACME)))
    assert everything == sorted(kept, key=lambda one: one.transcript_id)
    assert database.read(lambda unit: unit.transcripts.find(GLOBEX, kept[0].transcript_id)) is None
    assert database.read(lambda unit: unit.ledger.tenants()) == ()


@pytest.mark.clause("ski", "7.4")
def test_a_transcript_that_is_there_cannot_be_added_again(database: Database) -> None:
    database.write(lambda unit: unit.transcripts.add(ACME, transcript()))
    with refused("store.conflict"):
        database.write(lambda unit: unit.transcripts.add(ACME, transcript()))


def _endorsement(until: int) -> Endorsement:
    record = KeyRecord(
        key_id=KEY_ID,
        method=SigningMethod.ED25519,
        purpose=KeyPurpose.LEDGER,
        public_key=KEY.public_key().public_bytes_raw().hex(),
        valid_from=AT,
        valid_until=later(until),
    )
    return seal_endorsement(record, endorsed_by=KEY_ID, signature=KEY.sign(endorsement_message(record)))


def _retirement(until: int) -> Retirement:
    draft = RetirementDraft(key_id=KEY_ID, valid_until=later(until), reason="rotated")
    return seal_retirement(draft, endorsed_by=KEY_ID, signature=KEY.sign(retirement_message(draft)))


def test_key_facts_come_back_in_the_order_they_were_added(database: Database) -> None:
    facts = (_endorsement(9), _retirement(5), _endorsement(3), _retirement(1))

    def add(unit: Unit, fact: Endorsement | Retirement) -> None:
        unit.keys.add(fact, unit.record(note(1)))

    for fact in facts:
        database.write(lambda unit, fact=fact: add(unit, fact))  # type: ignore[misc]  # bound at once
    assert database.read(lambda unit: (unit.keys.endorsements(), unit.keys.retirements())) == (facts[::2], facts[1::2])
    recorded = database.read(lambda unit: unit.keys.recorded())
    assert tuple(one.fact for one in recorded) == facts
    assert [(one.tenant_id, one.sequence_number) for one in recorded] == [(ACME, number) for number in range(1, 5)]


def test_a_checkpoint_over_fewer_entries_is_refused(database: Database) -> None:
    """Whoever looked before somebody else wrote is told, and nothing is kept."""
    database.write(lambda unit: unit.ledger.add_checkpoint(checkpoint(8, "eight\n")))
    with refused("checkpoint.shrinks"):
        database.write(lambda unit: unit.ledger.add_checkpoint(checkpoint(3, "three\n")))
    database.write(lambda unit: unit.ledger.add_checkpoint(checkpoint(3, "theirs\n", GLOBEX)))
    assert database.read(lambda unit: unit.ledger.find_checkpoint(ACME)) == checkpoint(8, "eight\n")


def test_a_kept_checkpoint_says_what_its_note_says(database: Database) -> None:
    kept = checkpoint(3, "example.org/log\n3\nq83v\n\n\u2014 name sig\n")
    database.write(lambda unit: unit.ledger.add_checkpoint(kept))
    found = database.read(lambda unit: unit.ledger.find_checkpoint(ACME))
    assert found == kept
    assert found is not None
    assert found.root_hash == digest_of(b"something")


def test_texts_of_entries_are_found_many_at_once(database: Database) -> None:
    """However many are asked for; those that are not there are left out."""
    for number in range(4):
        database.write(lambda unit, number=number: unit.record(note(number)))  # type: ignore[misc]  # bound at once
    expected = {entry.sequence_number: entry.text for entry in entries_of(database)}
    assert database.read(lambda unit: unit.ledger.texts(ACME, [2, 4, 2, 9])) == {2: expected[2], 4: expected[4]}
    assert database.read(lambda unit: unit.ledger.texts(ACME, range(1, 1200))) == expected
    assert database.read(lambda unit: unit.ledger.texts(ACME, ())) == {}
    assert database.read(lambda unit: unit.ledger.texts(GLOBEX, [1])) == {}


@pytest.mark.clause("ski", "7.1")
def test_entries_are_counted_so_that_a_gap_shows(database: Database) -> None:
    """As many as their numbers say, of this tenant alone; beyond the head there are none."""
    for number in range(4):
        database.write(lambda unit, number=number: unit.record(note(number)))  # type: ignore[misc]  # bound at once
    assert database.read(lambda unit: unit.ledger.count(ACME, first=1, last=4)) == 4
    assert database.read(lambda unit: unit.ledger.count(ACME, first=2, last=9)) == 3
    assert database.read(lambda unit: unit.ledger.count(ACME, first=5, last=4)) == 0
    assert database.read(lambda unit: unit.ledger.count(GLOBEX, first=1, last=4)) == 0
