"""What the node remembers of delivery: added once, found again, and the same on both databases."""

from datetime import timedelta

import pytest

from assay.kernel.instant import Instant
from assay.ports.database import Database, Unit
from assay.ports.delivery_store import RuleCounters
from tests.contract._delivery import (
    BELL,
    answer,
    asked,
    certified,
    concluded,
    counters,
    fill_delivery,
    finding,
    grant,
    item,
    job,
    pair,
    proposed,
    query,
    result,
    rule,
    rule_signal,
    signal,
)
from tests.contract._kit import AT, refused
from tests.contract._records import ACME, GLOBEX
from tests.contract._unchecked import put


@pytest.mark.clause("pramana", "14.3")
def test_versions_of_a_rule_are_added_and_stay(unchecked: Database) -> None:
    """A version is never replaced; other tenants know nothing of it."""

    def fill(unit: Unit) -> None:
        for one in (rule(1), rule(2, place=5), rule(1, "MAR-0", place=6)):
            put(unit, ACME, one)
        put(unit, ACME, certified(1), certified(2, place=7))

    unchecked.write(fill)
    assert unchecked.read(lambda unit: unit.delivery.rule_versions(ACME, "MAR-1")) == (rule(1), rule(2, place=5))
    assert unchecked.read(lambda unit: unit.delivery.certifications(ACME, "MAR-1")) == (
        certified(1),
        certified(2, place=7),
    )
    assert unchecked.read(lambda unit: unit.delivery.rule_ids(ACME)) == ("MAR-0", "MAR-1")
    every = unchecked.read(lambda unit: tuple(unit.delivery.every_rule(ACME)))
    assert every == (rule(1, "MAR-0", place=6), rule(1), rule(2, place=5))
    assert len(unchecked.read(lambda unit: tuple(unit.delivery.every_certification(ACME)))) == 2
    names = ["MAR-1", "MAR-0", "MAR-9", "MAR-1"]
    assert unchecked.read(lambda unit: unit.delivery.latest_versions(ACME, names)) == {"MAR-0": 1, "MAR-1": 2}
    assert unchecked.read(lambda unit: unit.delivery.latest_versions(GLOBEX, names)) == {}
    with refused("store.conflict"):
        unchecked.write(lambda unit: put(unit, ACME, rule(2, place=9)))


def test_kinds_of_question_and_grants_follow_each_other(unchecked: Database) -> None:
    def fill(unit: Unit) -> None:
        put(unit, ACME, query(1))
        put(unit, ACME, query(1, "other", place=4))
        put(unit, ACME, query(2, place=5))
        put(unit, ACME, grant("old"))
        put(unit, ACME, grant("new", place=9))

    unchecked.write(fill)
    assert [one.slug for one in unchecked.read(lambda unit: unit.delivery.queries(ACME))] == [
        "vessel.status", "other", "vessel.status",
    ]  # fmt: skip
    assert unchecked.read(lambda unit: unit.delivery.query_versions(ACME, "vessel.status")) == (
        query(1),
        query(2, place=5),
    )
    assert unchecked.read(lambda unit: unit.delivery.find_grant(ACME, BELL)) == grant("new", place=9)
    assert unchecked.read(lambda unit: unit.delivery.find_grant(GLOBEX, BELL)) is None


@pytest.mark.clause("pramana", "7.4.2")
def test_a_signal_takes_its_place_once(unchecked: Database) -> None:
    """The same id again is refused with its whole unit of work: nothing of it is counted."""
    unchecked.write(lambda unit: unit.delivery.add_signals(ACME, [signal()]))

    def again(unit: Unit) -> None:
        unit.delivery.put_counters(ACME, [counters(7)])
        unit.delivery.add_signals(ACME, [signal(place=9)])

    with refused("store.conflict"):
        unchecked.write(again)
    assert unchecked.read(lambda unit: unit.delivery.find_counters(ACME, ["MAR-1"])) == ()
    assert unchecked.read(lambda unit: unit.delivery.find_signals(ACME, ["sig_0", "sig_1", "sig_1"])) == (signal(),)


@pytest.mark.clause("pramana", "12.8")
def test_answers_that_fell_short_are_listed_in_order(unchecked: Database) -> None:
    short = [answer(f"s{place}", place=place, slug=f"kind-{place % 2}", short_of="PRAMANA-3") for place in (5, 7, 8)]

    def fill(unit: Unit) -> None:
        for one in (*short, answer("good", place=6)):
            put(unit, ACME, one)
        put(unit, GLOBEX, answer("foreign", place=9, short_of="PRAMANA-3"))

    unchecked.write(fill)

    def look(after: int, limit: int, slug: str | None = None) -> tuple[object, ...]:
        return unchecked.read(lambda unit: unit.delivery.short_answers(ACME, after=after, limit=limit, query_type=slug))

    assert look(0, 9) == tuple(short)
    assert look(5, 1) == (short[1],)
    assert look(0, 9, "kind-1") == tuple(short[:2])


@pytest.mark.clause("pramana", "12.9")
def test_sessions_are_listed_by_name_with_how_much_they_told(unchecked: Database) -> None:
    def fill(unit: Unit) -> None:
        told = [("session:a", 6), ("sender:bell", 7), ("session:a", 9), ("session:b", 8)]
        rows = [signal(f"sig{place}", session=name, place=place) for name, place in told]
        unit.delivery.add_signals(ACME, rows)
        unit.delivery.add_signals(GLOBEX, [signal("foreign", session="session:a", place=3)])

    unchecked.write(fill)

    def look(after: str, limit: int) -> list[tuple[str, int, int, int]]:
        found = unchecked.read(lambda unit: unit.delivery.sessions(ACME, after=after, limit=limit))
        return [(one.session, one.signals, one.first, one.last) for one in found]

    assert look("", 9) == [("sender:bell", 1, 7, 7), ("session:a", 2, 6, 9), ("session:b", 1, 8, 8)]
    assert look("sender:bell", 1) == [("session:a", 2, 6, 9)]


@pytest.mark.clause("pramana", "12.9")
def test_signals_are_found_by_session_by_rule_and_by_answer(unchecked: Database) -> None:
    def fill(unit: Unit) -> None:
        told = [("a", "failure", 1), ("b", "success", 1), ("c", "success", 2), ("d", "success", 1)]
        for place, (name, outcome, version) in enumerate(told, 6):
            one = signal(name, place=place, answer_id=None if name == "d" else f"ans_{name}")
            unit.delivery.add_signals(ACME, [one])
            unit.delivery.add_rule_signals(ACME, [rule_signal(name, outcome, version=version, place=place)])
        unit.delivery.add_signals(ACME, [signal("x", session="session:other", place=11)])
        unit.delivery.add_rule_signals(ACME, [rule_signal("x", rule_id="MAR-2", place=11, version=None)])

    unchecked.write(fill)

    def look(unit: Unit) -> tuple[object, ...]:
        store = unit.delivery
        return (
            [one.signal_id for one in store.session_signals(ACME, "session:s", limit=3)],
            [one.signal_id for one in store.latest_signals(ACME, "MAR-1", limit=2)],
            [one.outcome for one in store.rule_signals(ACME, "MAR-1")],
            sorted((one.rule_id, one.outcome) for one in store.every_outcome(ACME)),
            store.answers_with(ACME, "MAR-1", 1, "success"),
            [one.signal_id for one in store.answer_signals(ACME, "ans_b")],
            store.answer_signals(GLOBEX, "ans_b"),
            list(store.rule_signals(GLOBEX, "MAR-1")),
            [
                len(list(store.rule_signals(ACME, "MAR-1", since=Instant(AT + timedelta(seconds=late)))))
                for late in (0, 1)
            ],
        )

    assert unchecked.read(look) == (
        ["a", "b", "c"],
        ["c", "d"],
        ["failure", "success", "success", "success"],
        [("MAR-1", "failure"), ("MAR-1", "success"), ("MAR-1", "success"), ("MAR-1", "success"), ("MAR-2", "failure")],
        ("ans_b",),
        ["b"],
        (),
        [],
        [4, 0],
    )


def test_counters_say_how_a_rule_stands_now(unchecked: Database) -> None:
    """Not how it stood before what was reported last: a row that was put back is not returned."""
    later = Instant(AT + timedelta(hours=1))
    for one in (counters(1), counters(2, "MAR-0"), counters(3, until=later, place=7)):
        unchecked.write(lambda unit, one=one: unit.delivery.put_counters(ACME, [one]))  # type: ignore[misc]  # bound at once
    unchecked.write(lambda unit: unit.delivery.add_rule_signals(ACME, [rule_signal("sig_1", place=7)]))
    found = unchecked.read(lambda unit: unit.delivery.find_counters(ACME, ["MAR-1", "MAR-0"]))
    assert sorted(found, key=lambda one: one.rule_id) == [counters(2, "MAR-0"), counters(3, until=later, place=7)]
    unchecked.write(lambda unit: unit.delivery.put_counters(ACME, [counters(1)]))
    assert unchecked.read(lambda unit: unit.delivery.find_counters(ACME, ["MAR-1"])) == ()
    assert unchecked.read(lambda unit: unit.delivery.reported_among(ACME, ["MAR-0", "MAR-1"])) == {"MAR-1"}
    assert unchecked.read(lambda unit: unit.delivery.reported_among(GLOBEX, ["MAR-1"])) == frozenset()


def test_counters_of_many_rules_are_kept_and_found_together(unchecked: Database) -> None:
    """Whatever their number: statements are made for powers of two."""

    def kept(count: int) -> list[RuleCounters]:
        rows = [counters(count, f"MAR-{number}") for number in range(10, 10 + count)]
        names = [*(one.rule_id for one in rows), "MAR-99"]
        unchecked.write(lambda unit: unit.delivery.put_counters(ACME, rows))
        assert unchecked.read(lambda unit: unit.delivery.find_counters(GLOBEX, names)) == ()
        found = unchecked.read(lambda unit: unit.delivery.find_counters(ACME, names))
        assert sorted(found, key=lambda one: one.rule_id) == rows
        return rows

    assert [len(kept(count)) for count in (0, 1, 2, 3, 37)] == [0, 1, 2, 3, 37]


@pytest.mark.clause("pramana", "10.1")
def test_root_causes_are_open_until_they_are_concluded(unchecked: Database) -> None:
    def fill(unit: Unit) -> None:
        for place, name in enumerate(("rca_1", "rca_2", "rca_3"), 7):
            put(unit, ACME, item(name, place=place))
        put(unit, ACME, asked("rca_1"))
        put(unit, ACME, asked("rca_2", place=11))
        put(unit, ACME, concluded("rca_1"))
        put(unit, ACME, proposed("rca_1"))

    unchecked.write(fill)

    def look(unit: Unit) -> tuple[object, ...]:
        store = unit.delivery
        return (
            [one.item_id for one in store.items(ACME)],
            [one.item_id for one in store.items(ACME, open_only=True)],
            [one.item_id for one in store.unasked_items(ACME)],
            (store.find_item(ACME, "rca_2"), store.find_asked(ACME, "rca_3")),
            store.conclusions_on(ACME, ["rca_1", "rca_2"]),
            (store.has_conclusion(ACME, "MAR-1", 1, "C"), store.has_conclusion(ACME, "MAR-1", 2, "C")),
            store.proposals_on(ACME, ["rca_1", "rca_2"]),
        )

    assert unchecked.read(look) == (
        ["rca_1", "rca_2", "rca_3"],
        ["rca_2", "rca_3"],
        ["rca_3"],
        (item("rca_2", place=8), None),
        (concluded("rca_1"),),
        (True, False),
        (proposed("rca_1"),),
    )
    with refused("store.conflict"):
        unchecked.write(lambda unit: put(unit, ACME, concluded("rca_1", category="A", place=20)))


def test_what_is_about_many_root_causes_is_read_at_once(unchecked: Database) -> None:
    """As one by one, however many are asked about; one that is named twice, or not known, adds nothing."""
    names = ["rca_1", "rca_2", "rca_1", *(f"rca_{number}" for number in range(10, 710))]

    def fill(unit: Unit) -> None:
        put(unit, ACME, asked("rca_1"))
        put(unit, ACME, asked("rca_700", place=11))
        put(unit, ACME, asked("rca_3", place=12))
        put(unit, ACME, concluded("rca_1"))
        put(unit, ACME, proposed("rca_1"))
        for place, name in enumerate(("ans_1", "ans_2"), 20):
            put(unit, ACME, answer(name, place=place))

    def look(unit: Unit) -> None:
        store = unit.delivery
        found = sorted(store.asked_on(ACME, names), key=lambda one: one.sequence_number)
        assert found == [asked("rca_1"), asked("rca_700", place=11)]
        assert store.conclusions_on(ACME, names) == (concluded("rca_1"),)
        assert store.proposals_on(ACME, names) == (proposed("rca_1"),)
        assert list(store.find_answers(ACME, ["ans_2", "ans_9", "ans_2"])) == [answer("ans_2", place=21)]
        assert store.asked_on(ACME, []) == store.asked_on(GLOBEX, names) == ()
        assert (store.conclusions_on(GLOBEX, names), store.proposals_on(GLOBEX, names)) == ((), ())
        assert list(store.find_answers(GLOBEX, ["ans_2"])) == []

    unchecked.write(fill)
    unchecked.read(look)


@pytest.mark.clause("pramana", "10.4")
def test_training_pairs_wait_in_order_and_stay(unchecked: Database) -> None:
    """Each once; a job takes those up to its place, and a result is given once."""

    def fill(unit: Unit) -> None:
        for place in (12, 13, 14):
            put(unit, ACME, pair(f"pair_{place}", place=place))
        put(unit, ACME, job(through=13, place=15))
        put(unit, ACME, result())

    unchecked.write(fill)

    def names(unit: Unit, after: int, through: int | None, limit: int | None) -> list[str]:
        return [one.pair_id for one in unit.delivery.pairs(ACME, after=after, through=through, limit=limit)]

    assert unchecked.read(lambda unit: names(unit, 0, None, None)) == ["pair_12", "pair_13", "pair_14"]
    assert unchecked.read(lambda unit: names(unit, 13, None, 5)) == ["pair_14"]
    assert unchecked.read(lambda unit: names(unit, 0, 13, 1)) == ["pair_12"]
    assert unchecked.read(lambda unit: unit.delivery.find_pair(ACME, "pair_12")) == pair("pair_12", place=12)
    assert unchecked.read(lambda unit: unit.delivery.jobs(ACME)) == (job(through=13, place=15),)
    assert unchecked.read(lambda unit: unit.delivery.find_result(ACME, "job_1")) == result()
    for again in (
        lambda unit: put(unit, ACME, pair("pair_12", place=30)),
        lambda unit: put(unit, ACME, result()),
    ):
        with refused("store.conflict"):
            unchecked.write(again)


@pytest.mark.clause("pramana", "9")
def test_answers_keep_their_findings(unchecked: Database) -> None:
    def fill(unit: Unit) -> None:
        put(unit, ACME, answer())
        unit.delivery.add_findings(ACME, [finding(), finding("later", place=20)])

    unchecked.write(fill)
    assert unchecked.read(lambda unit: unit.delivery.find_answer(ACME, "ans_1")) == answer()
    assert unchecked.read(lambda unit: unit.delivery.find_answer(GLOBEX, "ans_1")) is None
    assert [one.text for one in unchecked.read(lambda unit: unit.delivery.findings(ACME, "ans_1"))] == ["{}", "later"]
    every = unchecked.read(lambda unit: tuple(unit.delivery.every_finding(ACME)))
    assert every == (finding(), finding("later", place=20))
    assert unchecked.read(lambda unit: tuple(unit.delivery.every_finding(GLOBEX))) == ()


def test_every_table_of_delivery_can_be_filled(unchecked: Database) -> None:
    unchecked.write(fill_delivery)
    assert unchecked.read(lambda unit: unit.delivery.jobs(ACME)) == (job(),)
