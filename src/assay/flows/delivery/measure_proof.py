"""The proof of this node's own code: annotations counted against the rule registry, and kept (PRAMANA 6.3)."""

from typing import Annotated

from msgspec import Meta

from assay.delivery.rule import RuleSource
from assay.facts.registry import ProofMeasured
from assay.flows.delivery.delivery_entry import delivery_entry
from assay.flows.delivery.query_types import load_queries
from assay.flows.delivery.rule_rows import load_registry
from assay.flows.identity.authenticate import confirm
from assay.flows.request import Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.digest import digest_of
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.registry_store import NodeProof
from assay.registry.documents import ProofDocument, render_document
from assay.registry.proof_scan import RuleFact, prove, scan_texts

# These are carried out by the node's own engines, not by code that could be annotated with their ids.
_ENGINES = (RuleSource.GRAPH, RuleSource.CONTRACT)


class MeasureProof(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    texts: Annotated[dict[str, str], Meta(description="The source files by their paths.")]


def measure_proof(tools: Tools, caller: Caller, request: MeasureProof) -> ProofDocument:
    """Measure which certified rules source files implement, and record it: the proof strand of this node."""
    annotations, tenant_id = scan_texts(request.texts), caller.tenant_id

    def work(unit: Unit) -> ProofDocument:
        by = confirm(unit, caller).principal.id
        found = prove(
            rule_facts(unit, tenant_id),
            annotations,
            capabilities=capabilities_to_cover(unit, tenant_id),
            threshold_pct=tools.delivery.proof_threshold_pct,
        )
        _keep(unit, tools, tenant_id, found, by, caller.at)
        return found

    return tools.database.write(work)


def rule_facts(unit: Unit, tenant_id: TenantId) -> list[RuleFact]:
    """The rules that code can be annotated with, by id; a rule stands behind the kinds of question that rest on it."""
    behind = _behind(unit, tenant_id)
    return [
        RuleFact(
            id=name,
            certified=rule.is_certified,
            capabilities=tuple(dict.fromkeys((*rule.latest.capabilities, *behind.get(name, ())))),
        )
        for name, rule in sorted(load_registry(unit, tenant_id).rules.items())
        if rule.latest.source not in _ENGINES
    ]


def capabilities_to_cover(unit: Unit, tenant_id: TenantId) -> tuple[str, ...]:
    """The kinds of question that no certified rule of an engine stands behind already."""
    behind = _behind(unit, tenant_id)
    engines = [
        (*rule.latest.capabilities, *behind.get(name, ()))
        for name, rule in load_registry(unit, tenant_id).rules.items()
        if rule.latest.source in _ENGINES and rule.is_certified
    ]
    covered = {slug for slugs in engines for slug in slugs}
    return tuple(slug for slug in load_queries(unit, tenant_id).can_answer() if slug not in covered)


def _behind(unit: Unit, tenant_id: TenantId) -> dict[str, list[str]]:
    """The kinds of question by the rules that they name."""
    found: dict[str, list[str]] = {}
    for slug, kind in sorted(load_queries(unit, tenant_id).types.items()):
        for rule_id in kind.rules:
            found.setdefault(rule_id, []).append(slug)
    return found


def _keep(unit: Unit, tools: Tools, tenant_id: TenantId, found: ProofDocument, by: PrincipalId, at: Instant) -> None:
    text, service = render_document(found), tools.delivery.service
    row = NodeProof(
        service_id=service, measured_at=at, proof_hash=digest_of(text), text=text.decode(), sequence_number=0
    )
    body = ProofMeasured(
        service_id=service,
        proof_hash=row.proof_hash,
        coverage_pct=found.coverage_pct,
        rules_certified=found.rules_certified,
        measured_by=by,
    )
    unit.record(delivery_entry(tenant_id, EntryKind.PROOF_MEASURED, body, at=at), row)
