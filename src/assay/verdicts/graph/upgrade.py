"""What a graph of SKI 2 needs to become one of SKI 3 (11.2), and the typed document it would then be.

flat rules -> suggestions, each with the typed nodes that say the same -> `upgrade_graph`
"""

from collections import defaultdict
from enum import StrEnum

from msgspec import Struct

from assay.kernel.json_text import JsonValue
from assay.verdicts.graph.edge import EdgeType
from assay.verdicts.graph.graph import GraphForm, KnowledgeGraph, NoticeCode
from assay.verdicts.graph.hash import render_graph, render_node
from assay.verdicts.graph.node import NodeId, RiskTier, Rule
from assay.verdicts.graph.obligation import Basis, Obligation

_TIERS = frozenset(tier.value for tier in RiskTier)


class UpgradeCode(StrEnum):
    TYPE_OBLIGATION = "TYPE_OBLIGATION"  # a predicate that has an obligation type: take it over
    WRITE_OBLIGATION = "WRITE_OBLIGATION"  # no predicate that can be typed: a person writes the obligation
    ADD_EFFECTIVE_DATE = "ADD_EFFECTIVE_DATE"
    ADD_CITATION = "ADD_CITATION"
    ADD_RISK_TIER = "ADD_RISK_TIER"
    REMOVE_TRACK = "REMOVE_TRACK"


class ChangeCode(StrEnum):
    """What an upgrade did to a document; a code never changes its meaning."""

    TYPE_OBLIGATION = "TYPE_OBLIGATION"  # a predicate of a flat rule is now an obligation type
    WRITE_OBLIGATION = "WRITE_OBLIGATION"  # no predicate that can be typed: a person judges
    ADD_RISK_TIER = "ADD_RISK_TIER"  # a flat rule without one counts as medium
    REMOVE_TRACK = "REMOVE_TRACK"
    CITATION_ADDED = "CITATION_ADDED"
    DATE_ADDED = "DATE_ADDED"
    DATE_COMPLETED = "DATE_COMPLETED"
    EDGE_REMOVED = "EDGE_REMOVED"
    FIELD_ADDED = "FIELD_ADDED"
    FIELD_REMOVED = "FIELD_REMOVED"
    FIELD_RENAMED = "FIELD_RENAMED"
    ID_ADDED = "ID_ADDED"
    NODE_ADDED = "NODE_ADDED"
    NODE_REMOVED = "NODE_REMOVED"
    NODES_GROUPED = "NODES_GROUPED"
    OBLIGATION_ADDED = "OBLIGATION_ADDED"
    SIGNATURE_REMOVED = "SIGNATURE_REMOVED"
    SUBJECTS_NAMED = "SUBJECTS_NAMED"
    TIER_ADDED = "TIER_ADDED"
    TYPE_REPLACED = "TYPE_REPLACED"
    VERSION_ADDED = "VERSION_ADDED"
    VERSION_REPLACED = "VERSION_REPLACED"


class UpgradeChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One change; `node` is what was changed, None where it is about the whole document."""

    code: ChangeCode
    message: str
    node: str | None = None


class Upgrade(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One step; `node` is the typed node to write, where it can be derived."""

    code: UpgradeCode
    rule: NodeId
    message: str
    node: dict[str, JsonValue] | None = None


def suggest_upgrades(graph: KnowledgeGraph) -> tuple[Upgrade, ...]:
    """Rule by rule, in the graph's order; nothing for a graph in the typed form whose rules all have obligations."""
    obligations = {node.id: node for node in graph.obligations}
    parts: defaultdict[NodeId, list[Obligation]] = defaultdict(list)
    for edge in graph.edges:
        if edge.type is EdgeType.CONSISTS_OF and edge.target in obligations:
            parts[edge.source].append(obligations[edge.target])
    tracked = _noticed(graph, NoticeCode.TRACK_DEPRECATED)
    untiered = _noticed(graph, NoticeCode.DEFAULT_TIER)
    found: list[Upgrade] = []
    for rule in graph.rules:
        found.extend(_typing(rule, parts[rule.id]))
        if graph.form is GraphForm.FLAT:
            found.extend(_completing(rule, parts[rule.id], is_tiered=rule.id not in untiered))
        if rule.id in tracked:
            found.append(_upgrade(UpgradeCode.REMOVE_TRACK, rule, "`track` is ignored since 3.0: remove it"))
    return tuple(found)


def upgrade_graph(graph: KnowledgeGraph) -> dict[str, JsonValue]:
    """The typed document that says the same, unsigned; for people to complete and review, never to load as it is."""
    metadata = {**graph.metadata, "schema_version": "3.0"}
    return {**render_graph(graph), "metadata": metadata}


def _typing(rule: Rule, obligations: list[Obligation]) -> list[Upgrade]:
    if not obligations:
        message = "the rule has no typed obligation, so that nothing of it applies: write one"
        return [_upgrade(UpgradeCode.WRITE_OBLIGATION, rule, message)]
    found = []
    for node in obligations:
        if node.basis is Basis.UNTYPED:
            message = "the rule has no predicate that can be typed, and is DISCRETIONARY until an obligation is written"
            found.append(_upgrade(UpgradeCode.WRITE_OBLIGATION, rule, message))
        elif node.basis is Basis.CONVERTED:
            message = f"the predicate says what the type `{node.obligation_type}` says: write the typed obligation"
            found.append(
                Upgrade(code=UpgradeCode.TYPE_OBLIGATION, rule=rule.id, message=message, node=render_node(node))
            )
    return found


def _noticed(graph: KnowledgeGraph, code: NoticeCode) -> set[NodeId | None]:
    return {notice.node for notice in graph.notices if notice.code is code}


def _completing(rule: Rule, obligations: list[Obligation], *, is_tiered: bool) -> list[Upgrade]:
    """What the flat form may leave out and the typed form demands."""
    found = [_upgrade(UpgradeCode.ADD_CITATION, rule, "a typed obligation cites its text: add a citation")]
    if any(node.effective_date_start is None for node in obligations):
        message = "a typed obligation says since when it is in force: add `effective_date_start`"
        found.append(_upgrade(UpgradeCode.ADD_EFFECTIVE_DATE, rule, message))
    if not is_tiered or rule.risk_tier not in _TIERS:
        message = "a rule has a risk tier, and without one a flat rule counts as medium: add `risk_tier`"
        found.append(_upgrade(UpgradeCode.ADD_RISK_TIER, rule, message))
    return found


def _upgrade(code: UpgradeCode, rule: Rule, message: str) -> Upgrade:
    return Upgrade(code=code, rule=rule.id, message=message)
