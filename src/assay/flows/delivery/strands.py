"""Strands: the core three, checked in one read, and those that a program registers before the node starts.

table = Strands()

@table.strand(
    "x-regulatory-approval",
    name="Regulatory approval",
    how_to_check="the register of approvals names the vessel",
    absence_implication="no authority has approved what this answer is about",
    contact="compliance@example.org",
)
def approved(question: Question, rules: tuple[RuleRef, ...]) -> str | None: ...

A check returns its evidence, which makes the strand present, or None. One that raises or is late is absent, and
refuses no answer (PRAMANA 6.4).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from msgspec import Struct

from assay.delivery.answerer import Question
from assay.delivery.plugin import Category
from assay.delivery.query import QueryType
from assay.delivery.rule import Citation, RuleRef, RuleRegistry, render_ref
from assay.delivery.strand import (
    CORE,
    CORE_REGISTRY,
    KNOWLEDGE,
    PROOF,
    Absence,
    StrandId,
    StrandRegistry,
    StrandReport,
    StrandResult,
    StrandType,
    absent,
    check_capability,
    check_knowledge,
    check_proof,
    present,
    register_strands,
    settle_strands,
)
from assay.flows.errors.delivery import DeliveryFlowError
from assay.flows.time_limit import Late, run_within
from assay.flows.tools import Tools
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.answerer import StrandCheck
from assay.ports.database import Unit

StrandFunction = Callable[[Question, tuple[RuleRef, ...]], StrandResult | str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionStrand:
    """A function as a check: a text is the evidence of what it found, and None is that it found nothing."""

    strand: StrandType
    function: StrandFunction

    def check(self, question: Question, rules: tuple[RuleRef, ...]) -> StrandResult:
        name = self.strand.strand_type_id
        # Whatever its type says: it is another's function.
        found: object = self.function(question, rules)
        if isinstance(found, StrandResult):
            return found
        if found is None:
            return absent(name, f"not confirmed: {self.strand.how_to_check}", at=question.asked_at)
        if not isinstance(found, str) or not found.strip():
            # A check that says no more than "yes" has shown nothing that anybody could look at.
            raise DeliveryFlowError.strand_check(f"expected evidence of `{name}` as text, or None, got `{found!r:.40}`")
        return present(name, f"confirmed: {self.strand.how_to_check}", evidence=(found,), at=question.asked_at)


class FrozenStrands(NamedTuple):
    """What the settings take: the strands that are defined, and who checks those beyond the core."""

    strands: StrandRegistry
    checks: Mapping[StrandId, StrandCheck]


class Strands:
    """The table while it is being filled; an id is taken once, and the core three are nobody's to redefine."""

    def __init__(self) -> None:
        self._types: dict[StrandId, StrandType] = {}
        self._checks: dict[StrandId, StrandCheck] = {}

    def strand(
        self,
        strand_type_id: str,
        *,
        name: str,
        how_to_check: str,
        absence_implication: str,
        contact: str,
        registered: bool = False,
    ) -> Callable[[StrandFunction], StrandFunction]:
        """A decorator with the five items of PRAMANA 15; without `registered` the id begins with `x-`."""
        kind = StrandType(
            strand_type_id=StrandId(strand_type_id),
            name=name,
            how_to_check=how_to_check,
            absence_implication=absence_implication,
            contact=contact,
        )

        def register(function: StrandFunction) -> StrandFunction:
            self.add(kind, FunctionStrand(strand=kind, function=function), registered=registered)
            return function

        return register

    def add(self, kind: StrandType, check: StrandCheck, *, registered: bool = False) -> None:
        """Define a strand and who checks it; `registered` says that the public registry of strand types has its id."""
        taken = (*CORE, *self._types)
        if kind.strand_type_id in taken:
            raise DeliveryFlowError.strand_check(f"expected one strand called `{kind.strand_type_id}`, got a second")
        # Asked for now, so that whoever adds it is the one who is told.
        register_strands([kind], registered=[kind.strand_type_id] if registered else [])
        self._types[kind.strand_type_id] = kind
        self._checks[kind.strand_type_id] = check

    def freeze(
        self, base: StrandRegistry = CORE_REGISTRY, checks: Mapping[StrandId, StrandCheck] = MappingProxyType({})
    ) -> FrozenStrands:
        """Those of `base` and these; an id that both have is refused."""
        registry = StrandRegistry(types=(*base.types, *self._types.values()))
        return FrozenStrands(registry, MappingProxyType({**checks, **self._checks}))


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
            raise DeliveryFlowError.strand_check(f"expected a finding of at most {longest} bytes, got {len(content)}")
        return msgspec.json.decode(content, type=StrandResult)
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise DeliveryFlowError.strand_check(f"expected a strand's result, got `{type(found).__name__}`") from error


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
