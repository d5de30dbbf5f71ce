"""Verdicts are found by what people ask for; a held one is settled once, and a token is used once."""

from datetime import timedelta

import pytest

from assay.kernel.instant import Instant
from assay.ports.database import Database
from assay.ports.verdict_store import VerdictRow
from tests.contract._kit import AT, refused
from tests.contract._records import ACME, GLOBEX, transcript
from tests.contract._unchecked import put
from tests.contract._verdicts import judged, note


def _add(unchecked: Database, *rows: VerdictRow) -> None:
    for one in rows:
        unchecked.write(lambda unit, one=one: put(unit, ACME, one))  # type: ignore[misc]  # bound at once


_HELD = judged(7, standing="held", tier="high", verdict="DISCRETIONARY", ticket_id="tkt_1")
_FINAL = judged(9, tier="high", held_entry=7, attestation="ab" * 64)


def test_a_verdict_is_found_by_number_record_ticket_and_what_it_settles(unchecked: Database) -> None:
    _add(unchecked, judged(6), _HELD, _FINAL, judged(8, telemetry_id="t-2"))
    assert unchecked.read(lambda unit: unit.verdicts.find(ACME, 6)) == judged(6)
    assert unchecked.read(lambda unit: unit.verdicts.find(GLOBEX, 6)) is None
    assert unchecked.read(lambda unit: unit.verdicts.of_telemetry(ACME, "t-1")) == (judged(6), _HELD, _FINAL)
    assert unchecked.read(lambda unit: unit.verdicts.find_by_ticket(ACME, "tkt_1")) == _HELD
    assert [row.sequence_number for row in unchecked.read(lambda unit: list(unit.verdicts.all(ACME)))] == [6, 7, 8, 9]
    some = unchecked.read(lambda unit: list(unit.verdicts.all(ACME, first=7, last=8)))
    assert [row.sequence_number for row in some] == [7, 8]


def test_verdicts_of_a_rule_are_found_between_entries_without_what_settled_one(unchecked: Database) -> None:
    _add(unchecked, judged(6), _HELD, _FINAL, judged(8, rule_id="other"), judged(10))

    def numbers(**asked: int) -> list[int]:
        rows = unchecked.read(lambda unit: unit.verdicts.of_rule(ACME, "rule", **asked))
        return [row.sequence_number for row in rows]

    assert numbers(limit=9) == [10, 7, 6]
    assert numbers(limit=2) == [10, 7]
    assert numbers(after=6, before=10, limit=9) == [7]


@pytest.mark.clause("ski", "7.4")
def test_many_transcripts_go_in_at_once_or_none_of_them(unchecked: Database) -> None:
    some = [transcript(f"question {n}") for n in range(6)]
    unchecked.write(lambda unit: unit.transcripts.add_many(ACME, some))
    assert unchecked.read(lambda unit: unit.transcripts.find(ACME, some[3].transcript_id)) == some[3]
    with refused("store.conflict"):
        unchecked.write(lambda unit: unit.transcripts.add_many(ACME, [transcript("new"), some[0]]))
    assert unchecked.read(lambda unit: len(list(unit.transcripts.all(ACME)))) == 6


@pytest.mark.clause("ski", "5.4")
def test_only_verdicts_that_nobody_settled_are_held(unchecked: Database) -> None:
    other = judged(8, standing="held", tier="high", ticket_id="tkt_2")
    _add(unchecked, judged(6), _HELD, other)
    assert unchecked.read(lambda unit: unit.verdicts.held(ACME)) == (_HELD, other)
    assert unchecked.read(lambda unit: unit.verdicts.held(ACME, after=7)) == (other,)
    assert unchecked.read(lambda unit: unit.verdicts.held(ACME, limit=1)) == (_HELD,)
    _add(unchecked, _FINAL)
    assert unchecked.read(lambda unit: unit.verdicts.held(ACME)) == (other,)


@pytest.mark.clause("ski", "5.4")
@pytest.mark.parametrize(
    "second",
    [
        judged(10, held_entry=7),
        judged(10, held_entry=8, attestation="ab" * 64),
        judged(10, standing="held", ticket_id="tkt_1"),
        judged(9),
    ],
    ids=["settled twice", "a token used twice", "a ticket for two", "a taken place"],
)
def test_a_second_settlement_a_used_token_and_a_taken_place_are_refused(
    unchecked: Database, second: VerdictRow
) -> None:
    _add(unchecked, _HELD, _FINAL)
    with refused("store.conflict"):
        _add(unchecked, second)
    assert unchecked.read(lambda unit: unit.verdicts.has_attestation(ACME, "ab" * 64))
    assert not unchecked.read(lambda unit: unit.verdicts.has_attestation(ACME, "cd" * 64))
    assert not unchecked.read(lambda unit: unit.verdicts.has_attestation(GLOBEX, "ab" * 64))


def test_pages_are_of_what_was_asked_for_the_newest_first(unchecked: Database) -> None:
    later = Instant(AT + timedelta(hours=1))
    _add(
        unchecked,
        judged(1, rule_id="a", subject="x"),
        judged(2, rule_id="b", subject="x", verdict="FLAG"),
        judged(3, rule_id="a", subject="y", as_of=later),
    )

    def numbers(**asked: object) -> list[int]:
        rows = unchecked.read(lambda unit: unit.verdicts.page(ACME, **asked))  # type: ignore[arg-type]  # as named
        return [row.sequence_number for row in rows]

    assert numbers() == [3, 2, 1]
    assert numbers(limit=2) == [3, 2]
    assert numbers(limit=1, offset=1) == [2]
    assert numbers(offset=3) == []
    assert numbers(before=3) == [2, 1]
    assert numbers(rule_id="a") == [3, 1]
    assert numbers(subject="x") == [2, 1]
    assert numbers(verdict="FLAG") == [2]
    assert numbers(since=later) == [3]
    assert numbers(until=later, rule_id="a") == [1]
    assert numbers(until=AT) == []


@pytest.mark.clause("ski", "5.4")
def test_a_held_verdict_is_no_verdict_and_gives_way_to_what_settled_it(unchecked: Database) -> None:
    """Its column shows DISCRETIONARY; whoever asks for those is not given one that nobody decided."""
    waiting = judged(20, standing="held", verdict="DISCRETIONARY", ticket_id="tkt_waiting")
    _add(unchecked, _HELD, _FINAL, waiting)

    def numbers(**asked: object) -> list[int]:
        rows = unchecked.read(lambda unit: unit.verdicts.page(ACME, **asked))  # type: ignore[arg-type]  # as named
        return [row.sequence_number for row in rows]

    assert numbers(verdict="DISCRETIONARY") == []
    assert numbers(verdict=_FINAL.verdict) == [_FINAL.sequence_number]
    assert numbers(is_standing=True) == [20, _FINAL.sequence_number]
    assert numbers() == [20, _FINAL.sequence_number, _HELD.sequence_number]


@pytest.mark.clause("ski", "9.2")
def test_the_window_of_agreement_counts_each_judgement_of_a_model_once(unchecked: Database) -> None:
    """Not what settled a held verdict, and not the fast path, which asked no model."""
    _add(
        unchecked,
        judged(1, status="UNVERIFIABLE"),
        judged(2, status="LLM_CONTRADICTION"),
        judged(3, path="fast"),
        judged(4, status="NEURO_SYMBOLIC_DIVERGENCE", held_entry=2),
        judged(5),
    )
    assert unchecked.read(lambda unit: unit.verdicts.statuses(ACME, 10)) == (
        "UNVERIFIABLE",
        "LLM_CONTRADICTION",
        "AGREED",
    )
    assert unchecked.read(lambda unit: unit.verdicts.statuses(ACME, 2)) == ("LLM_CONTRADICTION", "AGREED")


def test_attempts_to_leave_are_told_by_tenant(unchecked: Database) -> None:
    """A count of none says that somebody looked into what that tenant has before it, and into nothing else."""
    assert unchecked.read(lambda unit: unit.verdicts.egress_notes()) == ()
    for tenant_id, one in ((GLOBEX, note(9, 0)), (ACME, note(4, 0)), (ACME, note(3))):
        unchecked.write(lambda unit, tenant_id=tenant_id, one=one: put(unit, tenant_id, one))  # type: ignore[misc]  # bound at once
    assert unchecked.read(lambda unit: unit.verdicts.egress_notes()) == ((note(3), note(4, 0)), (note(9, 0),))
    with refused("store.conflict"):
        unchecked.write(lambda unit: put(unit, ACME, note(4)))
