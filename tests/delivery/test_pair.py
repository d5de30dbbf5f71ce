"""Every conclusion becomes a training pair, once; nothing that luck made becomes an example."""

import json
from itertools import count
from uuid import UUID

import pytest
from msgspec.structs import replace

from assay.delivery.errors import DeliveryError
from assay.delivery.pair import (
    capture_pair,
    next_batch,
    render_chat,
    render_pairs,
    render_preferences,
)
from assay.delivery.plugin import Category
from tests.delivery.items import THOUGHT, conclusion, make_item
from tests.identity.people import later
from tests.raising import raises

_NEW = "clearance is at least 1.5 m plus squat"
_ITEM = make_item()
_HELPED = make_item(plugin_id="slm-ukc", purva_paksha=THOUGHT)
_PAIR = capture_pair(_ITEM, conclusion(Category.RULE, _NEW))
_CORRECTED = capture_pair(_HELPED, conclusion(Category.RULE, _NEW))


@pytest.mark.clause("pramana", "10.4")
@pytest.mark.clause("pramana", "14.5")
@pytest.mark.clause("pramana", "12.6")
def test_a_pair_has_the_members_of_the_text_and_names_the_reviewer() -> None:
    [told] = json.loads(render_pairs([_CORRECTED]))
    assert set(told) == {"training_pair_id", "rule_id", "input", "label", "captured_by", "captured_at"}
    assert set(told["input"]) == {"query", "original_response", "phala_signals", "purva_paksha"}
    assert told["label"] == {
        "failure_category": "C", "siddhanta": "the rule ignores squat", "corrected_rule": _NEW,
    }  # fmt: skip
    assert told["captured_by"] == "user:amira"
    assert told["captured_at"] == "2026-01-07T13:00:00Z"
    assert UUID(told["training_pair_id"]).version == 8
    assert told["input"]["purva_paksha"]["confidence"] == 0.99


@pytest.mark.clause("pramana", "10.4")
@pytest.mark.parametrize("category", [Category.ROUTING, Category.APPLICATION])
def test_a_pair_is_captured_without_a_plugin_and_for_every_category(category: Category) -> None:
    [told] = json.loads(render_pairs([capture_pair(_ITEM, conclusion(category))]))
    assert "purva_paksha" not in told["input"]
    assert told["label"] == {"failure_category": category, "siddhanta": "the rule ignores squat"}


@pytest.mark.clause("pramana", "10.4")
def test_the_same_lesson_is_one_pair_whoever_captures_it_when() -> None:
    again = capture_pair(_ITEM, replace(conclusion(Category.RULE, _NEW), concluded_at=later(days=9)))
    other = capture_pair(_ITEM, conclusion(Category.ROUTING))
    assert again.training_pair_id == _PAIR.training_pair_id
    assert other.training_pair_id != _PAIR.training_pair_id


def test_a_conclusion_of_another_item_makes_no_pair() -> None:
    with raises(DeliveryError.pair):
        capture_pair(make_item(4), conclusion(Category.ROUTING))


@pytest.mark.clause("pramana", "10.4")
def test_fifty_waiting_pairs_are_a_batch() -> None:
    waiting = [replace(_PAIR, training_pair_id=str(number)) for number, _ in zip(count(), range(60), strict=False)]
    assert next_batch(waiting[:49]) is None
    batch = next_batch(waiting)
    assert batch is not None
    assert [one.training_pair_id for one in batch] == [str(number) for number in range(50)]
    assert next_batch([], size=1) is None
    with raises(DeliveryError.pair):
        next_batch(waiting, size=0)


def test_a_chat_ends_with_what_the_person_concluded() -> None:
    [line] = render_chat([_PAIR]).splitlines()
    messages = json.loads(line)["messages"]
    assert [one["role"] for one in messages] == ["system", "user", "assistant"]
    assert messages[2]["content"] == f"Category C\nthe rule ignores squat\nCorrected rule: {_NEW}"
    assert "may she enter at 14:00?" in messages[1]["content"]
    assert "yes, with 1.4 m" not in messages[2]["content"]
    assert render_chat([]) == b""


def test_a_preference_is_the_person_over_a_hypothesis_that_was_corrected() -> None:
    agreeing = make_item(
        plugin_id="p", purva_paksha=replace(THOUGHT, failure_category=Category.RULE, proposed_correction=_NEW)
    )
    accepted = capture_pair(agreeing, conclusion(Category.RULE, _NEW))
    [line] = render_preferences([_PAIR, _CORRECTED, accepted]).splitlines()
    told = json.loads(line)
    assert told["chosen"].startswith("Category C")
    assert told["rejected"] == f"Category B\n{THOUGHT.hypothesis}"
    reworded = make_item(
        plugin_id="p", purva_paksha=replace(THOUGHT, failure_category=Category.RULE, proposed_correction="else")
    )
    [line] = render_preferences([capture_pair(reworded, conclusion(Category.RULE, _NEW))]).splitlines()
    assert json.loads(line)["rejected"].endswith("Corrected rule: else")
