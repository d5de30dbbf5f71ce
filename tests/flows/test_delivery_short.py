"""The outcome of an answer of the node by its id alone: recorded whole, counted once, refused where it does not fit."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from assay.delivery.outcome import Signal
from assay.flows.delivery.count_outcome import Reported
from assay.flows.delivery.delivery_entry import read_text
from tests.contract._kit import refused
from tests.delivering import report_answer
from tests.flows._delivery import RULE, Delivery, opened_delivery
from tests.flows._node import damage
from tests.flows._people import TENANT, at_once


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Delivery]:
    with opened_delivery(tmp_path) as delivery:
        yield delivery.ready()


def _tell(
    node: Delivery,
    answer_id: str,
    outcome: str = "failure",
    *,
    minute: float = 4,
    key: str | None = None,
    by: str | None = None,
    **more: Any,  # noqa: ANN401  any member
) -> Reported:
    content = json.dumps({"answer_id": answer_id, "outcome": outcome, **more}).encode()
    at, credential = node.desk.at(minutes=minute), by or node.bell
    return report_answer(node.tools, content, credential=credential, idempotency_key=key, at=at)


def _recorded(node: Delivery, done: Reported) -> Signal:
    [row] = node.desk.read(lambda unit: unit.delivery.find_signals(TENANT, [done.signal_id]))
    return read_text(row.text, Signal)


@pytest.mark.clause("pramana", "7.4.1")
def test_answer_and_outcome_are_enough_and_the_whole_signal_is_recorded(node: Delivery) -> None:
    """Every MUST of the wire form is there, with what the answer says of itself."""
    answer = node.ask()
    done, mark = _tell(node, answer.answer_id), answer.body.annotation
    signal = _recorded(node, done)
    assert (signal.rule_ids, signal.applied_by, signal.query_context) == ((RULE,), mark.service, mark.query_type)
    assert (signal.strands_available, signal.strand_missing) == (mark.strands_present, mark.strands_missing)
    assert (signal.authenticity_level, signal.occurred_at) == (mark.authenticity_level, node.desk.at(minutes=4))
    assert (node.counters().failure, done.rules[0].rule_version) == (1, 1)
    [told] = node.events("phala.generated")
    needed = {"signal_type", "rule_id", "applied_by", "outcome", "strands_available", "authenticity_level"}
    assert told["payload"].keys() >= needed | {"rca_triggered", "timestamp"}


@pytest.mark.parametrize("key", [None, "mine"])
def test_told_again_later_it_is_the_same_signal(node: Delivery, key: str | None) -> None:
    """Without a time it has that of the first; another outcome of the same answer is a conflict all the same."""
    answer_id = node.ask().answer_id
    first, again = (_tell(node, answer_id, minute=minute, key=key) for minute in (4, 6))
    assert (first.is_new, again.is_new, again.sequence_number) == (True, False, first.sequence_number)
    with refused("delivery.outcome_conflict"):
        _tell(node, answer_id, "success", minute=7, key=key)
    assert (node.counters().total, node.counters().failure) == (1, 1)


def test_told_many_times_at_once_it_counts_once_and_nobody_is_refused(node: Delivery) -> None:
    answer_id = node.ask().answer_id
    found = at_once([partial(_tell, node, answer_id, minute=4 + number) for number in range(4)])
    assert sorted(isinstance(one, Reported) and one.is_new for one in found) == [False, False, False, True]
    assert {type(one) for one in found} == {Reported}
    assert node.counters().total == 1


@pytest.mark.clause("pramana", "7.4.1")
@pytest.mark.parametrize(
    "told",
    [
        {"rule_id": "MAR-OTHER"},
        {"authenticity_level": "PRAMANA-3"},
        {"strands_available": ["proof"], "strand_missing": []},
        {"timestamp": "1970-01-01T00:00:00Z"},
    ],
)
def test_what_is_told_besides_must_agree_with_the_answer(node: Delivery, told: dict[str, Any]) -> None:
    node.rule("MAR-OTHER", "another rule")
    answer_id = node.ask().answer_id
    before = node.desk.head()
    with refused("delivery.outcome_answer"):
        _tell(node, answer_id, **told)
    assert node.desk.head() == before
    assert node.desk.read(lambda unit: unit.delivery.find_counters(TENANT, unit.delivery.rule_ids(TENANT))) == ()


@pytest.mark.clause("pramana", "14.2")
def test_who_may_not_report_learns_nothing_of_the_answer(node: Delivery) -> None:
    """Not whether there is one, nor a rule behind it that is not theirs to report of."""
    answer_id = node.ask().answer_id
    for name in (answer_id, "ans_none"):
        with refused("delivery.outcome_source"):
            _tell(node, name, by=node.amira)
    with refused("delivery.outcome_answer"):
        _tell(node, "ans_none")
    node.grant("OTHER-*")
    with pytest.raises(Exception, match="every rule behind") as caught:
        _tell(node, answer_id)
    assert RULE not in str(caught.value)


def test_an_answer_that_the_ledger_does_not_bind_completes_no_signal(node: Delivery, tmp_path: Path) -> None:
    answer_id = node.ask().answer_id
    changed = "replace(text, 'PRAMANA-2', 'PRAMANA-3')"
    damage(tmp_path / "node", f"UPDATE delivered_answer SET text = {changed} WHERE answer_id = '{answer_id}'")
    with refused("store.damaged_record"):
        _tell(node, answer_id)
    assert node.desk.read(lambda unit: unit.delivery.find_counters(TENANT, unit.delivery.rule_ids(TENANT))) == ()


def test_without_an_answer_everything_is_needed(node: Delivery) -> None:
    content = json.dumps({"outcome": "failure", "rule_id": RULE}).encode()
    with refused("delivery.outcome"):
        report_answer(node.tools, content, credential=node.bell, at=node.desk.at(minutes=4))
