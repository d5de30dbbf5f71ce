"""How the databases find what truth and trust ask for: along an index, also on tables they know nothing about yet."""

import re
from collections.abc import Callable
from contextlib import suppress

import pytest

from assay.adapters.sql.claims_store import SqlClaimsStore
from assay.adapters.sql.review_store import SqlReviewStore
from assay.adapters.sql.row import sortable
from assay.adapters.sql.session import Row, SqlSession
from assay.adapters.sql.trust_store import SqlTrustStore
from assay.adapters.sql.truth_store import SqlTruthStore
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import render_instant
from assay.kernel.ledger import EntryKind, draft_entry
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Database, Unit
from assay.ports.review_store import QueuePart
from assay.ports.truth_store import RecordKind
from assay.review.kind import TicketKind
from tests.contract._kit import AT, Kit
from tests.contract._plans import fill, plans_of, require_index, require_narrow
from tests.contract._records import ACME, later, note
from tests.contract._truth import FLOOD, KEY_A, hash_of
from tests.contract._unchecked import unchecked_rows

_Ask = Callable[[SqlTruthStore, SqlTrustStore], object]
_HASH = hash_of("any")
_FEW: dict[str, _Ask] = {
    "a contract": lambda truth, _: truth.find_contract(ACME, FLOOD),
    "records of a key": lambda truth, _: list(truth.records(ACME, KEY_A)),
    "records of a key up to an entry": lambda truth, _: list(truth.records(ACME, KEY_A, through=7)),
    "a record by id": lambda truth, _: truth.find_record(ACME, RecordKind.VOTE, "any"),
    "a record by id and maker": lambda truth, _: truth.find_record(ACME, RecordKind.VOTE, "any", by="user:alice"),
    "a record by id and key": lambda truth, _: truth.find_record(ACME, RecordKind.VOTE, "any", truthkey=KEY_A),
    "an observation by hash": lambda truth, _: truth.find_observation(ACME, _HASH),
    "a page of a key": lambda truth, _: truth.observations(ACME, truthkey=KEY_A, after=7),
    "a page of a reporter": lambda truth, _: truth.observations(ACME, by="user:alice", after=7),
    "a page of a key and a reporter": lambda truth, _: truth.observations(ACME, truthkey=KEY_A, by="user:alice"),
    "what a reporter said before": lambda truth, _: truth.observations_by(ACME, "user:alice", before=900, limit=9),
    "reports counted": lambda truth, _: truth.count_reports(ACME, KEY_A, "user:alice"),
    "the newest record": lambda truth, _: truth.last_record(ACME, KEY_A),
    "a snapshot": lambda truth, _: truth.find_snapshot(ACME, _HASH),
    "the latest state": lambda truth, _: truth.find_state(ACME, KEY_A),
    "what was known": lambda truth, _: truth.find_state(ACME, KEY_A, known_at=AT),
    "a state by hash": lambda truth, _: truth.find_state_by_hash(ACME, _HASH),
    "statuses of some keys": lambda truth, _: truth.statuses(ACME, [KEY_A, "key-0100"]),
    "a history": lambda truth, _: truth.history(ACME, KEY_A),
    "a signal": lambda _, trust: trust.find_signal(ACME, "any"),
    "signals of an agent": lambda _, trust: trust.signals_of(ACME, "user:alice", after=7),
    "a policy": lambda _, trust: trust.find_policy(ACME, _HASH),
    "a mark": lambda _, trust: trust.find_mark(ACME, _HASH),
    "fingerprints": lambda truth, _: truth.fingerprints(ACME, ["phash.any", "dhash.any"], ["embedding.any."]),
}
_WHOLE: dict[str, _Ask] = {
    "contracts": lambda truth, _: truth.contracts(ACME),
    "a page of all": lambda truth, _: truth.observations(ACME, after=7),
    "keys": lambda truth, _: list(truth.keys(ACME)),
    "stale keys": lambda truth, _: list(truth.keys(ACME, stale_only=True)),
    "what is due": lambda truth, _: list(truth.due(ACME, AT)),
    "gold": lambda truth, _: list(truth.gold(ACME)),
    "gold of a claim type": lambda truth, _: list(truth.gold(ACME, claim_type=FLOOD)),
    "gold at an instant": lambda truth, _: list(truth.gold(ACME, known_at=AT)),
    "gold after a key": lambda truth, _: list(truth.gold(ACME, after="key-0100")),
    "gold of a claim type after a key": lambda truth, _: list(truth.gold(ACME, claim_type=FLOOD, after="key-0100")),
    "gold of a claim type at an instant": lambda truth, _: list(truth.gold(ACME, claim_type=FLOOD, known_at=AT)),
    "signals": lambda _, trust: list(trust.signals(ACME, after=7, through=9, limit=2)),
    "policies": lambda _, trust: trust.policies(ACME),
}


def _plans(database: Database, ask: _Ask) -> list[str]:
    return plans_of(
        database, lambda session: ask(SqlTruthStore(unchecked_rows(session)), SqlTrustStore(unchecked_rows(session)))
    )


@pytest.fixture
def filled(database: Database) -> Database:
    at, count = sortable(AT), range(1, 3001)
    rows: dict[str, list[Row]] = {
        "truth_record": [
            (ACME, "observation", f"key-{n % 20:02d}", f"id-{n}", f"hash-{n}", f"user:{n % 50}", at, at, "{}", n)
            for n in count
        ],
        "truth_state": [
            (ACME, f"key-{n:04d}", 1, FLOOD, "s", "h", f"hash-{n}", "h", at, at, 1, "{}", n) for n in count
        ],
        "truth_due": [(ACME, f"key-{n:04d}", 1, at) for n in count],
        "ticket": [(ACME, f"ticket-{n}", n, "validation", render_instant(AT), "{}", f"key-{n:04d}") for n in count],
        "ticket_place": [
            (ACME, f"ticket-{n}", n, "validation", f"key-{n:04d}", int(n > 2000), f"20 {n:04d}", at) for n in count
        ],
        "settlement": [(ACME, f"ticket-{n}", "{}") for n in range(1, 2001)],
        "trust_signal": [(ACME, n, f"id-{n}", "ENDORSEMENT", f"user:{n % 50}", at, "{}") for n in count],
    }
    fill(database, rows)
    return database


def test_one_thing_is_found_by_what_tells_it_apart(filled: Database) -> None:
    """Never by reading all rows of a tenant, and what is streamed is not sorted first."""
    for name, ask in _FEW.items():
        require_narrow(_plans(filled, ask), name)


def test_what_goes_through_a_whole_tenant_follows_an_index(filled: Database) -> None:
    """In its order, so that the first row comes before the last is read."""
    for name, ask in _WHOLE.items():
        require_index(_plans(filled, ask), name)


def test_open_tickets_about_a_thing_are_found_by_it(filled: Database) -> None:
    """However many others are open: neither they nor the settled ones are read."""

    def ask(session: SqlSession) -> None:
        assert SqlReviewStore(session).open_tickets_about(ACME, TicketKind.VALIDATION, "key-0100") == ()

    plans = plans_of(filled, ask)
    assert all("ticket_about" in plan for plan in plans)
    require_narrow(plans, "open tickets about a thing")


_QUEUE: dict[str, tuple[str, Callable[[SqlReviewStore], object]]] = {
    "the open ones": ("ticket_place_queue", lambda store: store.queue(ACME, QueuePart(), limit=5)),
    "the next open ones": (
        "ticket_place_queue",
        lambda store: store.queue(ACME, QueuePart(), after="20 2500", limit=5),
    ),
    "the settled ones": ("ticket_place_queue", lambda store: store.queue(ACME, QueuePart(settled=True), limit=5)),
    "all of them": ("ticket_place_everything", lambda store: store.queue(ACME, QueuePart(settled=None), limit=5)),
    "a list of those that wait": (
        "ticket_place_waiting",
        lambda store: store.tickets_after(ACME, 2000, unsettled_only=True, limit=5),
    ),
    "a list of all": ("ticket_place_opened", lambda store: store.tickets_after(ACME, 7, limit=5)),
    "a list about a thing": (
        "ticket_place_about",
        lambda store: store.tickets_after(ACME, 7, about="key-9999", limit=5),
    ),
    "what waits about some things": (
        "ticket_place_about",
        lambda store: store.open_tickets_on(ACME, TicketKind.VALIDATION, ["key-9998", "key-9999"]),
    ),
    "what is due": ("ticket_place_due", lambda store: store.due_tickets(ACME, later(-60))),
}


@pytest.mark.parametrize("name", _QUEUE)
def test_a_page_of_the_queue_is_read_along_an_index_in_its_order(filled: Database, name: str) -> None:
    """So that what a page costs depends on the page, however many tickets wait or were ever settled."""
    index, ask = _QUEUE[name]

    def look(session: SqlSession) -> None:
        # The rows of the tickets themselves are none that could be read; where they stand is.
        with suppress(DamagedRecordError):
            ask(SqlReviewStore(session))

    first, *others = plans_of(filled, look)
    assert re.search(rf"\b{index}\b", first), first
    assert "Filter" not in first or index == "ticket_place_about", first
    require_index([first], "the page")
    require_narrow(others, "what belongs to the page")


def test_keys_that_became_stale_are_found_by_their_new_records(filled: Database) -> None:
    """So the question of a quiet round costs one look, however many keys there are."""
    (plan,) = _plans(filled, lambda truth, _: truth.stale_since(ACME, 2990))
    assert "truth_record_log" in plan
    assert re.search(r"sequence_number >|sequence_number>", plan), plan
    assert not re.search(r"(?m)^SCAN (?!held$)|Seq Scan", plan), plan


def test_what_is_not_due_is_not_looked_at(filled: Database) -> None:
    """The index has the instants, so the question of a quiet minute costs one look however large Gold is."""
    (plan,) = _plans(filled, lambda truth, _: list(truth.due(ACME, later(-60))))
    assert "truth_due_next" in plan
    assert "due_at" in plan


_CLAIMS: dict[str, Callable[[SqlClaimsStore], object]] = {
    "decisions that the ledger holds": lambda claims: claims.logged_decisions(ACME, Digest(_HASH)),
    "the latest decisions about some": lambda claims: claims.latest_decisions(
        ACME, [Digest(_HASH), Digest(hash_of("other"))]
    ),
    "the latest turn that the ledger holds": lambda claims: claims.logged_turn(ACME, PrincipalId("ai:a")),
    "the latest turn": lambda claims: claims.latest_turn(ACME, PrincipalId("ai:a")),
    "the turn before a window": lambda claims: claims.turn_before(ACME, PrincipalId("ai:a"), AT),
}


def _decide(database: Database, first: int, after: int) -> None:
    """Decisions among four times as many other entries."""

    def work(unit: Unit) -> None:
        for number in range(first, after):
            turn = {"of": f"ai:{number % 7}", "position": number}
            body: dict[str, object] = {"bundle_hash": hash_of(str(number)), "turn": turn}
            unit.record(draft_entry(ACME, EntryKind.CLAIMS_DECIDED, body, at=AT))
            for other in range(4):
                unit.record(note(other))

    database.write(work)


@pytest.mark.parametrize("counted", [None, 0, 60], ids=["never counted", "counted when empty", "counted when small"])
def test_what_gates_hold_against_the_ledger_is_found_along_an_index(
    kit: Kit, unchecked: Database, counted: int | None
) -> None:
    """By the bundle or the agent: never by walking what a tenant ever decided, whatever the database counted once.

    It counts its rows now and then, and keeps a plan until it does so again.
    """
    unchecked.write(lambda unit: [unit.record(note(number)) for number in range(counted or 0)])
    if counted is not None:
        kit.force("ANALYZE")
    decided = 0
    for size in (0, 1, 100, 500):
        _decide(unchecked, decided, size)
        decided = size
        for name, ask in _CLAIMS.items():
            plans = plans_of(unchecked, lambda session, ask=ask: ask(SqlClaimsStore(unchecked_rows(session))))  # type: ignore[misc]  # bound at once
            assert plans
            require_narrow(plans, f"{name}, {size} decisions")


@pytest.mark.parametrize(
    ("own", "other", "question"),
    [
        ("ledger_decisions", "ledger_turns", f"SELECT count(*) FROM claims_logged WHERE bundle_hash = '{_HASH}'"),
        ("ledger_turns", "ledger_decisions", "SELECT count(*) FROM claims_logged_turn WHERE submitted_by = 'ai:a'"),
    ],
)
def test_an_index_of_decisions_serves_one_question_alone(kit: Kit, own: str, other: str, question: str) -> None:
    """PostgreSQL took one for the other while it had not counted them, and parsed all decisions of a tenant."""
    if kit.engine == "sqlite":
        assert own in str(kit.force(f"EXPLAIN QUERY PLAN {question} AND tenant_id = 'acme'"))
        return
    asked = f"EXPLAIN {question} AND tenant_id = 'acme'"
    assert own in str(kit.force("SET enable_seqscan = off", asked))
    assert other not in str(kit.force("SET enable_seqscan = off", f"DROP INDEX assay.{own}", asked))
