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
from assay.config import BadConfigError, PluginName, parse_config
from assay.delivery.trigger import BatchRule, Comparison
from assay.flows.answerers import Answerers
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
        assert [*settings.answerers] == ["vessel.ukc-status"]
        assert settings.plugin is not None
        assert isinstance(settings.plugin.plugin, NearestCasePlugin)
        assert settings.plugin.card.rule_ids == ("MAR-1",)
        assert plug_model(tools, config, None) is tools


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
        assert isinstance(plugged.plugin, LocalModelPlugin)
        assert plug_model(replace(tools), config, model).delivery.plugin is None


@pytest.mark.parametrize("name", ["no.such.module:table", f"{__name__}:nothing", f"{__name__}:not_a_table"])
def test_a_table_that_is_none_is_refused_at_the_start(tmp_path: Path, name: str) -> None:
    home = _node(tmp_path, f'answerers = ["{name}"]')
    with refused("config.answerers"), open_node(home):
        pass


def test_every_wrong_setting_is_told() -> None:
    text = (
        '[node]\norigin = "o"\nfounder = "sha256:' + "0" * 64 + '"\n[delivery]\nservice = "Not A Name"\n'
        'rca_threshold = 0\nproof_threshold_pct = 0\nanswerers = ["nothing"]\nplugin = "local_model"\npair_batch = 0\n'
    )
    with pytest.raises(BadConfigError) as refusal:
        parse_config(text, {})
    told = {one.field for one in refusal.value.problems}
    assert told >= {
        f"delivery.{name}"
        for name in ("service", "rca_threshold", "proof_threshold_pct", "answerers", "plugin", "pair_batch")
    }
