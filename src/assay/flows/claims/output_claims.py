"""Outputs of every room as claims: what a truth state, a verdict or an answer says, on what, and how surely.

state -> FACT;   verdict -> INFERENCE that cites its clauses;   any other answer -> INFERENCE
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

import msgspec
from msgspec.structs import replace

from assay.claims.bundle import (
    Claim,
    ClaimBundle,
    ClaimType,
    EvidencePointer,
    Uncertainty,
    UncertaintyMethod,
    is_full_hash,
)
from assay.flows.truth.states import ShownTruth
from assay.flows.verdicts.read_verdicts import Decided, RuleVerdict
from assay.identity.risk import RiskTier
from assay.kernel.digest import Digest
from assay.kernel.instant import Instant
from assay.kernel.json_text import JsonValue
from assay.ports.ids import Entropy
from assay.truth.status import TruthStatus
from assay.verdicts.envelope import Envelope, KgCitation, VerifierStatus

_UUID_BYTES = 16
_LONGEST_STATEMENT = 8000
_MOST_POINTERS = 256
_LONGEST_NAME = 500
_PREFIX = "sha256:"
_CLAUSE = "kg:"
# At the default thresholds neither certain nor in doubt: nobody said, and a missing strand alone fails no gate.
_UNSAID = 0.5


def claims_of_state(shown: ShownTruth) -> tuple[Claim, ...]:
    """One FACT, resting on the evidence of the state by its hashes, as sure as the state is when it is read."""
    state, sure = shown.state, float(shown.confidence_now)
    pointers = tuple(
        EvidencePointer(
            source=f"urn:sha256:{one}", source_confidence=sure, evidence_hash=one, retrieved_at=shown.compiled_at
        )
        for one in state.evidence_refs[:_MOST_POINTERS]
    )
    said = msgspec.json.encode(state.claim).decode()
    # The confidence is that in the claim: of a claim that is held false it is how likely that is a mistake.
    is_held_false = state.status in (TruthStatus.VERIFIED_FALSE, TruthStatus.LEANING_FALSE)
    told = "the confidence" if is_held_false else "one minus the confidence"
    uncertainty = Uncertainty(
        method=UncertaintyMethod.CONFIDENCE_SCORE,
        value=max(0.0, min(1.0, sure if is_held_false else 1.0 - sure)),
        interpretation=f"{told} of version {shown.version}, {state.status}",
    )
    return (
        Claim(
            id=state.truthkey[:_LONGEST_NAME],
            statement=_shortened(f"{state.truthkey} is {state.status}: {said}"),
            claim_type=ClaimType.FACT,
            evidence_pointers=pointers,
            uncertainty=uncertainty,
            risk_tier=RiskTier.READ_ONLY,
        ),
    )


def claims_of_verdicts(decided: Decided) -> tuple[Claim, ...]:
    """One INFERENCE for each rule; its uncertainty is about agreement with the verifier, never about the verdict."""
    return tuple(_verdict_claim(decided, one) for one in decided.verdicts)


def claim_of_answer(answer_id: str, query_type: str, output: JsonValue, rules: Iterable[str]) -> Claim:
    """An INFERENCE about whose uncertainty nobody said anything; it rests on its rules, which are no evidence."""
    said = msgspec.json.encode(output).decode()
    return Claim(
        id=answer_id,
        statement=_shortened(f"`{query_type}`, by {', '.join(rules)}: {said}"),
        claim_type=ClaimType.INFERENCE,
        uncertainty=Uncertainty(
            method=UncertaintyMethod.CONFIDENCE_SCORE,
            value=_UNSAID,
            interpretation="the answerer does not say how sure it is",
        ),
        risk_tier=RiskTier.READ_ONLY,
    )


def bundle_claims(claims: tuple[Claim, ...], *, origin_agent: str, entropy: Entropy, at: Instant) -> ClaimBundle:
    """These claims as one bundle of an agent."""
    made = UUID(bytes=entropy.token(_UUID_BYTES), version=4)
    return ClaimBundle(id=str(made), timestamp=at, origin_agent=origin_agent, claims=claims)


def at_least(claims: tuple[Claim, ...], tier: RiskTier) -> tuple[Claim, ...]:
    """The claims with their tiers raised to what acting on them amounts to."""
    return tuple(replace(one, risk_tier=max(one.risk_tier, tier)) for one in claims)


def cited_clauses(bundle: ClaimBundle) -> frozenset[str]:
    """The hashes of clauses that an output of the node itself cites: it holds the graph that they come from.

    Only for a bundle that the node made: another agent's `kg:` is that agent's word.
    """
    return frozenset(
        pointer.evidence_hash
        for claim in bundle.claims
        for pointer in claim.evidence_pointers
        if pointer.source.startswith(_CLAUSE) and pointer.evidence_hash is not None
    )


def plain_claims(claims: tuple[Claim, ...]) -> tuple[dict[str, Any], ...]:
    """The claims as plain JSON, for those who may not import their type."""
    return tuple(msgspec.to_builtins(one) for one in claims)


def _verdict_claim(decided: Decided, one: RuleVerdict) -> Claim:
    envelope = one.envelope
    return Claim(
        id=f"entry-{one.sequence_number}",
        statement=_shortened(_verdict_text(decided, one)),
        claim_type=ClaimType.INFERENCE,
        evidence_pointers=() if envelope is None else _clauses(envelope, one.recorded_at),
        uncertainty=_disagreement(one),
        risk_tier=RiskTier.READ_ONLY,
    )


def _verdict_text(decided: Decided, one: RuleVerdict) -> str:
    said = "is held until a person attests it" if one.verdict is None else f"is {one.verdict}"
    reasoning = "" if one.envelope is None else f": {one.envelope.reasoning}"
    rule = f"rule `{one.rule_id}`" if one.rule_id else "no rule"
    return f"record `{decided.telemetry_id}` of `{decided.subject}` by {rule} {said}{reasoning}"


def _disagreement(one: RuleVerdict) -> Uncertainty:
    """0 where the verifier agreed, or no model was asked at all; 1 for everything else, also while it is held."""
    if one.envelope is None:
        is_agreed, told = one.verdict is not None, one.reason
    else:
        found = one.envelope.verifier_result
        is_agreed, told = found.status is VerifierStatus.AGREED, f"symbolic verifier: {found.status}"
    return Uncertainty(
        method=UncertaintyMethod.MODEL_DISAGREEMENT,
        value=0.0 if is_agreed else 1.0,
        interpretation=told[:_LONGEST_NAME],
    )


def _clauses(envelope: Envelope, recorded_at: Instant) -> tuple[EvidencePointer, ...]:
    graph = envelope.model_provenance.kg_version_hash
    return tuple(_clause(one, graph, recorded_at) for one in envelope.kg_citations[:_MOST_POINTERS])


def _clause(cited: KgCitation, graph: Digest, recorded_at: Instant) -> EvidencePointer:
    """A node of the signed graph by its own content hash; where it has none, by that of the graph."""
    own = cited.version.removeprefix(_PREFIX)
    return EvidencePointer(
        source=f"{_CLAUSE}{cited.node_id}@{cited.version}",
        source_confidence=1.0,
        evidence_hash=own if is_full_hash(own) else graph.removeprefix(_PREFIX),
        retrieved_at=recorded_at,
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_STATEMENT else f"{text[:_LONGEST_STATEMENT]} …"
