"""What this node says of itself in the protocol: its codex.json, its knowledge and its PROOF, from its real stores.

query types, rules, certifications, root causes, measurements -> codex.json | drift | PROOF
"""

from typing import NamedTuple

import msgspec

from assay import __version__
from assay.delivery.rule import RuleRegistry
from assay.flows.delivery.answerers import answered_here
from assay.flows.delivery.measure_proof import capabilities_to_cover, rule_facts
from assay.flows.delivery.query_types import load_queries
from assay.flows.delivery.rule_rows import load_registry
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.kernel.canonical import canonicalize
from assay.kernel.ids import TenantId
from assay.kernel.instant import render_instant
from assay.kernel.json_text import JsonValue
from assay.ports.database import Unit
from assay.registry.action import ServicePower
from assay.registry.documents import ProofDocument
from assay.registry.manifest import power_of
from assay.registry.open_manifest import open_manifest
from assay.registry.proof_scan import prove

_DOMAIN = "assurance"
# A manifest names a port; what the node offers does not depend on it.
_ANY_PORT = 4585


class Drift(NamedTuple):
    """Rules whose version in force nobody stands by, and rules that a root cause is open about."""

    stale_rules: int
    conflicts: int


def own_codex(tools: Tools, tenant_id: TenantId, *, port: int) -> bytes:
    """The node's own manifest as canonical JSON: it answers its query types at tier 1, and offers no action."""

    def work(unit: Unit) -> bytes:
        queries = answered_here(tools, tenant_id, load_queries(unit, tenant_id)).can_answer()
        knowledge = _knowledge(load_registry(unit, tenant_id))
        return canonicalize(
            {
                "service": tools.delivery.service,
                "port": port,
                "domain": _DOMAIN,
                "version": __version__,
                "can_answer": list(queries),
                "can_do": [],
                "actions": {name: {"tier": 1, "needs": ["QUERY"]} for name in queries},
                "capability_mask": ["QUERY"],
                "knowledge": knowledge,
                "proof_config": {"threshold_pct": tools.delivery.proof_threshold_pct},
            }
        )

    return tools.database.read(work)


def own_power(tools: Tools, tenant_id: TenantId, principal: Principal) -> ServicePower:
    """What this node offers a principal as a service; a fired switch leaves less of it."""
    manifest = open_manifest(own_codex(tools, tenant_id, port=_ANY_PORT)).manifest
    return power_of(manifest, active_tier=tools.tier_left(principal))


def own_drift(tools: Tools, tenant_id: TenantId) -> Drift:
    def work(unit: Unit) -> Drift:
        rules = load_registry(unit, tenant_id).rules.values()
        items = unit.delivery.items(tenant_id, open_only=True)
        return Drift(stale_rules=sum(not rule.is_certified for rule in rules), conflicts=len(items))

    return tools.database.read(work)


def own_proof(tools: Tools, tenant_id: TenantId) -> ProofDocument:
    """The node's own PROOF as last measured; before the first measurement, that of rules without any annotation."""

    def work(unit: Unit) -> ProofDocument:
        kept = unit.registry.latest_proof(tenant_id, tools.delivery.service)
        if kept is not None:
            return msgspec.json.decode(kept.text, type=ProofDocument)
        return prove(
            rule_facts(unit, tenant_id),
            (),
            capabilities=capabilities_to_cover(unit, tenant_id),
            threshold_pct=tools.delivery.proof_threshold_pct,
        )

    return tools.database.read(work)


def _knowledge(registry: RuleRegistry) -> dict[str, JsonValue]:
    rules = registry.rules.values()
    known: dict[str, JsonValue] = {
        "rule_count": len(rules),
        "certified_count": sum(rule.is_certified for rule in rules),
    }
    if rules:
        known["last_updated"] = render_instant(max(rule.latest.recorded_at for rule in rules))
    return known
