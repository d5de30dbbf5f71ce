"""What a node remembers of claims, on both databases: added once, found by what it is asked for, never changed."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from msgspec.structs import replace

from assay.kernel.digest import Digest, digest_of
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind, draft_entry
from assay.ports.claims_store import CONTENT_POINTER, ClaimsStore
from assay.ports.database import Database, Unit
from tests.contract._claims import AGENT, blob, decided, gate_policy, put_evidence, received, turn
from tests.contract._kit import AT, refused
from tests.contract._records import ACME, GLOBEX
from tests.contract._unchecked import put

_OTHER = PrincipalId("ai:other")


def _at(seconds: float) -> Instant:
    return Instant(AT + timedelta(seconds=seconds))


def _ask(database: Database, ask: Callable[[ClaimsStore], object]) -> object:
    return database.read(lambda unit: ask(unit.claims))


def test_the_policy_that_was_released_last_is_active(unchecked: Database) -> None:
    """Another under the same id and version is refused; an older one may come back as a new version."""
    assert _ask(unchecked, lambda store: store.active_policy(ACME)) is None
    for one in (gate_policy(1), gate_policy(2, version="2"), gate_policy(3, name="other")):
        unchecked.write(lambda unit, one=one: put(unit, ACME, one))  # type: ignore[misc]  # bound at once
    assert _ask(unchecked, lambda store: store.active_policy(ACME)) == gate_policy(3, name="other")
    found = unchecked.read(lambda unit: unit.claims.policies(ACME))
    assert [(one.policy_id, one.version) for one in found] == [("default", "1"), ("default", "2"), ("other", "1")]
    assert _ask(unchecked, lambda store: store.policies(GLOBEX)) == ()
    with refused("store.conflict"):
        unchecked.write(lambda unit: put(unit, ACME, gate_policy(9)))


def test_a_bundle_is_kept_once_under_its_hash(unchecked: Database) -> None:
    unchecked.write(lambda unit: put(unit, ACME, received("a", thread="t")))
    assert _ask(unchecked, lambda store: store.find_bundle(ACME, digest_of(b"a"))) == received("a", thread="t")
    assert _ask(unchecked, lambda store: store.find_bundle(GLOBEX, digest_of(b"a"))) is None
    with refused("store.conflict"):
        unchecked.write(lambda unit: put(unit, ACME, received("a", 2)))
    unchecked.write(lambda unit: put(unit, GLOBEX, received("a")))


def test_decisions_come_by_in_the_order_of_their_entries(unchecked: Database) -> None:
    """Of one tenant alone."""

    def fill(unit: Unit) -> None:
        for decision in (decided("b", 4), decided("a", 1)):
            put(unit, ACME, decision)
        put(unit, GLOBEX, decided("a", 2))

    unchecked.write(fill)
    assert _ask(unchecked, lambda store: list(store.decision_log(ACME))) == [decided("a", 1), decided("b", 4)]


def test_a_bundle_has_at_most_one_successor(unchecked: Database) -> None:
    """Two bundles cannot both take the place of a third: one of them would act beside the other."""
    first: Digest = digest_of(b"a")
    unchecked.write(lambda unit: put(unit, ACME, received("a")))
    assert _ask(unchecked, lambda store: store.find_successor(ACME, first)) is None
    unchecked.write(lambda unit: put(unit, ACME, received("b", 2, resumes=first)))
    assert _ask(unchecked, lambda store: store.find_successor(ACME, first)) == received("b", 2, resumes=first)
    with refused("store.conflict"):
        unchecked.write(lambda unit: put(unit, ACME, received("c", 3, resumes=first)))
    # What takes nobody's place is no successor of nothing.
    unchecked.write(lambda unit: put(unit, ACME, received("d", 4)))


def test_turns_are_found_by_whose_they_are_and_when(unchecked: Database) -> None:
    """Of an agent, before the first after an instant: the turns of others are not its own, and a bundle has one."""
    taken = [turn(f"n{number}", at=_at(number), position=number) for number in range(1, 5)]
    for one in (*taken, turn("other", by=_OTHER)):
        unchecked.write(lambda unit, one=one: put(unit, ACME, one))  # type: ignore[misc]  # bound at once
    assert _ask(unchecked, lambda store: store.latest_turn(ACME, AGENT)) == taken[3]
    assert _ask(unchecked, lambda store: store.latest_turn(ACME, _OTHER)) == turn("other", by=_OTHER)
    assert _ask(unchecked, lambda store: store.latest_turn(GLOBEX, AGENT)) is None
    assert _ask(unchecked, lambda store: store.turn_before(ACME, AGENT, _at(2))) == taken[1]
    assert _ask(unchecked, lambda store: store.turn_before(ACME, AGENT, AT)) is None
    assert _ask(unchecked, lambda store: store.turn_before(ACME, AGENT, _at(9))) is None
    for again in (turn("n1", at=_at(9), position=9), turn("n9", position=4)):
        with refused("store.conflict"):
            unchecked.write(lambda unit, again=again: put(unit, ACME, again))  # type: ignore[misc]  # the same


def test_the_ledger_itself_says_what_was_decided_and_whose_turn_it_was(unchecked: Database) -> None:
    """Whatever rows there are: of the text that is hashed, of this tenant, and of that kind of entry alone."""
    turned: dict[str, object] = {"bundle_hash": digest_of(b"a"), "turn": {"of": AGENT, "position": 1}}
    spoken: dict[str, object] = {
        "approvals": ['"bundle_hash":"' + digest_of(b"z")],
        "bundle_hash": digest_of(b"a"),
        "turn": None,
    }
    kinds = (EntryKind.CLAIMS_DECIDED, EntryKind.CLAIMS_DECIDED, EntryKind.NOTE)
    for kind, body in zip(kinds, (turned, spoken, turned), strict=True):
        draft = draft_entry(ACME, kind, body, at=AT)
        unchecked.write(lambda unit, draft=draft: unit.record(draft))  # type: ignore[misc]  # bound at once
    assert _ask(unchecked, lambda store: store.logged_decisions(ACME, digest_of(b"a"))) == 2
    assert _ask(unchecked, lambda store: store.logged_decisions(ACME, digest_of(b"z"))) == 0
    assert _ask(unchecked, lambda store: store.logged_decisions(GLOBEX, digest_of(b"a"))) == 0
    assert _ask(unchecked, lambda store: store.logged_turn(ACME, AGENT)) == 1
    assert _ask(unchecked, lambda store: store.logged_turn(ACME, _OTHER)) is None


def test_the_tiers_of_a_thread_come_oldest_first(unchecked: Database) -> None:
    """What named no thread is a thread of its own."""
    rows = (("t", "READ_ONLY"), ("t", "MODIFY"), (None, "DELETE"), ("t", "PRIVILEGE"), ("u", "READ_ONLY"))
    for number, (thread, tier) in enumerate(rows, 1):
        one = received(f"n{number}", number, thread=thread, tier=tier, at=_at(number))
        unchecked.write(lambda unit, one=one: put(unit, ACME, one))  # type: ignore[misc]  # bound at once

    def tiers(
        thread: str | None, *, since: float = 0, before: int = 9, limit: int = 9, any_thread: bool = False
    ) -> tuple[str, ...]:
        return unchecked.read(
            lambda unit: unit.claims.tiers(
                ACME, AGENT, thread, since=_at(since), before=before, limit=limit, any_thread=any_thread
            )
        )

    assert tiers("t") == ("READ_ONLY", "MODIFY", "PRIVILEGE")
    assert tiers("t", limit=2) == ("MODIFY", "PRIVILEGE")
    assert tiers("t", before=4) == ("READ_ONLY", "MODIFY")
    assert tiers("t", since=1) == ("MODIFY", "PRIVILEGE")
    assert tiers(None) == ("DELETE",)
    assert tiers("new", any_thread=True, before=5) == ("READ_ONLY", "MODIFY", "DELETE", "PRIVILEGE")
    assert tiers("new", any_thread=True, since=3, limit=1) == ("READ_ONLY",)


def test_of_two_decisions_for_one_place_one_is_told(unchecked: Database) -> None:
    unchecked.write(lambda unit: put(unit, ACME, decided()))
    unchecked.write(lambda unit: put(unit, ACME, decided(position=2, decision="PUBLISH")))
    with refused("store.conflict"):
        unchecked.write(lambda unit: put(unit, ACME, decided(position=2, decision="REFUSE")))
    found = unchecked.read(lambda unit: unit.claims.decisions(ACME, digest_of(b"a")))
    assert [(one.position, one.decision) for one in found] == [(1, "DEFER"), (2, "PUBLISH")]


def test_the_latest_decisions_about_many_bundles_are_read_at_once(unchecked: Database) -> None:
    """However many are asked about; one that is named twice, or not decided, adds nothing."""
    asked = [digest_of(name.encode()) for name in ("a", "b", "a", *map(str, range(700)))]

    def fill(unit: Unit) -> None:
        for name in ("a", "699", "c"):
            put(unit, ACME, decided(name))
            put(unit, ACME, decided(name, position=2))
        put(unit, GLOBEX, decided(position=3))

    unchecked.write(fill)
    found = unchecked.read(lambda unit: unit.claims.latest_decisions(ACME, asked))
    assert sorted(found, key=lambda one: asked.index(one.bundle_hash)) == [decided("a", 2), decided("699", 2)]
    assert _ask(unchecked, lambda store: store.latest_decisions(GLOBEX, asked)) == (decided(position=3),)
    assert _ask(unchecked, lambda store: store.latest_decisions(ACME, [])) == ()


@pytest.mark.clause("claimbundle", "fact")
def test_evidence_is_found_by_its_hash_byte_for_byte(unchecked: Database) -> None:
    """Any bytes at all; the same again is refused, and what is not there has no size."""
    one = blob()
    unchecked.write(lambda unit: put_evidence(unit, ACME, one))
    assert _ask(unchecked, lambda store: store.find_evidence(ACME, one.sha256)) == one
    assert _ask(unchecked, lambda store: store.find_evidence(GLOBEX, one.sha256)) is None
    states = _ask(unchecked, lambda store: store.evidence_states(ACME, (one.sha256, "0" * 64)))
    assert states == ({one.sha256: one.size}, frozenset())
    assert _ask(unchecked, lambda store: store.contents(ACME, (one.sha256, "0" * 64))) == {one.sha256: one.content}
    assert _ask(unchecked, lambda store: store.contents(GLOBEX, (one.sha256,))) == {}
    with refused("store.conflict"):
        unchecked.write(lambda unit: put_evidence(unit, ACME, one))


def test_content_is_erased_and_that_it_was_attached_stays(unchecked: Database) -> None:
    """By the entry that attached it, within its tenant; a second time there is nothing to erase."""
    one = blob()
    unchecked.write(lambda unit: put_evidence(unit, ACME, one))
    assert unchecked.write(lambda unit: unit.claims.erase_content(GLOBEX, one.sequence_number)) is False
    assert unchecked.write(lambda unit: unit.claims.erase_content(ACME, one.sequence_number)) is True
    assert unchecked.write(lambda unit: unit.claims.erase_content(ACME, one.sequence_number)) is False
    with refused("store.damaged_record"):
        _ask(unchecked, lambda store: store.find_evidence(ACME, one.sha256))
    body = {"sequence_number": one.sequence_number, "pointers": [CONTENT_POINTER], "erased_by": "user:a", "reason": "r"}
    for _ in range(one.sequence_number + 1):
        unchecked.append(draft_entry(ACME, EntryKind.ERASURE, body, at=AT))
    assert _ask(unchecked, lambda store: store.find_evidence(ACME, one.sha256)) == replace(one, content=None)
    states = _ask(unchecked, lambda store: store.evidence_states(ACME, (one.sha256, "0" * 64)))
    assert states == ({}, frozenset({one.sha256}))
    assert _ask(unchecked, lambda store: store.evidence_states(GLOBEX, (one.sha256,))) == ({}, frozenset())
    assert _ask(unchecked, lambda store: store.contents(ACME, (one.sha256,))) == {}
