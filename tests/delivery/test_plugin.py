"""A plugin hears of its own rules alone, answers in one shape, and decides nothing."""

import json
from typing import Any

import msgspec
import pytest

from assay.delivery.errors import DeliveryError
from assay.delivery.plugin import (
    PLUGIN_INTERFACE,
    CategoryHint,
    PluginCard,
    PluginRequest,
    ask_plugin,
    parse_reply,
    render_request,
)
from assay.delivery.workitem import plugin_request
from tests.delivery.answers import RULE
from tests.delivery.items import make_item
from tests.raising import raises

_REQUEST = plugin_request(make_item())
_CARD = PluginCard(plugin_id="slm-ukc", model_version="1", rule_ids=(RULE,))


def _reply(**changes: Any) -> str:  # noqa: ANN401  any field
    thought: dict[str, Any] = {
        "failure_category": "C",
        "hypothesis": "squat is missing",
        "proposed_correction": "add squat",
        "confidence": 0.7,
    }
    outer: dict[str, Any] = {"plugin_interface": PLUGIN_INTERFACE, "rule_id": RULE}
    outer |= {name: changes.pop(name) for name in list(changes) if name in outer}
    return json.dumps(outer | {"purva_paksha": thought | changes})


@pytest.mark.clause("pramana", "10.3")
@pytest.mark.clause("pramana", "12.5")
def test_a_request_has_the_members_of_the_text() -> None:
    told = json.loads(render_request(plugin_request(make_item(), CategoryHint.RULE)))
    assert told["plugin_interface"] == "pramana/slm-plugin/1.0"
    assert set(told) == {
        "plugin_interface", "rule_id", "rule_content", "original_query", "original_response", "phala_signals",
        "failure_category_hint",
    }  # fmt: skip
    assert told["phala_signals"][0] == {
        "outcome": "failure",
        "query_context": "charter party clause, English law",
        "timestamp": "2026-01-07T11:23:00Z",
    }
    assert told["failure_category_hint"] == "C"
    assert msgspec.json.decode(render_request(_REQUEST), type=PluginRequest) == _REQUEST


@pytest.mark.clause("pramana", "10.3")
def test_a_reply_is_read_as_a_hypothesis() -> None:
    thought = parse_reply(_reply(), _REQUEST)
    assert (thought.failure_category, thought.hypothesis, thought.confidence) == ("C", "squat is missing", 0.7)
    assert parse_reply(_reply(failure_category="A", proposed_correction=""), _REQUEST).proposed_correction == ""


@pytest.mark.clause("pramana", "14.4")
def test_a_plugin_hears_of_its_own_rules_alone() -> None:
    assert ask_plugin(_CARD, _REQUEST) is _REQUEST
    with raises(DeliveryError.plugin_scope):
        ask_plugin(PluginCard(plugin_id="p", model_version="1", rule_ids=()), _REQUEST)
    with raises(DeliveryError.plugin_scope):
        parse_reply(_reply(rule_id="OTHER-1"), _REQUEST)


@pytest.mark.parametrize(
    "changes",
    [
        {"plugin_interface": "pramana/slm-plugin/2.0"},
        {"failure_category": "unknown"},
        {"failure_category": "D"},
        {"hypothesis": ""},
        {"hypothesis": "x" * 30_000},
        {"proposed_correction": "x" * 30_000},
        {"proposed_correction": "nul\u0000"},
        {"confidence": 1.1},
        {"confidence": -0.1},
        {"confidence": "sure"},
        {"approve": True},
    ],
    ids=str,
)
def test_any_other_reply_is_refused(changes: dict[str, Any]) -> None:
    with raises(DeliveryError.plugin_reply):
        parse_reply(_reply(**changes), _REQUEST)


@pytest.mark.clause("pramana", "14.4")
def test_a_request_carries_text_and_nothing_to_write_with() -> None:
    def kinds(value: object) -> set[type]:
        if isinstance(value, dict):
            return set().union(*map(kinds, value.values()))
        return set().union(*map(kinds, value)) if isinstance(value, list) else {type(value)}

    assert kinds(json.loads(render_request(_REQUEST))) == {str}
