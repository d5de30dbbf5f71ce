"""The facts of a decision, as they go on record and as they are read back.

GateFacts of a bundle -> DecisionFacts of its entry;   entry + row + evidence that is kept -> RecordedCase
Decisions of releases that recorded no facts are read with what can still be known; the rest is named as missing.
"""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from assay.claims.backtest import RecordedCase, is_outside
from assay.claims.bundle import ClaimBundle, GateName, is_full_hash
from assay.claims.finding import Finding, FindingCode
from assay.claims.gate import GateFacts, GateRules
from assay.claims.guardian import ThreatReport
from assay.flows.claims.claims_entry import BundleContext, ClaimsDecided, DecisionFacts
from assay.flows.claims.output_claims import cited_clauses
from assay.identity.risk import RiskTier
from assay.kernel.ids import PrincipalId
from assay.ports.claims_store import ReceivedBundle

_MOST_SIGNS = 200
_LONGEST_EXCERPT = 80
# What these gates looked at is not in the entries of the first release.
_UNKNOWN_THEN = frozenset({GateName.SECURITY, GateName.ADVERSARIAL, GateName.HUMAN_APPROVAL})


def recorded_facts(bundle: ClaimBundle, facts: GateFacts, reports: Sequence[ThreatReport]) -> DecisionFacts:
    """What has to be on record for the decision to be made again; whatever is none is left out."""
    held = sorted(
        {
            pointer.evidence_hash
            for claim in bundle.claims
            for pointer in claim.evidence_pointers
            if pointer.evidence_hash is not None
            and (pointer.source in facts.contents or f"{pointer.source}#{pointer.evidence_hash}" in facts.contents)
        }
    )
    worst = max(reports, key=lambda one: one.score, default=None)
    return DecisionFacts(
        rules=facts.rules,
        risk_ceiling=facts.risk_ceiling,
        recent_bundles=facts.recent_bundles or UNSET,
        held=tuple(held) or UNSET,
        erased=tuple(sorted(facts.erased)) or UNSET,
        session=facts.session or UNSET,
        approvers=dict(facts.approvers) or UNSET,
        approvals=facts.approvals or UNSET,
        approvals_due_at=facts.approvals_due_at or UNSET,
        resumptions=facts.resumptions or UNSET,
        threat=UNSET if worst is None else _bounded(worst),
    )


def pointer_hashes(bundle: ClaimBundle) -> frozenset[str]:
    """The whole hashes that a bundle points at."""
    hashes = (pointer.evidence_hash for claim in bundle.claims for pointer in claim.evidence_pointers)
    return frozenset(one for one in hashes if one is not None and is_full_hash(one))


def recorded_case(
    row: ReceivedBundle, told: ClaimsDecided, contents: Mapping[str, bytes], *, own_agent: PrincipalId
) -> RecordedCase:
    """A decision with the facts it rested on; `contents` is evidence of the bundle that is kept here, by hash."""
    bundle = msgspec.json.decode(row.text, type=ClaimBundle)
    context = msgspec.json.decode(row.context, type=BundleContext)
    known = told.facts
    held = pointer_hashes(bundle) & contents.keys() if known is UNSET else frozenset(known.held or ())
    gone = tuple(f"the content of {one}, which was erased" for one in sorted(held - contents.keys()))
    facts = GateFacts(
        now=told.outcome.decided_at,
        submitter=row.submitted_by,
        risk_ceiling=RiskTier.PRIVILEGE,
        estimates=context.estimates,
        questions=context.questions,
        contents=_by_source(bundle, {one: contents[one] for one in held & contents.keys()}),
        tool_arguments=context.tool_arguments,
        audit_recorded=True,
        asked_by=context.asked_by or None,
        seen=cited_clauses(bundle) if row.submitted_by == own_agent else frozenset(),
        passages=context.passages or {},
        rules=GateRules.FIRST,
    )
    case = RecordedCase(bundle=bundle, facts=facts, outcome=told.outcome, missing=gone)
    case = _known_then(case, known) if known is not UNSET else _unknown_then(case)
    unavailable = (one.gate for one in told.outcome.answers if _is_unavailable(one.findings))
    evidence = (GateName.EVIDENCE,) if gone else ()
    return dataclasses.replace(case, as_recorded=case.as_recorded.union(unavailable, evidence))


def _known_then(case: RecordedCase, known: DecisionFacts) -> RecordedCase:
    facts = dataclasses.replace(
        case.facts,
        risk_ceiling=known.risk_ceiling,
        recent_bundles=known.recent_bundles or 0,
        session=known.session or (),
        approvers=known.approvers or {},
        approvals=known.approvals or (),
        approvals_due_at=known.approvals_due_at or None,
        resumptions=known.resumptions or (),
        erased=frozenset(known.erased or ()),
        rules=GateRules(known.rules),
    )
    return dataclasses.replace(case, facts=facts, threat=known.threat or None)


def _unknown_then(case: RecordedCase) -> RecordedCase:
    """A decision of the first release: what its later gates looked at is taken as they answered."""
    if is_outside(case.outcome):
        return case
    asked = {one.gate for one in case.outcome.answers}
    told = tuple(f"what the {gate} looked at" for gate in sorted(_UNKNOWN_THEN))
    return dataclasses.replace(case, as_recorded=_UNKNOWN_THEN & asked, missing=(*case.missing, *told))


def _is_unavailable(findings: tuple[Finding, ...]) -> bool:
    return any(one.code in (FindingCode.UNAVAILABLE, FindingCode.FAULT) for one in findings)


def _by_source(bundle: ClaimBundle, contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Contents as gates are given them: by source, and by source and hash where a source has several."""
    pointers = {
        (pointer.source, pointer.evidence_hash)
        for claim in bundle.claims
        for pointer in claim.evidence_pointers
        if pointer.evidence_hash in contents
    }
    times = Counter(source for source, _ in pointers)
    return {
        source if times[source] == 1 else f"{source}#{hashed}": contents[hashed]
        for source, hashed in sorted(pointers)
        if hashed is not None
    }


def _bounded(report: ThreatReport) -> ThreatReport:
    """The report with each kind of sign in each place once, as many as fit into an entry."""
    told = {(one.kind, one.where): replace(one, excerpt=one.excerpt[:_LONGEST_EXCERPT]) for one in report.signs}
    return replace(report, signs=tuple(told.values())[:_MOST_SIGNS])
