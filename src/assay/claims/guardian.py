"""Guardians: is somebody trying to steer or abuse this?

bundle + evidence texts + tool arguments + the session's tiers -> signs -> ThreatReport(score, signs, guardian)
A guardian is anything that answers so; the built-in one reads rules that a person can read too. An operator's own may
stand beside it: the highest score counts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import isfinite
from typing import Protocol

from msgspec import Struct

from assay.claims._detect import find_hits
from assay.claims.bundle import ClaimBundle
from assay.claims.errors import ClaimsError
from assay.claims.risk import highest_tier
from assay.identity.risk import RiskTier

# A leap of so many tiers above all that a session did before.
_LEAP = 3
# So many rises, one after the other, look like somebody trying the doors.
_CLIMB = 3
_HOP_SCORE = 0.75
_TIER_HOPPING = "tier_hopping"
# What nobody read may say anything: a person looks, unless the policy lets it pass by a higher threshold.
_UNREAD_SCORE = 0.75


class ThreatSign(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`where` is a pointer into the bundle, `evidence:` and a source, `tool:` and a place, or `session`."""

    kind: str
    score: float
    where: str
    excerpt: str


class ThreatReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    score: float
    signs: tuple[ThreatSign, ...]
    guardian: str


class Suspect(Struct, frozen=True, kw_only=True):
    """What is examined.

    `evidence` are texts by source, `unread` the sources whose text was too long to be given whole, `session` the
    highest tiers of its earlier bundles, oldest first.
    """

    bundle: ClaimBundle
    evidence: Mapping[str, str] = {}
    unread: tuple[str, ...] = ()
    tool_arguments: tuple[str, ...] = ()
    session: tuple[RiskTier, ...] = ()


class Guardian(Protocol):
    """Answers with a score of 0 to 1, or raises `ClaimsError.guardian_unavailable`; never with a guess."""

    @property
    def name(self) -> str: ...

    def examine(self, suspect: Suspect) -> ThreatReport: ...


class BuiltInGuardian:
    """Rules over texts, tool arguments and the tiers of a session; no model, no network."""

    name = "built-in rules 4"

    def examine(self, suspect: Suspect) -> ThreatReport:
        signs = (*_text_signs(suspect), *_tool_signs(suspect), *_session_signs(suspect))
        return ThreatReport(score=combined_score(sign.score for sign in signs), signs=signs, guardian=self.name)


def is_leap(report: ThreatReport) -> bool:
    """Whether a report is about the tiers of the session and nothing else."""
    return bool(report.signs) and all(sign.kind == _TIER_HOPPING for sign in report.signs)


def worst_report(reports: Iterable[ThreatReport], threat_above: float) -> ThreatReport | None:
    """The report that decides: the highest score, but a leap of tiers hides no other threat above the threshold."""
    return max(reports, key=lambda one: (one.score > threat_above and not is_leap(one), one.score), default=None)


def combined_score(scores: Iterable[float]) -> float:
    """As if each sign were an independent reason to worry: one minus the product of what each leaves."""
    calm = 1.0
    for score in scores:
        calm *= 1.0 - score
    return 1.0 - calm


def examine_all(guardians: Sequence[Guardian], suspect: Suspect) -> tuple[ThreatReport, ...]:
    """Every guardian's report; no guardian at all, or a score that is none, means that nobody looked."""
    if not guardians:
        raise ClaimsError.guardian_unavailable("expected at least one guardian, got none")
    reports = tuple(guardian.examine(suspect) for guardian in guardians)
    for report in reports:
        if not isfinite(report.score) or not 0.0 <= report.score <= 1.0:
            raise ClaimsError.guardian_unavailable(
                f"expected a score of 0 to 1 from `{report.guardian}`, got {report.score!r}"
            )
    return reports


def _text_signs(suspect: Suspect) -> Iterator[ThreatSign]:
    yield from _bundle_signs(suspect.bundle)
    for place, claim in enumerate(suspect.bundle.claims):
        base = f"/claims/{place}"
        yield from _signs(claim.id, f"{base}/id")
        yield from _signs(claim.statement, f"{base}/statement")
        yield from _signs(claim.if_wrong_cost, f"{base}/if_wrong_cost")
        yield from _signs(claim.uncertainty.interpretation, f"{base}/uncertainty/interpretation")
        for number, pointer in enumerate(claim.evidence_pointers):
            yield from _signs(pointer.source, f"{base}/evidence_pointers/{number}/source")
    for source, text in suspect.evidence.items():
        yield from _signs(text, f"evidence:{source[:80]}")
    for source in suspect.unread:
        yield ThreatSign(
            kind="unread", score=_UNREAD_SCORE, where=f"evidence:{source[:80]}", excerpt="too long to read"
        )


def _bundle_signs(bundle: ClaimBundle) -> Iterator[ThreatSign]:
    """Texts beside the claims: whoever reads the bundle reads them too."""
    yield from _signs(bundle.id, "/id")
    yield from _signs(bundle.reason, "/reason")
    for place, one in enumerate(bundle.audit_trail.human_approvals):
        yield from _signs(one.approver, f"/audit_trail/human_approvals/{place}/approver")
        yield from _signs(one.reason, f"/audit_trail/human_approvals/{place}/reason")


def _tool_signs(suspect: Suspect) -> Iterator[ThreatSign]:
    # Who declares DELETE may delete: the tier, and the people who approve it, are what stands in the way then.
    is_argument = highest_tier(suspect.bundle) < RiskTier.DELETE
    for place, text in enumerate(suspect.tool_arguments):
        yield from _signs(text, f"tool:{place}", is_argument=is_argument)


def _signs(text: str, where: str, *, is_argument: bool = False) -> Iterator[ThreatSign]:
    for hit in find_hits(text, is_argument=is_argument) if text else ():
        yield ThreatSign(kind=hit.kind, score=hit.score, where=where, excerpt=hit.excerpt)


def _session_signs(suspect: Suspect) -> Iterator[ThreatSign]:
    """A leap far above all that came before, or a steady climb from one tier to the next."""
    if not suspect.session:
        return
    ranks = [tier.rank for tier in suspect.session]
    now = highest_tier(suspect.bundle)
    path = [*ranks, now.rank]
    rises = sum(later > earlier for earlier, later in pairwise(path))
    if now.rank - max(ranks) >= _LEAP:
        words = f"from {suspect.session[ranks.index(max(ranks))]} to {now}"
        yield ThreatSign(kind=_TIER_HOPPING, score=_HOP_SCORE, where="session", excerpt=words)
    elif rises >= _CLIMB and now.rank > max(ranks):
        words = f"{rises} rises, now {now}"
        yield ThreatSign(kind=_TIER_HOPPING, score=_HOP_SCORE, where="session", excerpt=words)
