"""Rules that an earlier version kept without an entry: recorded from the graphs and contracts that brought them.

entries of graphs and contracts after the last `rules.projected` -> their rules, in the order of the ledger -> entries
0.1.0 kept such rules, and the counters of rules, as rows that no entry commits to; an upgrade drops these rows.
"""

import msgspec
from msgspec import Struct

from assay.delivery.rule import RuleId, RuleRegistry
from assay.facts.delivery import RulesCounted, RulesProjected, counted
from assay.flows.delivery.delivery_entry import delivery_entry
from assay.flows.delivery.outcome_batch import recounted
from assay.flows.delivery.project_rules import Projection, contract_projection, graph_projection, record_projection
from assay.flows.delivery.rule_rows import registry_of
from assay.flows.tools import Tools
from assay.flows.verdicts.graphs_in_use import is_accepted, stored_document
from assay.kernel.digest import Digest
from assay.kernel.entry import Entry, parse_entry
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.truth.parse_contract import parse_contract
from assay.verdicts.graph.parse import parse_graph

_BRINGING = (EntryKind.GRAPH_ACTIVATED, EntryKind.CONTRACT_RELEASED)
# Rules in one entry about counters.
_AT_ONCE = 200


class _Activated(Struct, frozen=True, kw_only=True):
    document_hash: Digest
    content_hash: Digest
    activated_by: PrincipalId


class _Released(Struct, frozen=True, kw_only=True):
    claim_type: str
    document: str
    schema_text: str | None
    domain_systems: dict[str, str]
    released_by: PrincipalId


def bring_rules(tools: Tools) -> None:
    """Record what the ledger says of rules and has no rows yet, for each tenant: something on a node of 0.1.0 alone."""
    for tenant_id in tools.database.read(lambda unit: unit.ledger.tenants()):
        if tools.database.read(lambda unit, tenant_id=tenant_id: _is_due(unit, tenant_id)):  # type: ignore[misc]  # bound at once
            at = tools.clock.now()
            tools.database.write(lambda unit, tenant_id=tenant_id, at=at: _bring(unit, tenant_id, at))  # type: ignore[misc]  # bound at once


def _is_due(unit: Unit, tenant_id: TenantId) -> bool:
    newest = max(unit.ledger.find_latest(tenant_id, kind) or 0 for kind in _BRINGING)
    return newest > _known_through(unit, tenant_id) or bool(_uncounted(unit, tenant_id))


def _known_through(unit: Unit, tenant_id: TenantId) -> int:
    number = unit.ledger.find_latest(tenant_id, EntryKind.RULES_PROJECTED)
    stored = None if number is None else unit.ledger.find_entry(tenant_id, number)
    return 0 if stored is None else msgspec.json.decode(parse_entry(stored.text).body, type=RulesProjected).through


def _uncounted(unit: Unit, tenant_id: TenantId) -> list[str]:
    """Rules with outcomes and without counters, where no entry ever recorded counters; else a row was deleted."""
    if unit.ledger.find_latest(tenant_id, EntryKind.RULES_COUNTED) is not None:
        return []
    names = unit.delivery.rule_ids(tenant_id)
    known = {row.rule_id for row in unit.delivery.find_counters(tenant_id, names)}
    return sorted(unit.delivery.reported_among(tenant_id, [name for name in names if name not in known]))


def _bring(unit: Unit, tenant_id: TenantId, at: Instant) -> None:
    through = _known_through(unit, tenant_id)
    brought: set[tuple[str, int]] = set()
    for stored in list(unit.ledger.entries(tenant_id, first=through + 1, kinds=_BRINGING)):
        entry = parse_entry(stored.text)
        found = _projection(unit, tenant_id, entry, _registry_at(unit, tenant_id, entry.sequence_number, brought))
        record_projection(unit, tenant_id, found, through=entry.sequence_number, at=at)
        brought |= {(version.rule_id, version.version) for version, _ in found.versions}
    names = _uncounted(unit, tenant_id)
    for first in range(0, len(names), _AT_ONCE):
        rows = [recounted(unit, tenant_id, RuleId(name)) for name in names[first : first + _AT_ONCE]]
        body = RulesCounted(reason="counted again after an upgrade", counters=tuple(map(counted, rows)))
        unit.record(delivery_entry(tenant_id, EntryKind.RULES_COUNTED, body, at=at))


def _registry_at(unit: Unit, tenant_id: TenantId, number: int, brought: set[tuple[str, int]]) -> RuleRegistry:
    """The registry as it was before an entry: with what later entries recorded, versions would not follow."""
    versions = [
        row
        for row in unit.delivery.every_rule(tenant_id)
        if row.sequence_number < number or (row.rule_id, row.version) in brought
    ]
    known = {(row.rule_id, row.version) for row in versions}
    certified = [row for row in unit.delivery.every_certification(tenant_id) if (row.rule_id, row.version) in known]
    return registry_of(versions, certified)


def _projection(unit: Unit, tenant_id: TenantId, entry: Entry, registry: RuleRegistry) -> Projection:
    at = entry.timestamp
    if entry.kind is EntryKind.CONTRACT_RELEASED:
        released = msgspec.json.decode(entry.body, type=_Released)
        schema = None if released.schema_text is None else released.schema_text.encode()
        contract = parse_contract(released.document, schema_bytes=schema, domain_systems=released.domain_systems)
        return contract_projection(
            registry, contract.id, contract.domain, contract.document, by=released.released_by, at=at
        )
    body = msgspec.json.decode(entry.body, type=_Activated)
    version = unit.graphs.find_version(tenant_id, body.document_hash)
    if version is None:
        number = entry.sequence_number
        raise DamagedRecordError(f"expected the graph of entry {number}, got none", entry=number)
    reviews = tuple(
        one for one in unit.graphs.reviews(tenant_id, body.content_hash) if one.sequence_number < entry.sequence_number
    )
    vouched = reviews if is_accepted(reviews, body.content_hash) else ()

    def content_of(rule_id: RuleId) -> str:
        return unit.delivery.rule_versions(tenant_id, rule_id)[-1].content

    graph = parse_graph(stored_document(version))
    return graph_projection(registry, graph, vouched, content_of, by=body.activated_by, at=at)
