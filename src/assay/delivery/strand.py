"""Strands: independent kinds of validation, each of them there or not when a question is asked.

a check -> StrandResult (present or absent, with evidence);   results + registry -> settle_strands -> StrandReport
A check that fails, raises or is late is an absent strand: nothing here refuses an answer (PRAMANA 6.4).
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NewType

from msgspec import Struct

from assay.delivery.errors import DeliveryError
from assay.kernel.instant import Instant

StrandId = NewType("StrandId", str)
CAPABILITY = StrandId("capability")
KNOWLEDGE = StrandId("knowledge")
PROOF = StrandId("proof")
CORE = (CAPABILITY, KNOWLEDGE, PROOF)
PROOF_THRESHOLD_PCT = 90.0
# As many as an outcome can name; each stands in every annotation, and in the entry of every answer.
MOST_STRANDS = 32
_ID = re.compile(r"(?:x-)?[a-z][a-z0-9]*(?:-[a-z0-9]+)*", re.ASCII)
_LONGEST_ID = 64
_LONGEST_TEXT = 1000
_ALL_COVERED = 100.0


def is_strand_id(text: str) -> bool:
    """Whether a strand can be called so."""
    return len(text) <= _LONGEST_ID and _ID.fullmatch(text) is not None


class StrandType(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The five things that a registration must say (PRAMANA 15); `x-` marks one that nobody else knows.

    `absence_implication` is a clause that stands after "which means that", for people to read.
    """

    strand_type_id: StrandId
    name: str
    how_to_check: str
    absence_implication: str
    contact: str

    def __post_init__(self) -> None:
        if not is_strand_id(self.strand_type_id):
            raise DeliveryError.strand(f"expected a strand id `{_ID.pattern}`, got `{self.strand_type_id[:80]}`")
        for name in ("name", "how_to_check", "absence_implication", "contact"):
            text: str = getattr(self, name)
            if not text.strip() or len(text) > _LONGEST_TEXT or not text.isprintable():
                raise DeliveryError.strand(f"expected `{name}` of 1 to {_LONGEST_TEXT} printable characters")


def _core(strand: StrandId, name: str, how: str, implication: str) -> StrandType:
    return StrandType(
        strand_type_id=strand, name=name, how_to_check=how, absence_implication=implication, contact="PRAMANA/1.0"
    )


_CORE_TYPES = (
    _core(
        CAPABILITY,
        "Capability",
        "the query type is in the can_answer list of the answering service, as the capability registry has it",
        "nothing confirms that this system is able to answer this kind of question",
    ),
    _core(
        KNOWLEDGE,
        "Knowledge",
        "every cited rule is in the signed knowledge index and is authoritative for the domain of the question",
        "the knowledge behind this answer has not been independently indexed as authoritative",
    ),
    _core(
        PROOF,
        "Proof",
        "the share of certified rules that are shown in code reaches the threshold, by default 90 %",
        "this system has not been independently verified to behave as specified",
    ),
)


class StrandRegistry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The strands this system checks, in order. INVARIANT: the core three come first, and no id stands there twice."""

    types: tuple[StrandType, ...] = _CORE_TYPES

    def __post_init__(self) -> None:
        ids = self.ids()
        if len(ids) > MOST_STRANDS:
            raise DeliveryError.strand(f"expected at most {MOST_STRANDS} strands with the core three, got {len(ids)}")
        if ids[: len(CORE)] != CORE or len(set(ids)) != len(ids):
            raise DeliveryError.strand(
                f"expected {', '.join(CORE)} and then distinct ids, got `{', '.join(ids)[:200]}`"
            )

    def ids(self) -> tuple[StrandId, ...]:
        return tuple(one.strand_type_id for one in self.types)


CORE_REGISTRY = StrandRegistry()


class Absence(StrEnum):
    """Why a strand is absent."""

    NOT_CONFIRMED = "not_confirmed"  # the check ran, and the answer is no
    ERROR = "error"  # the check failed
    TIMED_OUT = "timed_out"  # the check was not done in time
    NOT_IMPLEMENTED = "not_implemented"  # this system has no such check


class StrandResult(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One check as it came out, with what it looked at. INVARIANT: absent if and only if `absence` says why."""

    strand: StrandId
    present: bool
    reason: str
    evidence: tuple[str, ...] = ()
    absence: Absence | None = None
    checked_at: Instant

    def __post_init__(self) -> None:
        if self.present == (self.absence is not None):
            raise DeliveryError.strand(f"`{self.strand}` is present, or absent with a reason, and never both")
        if self.present and not any(map(str.strip, self.evidence)):
            raise DeliveryError.strand(f"expected evidence of the strand `{self.strand}`, got none")


class StrandReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every defined strand once, in the order of the registry."""

    results: tuple[StrandResult, ...]

    @property
    def present(self) -> tuple[StrandId, ...]:
        return tuple(one.strand for one in self.results if one.present)

    @property
    def missing(self) -> tuple[StrandId, ...]:
        return tuple(one.strand for one in self.results if not one.present)


def is_private(strand: str) -> bool:
    """Whether it is a non-standard type, which means nothing to others unless they agreed (PRAMANA 13.4, 15)."""
    return strand.startswith("x-")


def register_strands(extended: Iterable[StrandType], *, registered: Collection[str] = ()) -> StrandRegistry:
    """The core and these; an id without `x-` must be one that the public registry of strand types holds."""
    types = tuple(extended)
    for one in types:
        if not is_private(one.strand_type_id) and one.strand_type_id not in registered:
            raise DeliveryError.strand(f"expected a registered type, or one with `x-`, got `{one.strand_type_id}`")
    return StrandRegistry(types=(*_CORE_TYPES, *types))


def present(strand: StrandId, reason: str, *, evidence: Iterable[str], at: Instant) -> StrandResult:
    return StrandResult(strand=strand, present=True, reason=reason, evidence=tuple(evidence), checked_at=at)


def absent(
    strand: StrandId,
    reason: str,
    *,
    at: Instant,
    absence: Absence = Absence.NOT_CONFIRMED,
    evidence: Iterable[str] = (),
) -> StrandResult:
    return StrandResult(
        strand=strand, present=False, reason=reason, evidence=tuple(evidence), absence=absence, checked_at=at
    )


def check_capability(
    query_type: str, can_answer: Collection[str], *, service: str, source: str, at: Instant
) -> StrandResult:
    """Whether the registry's list for the service names this query type (PRAMANA 6.1); `source` is what was read."""
    if query_type in can_answer:
        return present(CAPABILITY, f"`{service}` declares `{query_type}`", evidence=(source,), at=at)
    return absent(CAPABILITY, f"`{service}` does not declare `{query_type}`", evidence=(source,), at=at)


def check_knowledge(
    cited: Sequence[str], authoritative: Mapping[str, Collection[str]], *, domain: str, source: str, at: Instant
) -> StrandResult:
    """Whether every cited rule is indexed and authoritative for the domain (PRAMANA 6.2); citing none is no.

    `authoritative` maps an indexed rule to its domains, as the active signed graph `source` has them.
    """
    if not cited:
        return absent(KNOWLEDGE, "the answer cites no rule", evidence=(source,), at=at)
    unknown = [rule for rule in cited if domain not in authoritative.get(rule, ())]
    if unknown:
        told = f"not authoritative for `{domain}`: {', '.join(unknown)[:200]}"
        return absent(KNOWLEDGE, told, evidence=(source,), at=at)
    told = f"{len(cited)} cited rules are authoritative for `{domain}`"
    return present(KNOWLEDGE, told, evidence=(source, *cited), at=at)


def check_proof(
    coverage_pct: float, *, source: str, at: Instant, threshold_pct: float = PROOF_THRESHOLD_PCT
) -> StrandResult:
    """Whether the proof coverage reaches the threshold (PRAMANA 6.3); what is no percentage does not."""
    told = f"coverage is {coverage_pct:g} %, the threshold {threshold_pct:g} %"
    if threshold_pct <= coverage_pct <= _ALL_COVERED:
        return present(PROOF, told, evidence=(source,), at=at)
    return absent(PROOF, told, evidence=(source,), at=at)


def settle_strands(registry: StrandRegistry, results: Iterable[StrandResult], *, at: Instant) -> StrandReport:
    """One result for every defined strand: one that nobody checked is absent; of two results the stricter stands."""
    defined = registry.ids()
    found: dict[StrandId, StrandResult] = {}
    for one in results:
        if one.strand not in defined:
            raise DeliveryError.strand(f"expected one of {', '.join(defined)}, got `{one.strand[:80]}`")
        known = found.get(one.strand)
        found[one.strand] = one if known is None or known.present else known
    return StrandReport(results=tuple(found.get(one) or _unchecked(one, at) for one in defined))


def _unchecked(strand: StrandId, at: Instant) -> StrandResult:
    return absent(strand, "this system has no check for it", at=at, absence=Absence.NOT_IMPLEMENTED)
