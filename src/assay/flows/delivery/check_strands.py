"""Which strands stand behind an answer: each check on its own, and one that fails or is late is absent (PRAMANA 6)."""

from collections.abc import Callable
from datetime import timedelta

import msgspec
from msgspec import Struct

from assay.delivery.answerer import Question
from assay.delivery.plugin import Category
from assay.delivery.query import QueryType
from assay.delivery.rule import Citation, RuleRef, render_ref
from assay.delivery.strand import (
    CAPABILITY,
    KNOWLEDGE,
    PROOF,
    Absence,
    StrandId,
    StrandReport,
    StrandResult,
    absent,
    check_capability,
    check_knowledge,
    check_proof,
    settle_strands,
)
from assay.flows.delivery.query_types import load_queries
from assay.flows.delivery.rule_rows import load_rules
from assay.flows.errors.delivery import StrandCheckError
from assay.flows.time_limit import Late, run_within
from assay.flows.tools import Tools
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.answerer import StrandCheck
from assay.ports.database import Unit

# The protocol keeps measurements at least so long; an older one says nothing about the code of today.
_PROOF_LASTS = timedelta(days=90)
_LONGEST_REASON = 300
_LONGEST_FINDING = 64 * 1024
# All of them are in the entry of the answer, which has room for twice as much.
_LONGEST_FINDINGS = 512 * 1024


class _Coverage(Struct, frozen=True):
    coverage_pct: float


def check_strands(
    tools: Tools, tenant_id: TenantId, question: Question, query_type: QueryType | None, cited: Citation
) -> StrandReport:
    """Every defined strand with its evidence; nothing here refuses an answer (PRAMANA 6.4)."""
    at, settings = question.asked_at, tools.delivery
    domain = "" if query_type is None else query_type.domain

    def of(check: Callable[[Unit], StrandResult]) -> Callable[[], StrandResult]:
        return lambda: tools.database.read(check)

    works: dict[StrandId, Callable[[], StrandResult]] = {
        CAPABILITY: of(lambda unit: _capability(unit, tenant_id, question.query_type, settings.service, at)),
        KNOWLEDGE: of(lambda unit: _knowledge(unit, tenant_id, cited, domain, at)),
        PROOF: of(lambda unit: _proof(unit, tenant_id, settings.service, settings.proof_threshold_pct, at)),
    }
    longest = min(_LONGEST_FINDING, _LONGEST_FINDINGS // max(1, len(settings.checks)))
    for strand, check in settings.checks.items():
        works[strand] = _extended(check, question, cited.rules, longest=longest)
    found = run_within(settings.strand_seconds, works, owner="strand {}".format)
    results = [_result(strand, value, at) for strand, value in found.items()]
    return settle_strands(settings.strands, results, at=at)


def _capability(unit: Unit, tenant_id: TenantId, slug: str, service: str, at: Instant) -> StrandResult:
    known = unit.delivery.query_versions(tenant_id, slug)
    named = f"query registry: {slug}@{known[-1].version} in entry {known[-1].sequence_number}" if known else None
    source = named or "query registry: no such type"
    return check_capability(slug, load_queries(unit, tenant_id).can_answer(), service=service, source=source, at=at)


def _knowledge(unit: Unit, tenant_id: TenantId, cited: Citation, domain: str, at: Instant) -> StrandResult:
    """A rule counts in the version that the answer names, if that is in force, a person stands by it, and nobody
    concluded that it is wrong: the correction may wait for its second person, the doubt does not. A name that the
    registry does not know is authoritative for nothing.
    """
    rules = cited.rules
    registry = load_rules(unit, tenant_id, [ref.rule_id for ref in rules])
    domains = registry.authority()
    in_force = {
        render_ref(ref): domains.get(ref.rule_id, ())
        for ref in rules
        if ref.rule_id in registry.rules
        and registry.rules[ref.rule_id].ref == ref
        and not unit.delivery.has_conclusion(tenant_id, ref.rule_id, ref.version, Category.RULE)
    }
    source = f"rule registry at entry {unit.ledger.head(tenant_id).sequence_number}"
    names = [*map(render_ref, rules), *cited.unknown]
    return check_knowledge(names, in_force, domain=domain, source=source, at=at)


def _proof(unit: Unit, tenant_id: TenantId, service: str, threshold: float, at: Instant) -> StrandResult:
    proofs = unit.registry.proofs(tenant_id, service, since=Instant(at - _PROOF_LASTS))
    if not proofs:
        return absent(PROOF, f"no proof of `{service}` was measured in {_PROOF_LASTS.days} days", at=at)
    latest = proofs[-1]
    coverage = msgspec.json.decode(latest.text, type=_Coverage).coverage_pct
    return check_proof(coverage, source=f"proof {latest.proof_hash}", at=at, threshold_pct=threshold)


def _extended(
    check: StrandCheck, question: Question, rules: tuple[RuleRef, ...], *, longest: int
) -> Callable[[], StrandResult]:
    return lambda: _sound(check.check(question, rules), longest=longest)


def _sound(found: object, *, longest: int) -> StrandResult:
    """What a stranger's check said, if it can be put on record; whatever else it said is the failure of that check."""
    try:
        content = msgspec.json.encode(found)
        if len(content) > longest:
            raise StrandCheckError(f"expected a finding of at most {longest} bytes, got {len(content)}")
        return msgspec.json.decode(content, type=StrandResult)
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise StrandCheckError(f"expected a strand's result, got `{type(found).__name__}`") from error


def _result(strand: StrandId, value: StrandResult | Exception | Late, at: Instant) -> StrandResult:
    if isinstance(value, Late):
        return absent(strand, "its check was not done in time", at=at, absence=Absence.TIMED_OUT)
    if isinstance(value, Exception):
        # Only what our own errors say may be shown; a stranger's text could hold anything.
        told = str(value) if isinstance(value, Error) else type(value).__name__
        return absent(strand, f"its check failed: {told}"[:_LONGEST_REASON], at=at, absence=Absence.ERROR)
    if value.strand != strand:
        return absent(strand, "its check spoke of another strand", at=at, absence=Absence.ERROR)
    return value
