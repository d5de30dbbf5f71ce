"""Check the strands of an answer, each on its own; one whose check fails or is late is absent (PRAMANA 6)."""

from collections.abc import Callable, Sequence
from datetime import timedelta

import msgspec
from msgspec import Struct

from assay.delivery.answerer import Question
from assay.delivery.plugin import Category
from assay.delivery.query import QueryType
from assay.delivery.rule import Citation, RuleRef, RuleRegistry, render_ref
from assay.delivery.strand import (
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


def check_core(
    unit: Unit,
    tools: Tools,
    tenant_id: TenantId,
    question: Question,
    *,
    kind: QueryType | None,
    source: str,
    cited: Citation,
    registry: RuleRegistry,
) -> tuple[StrandResult, ...]:
    """Capability, knowledge and proof in one read. A check that fails is absent, and refuses no answer (PRAMANA 6.4).

    `source` says where the query type was found, or that it was not; `registry` has the cited rules.
    """
    at, settings = question.asked_at, tools.delivery
    slug, domain = question.query_type, "" if kind is None else kind.domain
    known = () if kind is None else (slug,)
    return (
        check_capability(slug, known, service=settings.service, source=source, at=at),
        _checked(KNOWLEDGE, lambda: _knowledge(unit, tenant_id, cited, registry, domain, at), at),
        _checked(PROOF, lambda: _proof(unit, tenant_id, settings.service, settings.proof_threshold_pct, at), at),
    )


def settle_report(
    tools: Tools, question: Question, rules: tuple[RuleRef, ...], core: Sequence[StrandResult]
) -> StrandReport:
    """Every defined strand with its evidence: the core, and those that others check, each within its time."""
    at, settings = question.asked_at, tools.delivery
    if not settings.checks:
        return settle_strands(settings.strands, core, at=at)
    longest = min(_LONGEST_FINDING, _LONGEST_FINDINGS // len(settings.checks))
    works = {strand: _extended(check, question, rules, longest) for strand, check in settings.checks.items()}
    found = run_within(
        settings.strand_seconds,
        works,
        owner="strand {}".format,
        caller=question.asked_by,
        places=settings.answers_at_once,
    )
    extended = [_result(strand, value, at) for strand, value in found.items()]
    return settle_strands(settings.strands, [*core, *extended], at=at)


def _checked(strand: StrandId, check: Callable[[], StrandResult], at: Instant) -> StrandResult:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - a check that cannot be made leaves its strand absent, whatever it met
        return _result(strand, error, at)


def _knowledge(
    unit: Unit, tenant_id: TenantId, cited: Citation, registry: RuleRegistry, domain: str, at: Instant
) -> StrandResult:
    """A rule counts in the version that the answer names, if that is in force, a person stands by it, and nobody
    concluded that it is wrong: the correction may wait for its second person, the doubt does not. A name that the
    registry does not know is authoritative for nothing.
    """
    rules = cited.rules
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
    check: StrandCheck, question: Question, rules: tuple[RuleRef, ...], longest: int
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
