"""Outcomes that come at the same time share a commit: what each brings counts as if it had come alone."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.adapters.group_commit import BusyError
from assay.delivery.errors import DeliveryError
from assay.delivery.outcome import Outcome
from assay.delivery.tally import recount
from assay.flows.delivery.count_outcome import Reported
from assay.flows.delivery.outcome_batch import tally_of
from assay.flows.delivery.report_outcome import ReportOutcome, ReportOutcomes, outcome, report_each, report_outcomes
from assay.flows.request import BulkLine, Done
from assay.identity.caller import Caller, local_caller
from assay.kernel.errors import Error
from assay.kernel.ledger import EntryKind
from assay.ports.database import Database
from tests.acting import caller_of
from tests.delivering import recount_rules, report_lines
from tests.flows._delivery import RULE, Delivery, opened_delivery
from tests.flows._people import TENANT
from tests.flows._together import together
from tests.raising import is_of
from tests.scale import scale


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Delivery]:
    with opened_delivery(tmp_path) as delivery:
        yield delivery.ready()


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Delivery]:
    with opened_delivery(tmp_path_factory.mktemp("busy")) as delivery:
        yield delivery.ready()


def _at_once(node: Delivery, jobs: list[Callable[[], object]]) -> list[object]:
    return together(node.tools.database, node.tools.delivery.reports, jobs)


def _caller(node: Delivery) -> Caller:
    return caller_of(node.tools, node.bell, at=node.desk.at(minutes=4))


def _ended(caller: Caller) -> Caller:
    """A caller whose credential is not there any more."""
    return replace(caller, proof=replace(caller.proof, credential_id="ak_gone"))


def _stranger(node: Delivery) -> Caller:
    return local_caller(TENANT, at=node.desk.at(minutes=4))


def _told(by: Caller, content: bytes, key: str | None = None) -> tuple[Caller, ReportOutcome]:
    return by, ReportOutcome(signal=content, whole=True, idempotency_key=key)


def _commits(database: Database) -> int:
    return database.facts().commits


@pytest.mark.clause("pramana", "7.4.2")
@pytest.mark.clause("pramana", "14.2")
def test_one_refused_signal_costs_the_others_nothing(node: Delivery) -> None:
    """A key that ended, a foreign rule and an unknown one are each told so; the rest is counted, in the same commit."""
    node.report("success", key="known")
    ended = ReportOutcome(signal=json.dumps(node.signal()).encode(), whole=True, idempotency_key="x")
    bad: list[Callable[[], object]] = [
        partial(outcome, node.tools, _ended(_caller(node)), ended),
        partial(node.report, key="y", rule_id="INF-LL-001"),
        partial(node.report, key="z", rule_id="MAR-0"),
        partial(node.report, "failure", key="known"),
    ]
    good: list[Callable[[], object]] = [partial(node.report, "success", key=f"k{n // 2}") for n in range(6)]
    before, head = _commits(node.tools.database), node.desk.head()
    done = _at_once(node, [*bad, *good])
    assert [one.code if isinstance(one, Error) else None for one in done[:4]] == [
        "identity.not_signed_in",
        "delivery.outcome_source",
        "delivery.unknown_rule",
        "delivery.outcome_conflict",
    ]
    told = [one for one in done[4:] if isinstance(one, Reported)]
    assert sorted(one.is_new for one in told) == [False] * 3 + [True] * 3
    # A repeated one names the entry of the first, also when both came at once.
    assert len({(one.signal_id, one.sequence_number) for one in told}) == 3
    # Two commits: the one that kept the writer busy, and theirs.
    assert (_commits(node.tools.database) - before, node.desk.head() - head) == (2, 3)
    assert node.counters().total == 4
    assert recount_rules(node.tools, TENANT).holds


@pytest.mark.clause("pramana", "7.4.2")
@pytest.mark.clause("pramana", "14.2")
def test_signals_given_together_are_each_counted_or_refused_in_one_commit(node: Delivery) -> None:
    """As those of a server are: malformed, forged and foreign ones cost the others nothing, and a twin counts once."""
    bell = _caller(node)

    def told(
        outcome: str = "success", *, by: Caller = bell, key: str | None = None, rule_id: str = RULE
    ) -> tuple[Caller, ReportOutcome]:
        return _told(by, json.dumps(node.signal(outcome, rule_id=rule_id)).encode(), key)

    bad = [_told(bell, b"{"), told(by=_ended(bell)), told(by=_stranger(node)), told(rule_id="INF-LL-001")]
    before, head = _commits(node.tools.database), node.desk.head()
    done = report_each(node.tools, [*bad, told(key="a"), told("failure", key="b"), told(key="a")])
    assert [one.code for one in done[:4] if isinstance(one, Error)] == [
        "delivery.outcome",
        "identity.not_signed_in",
        "identity.not_signed_in",
        "delivery.outcome_source",
    ]
    counted = [one.value for one in done[4:] if isinstance(one, Done)]
    assert [one.is_new for one in counted] == [True, True, False]
    assert [one.sequence_number - head for one in counted] == [1, 2, 1]
    assert (_commits(node.tools.database) - before, node.counters().total) == (1, 2)
    assert recount_rules(node.tools, TENANT).holds


def test_signals_of_which_none_can_be_counted_need_no_commit(node: Delivery) -> None:
    before = _commits(node.tools.database)
    told = _told(_caller(node), b"[]")
    refusals = report_each(node.tools, [told, told])
    assert [is_of(one, DeliveryError.outcome) for one in refusals] == [True, True]
    assert report_each(node.tools, []) == []
    assert _commits(node.tools.database) == before


def test_a_success_of_an_answer_is_left_to_be_reported_by_itself(node: Delivery) -> None:
    """Working an answer out again may take its time, and those who came beside it do not wait for that."""
    bell = _caller(node)
    of_answer = json.dumps(node.signal("success", answer_id="ans_1")).encode()
    plain = json.dumps(node.signal("success")).encode()
    done = report_each(node.tools, [_told(bell, of_answer), _told(bell, plain)])
    assert done[0] is None
    assert isinstance(done[1], Done)
    assert node.counters().total == 1


@pytest.mark.clause("pramana", "7.4.2")
def test_lines_share_one_commit_and_count_in_their_order_around_refused_ones(node: Delivery) -> None:
    """The success of an answer stands between failures, and so no three of them come in a row."""
    answer_id, at = node.ask().answer_id, node.desk.at(minutes=4)
    failures = [json.dumps(node.signal("failure", query_context=f"trip {number}")).encode() for number in range(4)]
    success = json.dumps(node.signal("success", answer_id=answer_id)).encode()
    before = _commits(node.tools.database)
    done = report_lines(
        node.tools, [*failures[:2], b"{", success, *failures[2:], failures[0]], credential=node.bell, at=at
    )
    assert _commits(node.tools.database) - before == 1
    assert [one.line for one in done] == list(range(1, 8))
    assert [one.code for one in done] == [None, None, "delivery.outcome", None, None, None, None]
    told = [one.receipt for one in done if one.receipt is not None]
    assert [one["is_new"] for one in told] == [True] * 5 + [False]
    assert [one["rules"][0]["tally"]["consecutive_failures"] for one in told[:5]] == [1, 2, 0, 1, 2]
    assert not node.desk.read(lambda unit: unit.delivery.items(TENANT))


@pytest.mark.clause("pramana", "14.2")
def test_lines_by_a_credential_that_ended_meanwhile_are_each_refused(node: Delivery) -> None:
    """The door let the caller in; what counts is whether the credential holds in the commit."""
    answer_id = node.ask().answer_id
    node.report("success", key="known")
    lines = [json.dumps(node.signal("success", answer_id=one)).encode() for one in (answer_id, None)]
    done = report_outcomes(node.tools, _ended(_caller(node)), ReportOutcomes(signals=b"\n".join(lines)))
    assert [one.code for one in done] == ["identity.not_signed_in"] * 2
    assert node.counters().total == 1


def test_lines_that_the_database_had_no_time_for_are_each_told_so(
    node: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object, **__: object) -> None:
        raise BusyError("the queue stayed full")

    line = json.dumps(node.signal("success")).encode()
    with monkeypatch.context() as patch:
        patch.setattr(type(node.tools.database), "write", busy)
        done = report_lines(node.tools, [line, b"{"], credential=node.bell, at=node.desk.at(minutes=4))
    assert [one.code for one in done] == ["store.busy"] * 2
    [counted] = report_lines(node.tools, [line], credential=node.bell, at=node.desk.at(minutes=4))
    assert counted.status == "recorded"


@pytest.mark.clause("pramana", "11.9")
def test_failures_that_come_together_open_one_root_cause(node: Delivery) -> None:
    """The third opens it and shows three failures; those after it in the same commit are absorbed."""
    done = _at_once(node, [partial(node.report, key=f"k{number}") for number in range(7)])
    reports = [one.rules[0] for one in done if isinstance(one, Reported)]
    assert sum(one.rca_triggered for one in reports) == 1
    assert sorted(one.tally.consecutive_failures for one in reports) == list(range(1, 8))
    [item] = node.desk.read(lambda unit: unit.delivery.items(TENANT))
    told = json.loads(item.text)
    assert (told["signals"], len(told["contexts"]), told["tally"]["total"]) == (3, 3, 3)
    assert node.counters().absorbed == 4
    opened = node.desk.entries(EntryKind.ROOT_CAUSE_OPENED)
    assert len(opened) == 1
    assert recount_rules(node.tools, TENANT).holds


def test_lines_of_one_caller_and_a_signal_of_another_share_a_commit(node: Delivery) -> None:
    """A refused line costs neither the other lines nor the neighbour anything."""

    def lines() -> tuple[BulkLine, ...]:
        told = [json.dumps(node.signal("success", rule_id=one)).encode() for one in (RULE, "MAR-0")]
        return report_lines(node.tools, told, credential=node.bell, at=node.desk.at(minutes=4))

    many, single = _at_once(node, [lines, partial(node.report, "success", key="a")])
    assert isinstance(many, tuple)
    assert [one.status for one in many] == ["recorded", "refused"]
    assert isinstance(single, Reported)
    assert node.counters().total == 2
    assert recount_rules(node.tools, TENANT).holds


def test_one_answer_has_one_outcome_also_from_two_keys_at_once(node: Delivery) -> None:
    answer = node.ask().answer_id
    jobs = [partial(node.report, "failure", key=key, answer_id=answer) for key in ("a", "b")]
    first, second = _at_once(node, [*jobs])
    assert isinstance(first, Reported)
    assert isinstance(second, Reported)
    assert (first.is_new, second.is_new) in {(True, False), (False, True)}
    assert first.sequence_number == second.sequence_number
    assert node.counters().total == 1


@given(st.lists(st.tuples(st.integers(0, 1), st.sampled_from(list(Outcome))), min_size=2, max_size=10))
@settings(max_examples=scale(6, 100), deadline=None)
def test_counters_equal_a_recount_whoever_came_together(busy: Delivery, told: list[tuple[int, Outcome]]) -> None:
    """Two rules, any outcomes, all in one commit: totals are those of the outcomes, runs those of the order taken."""
    rules = [f"MAR-{busy.desk.head()}-{number}" for number in range(2)]
    for rule in rules:
        busy.rule(rule, "a rule of this example")
    jobs: list[Callable[[], object]] = [
        partial(busy.report, outcome, key=f"{rules[rule]}-{number}", rule_id=rules[rule])
        for number, (rule, outcome) in enumerate(told)
    ]
    done = _at_once(busy, jobs)
    assert all(isinstance(one, Reported) and one.is_new for one in done)
    for number, rule in enumerate(rules):
        expected = recount([outcome for which, outcome in told if which == number])
        if expected.total:
            found = tally_of(busy.counters(rule))
            assert (found.total, found.success, found.failure) == (expected.total, expected.success, expected.failure)
    assert recount_rules(busy.tools, TENANT).holds
