"""What an operator settles about delivery reaches the flows, and a mistake is told before anything starts."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from assay.adapters.inference.bounded import BoundedModel
from assay.adapters.inference.scripted import ScriptedBackend
from assay.adapters.plugins.local_model import LocalModelPlugin
from assay.adapters.plugins.nearest_case import NearestCasePlugin
from assay.config import BadConfigError, parse_config
from assay.config.delivery import PluginName
from assay.delivery.trigger import BatchRule, Comparison
from assay.flows.delivery.answerers import Answerers, ProxyAnswerer
from assay.flows.model.train_judge import JudgeTrainer
from assay.kernel.ids import TenantId
from assay.wiring import init_node, load_config, open_node, plug_model
from tests.contract._kit import refused

table = Answerers()
not_a_table = object()


@table.answers("vessel.ukc-status", rules=["MAR-1"])
def _answer(_question: object) -> str:
    return "clear"


def _node(folder: Path, settings: str) -> Path:
    home = folder / "node"
    init_node(home)
    with (home / "assay.toml").open("a") as file:
        file.write(f"\n[delivery]\n{settings}\n")
    return home


def test_settings_of_delivery_reach_the_node(tmp_path: Path) -> None:
    home = _node(
        tmp_path,
        'service = "port"\nrca_threshold = 5\nrca_comparison = "exceed"\nbatch_seconds = 60\npair_batch = 7\n'
        f'answerers = ["{__name__}:table"]\nplugin = "nearest_case"\nplugin_rules = ["MAR-1"]',
    )
    with open_node(home) as (tools, config):
        settings = tools.delivery
        assert (settings.service, settings.pair_batch, settings.principal_id) == ("port", 7, "service:port")
        assert (settings.trigger.threshold, settings.trigger.comparison) == (5, Comparison.EXCEED)
        assert settings.trigger.batching == BatchRule(window_seconds=60, min_sessions=2)
        assert [*settings.answerers_of(TenantId(config.node.tenant))] == ["vessel.ukc-status"]
        assert [*settings.answerers_of(TenantId("other"))] == []
        assert settings.plugin is not None
        assert isinstance(settings.plugin.plugin_of(TenantId("acme")), NearestCasePlugin)
        assert settings.plugin.card.rule_ids == ("MAR-1",)
        assert settings.plugin.tenants == frozenset({TenantId(config.node.tenant)})
        assert plug_model(tools, config, None) is tools


def test_tenants_that_the_configuration_names_are_served_and_no_other(tmp_path: Path) -> None:
    """Without `delivery.tenants` the node's own tenant alone; with it, only those that it names."""
    home = _node(
        tmp_path,
        f'tenants = ["acme"]\nanswerers = ["{__name__}:table"]\nplugin = "nearest_case"\nplugin_rules = ["MAR-1"]',
    )
    with open_node(home) as (tools, config):
        assert [*tools.delivery.answerers_of(TenantId("acme"))] == ["vessel.ukc-status"]
        assert [*tools.delivery.answerers_of(TenantId(config.node.tenant))] == []
        assert tools.delivery.plugin is not None
        assert tools.delivery.plugin.tenants == frozenset({TenantId("acme")})


_PEERS = """
[[delivery.peers]]
name = "har-bour"
url = "http://127.0.0.1:9"
tenants = [{first}]
[[delivery.peers]]
name = "{name}"
url = "http://127.0.0.1:10"
tenants = [{second}]
"""


def test_each_tenant_asks_a_peer_with_its_own_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node's own tenant by the variable of the peer's name; another's token is never sent for it."""
    home = _node(tmp_path, _PEERS.format(first="", name="har-bour", second='"acme", "b.c"'))
    monkeypatch.setenv("ASSAY_PEER_TOKEN_HAR_BOUR", "ours")
    monkeypatch.setenv("ASSAY_PEER_TOKEN_HAR_BOUR__B_C", "theirs")
    found = {}
    with open_node(home) as (tools, config):
        for name in (config.node.tenant, "acme", "b.c"):
            proxy = tools.delivery.answerers_of(TenantId(name))["peer:har-bour"]
            assert isinstance(proxy, ProxyAnswerer)
            found[name] = proxy._headers
        assert found == {config.node.tenant: {"x-api-key": "ours"}, "acme": {}, "b.c": {"x-api-key": "theirs"}}


@pytest.mark.parametrize(
    ("name", "first", "second", "words"),
    [
        ("har-bour", "", '"OWN"', "each peer once"),
        ("har-bour", '"acme"', '"acme"', "each peer once"),
        ("har-bour--acme", '"acme"', "", "one variable for two"),
        ("har-bour", '"a.b"', '"a-b"', "one variable for two"),
        ("quay", '"No Tenant"', "", "a tenant"),
    ],
)
def test_peers_that_would_share_a_place_or_a_token_are_refused(
    tmp_path: Path, name: str, first: str, second: str, words: str
) -> None:
    home = tmp_path / "node"
    init_node(home)
    own = load_config(home).node.tenant
    with (home / "assay.toml").open("a") as file:
        file.write(_PEERS.format(first=first, name=name, second=second.replace("OWN", own)))
    with pytest.raises(BadConfigError, match=words):
        load_config(home)


def test_without_settings_batching_is_off_and_no_plugin_hears_anything(tmp_path: Path) -> None:
    init_node(tmp_path / "node")
    with open_node(tmp_path / "node") as (tools, _):
        settings = tools.delivery
    assert (settings.trigger.threshold, settings.trigger.batching, settings.plugin) == (3, None, None)
    assert (settings.answerers, settings.pair_batch, settings.proof_threshold_pct) == ({}, 50, 90.0)


def test_the_nodes_own_model_is_the_plugin_where_the_operator_chose_it(tmp_path: Path) -> None:
    init_node(tmp_path / "node")
    config = load_config(tmp_path / "node")
    chosen = changed(config, delivery=changed(config.delivery, plugin=PluginName.LOCAL_MODEL, plugin_rules=("MAR-1",)))
    with open_node(tmp_path / "node") as (tools, _), BoundedModel(ScriptedBackend(lambda _: json.dumps({}))) as model:
        plugged = plug_model(tools, chosen, model).delivery.plugin
        assert plugged is not None
        assert isinstance(plugged.plugin_of(TenantId("acme")), LocalModelPlugin)
        assert plug_model(replace(tools), config, model).delivery.plugin is None


@pytest.mark.parametrize("name", ["no.such.module:table", f"{__name__}:nothing", f"{__name__}:not_a_table"])
def test_a_table_that_is_none_is_refused_at_the_start(tmp_path: Path, name: str) -> None:
    home = _node(tmp_path, f'answerers = ["{name}"]')
    with refused("config.answerers"), open_node(home):
        pass


_STRAND = """
[[delivery.strands]]
strand_type_id = "{id}"
name = "Port approval"
how_to_check = "the port authority has approved the vessel"
absence_implication = "no port authority has approved the vessel"
contact = "ops@example.org"
check = "{check}"
registered = {registered}
"""


def approved(_question: object, _rules: object) -> str | None:
    return "approval 7"


def _strand(name: str = "x-port", check: str = f"{__name__}:approved", *, registered: bool = False) -> str:
    return _STRAND.format(id=name, check=check, registered=str(registered).lower())


@pytest.mark.clause("pramana", "6.5")
@pytest.mark.clause("pramana", "15")
def test_strands_of_the_configuration_are_defined_with_their_five_items(tmp_path: Path) -> None:
    home = _node(tmp_path, _strand() + _strand("port-state-control", registered=True))
    with open_node(home) as (tools, _):
        settings = tools.delivery
    assert settings.strands.ids() == ("capability", "knowledge", "proof", "x-port", "port-state-control")
    assert settings.checks.keys() == {"x-port", "port-state-control"}
    told = settings.strands.types[3]
    assert (told.name, told.contact) == ("Port approval", "ops@example.org")
    assert told.absence_implication == "no port authority has approved the vessel"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (_strand("port"), "delivery.strand"),
        (_strand("x-Port"), "delivery.strand"),
        (_strand("capability", registered=True), "delivery.strand_check"),
        (_strand() + _strand(), "delivery.strand_check"),
        (_strand(check="no.such.module:check"), "config.strands"),
        (_strand(check=f"{__name__}:nothing"), "config.strands"),
        (_strand(check=f"{__name__}:not_a_table"), "config.strands"),
        (_strand(check="nothing"), "config.refused"),
        (_strand().replace("contact", "phone"), "config.refused"),
        (_strand().replace('"ops@example.org"', '""'), "delivery.strand"),
    ],
    ids=["unregistered", "form", "core", "twice", "module", "name", "no function", "place", "five items", "empty"],
)
def test_a_strand_that_is_not_registered_whole_stops_the_start(tmp_path: Path, text: str, code: str) -> None:
    home = _node(tmp_path, text)
    with refused(code), open_node(home):
        pass


def test_the_judge_takes_jobs_of_training_unless_nobody_shall(tmp_path: Path) -> None:
    home = _node(tmp_path, "")
    with open_node(home) as (tools, _):
        assert isinstance(tools.delivery.trainer, JudgeTrainer)
    config = (home / "assay.toml").read_text()
    (home / "assay.toml").write_text(f'{config}trainer = "none"\n')
    with open_node(home) as (tools, _):
        assert tools.delivery.trainer is None


def test_every_wrong_setting_is_told() -> None:
    text = (
        '[node]\norigin = "o"\nfounder = "sha256:' + "0" * 64 + '"\n[delivery]\nservice = "Not A Name"\n'
        'rca_threshold = 0\nproof_threshold_pct = 0\nanswerers = ["nothing"]\nplugin = "local_model"\npair_batch = 0\n'
        'plugin_rules = ["no rule!"]\n'
    )
    with pytest.raises(BadConfigError) as refusal:
        parse_config(text, {})
    told = {one.field for one in refusal.value.problems}
    assert told >= {
        f"delivery.{name}"
        for name in (
            "service",
            "rca_threshold",
            "proof_threshold_pct",
            "answerers",
            "plugin",
            "plugin_rules",
            "pair_batch",
        )
    }
