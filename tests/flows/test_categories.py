"""On a root cause the guess of its category is shown and told to the plugin, and people conclude as they see it."""

import json
from pathlib import Path

import msgspec
import pytest

from assay.delivery.plugin import Category, PluginCard, PluginRequest
from assay.delivery.rule import RuleId
from assay.flows.delivery.categories import CategoryShelf, suggest_category
from assay.flows.delivery.open_rootcause import ask_people
from assay.ports.database import Unit
from assay.ports.plugin import PluginPost
from tests.delivering import measure_categories, show_item
from tests.delivery.test_categorise import _pairs
from tests.flows._delivery import RULE, Delivery, opened_delivery, record_pair
from tests.flows._people import TENANT


class _Silent:
    """A plugin that hears and says nothing of use."""

    def __init__(self) -> None:
        self.heard: list[PluginRequest] = []

    def infer(self, request: PluginRequest) -> bytes:
        self.heard.append(request)
        return b"{}"


def _teach(node: Delivery, count: int) -> None:
    """Pairs as conclusions would have left them."""

    def work(unit: Unit) -> None:
        for pair in _pairs(count):
            record_pair(unit, TENANT, pair, "rca_old")

    node.tools.database.write(work)


@pytest.mark.clause("pramana", "10.2")
def test_the_guess_is_on_the_ticket_and_decides_nothing(tmp_path: Path) -> None:
    """With how good such guesses have been; the person's category stands, whatever was guessed."""
    with opened_delivery(tmp_path) as opened:
        node = opened.ready()
        _teach(node, 60)
        item_id = str(node.fail(query_context="draught in feet, wrong unit, stale tide table")[-1].rules[0].item_id)
        shown = json.loads(node.ticket_of(item_id).shown)["suggestion"]
        assert (shown["ranking"][0], shown["learnt_from"]) == ("B", 60)
        assert shown["held_out"]["pairs"] == 50
        assert "deciding nothing" in shown["note"]
        node.conclude(item_id, Category.RULE)
        (found,) = node.desk.read(lambda unit: unit.delivery.conclusions_on(TENANT, [item_id]))
        assert found.failure_category == "C"
        assert measure_categories(node.tools, TENANT).pairs == 51


def test_a_verdict_is_guessed_by_its_case_as_its_pair_is_learnt(tmp_path: Path) -> None:
    """How good guesses are is measured on pairs, whose query is the case; so a guess goes by the case, too."""
    with opened_delivery(tmp_path) as opened:
        node = opened.ready()
        _teach(node, 60)
        item_id = str(node.fail(query_context="at sea")[-1].rules[0].item_id)
        item = show_item(node.tools, TENANT, item_id).item
        judged = msgspec.structs.replace(item, case="draught in feet, wrong unit, stale tide table " * 4)
        guess = node.desk.read(lambda unit: suggest_category(CategoryShelf(), unit, TENANT, judged))
        assert guess is not None
        assert (guess.ranking[0], json.loads(node.ticket_of(item_id).shown)["suggestion"]["ranking"][0]) == ("B", "A")


@pytest.mark.clause("pramana", "10.3")
def test_a_plugin_hears_the_guess_as_its_hint(tmp_path: Path) -> None:
    with opened_delivery(tmp_path) as opened:
        plugin = _Silent()
        card = PluginCard(plugin_id="silent", model_version="1", rule_ids=(RuleId(RULE),))
        node = opened.ready().with_settings(plugin=PluginPost(card=card, plugin_of=lambda _tenant_id: plugin))
        _teach(node, 30)
        node.fail(query_context="draught in feet, wrong unit, stale tide table")
        ask_people(node.tools, TENANT, at=node.desk.at(minutes=5))
        assert [str(one.failure_category_hint) for one in plugin.heard] == ["B"]
