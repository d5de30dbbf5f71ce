"""`assay check --profile pramana-full --active` against a node that really runs: used, failed, concluded, attacked."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.adapters.plugins.http import HttpPlugin
from assay.delivery.annotate import SlmContribution
from assay.delivery.answerer import Question, Reply
from assay.delivery.plugin import Category, PluginCard, PluginReply, PurvaPaksha
from assay.delivery.rule import RuleId
from assay.delivery.trigger import BatchRule, TriggerRule
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId
from assay.ports.plugin import PluginPost
from assay.surfaces.http.app import create_app
from assay.surfaces.http.serve import keep_house
from assay.wiring import load_config
from tests.acting import amend_principal, issue_api_key
from tests.delivering import grant_reporter, measure_proof
from tests.flows._delivery import RULE, Delivery, opened_delivery
from tests.flows._people import ADMIN, TENANT
from tests.receiver import receiving
from tests.surfaces.cli.running import Answer, ask
from tests.surfaces.http._streams import Running, running

_SECOND, _LOOSE = "MAR-YK-008", "MAR-YK-009"


def _deep(_question: Question) -> Reply:
    share = SlmContribution(plugin_id="depth-model", rules_applied=(RuleId(RULE),))
    return Reply(output="clear", rules=(RuleId(RULE), RuleId(_SECOND)), slm=share)


def _prepared(node: Delivery, plugin_url: str) -> Delivery:
    """Two rules with all their strands, a plugin that is heard over HTTP, and signals in batches of a second."""
    now = node.desk.start
    for name in (RULE, _SECOND):
        node.rule(name)
        node.certify(name, at=now)
    node.rule(_LOOSE)
    node.query(rules=[RULE, _SECOND])
    node.query("vessel.name", answerer="vessel.name", rules=[_LOOSE])
    node = node.answering(lambda _question: "Ada", "vessel.name", rules=[_LOOSE])
    code = {"ukc.py": f"# @rule:{RULE}\n# @rule:{_SECOND}\n"}
    measure_proof(node.tools, TENANT, code, by=ADMIN, at=now)
    plugin = HttpPlugin(plugin_url, seconds=5)
    card = PluginCard(plugin_id="depth-model", model_version="1", rule_ids=(RuleId(RULE),))
    return node.answering(_deep).with_settings(
        trigger=TriggerRule(threshold=1, batching=BatchRule(window_seconds=1)),
        plugin=PluginPost(card=card, plugin_of=lambda _tenant_id: plugin),
    )


@dataclass
class Checked:
    served: Running
    key: str
    person: str
    floored: str
    node: Delivery

    def check(self, profile: str, *options: str) -> Answer:
        return ask("check", self.served.url, "--profile", profile, "--json", *options)


def _checker(node: Delivery) -> str:
    name = node.desk.add(
        "service:checker", kind=PrincipalKind.SERVICE, roles=("auditor",), trust_mask=0b10, action_tier=1
    ).id
    grant_reporter(node.tools, name, ["MAR-*"], credential=node.olga, at=node.desk.start)
    return issue_api_key(node.tools, TENANT, name, by=ADMIN, at=node.desk.start)[0]


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checked]:
    folder: Path = tmp_path_factory.mktemp("checked")
    thought = PurvaPaksha(
        failure_category=Category.RULE, hypothesis="swell", proposed_correction="15 %", confidence=0.4
    )
    reply = msgspec.json.encode(PluginReply(rule_id=RuleId(RULE), purva_paksha=thought))
    with receiving(answers=[200], reply=reply) as plugin, opened_delivery(folder) as opened:
        node = _prepared(opened, plugin.url)
        high = PrincipalChange(authenticity_level_floor=3)
        amend_principal(node.tools, TENANT, PrincipalId("user:amira"), high, by=ADMIN, at=node.desk.start)
        config = load_config(folder / "node")
        delivery = msgspec.structs.replace(config.delivery, sweep_seconds=1)
        app = create_app(node.tools, msgspec.structs.replace(config, delivery=delivery))
        with running(app) as served, keep_house(served.desk):
            yield Checked(served, _checker(node), node.rita, node.amira, node)


def _findings(answer: Answer) -> list[dict[str, Any]]:
    """The server is of this process, and may have logged before the answer."""
    found: list[dict[str, Any]] = json.loads(answer.out[answer.out.index("{\n") :])["findings"]
    return found


def _failed(answer: Answer) -> list[str]:
    return [f"{one['rule']}: {one['message']}" for one in _findings(answer) if not one["passed"]]


@pytest.mark.clause("pramana", "11")
@pytest.mark.clause("pramana", "12.1")
@pytest.mark.clause("pramana", "12.3")
@pytest.mark.clause("pramana", "12.4")
@pytest.mark.clause("pramana", "12.5")
@pytest.mark.clause("pramana", "12.6")
@pytest.mark.clause("pramana", "12.7")
@pytest.mark.clause("pramana", "12.8")
@pytest.mark.clause("pramana", "12.9")
@pytest.mark.clause("pramana", "12.10")
def test_a_running_node_meets_every_requirement_and_holds_when_attacked(checked: Checked) -> None:
    """The ten of section 11, the ten of section 12, and each attack is refused and changes nothing."""
    done = checked.check(
        "pramana-full", "--active", "--credential", checked.key, "--session", checked.person, "--patience", "10"
    )
    assert _failed(done) == []
    assert done.code == 0
    rules = [one["rule"] for one in _findings(done)]
    expected = [f"pramana.{section}.{number}" for section in (11, 12) for number in range(1, 11)]
    assert rules[:20] == expected
    attacks = {one["where"] for one in _findings(done)[20:]}
    assert attacks == {
        "attack:phala_without_key",
        "attack:phala_out_of_scope",
        "attack:phala_replayed",
        "attack:conclusion_without_person",
    }


def test_a_floor_holds_whatever_the_client_asks_for(checked: Checked) -> None:
    """An answer that is withheld stays withheld from somebody who wishes for a lower floor."""
    done = checked.check("pramana-mvi", "--credential", checked.key, "--floored", checked.floored, "--active")
    found = [one for one in _findings(done) if one["where"] == "attack:floor_lowered_by_client"]
    assert [one["passed"] for one in found] == [True]


def test_what_nobody_could_try_is_not_met(checked: Checked) -> None:
    """A stranger sees STATE and nothing else: an honest no, and never a pass by lack of evidence."""
    done = checked.check("pramana-mvi")
    assert done.code == 1
    assert [one["rule"] for one in _findings(done) if one["passed"]] == ["pramana.11.1"]
    away = ask("check", "http://127.0.0.1:9", "--profile", "pramana-full", "--credential", "none", "--json")
    assert (away.code, len(_failed(away))) == (1, 20)


def test_the_registry_of_questions_and_the_queue_are_shown(checked: Checked) -> None:
    found = checked.served.get("/api/v1/queries", checked.key).json()["items"]
    assert [(one["slug"], one["expected_level"]) for one in found] == [
        ("vessel.name", "PRAMANA-2"),
        ("vessel.ukc-status", "PRAMANA-2"),
    ]
    queue = checked.served.get("/api/v1/pairs/queue", checked.key).json()
    assert (queue["batch_size"], set(queue)) == (50, {"waiting", "batch_size", "jobs"})
    assert checked.served.get("/api/v1/queries").status_code == 401
