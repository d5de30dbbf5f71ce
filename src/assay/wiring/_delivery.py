"""A node that answers: tables of answerers, peers, the plugin, and the settings of PRAMANA."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from assay.adapters.clock import OsEntropy
from assay.adapters.weight_folder import WeightFolder
from assay.config import Config
from assay.config.delivery import (
    PeerConfig,
    PluginName,
    StrandConfig,
    SubCategoriesConfig,
    TrainerName,
    peer_token_name,
)
from assay.config.environment import PEER_TOKENS
from assay.delivery.answerer import Answerer
from assay.delivery.federate import Agreement
from assay.delivery.plugin import Category, Plugin, PluginCard
from assay.delivery.rule import parse_rule_id
from assay.delivery.trigger import BatchRule, TriggerRule
from assay.flows.delivery.answerers import Answerers, ProxyAnswerer
from assay.flows.delivery.delivery_settings import DeliverySettings
from assay.flows.delivery.peers import find_agreement
from assay.flows.delivery.strands import FrozenStrands, StrandFunction, Strands
from assay.flows.delivery.training import captured_pairs
from assay.flows.model.train_judge import JudgeTrainer
from assay.flows.tools import Tools
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import TenantId, parse_tenant_id
from assay.ports.database import Database
from assay.ports.plugin import PluginPost
from assay.wiring._models import open_estimator

if TYPE_CHECKING:  # what only a node with machines pays for
    from assay.ports.model import Model


class NoAnswerersError(Error):
    """What the configuration names as a table of answerers is none."""

    code = "config.answerers"
    blame = Blame.USAGE


class NoStrandCheckError(Error):
    """What the configuration names as the check of a strand is none."""

    code = "config.strands"
    blame = Blame.USAGE


def delivery_settings(config: Config, database: Database) -> DeliverySettings:
    given = config.delivery
    strands, checks = _strands(given.strands)
    batching = None
    if given.batch_seconds:
        batching = BatchRule(window_seconds=given.batch_seconds, min_sessions=given.batch_sessions)
    settings = DeliverySettings(
        service=given.service,
        trigger=TriggerRule(threshold=given.rca_threshold, comparison=given.rca_comparison, batching=batching),
        strands=strands,
        checks=checks,
        proof_threshold_pct=given.proof_threshold_pct,
        strand_seconds=given.strand_seconds,
        answer_seconds=given.answer_seconds,
        answers_at_once=given.answers_at_once,
        pair_batch=given.pair_batch,
        sub_categories=_sub_categories(given.sub_categories),
        tenant_answerers=_tenant_answerers(config, database),
    )
    if given.plugin is PluginName.HTTP and given.plugin_url is not None:
        from assay.adapters.plugins.http import HttpPlugin  # noqa: PLC0415 - only who chose it pays

        local = config.models.deployment_local
        remote = HttpPlugin(given.plugin_url, seconds=given.plugin_seconds, deployment_local=local)
        return _with_plugin(settings, config, lambda _tenant_id: remote)
    if given.plugin is not PluginName.NEAREST_CASE:
        return settings
    from assay.adapters.plugins.nearest_case import NearestCasePlugin  # noqa: PLC0415 - only who chose it pays

    def plugin_of(tenant_id: TenantId) -> Plugin:
        return NearestCasePlugin(lambda: captured_pairs(database, tenant_id))

    return _with_plugin(settings, config, plugin_of)


def _sub_categories(listed: SubCategoriesConfig) -> Mapping[Category, tuple[str, ...]] | None:
    """By category; none where nothing is listed, and a reviewer is free."""
    by_category = {
        Category.ROUTING: listed.routing,
        Category.APPLICATION: listed.application,
        Category.RULE: listed.rule,
    }
    return by_category if any(by_category.values()) else None


def _scope(config: Config, named: tuple[str, ...]) -> frozenset[TenantId]:
    """The tenants that the configuration names, else the node's own."""
    return frozenset(map(parse_tenant_id, named or (config.node.tenant,)))


def _tenant_answerers(config: Config, database: Database) -> dict[TenantId, Mapping[str, Answerer]]:
    """The answerers of the configuration by the tenants that they serve: tables of functions, and peers."""
    given, own = config.delivery, _answerers(config.delivery.answerers)
    found: dict[TenantId, dict[str, Answerer]] = {}
    for tenant_id in _scope(config, given.tenants) if own else ():
        found[tenant_id] = dict(own)
    for peer in given.peers:
        for tenant_id in _scope(config, peer.tenants):
            found.setdefault(tenant_id, {})[f"peer:{peer.name}"] = _proxy(config, database, tenant_id, peer)
    return dict(found)


def _proxy(config: Config, database: Database, tenant_id: TenantId, peer: PeerConfig) -> ProxyAnswerer:
    """Another organisation as an answerer of one tenant, by that tenant's agreement and token."""
    from assay.adapters.outgoing import OutgoingGuard  # noqa: PLC0415 - only a node with peers pays
    from assay.adapters.service_client import HttpServiceClient  # noqa: PLC0415 - the same

    def agreed() -> Agreement:
        found = database.read(lambda unit: find_agreement(unit, tenant_id, peer.name))
        return Agreement(peer=peer.name) if found is None else found

    guard = OutgoingGuard(hosts=(urlsplit(peer.url).hostname or "",))
    connect = partial(HttpServiceClient, timeout=config.delivery.answer_seconds, guard=guard)
    token = os.environ.get(PEER_TOKENS + peer_token_name(config.node.tenant, tenant_id, peer.name))
    return ProxyAnswerer(connect, peer.url, agreed, entropy=OsEntropy(), token=token)


def plug_model(tools: Tools, config: Config, model: "Model | None") -> Tools:
    """The node with its own model as estimator of uncertainty, and where the operator chose that, as the plugin that
    looks at failing rules.
    """
    if model is None:
        return tools
    tools = replace(tools, estimator=open_estimator(config, model))
    if config.delivery.plugin is not PluginName.LOCAL_MODEL:
        return tools
    from assay.adapters.plugins.local_model import LocalModelPlugin  # noqa: PLC0415 - only who chose it pays

    plugin = LocalModelPlugin(model)
    return replace(tools, delivery=_with_plugin(tools.delivery, config, lambda _tenant_id: plugin))


def plug_trainer(tools: Tools, config: Config, folder: Path) -> Tools:
    """The node with its own judge as the trainer, unless the operator wants none."""
    if config.delivery.trainer is not TrainerName.JUDGE:
        return tools
    trainer = JudgeTrainer(tools=tools, places=WeightFolder(folder / "models"))
    return replace(tools, delivery=replace(tools.delivery, trainer=trainer))


def _strands(given: tuple[StrandConfig, ...]) -> FrozenStrands:
    table = Strands()
    for one in given:
        table.strand(
            one.strand_type_id,
            name=one.name,
            how_to_check=one.how_to_check,
            absence_implication=one.absence_implication,
            contact=one.contact,
            registered=one.registered,
        )(_check_at(one.check))
    return table.freeze()


def _check_at(name: str) -> StrandFunction:
    module, _, attribute = name.partition(":")
    try:
        found: object = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise NoStrandCheckError(f"expected the check of a strand at `{name}`: {error}") from error
    if not callable(found):
        raise NoStrandCheckError(f"expected the check of a strand at `{name}`, got {type(found).__name__}")
    return cast("StrandFunction", found)


def _with_plugin(
    settings: DeliverySettings, config: Config, plugin_of: Callable[[TenantId], Plugin]
) -> DeliverySettings:
    """The settings with this plugin in the scope that the operator gave it."""
    given = config.delivery
    card = PluginCard(
        plugin_id=str(given.plugin), model_version="1", rule_ids=tuple(parse_rule_id(one) for one in given.plugin_rules)
    )
    tenants = _scope(config, given.tenants)
    post = PluginPost(card=card, plugin_of=plugin_of, seconds=given.plugin_seconds, tenants=tenants)
    return replace(settings, plugin=post)


def _answerers(names: tuple[str, ...]) -> Mapping[str, Answerer]:
    """The tables that the operator named, in one; a name in two of them is refused."""
    merged = Answerers()
    for name in names:
        module, _, attribute = name.partition(":")
        try:
            table = getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise NoAnswerersError(f"expected a table of answerers at `{name}`: {error}") from error
        if not isinstance(table, Answerers):
            raise NoAnswerersError(f"expected a table of answerers at `{name}`, got {type(table).__name__}")
        for slug, answerer in table.freeze().items():
            merged.add(slug, answerer)
    return merged.freeze()
