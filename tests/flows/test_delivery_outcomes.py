"""A signal that was acknowledged is never lost and never counted twice; what is injected changes nothing."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.delivery.outcome import Outcome
from assay.delivery.plugin import Category
from assay.delivery.tally import recount
from assay.delivery.trigger import BatchRule, Comparison, TriggerRule
from assay.flows.delivery.outcome_batch import record_counters, tally_of
from assay.flows.delivery.tend_delivery import check_batches
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.kernel.errors import Error
from assay.kernel.instant import render_instant
from assay.kernel.ledger import EntryKind
from tests.acting import revoke_api_key
from tests.contract._kit import refused
from tests.delivering import recount_rules, report_lines, report_outcome, show_item, show_rule, show_session
from tests.flows._delivery import RULE, Delivery, opened_delivery
from tests.flows._node import damage
from tests.flows._people import ADMIN, TENANT, LostError, at_once
from tests.scale import scale


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Delivery]:
    with opened_delivery(tmp_path) as delivery:
        yield delivery.ready()


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Delivery]:
    """One node for every example of a property; each example reports about a rule of its own."""
    with opened_delivery(tmp_path_factory.mktemp("busy")) as delivery:
        yield delivery.ready()


@pytest.mark.clause("pramana", "7.4.2")
@pytest.mark.clause("pramana", "11.7")
@pytest.mark.clause("pramana", "11.8")
def test_each_outcome_moves_the_counters_of_its_rule(node: Delivery) -> None:
    for number, outcome in enumerate(("success", "failure", "partial", "indeterminate", "failure")):
        node.report(outcome, key=str(number))
    row = node.counters()
    assert (row.total, row.success, row.failure, row.partial, row.indeterminate) == (5, 1, 2, 1, 1)
    assert (row.consecutive_failures, tally_of(row).confidence) == (1, 0.2)
    generated = node.events("phala.generated")
    assert [one["payload"]["outcome"] for one in generated] == [
        "success", "failure", "partial", "indeterminate", "failure",
    ]  # fmt: skip
    assert {one["payload"]["rule_id"] for one in generated} == {RULE}


@given(st.lists(st.sampled_from(list(Outcome)), max_size=12), st.data())
@settings(max_examples=scale(12, 200), deadline=None)
def test_counters_always_equal_a_recount_of_history(
    busy: Delivery, outcomes: list[Outcome], data: st.DataObject
) -> None:
    """Whatever came, in whatever order, and however much of it was sent twice."""
    rule = f"MAR-{busy.desk.head()}"
    busy.rule(rule, "a rule of this example")
    for number, outcome in enumerate(outcomes):
        for _ in range(data.draw(st.integers(1, 2))):
            busy.report(outcome, key=f"{rule}-{number}", rule_id=rule)
        assert tally_of(busy.counters(rule)) == recount(outcomes[: number + 1])
    assert recount_rules(busy.tools, TENANT).holds


@pytest.mark.clause("pramana", "7.4.1")
def test_a_signal_sent_twice_counts_once(node: Delivery) -> None:
    """By its key, or without one by its content; the second answer names the first entry."""
    first, again = node.report(key="k"), node.report(key="k")
    bare, once_more = node.report("success"), node.report("success")
    assert (first.is_new, again.is_new, bare.is_new, once_more.is_new) == (True, False, True, False)
    assert (again.sequence_number, once_more.sequence_number) == (first.sequence_number, bare.sequence_number)
    assert node.counters().total == 2
    with refused("delivery.outcome_conflict"):
        node.report("success", key="k")


@pytest.mark.clause("pramana", "14.2")
@pytest.mark.parametrize(
    ("inject", "code"),
    [
        (lambda node: node.report(by="no key"), "identity.not_signed_in"),
        (lambda node: node.report(by=node.amira), "delivery.outcome_source"),
        (lambda node: node.report(rule_id="INF-LL-001"), "delivery.outcome_source"),
        (lambda node: node.report(rule_id=None, rule_ids=[RULE, "INF-LL-001"]), "delivery.outcome_source"),
        (lambda node: node.report(rule_id="MAR-0"), "delivery.unknown_rule"),
        (lambda node: node.report(outcome="great"), "delivery.outcome"),
        (lambda node: node.report(timestamp="2999-01-01T00:00:00Z"), "delivery.outcome"),
        (lambda node: node.report(surprise=1), "delivery.outcome"),
        (lambda node: report_outcome(node.tools, b"{", credential=node.bell, at=node.desk.start), "delivery.outcome"),
    ],
)
def test_an_injected_signal_changes_nothing(node: Delivery, inject: Callable[[Delivery], object], code: str) -> None:
    """No key, another's rule, a rule that nobody knows, what is no signal: refused, with nothing on record."""
    before = node.desk.head()
    with refused(code):
        inject(node)
    assert node.desk.head() == before
    assert node.desk.read(lambda unit: unit.delivery.find_counters(TENANT, unit.delivery.rule_ids(TENANT))) == ()


def test_who_loses_the_key_or_the_grant_reports_no_more(node: Delivery) -> None:
    node.report(key="a")
    node.grant("OTHER-*")
    with refused("delivery.outcome_source"):
        node.report(key="b")
    node.grant("MAR-*")
    prefix = node.bell.partition(".")[0]
    revoke_api_key(node.tools, TENANT, prefix, reason="lost", by=ADMIN, at=node.desk.at(minutes=3))  # type: ignore[arg-type]  # its text
    with refused("identity.not_signed_in"):
        node.report(key="c")
    assert node.counters().total == 1


@pytest.mark.clause("pramana", "14.2")
def test_a_known_name_with_another_secret_reports_nothing(node: Delivery) -> None:
    """The node remembers whose a credential is; that it is valid is found out in each commit."""
    node.report(key="a")
    name, _, secret = node.bell.partition(".")
    forged = f"{name}.{secret[:-1]}{'A' if secret[-1] != 'A' else 'B'}"
    before = node.desk.head()
    for outcome in ("failure", "success"):
        with refused("identity.not_signed_in"):
            node.report(outcome, key="b", by=forged, answer_id="ans_x")
    assert (node.desk.head(), node.counters().total) == (before, 1)


def test_a_commit_that_fails_counts_nothing(node: Delivery) -> None:
    """All of it is one commit: signal, history, counters, entry and event, or none of them."""
    before = node.desk.head()
    broken = Delivery(
        desk=node.desk.failing(), olga=node.olga, amira=node.amira, bell=node.bell, rita=node.rita, sam=node.sam
    )
    with pytest.raises(LostError):
        broken.report(key="k")
    assert node.desk.head() == before
    assert node.report(key="k").is_new
    assert node.counters().total == 1


def test_many_senders_at_once_lose_nothing(node: Delivery) -> None:
    """Half of the signals come twice, at the same time."""
    jobs: list[Callable[[], object]] = [partial(node.report, key=f"k{number // 2}") for number in range(24)]
    results = at_once(jobs)
    assert not [one for one in results if isinstance(one, Error)]
    assert node.counters().total == 12
    assert recount_rules(node.tools, TENANT).holds


@pytest.mark.clause("pramana", "7.4.1")
def test_several_rules_of_one_signal_count_once_each(node: Delivery) -> None:
    node.rule("MAR-2", "another rule")
    done = node.report(key="k", rule_ids=[RULE, "MAR-2", RULE])
    assert [one.rule_id for one in done.rules] == [RULE, "MAR-2"]
    assert (node.counters().total, node.counters("MAR-2").total) == (1, 1)
    assert len(node.events("phala.generated")) == 2


@pytest.mark.clause("pramana", "7.4.1")
def test_as_many_rules_as_a_signal_may_name_are_counted(node: Delivery) -> None:
    """An entry has a longest size; so of many rules no event repeats the names of all, nor the context."""
    names = [f"MAR-MANY-{'X' * 100}-{number}" for number in range(256)]
    for name in names:
        node.rule(name)
    done = node.report(key="many", rule_id=None, rule_ids=names, query_context="c" * 4000)
    assert len(done.rules) == len(names)
    [first, *_] = told = [one["payload"] for one in node.events("phala.generated")]
    assert [one["rule_id"] for one in told] == names
    assert (first.keys() & {"rule_ids", "query_context"}, first["rca_triggered"]) == (set(), False)


def test_many_signals_share_a_commit_and_each_is_counted_or_refused_by_itself(node: Delivery) -> None:
    def content(outcome: str, **chosen: Any) -> bytes:  # noqa: ANN401  any member
        return json.dumps(node.signal(outcome, **chosen)).encode()

    lines = [content("success"), content("failure"), content("success"), content("success", rule_id="MAR-0")]
    done = report_lines(node.tools, lines, credential=node.bell, at=node.desk.at(minutes=4))
    assert [one.status for one in done] == ["recorded", "recorded", "known", "refused"]
    assert done[3].code == "delivery.unknown_rule"
    assert node.counters().total == 2


@pytest.mark.clause("pramana", "11.9")
@pytest.mark.clause("pramana", "7.4.2")
@pytest.mark.clause("pramana", "12.2")
@pytest.mark.clause("pramana", "7.3")
def test_three_failures_in_a_row_open_a_root_cause_once(node: Delivery) -> None:
    """The fourth is absorbed; `rca_triggered` is ours to say, whatever the sender wrote."""
    done = [node.report(key=f"k{number}", rca_triggered=True) for number in range(4)]
    assert [one.rules[0].rca_triggered for one in done] == [False, False, True, False]
    assert len({one.rules[0].item_id for one in done[2:]}) == 1
    assert [one["payload"]["rca_triggered"] for one in node.events("phala.generated")] == [False, False, True, False]
    assert [one["payload"]["reason"] for one in node.events("rca.triggered")] == ["failures"]
    assert node.counters().absorbed == 1


def test_anything_but_a_failure_ends_the_run(node: Delivery) -> None:
    for number, outcome in enumerate(("failure", "failure", "indeterminate", "failure", "failure")):
        node.report(outcome, key=str(number))
    assert node.desk.read(lambda unit: unit.delivery.items(TENANT)) == ()


def test_the_threshold_and_its_comparison_are_settings(node: Delivery) -> None:
    node = node.with_settings(trigger=TriggerRule(threshold=1, comparison=Comparison.EXCEED))
    assert [one.rules[0].rca_triggered for one in node.fail(2)] == [False, True]


@pytest.mark.clause("pramana", "12.3")
@pytest.mark.clause("pramana", "7.4.3")
def test_batches_delay_the_check_and_never_a_counter(node: Delivery) -> None:
    """Failures of two sessions in each of two windows reach the threshold of two; one session's do not."""
    rule = TriggerRule(threshold=2, batching=BatchRule(window_seconds=600))
    node = node.with_settings(trigger=rule)
    for number in range(4):
        node.report(key=f"a{number}", session_id=f"s{number % 2}", minute=4)
    assert (node.counters().total, node.counters().streak) == (4, 0)
    assert node.desk.read(lambda unit: unit.delivery.items(TENANT)) == ()
    late = 40
    for number in range(4):
        node.report(key=f"b{number}", session_id=f"s{number % 2}", minute=late)
    looked = check_batches(node.tools, TENANT, at=node.desk.at(minutes=late + 20))
    assert [one.batch.outcome for one in looked] == ["failure", "failure"]
    assert [one.item_id is not None for one in looked] == [False, True]
    assert check_batches(node.tools, TENANT, at=node.desk.at(minutes=late + 20)) == ()
    told = [one["payload"]["batch_id"] for one in node.events("phala.generated")]
    assert told == [looked[0].batch.batch_id] * 4 + [looked[1].batch.batch_id] * 4
    [opened] = node.desk.entries(EntryKind.ROOT_CAUSE_OPENED)
    assert opened["batch_id"] == looked[1].batch.batch_id
    assert check_batches(node.with_settings(trigger=TriggerRule()).tools, TENANT, at=node.desk.at(days=9)) == ()


@pytest.mark.clause("pramana", "7.4.3")
def test_an_item_of_a_batch_shows_the_failures_of_that_batch(node: Delivery) -> None:
    """What came after its window, before anybody looked, is of the next one."""
    node = node.with_settings(trigger=TriggerRule(threshold=1, batching=BatchRule(window_seconds=600)))
    for number, outcome in enumerate(("failure", "success", "failure")):
        node.report(outcome, key=f"a{number}", session_id=f"s{number}", query_context="of the batch", minute=10)
    node.report("success", key="late", query_context="after it", minute=40)
    [looked, _] = check_batches(node.tools, TENANT, at=node.desk.at(minutes=60))
    assert looked.item_id is not None
    shown = show_item(node.tools, TENANT, looked.item_id).item
    assert (shown.batch_id, shown.signals) == (looked.batch.batch_id, 2)
    assert {(one.outcome, one.query_context) for one in shown.contexts} == {(Outcome.FAILURE, "of the batch")}


@pytest.mark.clause("pramana", "7.4.3")
def test_a_batch_holds_nothing_that_an_item_took_in_before_it_was_concluded(node: Delivery) -> None:
    """The window in which a person concludes counts from the conclusion on."""
    node = node.with_settings(trigger=TriggerRule(threshold=1, batching=BatchRule(window_seconds=60)))

    def fail(name: str, minute: float) -> None:
        for number in range(2):
            node.report(key=f"{name}{number}", session_id=f"s{number}", query_context=name, minute=minute)

    fail("first", 0)
    [looked] = check_batches(node.tools, TENANT, at=node.desk.at(minutes=2))
    second = (looked.batch.ends_at - node.desk.start) / timedelta(minutes=1) + 2
    fail("taken in", second + 0.1)
    node.conclude(str(looked.item_id), Category.ROUTING, minute=second + 0.2)
    fail("anew", second + 0.3)
    [again] = check_batches(node.tools, TENANT, at=node.desk.at(minutes=second + 2))
    assert (again.batch.signals, again.item_id is not None) == (2, True)
    assert {one.query_context for one in show_item(node.tools, TENANT, str(again.item_id)).item.contexts} == {"anew"}
    fail("taken in, too", second + 3.1)
    node.conclude(str(again.item_id), Category.ROUTING, minute=second + 4.5)
    assert check_batches(node.tools, TENANT, at=node.desk.at(minutes=second + 6)) == ()


@pytest.mark.clause("pramana", "7.4.3")
def test_an_operator_may_turn_batching_on_and_off_and_change_its_window(node: Delivery) -> None:
    """What was looked at one by one is not looked at again, and housekeeping goes on."""
    *_, third = [node.report(key=f"one{number}", session_id=f"s{number}") for number in range(3)]
    node.conclude(str(third.rules[0].item_id), Category.ROUTING)
    daily = node.with_settings(trigger=TriggerRule(threshold=1, batching=BatchRule(window_seconds=600)))
    assert check_batches(daily.tools, TENANT, at=node.desk.at(days=1)) == ()
    for number in range(2):
        daily.report(key=f"day{number}", session_id=f"s{number}", minute=60)
    [looked] = check_batches(daily.tools, TENANT, at=node.desk.at(minutes=71))
    assert (looked.batch.signals, looked.batch.outcome) == (2, "failure")
    for minute, seconds in ((72, 86_400), (60 * 24 * 3, 420)):
        other = node.with_settings(trigger=TriggerRule(threshold=1, batching=BatchRule(window_seconds=seconds)))
        other.report(key=f"w{seconds}", minute=minute)
        assert len(check_batches(other.tools, TENANT, at=node.desk.at(minutes=minute + 60 * 24))) == 1
    node.report(key="off", minute=60 * 24 * 40)
    assert node.counters().batched_until is None
    assert recount_rules(node.tools, TENANT).holds


def test_one_session_alone_makes_no_failing_batch(node: Delivery) -> None:
    node = node.with_settings(trigger=TriggerRule(threshold=1, batching=BatchRule(window_seconds=60)))
    node.fail(5, session_id="one")
    [looked] = check_batches(node.tools, TENANT, at=node.desk.at(minutes=30))
    assert (looked.batch.outcome, looked.item_id) == ("indeterminate", None)


@pytest.mark.clause("pramana", "12.9")
def test_signals_of_one_session_are_seen_together(node: Delivery) -> None:
    node.report("success", key="a", session_id="s")
    node.report("failure", key="b", session_id="other")
    node.report("failure", key="c", session_id="s")
    found = show_session(node.tools, TENANT, "session:s")
    assert [one.outcome for one in found] == ["success", "failure"]
    node.report("failure", key="d")
    assert len(show_session(node.tools, TENANT, "sender:service:bell")) == 1


def test_a_rule_shows_its_counters_by_time(node: Delivery) -> None:
    node.report("success", key="a", minute=4)
    node.report("failure", key="b", minute=4 + 24 * 60)
    shown = show_rule(node.tools, TENANT, RULE)
    assert [one.tally.total for one in shown.series] == [1, 1]
    assert (shown.tally.total, shown.confidence, shown.is_certified) == (2, 0.5, True)


def test_a_changed_counter_is_refused(node: Delivery, tmp_path: Path) -> None:
    """Somebody with full rights on the file makes a rule look better than it is."""
    node.fail(2)
    damage(tmp_path / "node", "UPDATE rule_counter SET success = success + 1, total = total + 1")
    for look in (lambda: recount_rules(node.tools, TENANT), lambda: show_rule(node.tools, TENANT, RULE)):
        with refused("store.damaged_record"):
            look()


def test_a_recount_names_a_counter_that_the_outcomes_do_not_give(node: Delivery) -> None:
    """Not even the node itself counts wrong unnoticed."""
    node.fail(2)
    wrong = replace(node.counters(), success=1, total=3)
    node.desk.tools.database.write(
        lambda unit: record_counters(unit, TENANT, wrong, "a mistake", at=node.desk.at(minutes=9))
    )
    found = recount_rules(node.tools, TENANT)
    assert found.problems == (f"{RULE}: total: expected 2, got 3", f"{RULE}: success: expected 0, got 1")


@pytest.mark.clause("pramana", "7.4.1")
@pytest.mark.parametrize(
    "chosen",
    [
        {"rule_id": "MAR-OTHER"},
        {"rule_id": None, "rule_ids": [RULE, "MAR-OTHER"]},
        {"answer_id": "ans_none"},
        {"authenticity_level": "PRAMANA-3+"},
        {"strands_available": ["capability", "knowledge", "proof"], "strand_missing": []},
        {"strands_available": ["capability"], "strand_missing": ["knowledge", "proof"]},
        {"timestamp": "1970-01-01T00:00:00Z"},
    ],
)
def test_an_outcome_that_does_not_fit_its_answer_is_refused(node: Delivery, chosen: dict[str, Any]) -> None:
    """Nobody lays a failure at the door of a rule that had no part in the answer."""
    node.rule("MAR-OTHER", "another rule")
    answer_id = node.ask().answer_id
    before = node.desk.head()
    with refused("delivery.outcome_answer"):
        node.report(**{"answer_id": answer_id, **chosen})
    assert node.desk.head() == before
    assert node.desk.read(lambda unit: unit.delivery.find_counters(TENANT, unit.delivery.rule_ids(TENANT))) == ()
    assert node.report(answer_id=answer_id).is_new


@pytest.mark.clause("pramana", "7.4.1")
def test_one_sender_tells_the_outcome_of_an_answer_once(node: Delivery) -> None:
    """The same bytes under any key count once; another outcome of the same answer is a conflict."""
    answer_id = node.ask().answer_id
    first = node.report(answer_id=answer_id)
    again = [node.report(key=key, answer_id=answer_id) for key in ("a", "b")]
    assert [one.is_new for one in again] == [False, False]
    assert {one.sequence_number for one in again} == {first.sequence_number}
    for number, outcome in enumerate(("success", "failure")):
        with refused("delivery.outcome_conflict"):
            node.report(outcome, key=f"c{number}", answer_id=answer_id, query_context="leaving port")
    assert (node.counters().total, node.counters().failure) == (1, 1)
    assert node.report(answer_id=node.ask().answer_id).is_new


@pytest.mark.clause("pramana", "14.2")
def test_a_grant_that_the_ledger_does_not_have_lets_nobody_report(node: Delivery, tmp_path: Path) -> None:
    """Nor does one that names the entry of something else; an audit reports the row."""
    text = json.dumps({"principal_id": "user:amira", "rules": ["*"]})
    damage(tmp_path / "node", f"INSERT INTO reporter_grant VALUES ('{TENANT}', 'user:amira', '{text}', 'user:olga', 1)")
    with refused("store.damaged_record"):
        node.report(by=node.amira)
    assert "reporter_grant" in str(audit_ledger(node.tools, TENANT, full=True).message)


@pytest.mark.clause("pramana", "6.2")
def test_a_certification_that_the_ledger_does_not_have_raises_no_level(node: Delivery, tmp_path: Path) -> None:
    node.rule("MAR-OTHER", "another rule")
    node = node.answering(lambda _question: "clear", name="other", rules=["MAR-OTHER"])
    node.query("other", answerer="other", rules=["MAR-OTHER"])
    assert "knowledge" in node.ask(slug="other").body.annotation.strands_missing
    version = show_rule(node.tools, TENANT, "MAR-OTHER").versions[0]
    forged = {
        "rule_id": "MAR-OTHER",
        "version": 1,
        "content_hash": version.content_hash,
        "certified_by": "user:rita",
        "certified_at": render_instant(node.desk.start),
        "ticket_id": "tkt_forged",
    }
    damage(
        tmp_path / "node",
        f"INSERT INTO rule_certification VALUES ('{TENANT}', 'MAR-OTHER', 1, '{json.dumps(forged)}', 1)",
    )
    with refused("delivery.answerer"):
        node.ask(slug="other")
    assert "knowledge" in node.ask().body.annotation.strands_present
    with refused("store.damaged_record"):
        show_rule(node.tools, TENANT, "MAR-OTHER")
