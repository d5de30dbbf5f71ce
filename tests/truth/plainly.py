"""The compiler once more, as plainly as it can be written: one observation after the other, decimals throughout.

Nothing is made ready, gathered or counted in columns. It shares with the real one the rules for votes, windows,
confidence and status, which work on a handful of values, and none of what works on observations: what a round seals,
and which evidence is a copy, is worked out here from the instants and the bits themselves.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

from assay.kernel.canonical import Profile, canonical_json
from assay.kernel.instant import Instant
from assay.truth.address import address_observation
from assay.truth.admit import bucket_bounds
from assay.truth.ai_score import AiScore, ai_score_hash
from assay.truth.confidence import decay_factor, measure_confidence
from assay.truth.consensus import count_votes, find_window
from assay.truth.contract import (
    ConfidenceSource,
    Contract,
    Derivation,
    DerivationStrategy,
    ModifierCondition,
    RiskProfile,
    SimilarityAction,
    Standing,
)
from assay.truth.edition import Edition
from assay.truth.errors import TruthError
from assay.truth.evidence import Fingerprint, Resemblance, fingerprint_hash
from assay.truth.flag import Flag
from assay.truth.key import parse_truth_key, render_truth_key
from assay.truth.ladder import Climb, Ending, MachineView, choose_scores, climb_ladder
from assay.truth.number import ARITHMETIC, exact_number, plain_number, plain_value, quantised
from assay.truth.observation import HashedObservation
from assay.truth.route import Findings, rule_on
from assay.truth.snapshot import AgentTrust, TrustSnapshot
from assay.truth.uri import uri_scheme
from assay.truth.validation import validate_claim_payload
from assay.truth.vote import Vote, vote_hash
from assay.truth.window import Window, WindowEvent

__all__ = ["plainly_compiled"]


@dataclass(frozen=True)
class Round:
    """The round that counts and when people answered in it; `late` is what the ledger has only after that."""

    window: Window | None
    sealed_at: Instant | None
    late: frozenset[str]
    now: Instant

    def is_late(self, hash_: str) -> bool:
        return self.window is not None and hash_ in self.late

    def seals(self, received_at: Instant | None) -> bool:
        """Whether what reached us then came after the round: after its answer, at or after its end."""
        if self.window is None or self.window.is_aborted:
            return False
        if self.sealed_at is None and self.now < self.window.end:
            return False
        is_after = received_at is None or received_at >= self.window.end
        return is_after or (self.sealed_at is not None and received_at is not None and received_at > self.sealed_at)

    def hears_score(self, scored_at: Instant) -> bool:
        if scored_at > (self.sealed_at or self.now):
            return False
        return self.window is None or self.window.is_aborted or scored_at < self.window.end


@dataclass
class Speaker:
    """One observation that is heard."""

    hashed: HashedObservation
    evidence: list[str]
    trust: AgentTrust
    weight: Decimal
    climb: Climb | None

    @property
    def moment(self) -> tuple[Instant, str]:
        return self.hashed.observation.reported_at, self.hashed.observation_hash

    def at(self, path: str) -> Any:  # noqa: ANN401 - whatever was reported
        value: Any = self.hashed.observation.payload
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value


def plainly_compiled(
    contract: Contract,
    truthkey: str,
    observations: Iterable[HashedObservation],
    snapshot: TrustSnapshot,
    now: Instant,
    *,
    votes: Sequence[Vote] = (),
    scores: Sequence[AiScore] = (),
    events: Sequence[WindowEvent] = (),
    fingerprints: Sequence[Fingerprint | Resemblance] = (),
    seals: Sequence[Instant] = (),
    late: Iterable[str] = (),
) -> dict[str, Any]:
    """The fields of the state that follow from observations; empty where nobody is heard."""
    with localcontext(ARITHMETIC):
        window, window_flags = find_window(contract, truthkey, events, now)
        asked = Round(window, _sealed_at(window, seals), frozenset(late), now)
        flags: set[str] = set(window_flags)
        heard = _speakers(contract, truthkey, observations, snapshot, asked, scores, flags)
        timely = [one for one in fingerprints if not asked.is_late(fingerprint_hash(one))]
        if len(timely) < len(fingerprints):
            flags.add(Flag.LATE_FINGERPRINT)
        copied = _without_copies(contract, heard, [one for one in timely if isinstance(one, Fingerprint)], flags)
        pairs = [one for one in timely if isinstance(one, Resemblance)]
        speakers = _without_similar(contract, copied, pairs, flags)
        return _state(contract, truthkey, speakers, snapshot, asked, votes, flags) if speakers else {}


def _sealed_at(window: Window | None, seals: Sequence[Instant]) -> Instant | None:
    """People's first answer in this round."""
    if window is None or window.is_aborted:
        return None
    answers = sorted(seal for seal in seals if seal >= window.opened_at)
    return answers[0] if answers else None


def _speakers(
    contract: Contract,
    truthkey: str,
    observations: Iterable[HashedObservation],
    snapshot: TrustSnapshot,
    asked: Round,
    scores: Sequence[AiScore],
    flags: set[str],
) -> list[Speaker]:
    counted = [one for one in scores if not asked.is_late(ai_score_hash(one)) and asked.hears_score(one.scored_at)]
    chosen, unscored = choose_scores(contract.ai_validation_routing, counted, asked.now)
    flags |= unscored if len(counted) == len(scores) else {Flag.AI_SCORE_NOT_COUNTED}
    latest: dict[str, Speaker] = {}
    for hashed in sorted(observations, key=lambda one: one.observation_hash):
        speaker = _speaker(contract, truthkey, hashed, snapshot, asked, flags)
        if speaker is None:
            continue
        if chosen:
            speaker.climb = climb_ladder(contract.ai_validation_routing, hashed.observation_hash, chosen)
            if speaker.climb.ending is Ending.REJECTED:
                flags.add(Flag.AI_REJECTED)
                continue
        reporter = hashed.observation.reporter_id
        if reporter in latest and latest[reporter].hashed != hashed:
            flags.add(Flag.REPORTER_REPEATED)
        if reporter not in latest or latest[reporter].moment < speaker.moment:
            latest[reporter] = speaker
    return list(latest.values())


def _speaker(
    contract: Contract, truthkey: str, hashed: HashedObservation, snapshot: TrustSnapshot, asked: Round, flags: set[str]
) -> Speaker | None:
    evidence = _evidence(contract, hashed)
    doubt = _doubt(contract, truthkey, hashed, evidence, asked)
    trust = snapshot.find(hashed.observation.reporter_id)
    weight = contract.consensus_model.weighted_roles[trust.standing] if trust is not None else Decimal(0)
    if doubt is None and (trust is None or not trust.admissible or not weight):
        doubt = Flag.REPORTER_NOT_HEARD
    if doubt is not None:
        flags.add(doubt)
    return Speaker(hashed, evidence, trust, weight, None) if doubt is None and trust is not None else None


def _doubt(
    contract: Contract, truthkey: str, hashed: HashedObservation, evidence: list[str], asked: Round
) -> Flag | None:
    """Why an observation is not listened to, whoever it is by; the first reason that applies."""
    if hashed.observation.claim_type != contract.id:
        return Flag.FOREIGN_CLAIM_TYPE
    if _address(contract, hashed) != truthkey:
        return Flag.WRONG_KEY
    if hashed.observation.reported_at > asked.now:
        return Flag.FUTURE_OBSERVATION
    if not contract.evidence.min_count <= len(evidence) <= contract.evidence.max_count:
        return Flag.EVIDENCE_REFUSED
    is_late = asked.is_late(hashed.observation_hash) or asked.seals(hashed.received_at)
    return Flag.LATE_OBSERVATION if is_late else None


def _address(contract: Contract, hashed: HashedObservation) -> str:
    try:
        return render_truth_key(address_observation(contract, hashed.observation))
    except TruthError:
        return ""


def _evidence(contract: Contract, hashed: HashedObservation) -> list[str]:
    storage = contract.evidence.storage
    return sorted(
        {
            ref.sha256
            for ref in hashed.observation.evidence_refs
            if contract.evidence.admits(ref.mime_type)
            and (storage is None or uri_scheme(ref.uri) in storage.uri_schemes)
        }
    )


def _by_arrival(speakers: list[Speaker]) -> list[Speaker]:
    return sorted(speakers, key=lambda one: (str(one.hashed.received_at), one.hashed.observation_hash))


def _without_copies(
    contract: Contract, speakers: list[Speaker], prints: list[Fingerprint], flags: set[str]
) -> list[Speaker]:
    """Each beside each that came before: the same content, or marks that differ in so few bits."""
    similarity = contract.evidence_similarity
    if similarity is None or similarity.hash is None:
        return speakers
    rule, kept = similarity.hash, list[Speaker]()
    marks = [(one.sha256, int(one.bits, 16)) for one in prints if one.method is rule.method]
    for speaker in _by_arrival(speakers):
        own = [mark for piece, mark in marks if piece in speaker.evidence]
        is_copy = any(
            set(speaker.evidence) & set(other.evidence)
            or any(
                (mark ^ theirs).bit_count() <= rule.duplicate_threshold
                for mark in own
                for piece, theirs in marks
                if piece in other.evidence
            )
            for other in kept
        )
        if is_copy:
            flags.add(Flag.DUPLICATE_EVIDENCE)
        if not (is_copy and rule.immediate_reject_if_duplicate):
            kept.append(speaker)
    return kept


def _without_similar(
    contract: Contract, speakers: list[Speaker], pairs: list[Resemblance], flags: set[str]
) -> list[Speaker]:
    rule = None if contract.evidence_similarity is None else contract.evidence_similarity.embedding
    if rule is None:
        return speakers
    alike = {
        frozenset([one.sha256, one.other])
        for one in pairs
        if one.model == rule.model and one.similarity >= rule.similarity_threshold
    }
    kept = list[Speaker]()
    for speaker in _by_arrival(speakers):
        earlier = [piece for other in kept for piece in other.evidence]
        is_similar = any(frozenset([piece, seen]) in alike for piece in speaker.evidence for seen in earlier)
        if is_similar:
            flags.add(Flag.SIMILAR_EVIDENCE)
        if not (is_similar and rule.action is SimilarityAction.REJECT):
            kept.append(speaker)
    return kept


def _state(
    contract: Contract,
    truthkey: str,
    speakers: list[Speaker],
    snapshot: TrustSnapshot,
    asked: Round,
    votes: Sequence[Vote],
    flags: set[str],
) -> dict[str, Any]:
    now, window = asked.now, asked.window
    fields = {name: _field(rule, speakers) for name, rule in contract.claim_derivation.items()}
    claim = validate_claim_payload(
        {name: value for name, value in fields.items() if value is not None}, contract.schema
    )
    reporters = {speaker.hashed.observation.reporter_id for speaker in speakers}
    votes_by_hash = {vote_hash(vote): vote for vote in votes}
    tally, vote_flags = count_votes(contract, truthkey, "", votes_by_hash, snapshot, window, now, reporters=reporters)
    broken = [rule for rule in contract.contradiction_rules if _is_broken(rule, speakers)]
    evidence = sorted({piece for speaker in speakers for piece in speaker.evidence})
    authorities = {one.hashed.observation.reporter_id for one in speakers if one.trust.standing is Standing.AUTHORITY}
    authorities |= {ballot.vote.voter_id for ballot in tally.ballots if ballot.standing is Standing.AUTHORITY}
    machines = _machines(speakers)
    conditions = {
        condition
        for condition, holds in {
            ModifierCondition.AUTHORITY_PRESENT: bool(authorities),
            ModifierCondition.CONTRADICTION: bool(broken),
            ModifierCondition.DUPLICATE_EVIDENCE: Flag.DUPLICATE_EVIDENCE in flags,
            ModifierCondition.HUMAN_VOTED: bool(tally.answers),
            ModifierCondition.NO_EVIDENCE: not evidence,
            ModifierCondition.SINGLE_REPORTER: len(speakers) == 1,
        }.items()
        if holds
    }
    _, bucket_end = bucket_bounds(contract, parse_truth_key(truthkey))
    decay = decay_factor(contract.temporal_decay, bucket_end, now)
    network = sum((speaker.trust.trust_score for speaker in speakers), Decimal(0))
    measures = {
        ConfidenceSource.AI_CONFIDENCE: machines.confidence,
        ConfidenceSource.CONSENSUS_SCORE: tally.score,
        ConfidenceSource.NETWORK_TRUST: network,
        ConfidenceSource.OBSERVATION_COUNT: Decimal(len(speakers)),
        ConfidenceSource.EVIDENCE_COUNT: Decimal(len(evidence)),
        ConfidenceSource.AGREEMENT: min(
            (
                _share(rule, speakers)
                for rule in contract.claim_derivation.values()
                if rule.strategy in (DerivationStrategy.WEIGHTED_MODE, DerivationStrategy.BOOLEAN_MAJORITY)
            ),
            default=Decimal(1),
        ),
        ConfidenceSource.FRESHNESS: decay_factor(contract.temporal_decay, bucket_end, asked.sealed_at or now),
        ConfidenceSource.AUTHORITY_COUNT: Decimal(len(authorities)),
    }
    confidence = measure_confidence(contract.confidence_model, measures, conditions, decay)
    ruling = rule_on(
        Findings(
            contract=contract,
            speaker_count=len(speakers),
            machines=machines,
            tally=tally,
            window=window,
            contradictions=frozenset(rule.action for rule in broken),
            confidence=confidence,
            network_trust=network,
            authority_count=len(authorities),
            bucket_end=bucket_end,
            compile_time=now,
            is_critical=contract.risk_profile is RiskProfile.CRITICAL,
            edition=Edition.SECOND,
        )
    )
    told = {str(flag) for flag in (*flags, *vote_flags, *ruling.flags)}
    told |= {f"contradiction_{rule.id}" for rule in broken} | ({"contradiction"} if broken else set())
    told |= {"ladder_unfinished"} if not machines.is_finished else set()
    told |= {"sent_to_people"} if machines.asks_people else set()
    told |= {"no_evidence"} if not evidence else set()
    told |= {"single_reporter"} if len(speakers) == 1 else set()
    return {
        "claim": claim,
        "status": ruling.status,
        "verification_basis": ruling.basis,
        "ai_confidence": machines.confidence,
        "confidence": confidence.aged,
        "confidence_breakdown": confidence.breakdown,
        "transparency_flags": tuple(sorted(told)),
        "evidence_refs": tuple(evidence),
        "observation_ids": tuple(sorted({speaker.hashed.observation.observation_id for speaker in speakers})),
    }


def _machines(speakers: list[Speaker]) -> MachineView:
    """The variance from exact thirds: decimals would round them, and show it in a tie."""
    judged = [one for one in speakers if one.climb is not None and one.climb.score is not None]
    total = sum((one.weight for one in judged), Decimal(0))
    first = sum((one.weight * _score(one) for one in judged), Decimal(0))
    second = sum((one.weight * _score(one) ** 2 for one in judged), Decimal(0))
    endings = {one.climb.ending if one.climb is not None else Ending.WAITING for one in speakers}
    return MachineView(
        confidence=quantised(first / total) if judged else Decimal(0),
        variance=quantised((total * second - first * first) / (total * total)) if judged else Decimal(0),
        is_scored=bool(judged),
        is_finished=Ending.WAITING not in endings,
        asks_people=Ending.HUMAN in endings,
    )


def _score(speaker: Speaker) -> Decimal:
    assert speaker.climb is not None
    assert speaker.climb.score is not None
    return speaker.climb.score


def _text(value: object) -> str:
    return canonical_json(plain_value(value), Profile.KAORI)


def _tally(path: str, speakers: list[Speaker]) -> dict[str, tuple[Decimal, object]]:
    tally: dict[str, tuple[Decimal, object]] = {}
    for speaker in speakers:
        value = speaker.at(path)
        if value is not None:
            tally[_text(value)] = (tally.get(_text(value), (Decimal(0), None))[0] + speaker.weight, value)
    return tally


def _numbers(path: str, speakers: list[Speaker]) -> list[tuple[Decimal, Decimal]]:
    values = [(speaker.at(path), speaker.weight) for speaker in speakers]
    return [(exact_number(value), weight) for value, weight in values if type(value) in (int, float)]


def _field(rule: Derivation, speakers: list[Speaker]) -> object:
    value = _value(rule, speakers)
    return plain_value(rule.default) if value is None else value


def _value(rule: Derivation, speakers: list[Speaker]) -> object:
    tally, numbers = _tally(rule.path, speakers), _numbers(rule.path, speakers)
    booleans = {text: weight for text, (weight, value) in tally.items() if isinstance(value, bool)}
    spoken = [
        one.at(rule.path) for one in sorted(speakers, key=lambda one: one.moment) if one.at(rule.path) is not None
    ]
    if rule.strategy is DerivationStrategy.COUNT:
        if not spoken and rule.default is not None:
            return None
        return sum(rule.equals is None or _text(value) == _text(rule.equals) for value in spoken)
    if rule.strategy is DerivationStrategy.WEIGHTED_MODE and tally:
        preferred = [_text(value) for value in rule.prefer]
        rank = {text: place for place, text in enumerate(preferred)}
        return tally[min(tally, key=lambda text: (-tally[text][0], rank.get(text, len(rank)), text))][1]
    if rule.strategy in (DerivationStrategy.ALL_OF, DerivationStrategy.ANY_OF, DerivationStrategy.BOOLEAN_MAJORITY):
        return _boolean(rule.strategy, booleans)
    if rule.strategy in (DerivationStrategy.LATEST, DerivationStrategy.FIRST) and spoken:
        return spoken[-1 if rule.strategy is DerivationStrategy.LATEST else 0]
    return _number(rule, numbers) if numbers else None


def _boolean(strategy: DerivationStrategy, said: dict[str, Decimal]) -> bool | None:
    if not said:
        return None
    if strategy is DerivationStrategy.ALL_OF:
        return "false" not in said
    if strategy is DerivationStrategy.ANY_OF:
        return "true" in said
    return said.get("true", Decimal(0)) > said.get("false", Decimal(0))


def _number(rule: Derivation, numbers: list[tuple[Decimal, Decimal]]) -> object:
    ordered = sorted(number for number, _ in numbers)
    if rule.strategy is DerivationStrategy.WEIGHTED_MEAN:
        total = sum((weight for _, weight in numbers), Decimal(0))
        return _rounded(sum((number * weight for number, weight in numbers), Decimal(0)) / total, rule)
    if rule.strategy is DerivationStrategy.MEDIAN:
        return _rounded((ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2, rule)
    if rule.strategy in (DerivationStrategy.MIN, DerivationStrategy.MAX):
        return plain_number(quantised(ordered[0 if rule.strategy is DerivationStrategy.MIN else -1]))
    return None


def _rounded(number: Decimal, rule: Derivation) -> int | float:
    step = Decimal(1).scaleb(-(rule.places or 0))
    return plain_number(number.quantize(step, rounding=ROUND_HALF_UP, context=ARITHMETIC))


def _share(rule: Derivation, speakers: list[Speaker]) -> Decimal:
    is_boolean = rule.strategy is DerivationStrategy.BOOLEAN_MAJORITY
    tally = _tally(rule.path, speakers).values()
    weights = [weight for weight, value in tally if not is_boolean or isinstance(value, bool)]
    return max(weights) / sum(weights, Decimal(0)) if weights else Decimal(1)


def _is_broken(rule: Any, speakers: list[Speaker]) -> bool:  # noqa: ANN401 - a contradiction rule
    if rule.compare == "distinct":
        weights = [weight for weight, _ in _tally(rule.path, speakers).values()]
        groups = weights if len(weights) > 1 else []
    else:
        numbers = _numbers(rule.path, speakers)
        ends = [number for number, _ in numbers]
        is_wide = bool(ends) and max(ends) - min(ends) > rule.tolerance
        weights = [weight for _, weight in numbers]
        groups = [
            sum((weight for number, weight in numbers if low <= number <= low + rule.tolerance), Decimal(0))
            for low in (ends if is_wide else [])
        ]
    total = sum(weights, Decimal(0))
    return bool(groups) and total - max(groups) >= rule.min_share * total
