"""The compiler (Kaori 2.3): contract, observations and frozen snapshot in, one truth state out; nothing else is read.

admit -> hear -> ladder -> copies -> derive -> validate -> contradict -> count votes -> confidence -> status -> state
The same inputs give the same bytes, in any order and number, on any machine, at any time (laws 2 and 7).
"""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from itertools import compress

from assay.kernel.instant import Instant, instant_of
from assay.truth.admit import bucket_bounds, require_key
from assay.truth.ai_score import AiScore
from assay.truth.confidence import Confidence, decay_factor, measure_confidence
from assay.truth.consensus import Tally
from assay.truth.contract import ConfidenceSource, Contract, ContradictionRule, ModifierCondition, Standing
from assay.truth.contradict import find_contradictions, measure_agreement
from assay.truth.critical import is_critical
from assay.truth.derive import derive_claim_payload, least_share
from assay.truth.edition import edition_of
from assay.truth.evidence import Fingerprint, Resemblance
from assay.truth.flag import Flag
from assay.truth.gather import Gathered, gather_observations
from assay.truth.given import (
    Given,
    events_by_hash,
    inputs_of,
    past_seals,
    prints_by_hash,
    require_known_late,
    require_reason,
    require_versions,
    scores_by_hash,
    votes_by_hash,
)
from assay.truth.hear import Heard, Round, ask_people, find_round, hear
from assay.truth.key import TruthKey, parse_truth_key, render_truth_key
from assay.truth.ladder import MachineView
from assay.truth.number import ARITHMETIC, from_millionths
from assay.truth.observation import HashedObservation
from assay.truth.posterior import Posterior, believe
from assay.truth.reading import Readings
from assay.truth.ready import ReadyObservation
from assay.truth.route import Findings, Ruling, is_expired, rule_on
from assay.truth.snapshot import TrustSnapshot
from assay.truth.state import ConfidenceBreakdown, TruthState, require_signing_time
from assay.truth.status import TruthStatus, VerificationBasis
from assay.truth.validation import is_claim_valid, verify_claim
from assay.truth.vote import Vote
from assay.truth.weigh import Speakers
from assay.truth.window import WindowEvent

_LONGEST_FLAG = 63
_CONTRADICTION = Flag.CONTRADICTION.value
_ZERO, _ONE = Decimal(0), Decimal(1)
_HIGHEST_RANK = len(Standing) - 1
# Looking a member up in its enumeration costs more than the question it answers: here they are looked up once.
_AUTHORITY, _DUPLICATE = Standing.AUTHORITY, Flag.DUPLICATE_EVIDENCE
_AI_CONFIDENCE, _CONSENSUS_SCORE = ConfidenceSource.AI_CONFIDENCE, ConfidenceSource.CONSENSUS_SCORE
_NETWORK_TRUST, _AUTHORITY_COUNT = ConfidenceSource.NETWORK_TRUST, ConfidenceSource.AUTHORITY_COUNT
_OBSERVATION_COUNT, _EVIDENCE_COUNT = ConfidenceSource.OBSERVATION_COUNT, ConfidenceSource.EVIDENCE_COUNT
_AGREEMENT, _FRESHNESS = ConfidenceSource.AGREEMENT, ConfidenceSource.FRESHNESS
_POSTERIOR, _DEPENDENT = ConfidenceSource.POSTERIOR, Flag.DEPENDENT_REPORTERS
_CONDITIONS = (
    ModifierCondition.AUTHORITY_PRESENT,
    ModifierCondition.CONTRADICTION,
    ModifierCondition.DUPLICATE_EVIDENCE,
    ModifierCondition.HUMAN_VOTED,
    ModifierCondition.NO_EVIDENCE,
    ModifierCondition.SINGLE_REPORTER,
)
_FLAGS = (
    Flag.LADDER_UNFINISHED,
    Flag.SENT_TO_PEOPLE,
    Flag.NO_EVIDENCE,
    Flag.SINGLE_REPORTER,
    Flag.VALUE_OUT_OF_SCHEMA,
)


def compile_truth_state(
    contract: Contract,
    truth_key: TruthKey | str,
    observations: Iterable[HashedObservation | ReadyObservation] | Gathered,
    trust_snapshot: TrustSnapshot,
    *,
    votes: Iterable[Vote] = (),
    ai_scores: Iterable[AiScore] = (),
    fingerprints: Iterable[Fingerprint | Resemblance] = (),
    window_events: Iterable[WindowEvent] = (),
    policy_version: str,
    compiler_version: str,
    compile_time: datetime,
    sealed_at: Iterable[datetime] = (),
    late: Iterable[str] = (),
    signed_at: datetime | None = None,
    signed_at_reason: str | None = None,
) -> TruthState:
    """The unsigned state of this key at `compile_time`; without an observation that is heard, UNVERIFIED (law 4).

    Refused, each with its code: a key or policy version that is not the contract's, a time without an offset, a score
    or resemblance that is no share, an answer of people that is still to come, a late record that was not given, an
    override of the time of signing without a reason, a claim that violates its schema.
    `sealed_at` are the instants at which people came to a final answer about this key: in that round, nothing that
    reached us later is heard. `late` are the hashes of those observations, scores and fingerprints that the ledger has
    only after such an answer or the end of the round, whatever their clocks said. The claim is derived here; there is
    no way to hand one in (law 1). Records come from their parsers: one that was made otherwise may be refused anyhow.
    """
    key = parse_truth_key(truth_key) if isinstance(truth_key, str) else truth_key
    require_versions(contract, policy_version, compiler_version)
    require_key(contract, key)
    require_reason(signed_at, signed_at_reason)
    now = _instant(compile_time)
    given = Given(
        contract=contract,
        key=key,
        truthkey=render_truth_key(key),
        observations=gather_observations(contract, observations),
        snapshot=trust_snapshot,
        votes=votes_by_hash(votes),
        scores=scores_by_hash(ai_scores),
        fingerprints=prints_by_hash(fingerprints),
        events=events_by_hash(window_events),
        policy_version=policy_version,
        compiler_version=compiler_version,
        compile_time=now,
        seals=past_seals(sealed_at, now),
        late=frozenset(late),
        signed_at=None if signed_at is None else require_signing_time(instant_of(signed_at), now),
        signed_at_reason=signed_at_reason,
    )
    require_known_late(given)
    # The caller's thread may round otherwise; the answer may not.
    with localcontext(ARITHMETIC):
        return _compiled(given)


def _instant(moment: datetime) -> Instant:
    """What `instant_of` would give, which most moments are already."""
    return Instant(moment) if moment.tzinfo is UTC else instant_of(moment)


def _compiled(given: Given) -> TruthState:
    asked = find_round(given)
    heard = hear(given, asked)
    if heard.speakers.weights:
        return _ruled(given, asked, heard)
    _, people_flags = ask_people(given, asked, {})
    return _unverified(given, heard.flags | people_flags)


def _ruled(given: Given, asked: Round, heard: Heard) -> TruthState:
    contract, said = given.contract, heard.speakers.said
    posterior = believe(contract, said, given.snapshot, heard.prints)
    readings = Readings(
        said.texts,
        said.numbers,
        heard.speakers.weights,
        lambda: [row.moment for row in said.rows],
        posterior.corrected,
    )
    _, bucket_end = bucket_bounds(contract, given.key)
    claim = _claim(given, readings, posterior, bucket_end)
    tally, people_flags = ask_people(given, asked, claim, said.reporters)
    flags = heard.flags | people_flags
    broken = find_contradictions(contract.contradiction_rules, readings)
    authorities = _authorities(given, heard.speakers, tally)
    evidence = said.pieces
    conditions = _conditions(
        heard, tally, evidence, flags, is_contradicted=bool(broken), has_authority=bool(authorities)
    )
    network_trust = from_millionths(sum(map(given.snapshot.trusts.__getitem__, said.reporters)))
    decay = decay_factor(contract.temporal_decay, bucket_end, given.compile_time)
    measures: dict[ConfidenceSource, Decimal] = {
        _AI_CONFIDENCE: heard.machines.confidence,
        _CONSENSUS_SCORE: tally.score,
        _NETWORK_TRUST: network_trust,
        _OBSERVATION_COUNT: Decimal(len(said.rows)),
        _EVIDENCE_COUNT: Decimal(len(evidence)),
        _AGREEMENT: measure_agreement(contract.claim_derivation, readings, contract.contradiction_rules),
        _FRESHNESS: _freshness(given, asked, bucket_end, decay),
        _AUTHORITY_COUNT: Decimal(len(authorities)),
        _POSTERIOR: least_share(contract, posterior),
    }
    confidence = measure_confidence(contract.confidence_model, measures, conditions, decay)
    ruling = rule_on(
        Findings(
            contract=contract,
            speaker_count=len(said.rows),
            machines=heard.machines,
            tally=tally,
            window=asked.window,
            contradictions=frozenset([rule.action for rule in broken]),
            confidence=confidence,
            network_trust=network_trust,
            authority_count=len(authorities),
            bucket_end=bucket_end,
            compile_time=given.compile_time,
            is_critical=is_critical(contract, claim),
            edition=edition_of(given.compiler_version),
        )
    )
    told = {*flags, *ruling.flags, *_flags_of(heard, evidence), *_contradicted(broken)}
    if posterior.has_dependents:
        told.add(_DEPENDENT)
    return _state(given, ruling, claim, heard, confidence, evidence, told)


def _claim(given: Given, readings: Readings, posterior: Posterior, bucket_end: Instant) -> dict[str, object]:
    """The claim that the contract derives. One that its schema refuses is an error; an expired one is left out."""
    contract = given.contract
    claim = derive_claim_payload(contract.claim_derivation, readings, posterior.beliefs)
    if is_expired(contract, bucket_end, given.compile_time) and not is_claim_valid(claim, contract.schema_text):
        return {}
    verify_claim(claim, contract.schema_text)
    return claim


def _freshness(given: Given, asked: Round, bucket_end: Instant, decay: Decimal) -> Decimal:
    """The decay of now; of sealed evidence, that of its seal: time alone must not undo what people decided."""
    if asked.sealed_at is None:
        return decay
    return decay_factor(given.contract.temporal_decay, bucket_end, asked.sealed_at)


def _authorities(given: Given, speakers: Speakers, tally: Tally) -> set[str]:
    """Agents of the highest standing who reported or voted."""
    voters = {ballot.vote.voter_id for ballot in tally.ballots if ballot.standing is _AUTHORITY}
    # Nobody is of a standing whose weight nobody has.
    if given.contract.role_weights[_HIGHEST_RANK] not in speakers.weights:
        return voters
    ranks = given.snapshot.ranks
    return voters | {reporter for reporter in speakers.said.reporters if ranks[reporter] == _HIGHEST_RANK}


def _conditions(
    heard: Heard,
    tally: Tally,
    evidence: Collection[str],
    flags: Collection[Flag],
    *,
    is_contradicted: bool,
    has_authority: bool,
) -> set[ModifierCondition]:
    holds = (
        has_authority,
        is_contradicted,
        _DUPLICATE in flags,
        bool(tally.answers),
        not evidence,
        len(heard.speakers.weights) == 1,
    )
    return set(compress(_CONDITIONS, holds))


def _flags_of(heard: Heard, evidence: Collection[str]) -> Iterable[Flag]:
    reporters = heard.speakers.said.reporters
    holds = (
        not heard.machines.is_finished,
        heard.machines.asks_people,
        not evidence,
        len(reporters) == 1,
        heard.speakers.said.has_misfits,
    )
    return compress(_FLAGS, holds)


def _contradicted(broken: Iterable[ContradictionRule]) -> set[str]:
    named = {f"{_CONTRADICTION}_{rule.id}"[:_LONGEST_FLAG] for rule in broken}
    return named | {_CONTRADICTION} if named else named


def _state(
    given: Given,
    ruling: Ruling,
    claim: dict[str, object],
    heard: Heard,
    confidence: Confidence,
    evidence: tuple[str, ...],
    flags: Iterable[str],
) -> TruthState:
    ids = heard.speakers.said.ids
    return TruthState(
        truthkey=given.truthkey,
        claim_type=given.contract.id,
        claim_type_hash=given.contract.claim_type_hash,
        status=ruling.status,
        verification_basis=ruling.basis,
        claim=claim,
        ai_confidence=heard.machines.confidence,
        confidence=confidence.aged,
        confidence_breakdown=confidence.breakdown,
        transparency_flags=tuple(sorted({str(flag) for flag in flags})),
        compile_inputs=inputs_of(given, ids),
        evidence_refs=evidence,
        observation_ids=ids,
    )


def _unverified(given: Given, flags: Iterable[Flag]) -> TruthState:
    """Nothing was observed that counts, so nothing is claimed, and no schema judges it."""
    nobody = MachineView(confidence=_ZERO, variance=_ZERO, is_scored=False, is_finished=True, asks_people=False)
    nothing = Confidence(
        fresh=_ZERO, aged=_ZERO, breakdown=ConfidenceBreakdown(components={}, modifiers={}, decay=_ONE)
    )
    ruling = Ruling(TruthStatus.UNVERIFIED, VerificationBasis.NONE)
    silent = Speakers(given.observations.only(()), ())
    return _state(given, ruling, {}, Heard(speakers=silent, machines=nobody, flags=set()), nothing, (), flags)
