"""Truth's memory: contracts released once, records found by key, id and hash, states that follow each other."""

from datetime import timedelta
from itertools import islice
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, parse_instant
from assay.ports.database import Database, Unit
from assay.ports.truth_store import RecordKind, SilverState, TruthRecord
from tests.contract._kit import AT, Kit, SqliteKit, refused
from tests.contract._records import ACME, ALICE, BOB, GLOBEX, later
from tests.contract._truth import FLOOD, KEY_A, KEY_B, KEY_C, contract, hash_of, record, snapshot, state
from tests.contract._unchecked import put

_DEBRIS = "space.debris.v1"
# What a version that does not follow the one before it is refused with: by its place, or by a trigger.
_NOT_NEXT = ("store.conflict", "store.append_only", "store.row_refused")


@pytest.fixture
def database(unchecked: Database) -> Database:
    """Rows of this store have no entries here."""
    return unchecked


def _add_records(database: Database, *given: TruthRecord) -> None:
    def work(unit: Unit) -> None:
        for one in given:
            put(unit, ACME, one)

    database.write(work)


def _add_states(database: Database, *given: SilverState) -> None:
    def work(unit: Unit) -> None:
        for one in given:
            put(unit, ACME, one)
            unit.truth.note_due(ACME, one.truthkey, one.version, one.due_at)

    database.write(work)


def _gold(database: Database, *, claim_type: str | None = None, known_at: Instant | None = None) -> list[SilverState]:
    return database.read(lambda unit: list(unit.truth.gold(ACME, claim_type=claim_type, known_at=known_at)))


@pytest.mark.clause("kaori", "6.4")
def test_a_contract_is_released_once_and_comes_back_as_it_was(database: Database) -> None:
    """A changed body under the same id is refused as well: a released contract is immutable."""
    released = contract(schema_text='{"type":"object"}')
    database.write(lambda unit: put(unit, ACME, released))
    for again in (released, replace(released, document="{}", sequence_number=9)):
        with refused("store.conflict"):
            database.write(lambda unit, again=again: put(unit, ACME, again))  # type: ignore[misc]  # bound at once
    assert database.read(lambda unit: unit.truth.find_contract(ACME, FLOOD)) == released
    assert database.read(lambda unit: unit.truth.find_contract(GLOBEX, FLOOD)) is None
    assert database.read(lambda unit: unit.truth.find_contract(ACME, _DEBRIS)) is None


def test_contracts_are_listed_by_their_claim_types(database: Database) -> None:
    released = [contract(name) for name in ("ocean.coral.v1", "earth.flood.v2", "earth.flood.v10", "Earth.flood.v1")]

    def work(unit: Unit) -> None:
        for one in released:
            put(unit, ACME, one)
        put(unit, GLOBEX, contract())

    database.write(work)
    names = [one.claim_type for one in database.read(lambda unit: unit.truth.contracts(ACME))]
    assert names == ["Earth.flood.v1", "earth.flood.v10", "earth.flood.v2", "ocean.coral.v1"]
    assert database.read(lambda unit: unit.truth.contracts(GLOBEX)) == (contract(),)


@pytest.mark.clause("kaori", "17")
def test_records_of_a_key_come_sorted_by_kind_and_hash(database: Database) -> None:
    """In whatever order they came: nothing that a compilation reads depends on the order of arrival."""
    given = [record(10 + number, KEY_A, kind) for number, kind in enumerate(RecordKind)]
    more = [record(number, KEY_A) for number in range(1, 6)]
    _add_records(database, *more, *given, record(30, KEY_B))
    found = database.read(lambda unit: list(unit.truth.records(ACME, KEY_A)))
    assert found == sorted(given + more, key=lambda one: (one.kind.value, one.record_hash))
    assert database.read(lambda unit: list(unit.truth.records(ACME, KEY_C))) == []
    assert database.read(lambda unit: list(unit.truth.records(GLOBEX, KEY_A))) == []


def test_records_up_to_an_entry_leave_out_what_came_later(database: Database) -> None:
    _add_records(database, *(record(number) for number in (1, 2, 5, 9)))
    for through, expected in ((0, set()), (1, {1}), (4, {1, 2}), (5, {1, 2, 5}), (99, {1, 2, 5, 9})):
        found = database.read(lambda unit, n=through: list(unit.truth.records(ACME, KEY_A, through=n)))  # type: ignore[misc]  # bound at once
        assert {one.sequence_number for one in found} == expected
        assert found == sorted(found, key=lambda one: one.record_hash)


@pytest.mark.parametrize("kind", list(RecordKind))
def test_an_id_and_a_hash_each_name_one_record_of_a_kind_within_a_key(database: Database, kind: RecordKind) -> None:
    first = record(1, KEY_A, kind)
    _add_records(database, first)
    for again in (
        first,
        record(2, KEY_A, kind, record_id=first.record_id),
        record(2, KEY_A, kind, record_hash=first.record_hash),
    ):
        with refused("store.conflict"):
            _add_records(database, again)
    _add_records(database, record(2, KEY_B, kind, record_id=first.record_id, record_hash=first.record_hash))
    other = RecordKind.VOTE if kind is not RecordKind.VOTE else RecordKind.AI_SCORE
    _add_records(database, record(3, KEY_A, other, record_id=first.record_id, record_hash=first.record_hash))
    database.write(lambda unit: put(unit, GLOBEX, first))
    assert len(database.read(lambda unit: list(unit.truth.records(ACME, KEY_A)))) == 2


def test_an_entry_records_one_observation_and_any_number_of_other_records(database: Database) -> None:
    """A page goes on after an entry's number, so a second observation of that entry would be passed over."""
    _add_records(database, record(1, KEY_A))
    with refused("store.conflict"):
        _add_records(database, record(1, KEY_B, record_id="other", record_hash=hash_of("other")))
    fingerprints = [record(1, key, RecordKind.FINGERPRINT) for key in (KEY_A, KEY_B, KEY_C)]
    _add_records(database, *fingerprints)
    assert database.read(lambda unit: list(unit.truth.keys(ACME))) == [KEY_A, KEY_B, KEY_C]


def test_a_unit_that_was_told_of_a_conflict_can_go_on(database: Database) -> None:
    """The place is looked at first, so that the transaction is still whole when the answer is no."""

    def work(unit: Unit) -> int:
        put(unit, ACME, record(1))
        with refused("store.conflict"):
            put(unit, ACME, record(1))
        put(unit, ACME, record(2))
        return unit.truth.last_record(ACME, KEY_A)

    assert database.write(work) == 2


def test_a_record_is_found_by_kind_and_id_as_it_was_first_recorded(database: Database) -> None:
    one = [
        record(number, key, RecordKind.FINGERPRINT, record_id="evidence") for number, key in ((7, KEY_A), (3, KEY_B))
    ]
    _add_records(database, record(2, KEY_A, record_id="evidence"), *one)
    found = database.read(lambda unit: unit.truth.find_record(ACME, RecordKind.FINGERPRINT, "evidence"))
    assert found == one[1]
    assert database.read(lambda unit: unit.truth.find_record(ACME, RecordKind.VOTE, "evidence")) is None
    assert database.read(lambda unit: unit.truth.find_record(GLOBEX, RecordKind.FINGERPRINT, "evidence")) is None


def test_a_record_is_found_by_its_maker_or_its_key_where_an_id_has_several(database: Database) -> None:
    alice, bob = record(3, KEY_A, record_id="o-1"), record(7, KEY_B, record_id="o-1", by="user:bob")
    _add_records(database, alice, bob)

    def found(**asked: str) -> TruthRecord | None:
        return database.read(lambda unit: unit.truth.find_record(ACME, RecordKind.OBSERVATION, "o-1", **asked))

    assert [found(), found(by="user:bob"), found(truthkey=KEY_B)] == [alice, bob, bob]
    assert found(by="user:alice", truthkey=KEY_B) is None
    assert found(by="user:eve") is None


def test_an_observation_is_found_by_its_hash_and_nothing_else_is(database: Database) -> None:
    first, later = record(5), record(6, KEY_B, record_hash=record(5).record_hash)
    vote = record(7, KEY_A, RecordKind.VOTE)
    _add_records(database, later, first, vote)
    assert database.read(lambda unit: unit.truth.find_observation(ACME, first.record_hash)) == first
    assert database.read(lambda unit: unit.truth.find_observation(ACME, vote.record_hash)) is None
    assert database.read(lambda unit: unit.truth.find_observation(GLOBEX, first.record_hash)) is None


@pytest.mark.clause("kaori", "17")
def test_observations_are_read_page_by_page_in_the_order_they_were_recorded(database: Database) -> None:
    given = [record(n, KEY_A if n % 2 else KEY_B, by=ALICE if n % 3 else BOB) for n in (4, 1, 9, 6, 3, 12)]
    _add_records(database, *given, record(5, KEY_A, RecordKind.VOTE))
    database.write(lambda unit: put(unit, GLOBEX, record(2)))

    def numbers(truthkey: str | None = None, by: str | None = None, after: int = 0, limit: int = 100) -> list[int]:
        return database.read(
            lambda unit: [
                one.sequence_number
                for one in unit.truth.observations(ACME, truthkey=truthkey, by=by, after=after, limit=limit)
            ]
        )

    assert numbers() == [1, 3, 4, 6, 9, 12]
    assert numbers(limit=2) == [1, 3]
    assert numbers(after=3, limit=2) == [4, 6]
    assert numbers(KEY_A) == [1, 3, 9]
    assert numbers(KEY_A, after=1, limit=1) == [3]
    assert numbers(by=BOB) == [3, 6, 9, 12]
    assert numbers(by=BOB, after=6) == [9, 12]
    assert numbers(KEY_B, BOB) == [6, 12]
    assert numbers(after=12) == numbers(KEY_C) == numbers(by="user:nobody") == []


def test_reports_are_counted_by_key_and_reporter(database: Database) -> None:
    """Votes are no reports, and another tenant's are nobody's business."""
    _add_records(database, record(1), record(2), record(3, by="user:bob"), record(4, KEY_B))
    _add_records(database, record(5, KEY_A, RecordKind.VOTE))
    assert database.read(lambda unit: unit.truth.count_reports(ACME, KEY_A, "user:alice")) == 2
    assert database.read(lambda unit: unit.truth.count_reports(ACME, KEY_A, "user:bob")) == 1
    assert database.read(lambda unit: unit.truth.count_reports(ACME, KEY_C, "user:alice")) == 0
    assert database.read(lambda unit: unit.truth.count_reports(GLOBEX, KEY_A, "user:alice")) == 0


def test_the_newest_record_of_a_key_is_known_of_whatever_kind(database: Database) -> None:
    _add_records(database, record(1), record(9, KEY_A, RecordKind.VOTE), record(4, KEY_B))
    assert database.read(lambda unit: unit.truth.last_record(ACME, KEY_A)) == 9
    assert database.read(lambda unit: unit.truth.last_record(ACME, KEY_C)) == 0
    assert database.read(lambda unit: unit.truth.last_record(GLOBEX, KEY_A)) == 0


def test_keys_are_listed_once_in_the_order_of_their_bytes(database: Database) -> None:
    assert database.read(lambda unit: list(unit.truth.keys(ACME))) == []
    _add_records(database, *(record(n, (KEY_C, KEY_A, KEY_B)[n % 3]) for n in range(1, 10)))
    database.write(lambda unit: put(unit, GLOBEX, record(1, "earth:other:h3:a:0:x")))
    assert database.read(lambda unit: list(unit.truth.keys(ACME))) == [KEY_A, KEY_B, KEY_C]


def test_a_key_is_stale_while_its_newest_record_is_in_no_state(database: Database) -> None:
    _add_records(database, record(1, KEY_A), record(2, KEY_B), record(3, KEY_C))

    def stale() -> list[str]:
        found = database.read(lambda unit: list(unit.truth.keys(ACME, stale_only=True)))
        assert database.read(lambda unit: unit.truth.stale_since(ACME, 0)) == tuple(found)
        return found

    def since(entry: int) -> tuple[str, ...]:
        return database.read(lambda unit: unit.truth.stale_since(ACME, entry))

    assert stale() == [KEY_A, KEY_B, KEY_C]
    assert (since(1), since(3)) == ((KEY_B, KEY_C), ())
    _add_states(database, state(1, KEY_A, through=1), state(1, KEY_B, through=1), state(1, KEY_C, through=9))
    assert stale() == [KEY_B]
    _add_records(database, record(7, KEY_A, RecordKind.VOTE))
    assert stale() == [KEY_A, KEY_B]
    assert since(2) == (KEY_A,)
    _add_states(database, state(2, KEY_A, through=7))
    assert stale() == [KEY_B]
    database.write(lambda unit: put(unit, GLOBEX, state(1, KEY_B, through=99)))
    assert stale() == [KEY_B]


def test_a_snapshot_is_frozen_once(database: Database) -> None:
    assert database.read(lambda unit: unit.truth.find_snapshot(ACME, snapshot().snapshot_hash)) is None
    database.write(lambda unit: put(unit, ACME, snapshot()))
    with refused("store.conflict"):
        database.write(lambda unit: put(unit, ACME, snapshot()))
    database.write(lambda unit: put(unit, ACME, snapshot("two")))
    assert database.read(lambda unit: unit.truth.find_snapshot(ACME, snapshot().snapshot_hash)) == snapshot()
    assert database.read(lambda unit: unit.truth.find_snapshot(GLOBEX, snapshot().snapshot_hash)) is None


@pytest.mark.clause("kaori", "17")
def test_states_of_a_key_are_numbered_without_gaps_and_kept_for_ever(database: Database) -> None:
    for version in (0, 2, -1):
        with refused(*_NOT_NEXT):
            _add_states(database, state(version))
    kept = [state(1), state(2, through=4), state(3, through=4)]
    for one in kept:
        _add_states(database, one)
        with refused(*_NOT_NEXT):
            _add_states(database, one)
    with refused(*_NOT_NEXT):
        _add_states(database, state(5, through=9))
    assert database.read(lambda unit: unit.truth.history(ACME, KEY_A)) == tuple(kept)
    assert database.read(lambda unit: unit.truth.find_state(ACME, KEY_A)) == kept[-1]
    assert database.read(lambda unit: unit.truth.history(ACME, KEY_B)) == ()
    assert database.read(lambda unit: unit.truth.find_state(GLOBEX, KEY_A)) is None


_MOMENTS = [
    parse_instant(f"2026-01-07T12:00:{text}Z")
    for text in ("00", "00.000001", "00.05", "00.1", "00.10", "00.100001", "00.5", "00.999999", "01", "01.0", "10")
]


@pytest.mark.parametrize("field", ["compile_time", "through"])
def test_neither_the_time_nor_the_contents_of_a_state_fall_back(database: Database, field: str) -> None:
    _add_states(database, state(1, at=AT, through=7))
    back = replace(state(2, at=AT, through=7), **{field: 6 if field == "through" else AT - timedelta(microseconds=1)})
    with refused(*_NOT_NEXT):
        _add_states(database, back)
    _add_states(database, state(2, at=AT, through=7))


def test_instants_are_compared_as_instants_however_many_digits_they_need(database: Database) -> None:
    """Canonical text drops zeros, and `:00.5Z` sorts before `:00Z`: what was known at each moment says otherwise."""
    _add_states(database, *(state(n, at=moment) for n, moment in enumerate(_MOMENTS, 1)))
    _add_states(database, *(state(n, KEY_B, at=moment) for n, moment in enumerate(_MOMENTS[2:], 1)))
    for moment in _MOMENTS:
        version = sum(other <= moment for other in _MOMENTS)
        found = database.read(lambda unit, at=moment: unit.truth.find_state(ACME, KEY_A, known_at=at))  # type: ignore[misc]  # bound at once
        assert found == state(version, at=_MOMENTS[version - 1])
        later = sum(other <= moment for other in _MOMENTS[2:])
        expected = [(KEY_A, version), (KEY_B, later)] if later else [(KEY_A, version)]
        for claim_type in (None, FLOOD):
            gold = _gold(database, known_at=moment, claim_type=claim_type)
            assert [(one.truthkey, one.version) for one in gold] == expected
    before = Instant(_MOMENTS[0] - timedelta(microseconds=1))
    assert database.read(lambda unit: unit.truth.find_state(ACME, KEY_A, known_at=before)) is None
    assert _gold(database, known_at=before) == _gold(database, known_at=before, claim_type=FLOOD) == []


def test_the_order_of_instants_is_also_the_tables_own(kit: Kit) -> None:
    """A state that falls back by less than the last digit is refused by the row before it, whoever asks."""
    database = kit.open()
    _add_states(database, state(1, at=parse_instant("2026-01-07T12:00:00.5Z")))
    database.close()
    columns = "claim_type, status, semantic_hash, state_hash, snapshot_hash"
    for moment in ("2026-01-07T12:00:00.000000Z", "2026-01-07T12:00:00Z", "2026-01-07T12:00:00.499999Z"):
        with pytest.raises(Exception, match=r"(?i)must follow|check constraint"):
            kit.force(
                f"INSERT INTO truth_state (tenant_id, truthkey, version, {columns}, compile_time, through, text,"
                f" sequence_number) SELECT tenant_id, truthkey, 2, {columns}, '{moment}', through, text, 9"
                " FROM truth_state"
            )
    assert kit.force("SELECT count(*) FROM truth_state") == [(1,)]


def test_a_state_is_found_by_its_hash(database: Database) -> None:
    first = state(1, KEY_B, state_hash="same", number=3)
    _add_states(database, state(1, KEY_A, state_hash="same", number=8), first, state(1, KEY_C))
    assert database.read(lambda unit: unit.truth.find_state_by_hash(ACME, "same")) == first
    assert database.read(lambda unit: unit.truth.find_state_by_hash(ACME, "none")) is None
    assert database.read(lambda unit: unit.truth.find_state_by_hash(GLOBEX, "same")) is None


def test_statuses_are_those_of_the_latest_states(database: Database) -> None:
    """Of the keys that were asked for, in this tenant."""
    first, last = replace(state(1, KEY_A), status="PENDING"), replace(state(2, KEY_A), status="VERIFIED_TRUE")
    _add_states(database, first, last, replace(state(1, KEY_B), status="PENDING"))
    database.write(lambda unit: put(unit, GLOBEX, state(1, KEY_C)))
    found = database.read(lambda unit: unit.truth.statuses(ACME, [KEY_A, KEY_C, KEY_A]))
    assert found == {KEY_A: "VERIFIED_TRUE"}
    assert database.read(lambda unit: unit.truth.statuses(ACME, [])) == {}


@pytest.mark.clause("kaori", "17")
def test_gold_is_the_latest_state_of_each_key(database: Database) -> None:
    """Of one claim type: the keys whose latest state is of it, so that the parts of the map make up the whole."""
    assert _gold(database) == []
    last = {
        KEY_C: state(1, KEY_C, claim_type=_DEBRIS),
        KEY_A: state(3, KEY_A),
        KEY_B: state(2, KEY_B, claim_type=_DEBRIS),
    }
    _add_states(database, state(1, KEY_A), state(1, KEY_B), state(2, KEY_A, claim_type=_DEBRIS), *last.values())
    database.write(lambda unit: put(unit, GLOBEX, state(1, KEY_A)))
    assert _gold(database) == [last[KEY_A], last[KEY_B], last[KEY_C]]
    assert _gold(database, claim_type=FLOOD) == [last[KEY_A]]
    assert _gold(database, claim_type=_DEBRIS) == [last[KEY_B], last[KEY_C]]
    assert _gold(database, claim_type="none") == []


@pytest.mark.parametrize("claim_type", [None, FLOOD])
@pytest.mark.parametrize("known_at", [None, AT])
def test_gold_is_read_page_by_page(database: Database, claim_type: str | None, known_at: Instant | None) -> None:
    """The keys after one, whether that one is there or not."""
    _add_states(database, state(1, KEY_A), state(1, KEY_B), state(2, KEY_A), state(1, KEY_C))

    def page(after: str | None) -> list[str]:
        return database.read(
            lambda unit: [
                one.truthkey for one in unit.truth.gold(ACME, claim_type=claim_type, known_at=known_at, after=after)
            ]
        )

    assert page(None) == page("") == [KEY_A, KEY_B, KEY_C]
    assert page(KEY_A) == page(KEY_A + "0") == [KEY_B, KEY_C]
    assert page(KEY_C) == []


def test_what_is_streamed_leaves_room_for_other_work_of_the_unit(database: Database) -> None:
    """Each key is read, and its state written, while the keys and the records are still coming."""
    _add_records(database, *(record(number, f"earth:flood:h3:{number % 40:02d}:0:x") for number in range(1, 1201)))

    def work(unit: Unit) -> list[int]:
        counts = []
        for key in unit.truth.keys(ACME, stale_only=True):
            coming = unit.truth.records(ACME, key)
            counts.append(len(list(islice(coming, 1))) + sum(1 for _ in unit.truth.records(ACME, key)))
            put(unit, ACME, state(1, key, through=unit.truth.last_record(ACME, key)))
            counts[-1] += sum(1 for _ in coming)
        return counts

    assert database.write(work) == [60] * 40
    assert database.read(lambda unit: list(unit.truth.keys(ACME, stale_only=True))) == []
    assert len(_gold(database)) == 40


def test_a_stream_that_nobody_finishes_is_no_obstacle(database: Database) -> None:
    _add_records(database, *(record(number, f"key-{number:04d}") for number in range(1, 1500)))

    def work(unit: Unit) -> list[str]:
        first = list(islice(unit.truth.keys(ACME), 2))
        put(unit, ACME, record(2000))
        return first

    assert database.write(work) == ["key-0001", "key-0002"]
    assert database.read(lambda unit: unit.truth.last_record(ACME, KEY_A)) == 2000


@pytest.mark.parametrize(
    ("field", "text", "code"),
    [
        ("truthkey", "k" * 1025, "store.key_length"),
        ("record_id", "é" * 513, "store.key_length"),
        ("record_hash", "h" * 1025, "store.key_length"),
        ("by", "b" * 1025, "store.key_length"),
        ("record_id", "nul \0", "store.unstorable_text"),
        ("text", "lone \ud800", "store.unstorable_text"),
        ("text", "nul \0", "store.unstorable_text"),
    ],
)
def test_texts_that_some_database_could_not_keep_or_find_are_refused(
    database: Database, field: str, text: str, code: str
) -> None:
    with refused(code):
        _add_records(database, replace(record(1), **{field: text}))
    assert database.read(lambda unit: list(unit.truth.keys(ACME))) == []


def test_the_longest_texts_that_are_looked_up_by_fit_every_index(database: Database) -> None:
    """All at their longest at once, and of signs that nothing can compress."""
    long = [("".join(hash_of(f"{place}/{n}") for n in range(16)))[:1024] for place in "abcd"]
    widest = record(1, long[0], record_id=long[1], record_hash=long[2], by=long[3])
    _add_records(database, widest)
    _add_states(database, state(1, long[0], claim_type=long[1], state_hash=long[2]))
    assert database.read(lambda unit: unit.truth.find_record(ACME, RecordKind.OBSERVATION, long[1])) == widest
    assert [one.truthkey for one in _gold(database, claim_type=long[1])] == [long[0]]


def test_contracts_states_and_snapshots_refuse_such_texts_too(database: Database) -> None:
    for work in (
        lambda unit: put(unit, ACME, contract("c" * 1025)),
        lambda unit: put(unit, ACME, replace(snapshot(), snapshot_hash="h" * 1025)),
        lambda unit: put(unit, ACME, state(claim_type="c" * 1025)),
        lambda unit: put(unit, ACME, state(truthkey="k" * 1025)),
    ):
        with refused("store.key_length"):
            database.write(work)
    with refused("store.unstorable_text"):
        database.write(lambda unit: put(unit, ACME, contract(schema_text="\0")))


def test_a_damaged_row_is_told_in_our_words(tmp_path: Path) -> None:
    """SQLite's columns hold anything; what is no record is not handed on as if it were one."""
    kit = SqliteKit(tmp_path / "assay.db")
    database = kit.open()
    _add_records(database, record(1))
    database.close()
    kit.force("DROP TRIGGER truth_record_no_update", "UPDATE truth_record SET occurred_at = x'00'")
    damaged = kit.open()
    with refused("store.damaged_record"):
        damaged.read(lambda unit: list(unit.truth.records(ACME, KEY_A)))
    with refused("store.damaged_record"):
        damaged.read(lambda unit: unit.truth.find_record(ACME, RecordKind.OBSERVATION, "observation-1"))
    damaged.close()


def test_a_unit_that_only_reads_adds_nothing(database: Database) -> None:
    with refused("store.read_only"):
        database.read(lambda unit: put(unit, ACME, record(1)))
    with refused("store.read_only"):
        database.read(lambda unit: put(unit, ACME, state(1)))


def test_what_is_due_is_each_keys_latest_state_whose_time_has_come(database: Database) -> None:
    """The longest due first. A version that comes after takes the place of the one before, whenever that was due."""

    def add(unit: Unit, tenant_id: TenantId, *given: SilverState) -> None:
        for one in given:
            put(unit, tenant_id, one)
            unit.truth.note_due(tenant_id, one.truthkey, one.version, one.due_at)

    def due(minutes: int) -> list[tuple[str, int]]:
        found = database.read(lambda unit: list(unit.truth.due(ACME, later(minutes))))
        return [(one.truthkey, one.version) for one in found]

    opening = (state(1, KEY_A, due_at=later(20)), state(1, KEY_B, due_at=later(10)), state(1, KEY_C))
    database.write(lambda unit: add(unit, ACME, *opening))
    database.write(lambda unit: add(unit, GLOBEX, state(1, KEY_A, due_at=later(1))))
    assert due(9) == []
    assert due(10) == [(KEY_B, 1)]
    assert due(99) == [(KEY_B, 1), (KEY_A, 1)]
    database.write(lambda unit: add(unit, ACME, state(2, KEY_B, due_at=later(30))))
    database.write(lambda unit: add(unit, ACME, state(2, KEY_A)))
    assert due(20) == []
    assert due(30) == [(KEY_B, 2)]
    database.write(lambda unit: add(unit, ACME, state(3, KEY_B)))
    assert due(99) == []
    found = database.read(lambda unit: unit.truth.history(ACME, KEY_B))
    assert [one.due_at for one in found] == [later(10), later(30), None]


def test_what_a_reporter_said_before_an_entry_comes_newest_first(database: Database) -> None:
    """Whichever key it is about; what others said, and what is no observation, does not come."""

    def add(unit: Unit) -> None:
        for number in range(1, 8):
            by, key = (ALICE if number != 4 else BOB), (KEY_A if number % 2 else KEY_B)
            put(unit, ACME, record(number, key, by=by))
        put(unit, ACME, record(8, kind=RecordKind.VOTE, by=ALICE))
        put(unit, GLOBEX, record(5, by=ALICE))

    def said(before: int, limit: int) -> list[int]:
        found = database.read(lambda unit: unit.truth.observations_by(ACME, ALICE, before=before, limit=limit))
        return [one.sequence_number for one in found]

    database.write(add)
    assert said(9, 100) == [7, 6, 5, 3, 2, 1]
    assert said(6, 2) == [5, 3]
    assert said(1, 2) == []


def test_fingerprints_are_found_by_their_ids_and_by_what_ids_begin_with(database: Database) -> None:
    """Under whichever key, in the order of entries; another kind of record with such an id is none."""
    kind = RecordKind.FINGERPRINT
    given = [
        record(9, KEY_A, kind, record_id="phash.aa"),
        record(4, KEY_B, kind, record_id="embedding.aa.2"),
        record(6, KEY_A, kind, record_id="embedding.aa.1"),
    ]
    others = [record(5, KEY_B, kind, record_id="embedding.ab.1"), record(7, KEY_C, record_id="phash.aa")]
    _add_records(database, *given, *others)

    def found(*asked: list[str]) -> list[int]:
        rows = database.read(lambda unit: unit.truth.fingerprints(ACME, *asked))
        return [row.sequence_number for row in rows]

    assert found(["phash.aa", "dhash.aa"], ["embedding.aa."]) == [4, 6, 9]
    assert found([], []) == []
    assert database.read(lambda unit: unit.truth.fingerprints(GLOBEX, ["phash.aa"], ["embedding.aa."])) == ()
