"""The compiler (Kaori 2.3): contract, observations and frozen snapshot in, one truth state out; nothing else is read.

admit -> hear -> ladder -> copies -> derive -> validate -> contradict -> count votes -> confidence -> status -> state
The same inputs give the same bytes, in any order and number, on any machine, at any time (laws 2 and 7).
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from functools import lru_cache
from itertools import compress
from typing import TypeVar

from msgspec import Struct

from assay.kernel.instant import Instant, instant_of, render_instant
from assay.truth.admit import admit_observations, bucket_bounds, drop_late, require_key
from assay.truth.ai_score import AiScore, ai_score_hash
from assay.truth.confidence import Confidence, decay_factor, measure_confidence
from assay.truth.consensus import NOBODY_VOTED, Tally, count_votes, find_window
from assay.truth.contract import ConfidenceSource, Contract, ContradictionRule, ModifierCondition, Standing
from assay.truth.contradict import find_contradictions, measure_agreement
from assay.truth.derive import derive_claim_payload
from assay.truth.errors import InputsMismatchError, NumberFormError, SigningTimeError
from assay.truth.evidence import Fingerprint, Resemblance, fingerprint_hash
from assay.truth.flag import Flag
from assay.truth.gather import Gathered, gather_observations
from assay.truth.key import TruthKey, parse_truth_key, render_truth_key
from assay.truth.ladder import Climb, Ending, MachineView, choose_scores, climb_ladder, scored_until, view_of_machines
from assay.truth.number import ARITHMETIC, exact_number, from_millionths
from assay.truth.observation import HashedObservation
from assay.truth.reading import Readings
from assay.truth.ready import ReadyObservation
from assay.truth.route import Findings, Ruling, is_expired, rule_on
from assay.truth.similar import drop_copies
from assay.truth.snapshot import TrustSnapshot
from assay.truth.state import CompileInputs, ConfidenceBreakdown, TruthState, claim_hash, require_signing_time
from assay.truth.status import TruthStatus, VerificationBasis
from assay.truth.validation import is_claim_valid, verify_claim
from assay.truth.vote import Vote, vote_hash
from assay.truth.weigh import Speakers, choose_speakers, hear_observations
from assay.truth.window import Window, WindowEvent, find_seal, window_event_hash

__all__ = ["compile_truth_state"]

_Record = TypeVar("_Record", Vote, AiScore, Fingerprint | Resemblance, WindowEvent)
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}", re.ASCII)
_LONGEST_FLAG = 63
_CONTRADICTION = Flag.CONTRADICTION.value
_ZERO, _ONE = Decimal(0), Decimal(1)
_HIGHEST_RANK = len(Standing) - 1
# Looking a member up in its enumeration costs more than the question it answers: here they stand once, in order.
_AUTHORITY, _REJECTED, _DUPLICATE = Standing.AUTHORITY, Ending.REJECTED, Flag.DUPLICATE_EVIDENCE
_SOURCES = (
    ConfidenceSource.AI_CONFIDENCE,
    ConfidenceSource.CONSENSUS_SCORE,
    ConfidenceSource.NETWORK_TRUST,
    ConfidenceSource.OBSERVATION_COUNT,
    ConfidenceSource.EVIDENCE_COUNT,
    ConfidenceSource.AGREEMENT,
    ConfidenceSource.FRESHNESS,
    ConfidenceSource.AUTHORITY_COUNT,
)
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


class _Given(Struct, frozen=True, kw_only=True):
    """Everything the compiler may look at, each thing once."""

    contract: Contract
    key: TruthKey
    truthkey: str
    observations: Gathered
    snapshot: TrustSnapshot
    votes: Mapping[str, Vote]
    scores: Mapping[str, AiScore]
    fingerprints: Mapping[str, Fingerprint | Resemblance]
    events: Mapping[str, WindowEvent]
    policy_version: str
    compiler_version: str
    compile_time: Instant
    seals: tuple[Instant, ...]
    late: frozenset[str]
    signed_at: Instant | None
    signed_at_reason: str | None


class _Round(Struct, frozen=True, kw_only=True):
    """The round that counts, if there is one, and when people's final answer sealed its evidence."""

    window: Window | None
    sealed_at: Instant | None
    flags: AbstractSet[Flag]


class _Heard(Struct, frozen=True, kw_only=True):
    """Who speaks, and what machines say about that."""

    speakers: Speakers
    machines: MachineView
    flags: AbstractSet[Flag]


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
    _require_versions(contract, policy_version, compiler_version)
    require_key(contract, key)
    _require_reason(signed_at, signed_at_reason)
    now = _instant(compile_time)
    given = _Given(
        contract=contract,
        key=key,
        truthkey=render_truth_key(key),
        observations=gather_observations(contract, observations),
        snapshot=trust_snapshot,
        votes=_by_hash(votes, _vote_hash) if votes else {},
        scores=_by_hash(map(_sound, ai_scores), _score_hash) if ai_scores else {},
        fingerprints=_by_hash(map(_sound_print, fingerprints), _print_hash) if fingerprints else {},
        events=_by_hash(window_events, _event_hash) if window_events else {},
        policy_version=policy_version,
        compiler_version=compiler_version,
        compile_time=now,
        seals=_past(sorted({*map(instant_of, sealed_at)}), now) if sealed_at else (),
        late=frozenset(late),
        signed_at=None if signed_at is None else require_signing_time(instant_of(signed_at), now),
        signed_at_reason=signed_at_reason,
    )
    _require_given(given)
    # The caller's thread may round otherwise; the answer may not.
    with localcontext(ARITHMETIC):
        return _compiled(given)


def _instant(moment: datetime) -> Instant:
    """As `instant_of`, which most are already."""
    return Instant(moment) if moment.tzinfo is UTC else instant_of(moment)


def _compiled(given: _Given) -> TruthState:
    asked = _round(given) if given.events else _NO_ROUND
    heard = _hear(given, asked)
    if heard.speakers.weights:
        return _ruled(given, asked, heard)
    _, people_flags = _people(given, asked, {})
    return _unverified(given, heard.flags | people_flags)


def _round(given: _Given) -> _Round:
    window, flags = find_window(given.contract, given.truthkey, given.events.values(), given.compile_time)
    return _Round(window=window, sealed_at=find_seal(window, given.seals), flags=flags)


_NO_ROUND = _Round(window=None, sealed_at=None, flags=frozenset())


def _hear(given: _Given, asked: _Round) -> _Heard:
    """Admit, leave out what came late, weigh, send up the ladder, take one for each reporter, drop copies."""
    contract = given.contract
    admitted, refused = admit_observations(contract, given.truthkey, given.observations, given.compile_time)
    timely, late = drop_late(admitted, asked.window, asked.sealed_at, given.compile_time, given.late)
    heard, unheard = hear_observations(contract, given.snapshot, timely)
    climbs, unscored = _climbs(given, asked, heard) if given.scores else ({}, set())
    silenced = {hash_ for hash_, climb in climbs.items() if climb.ending is _REJECTED}
    passed = heard.only(one not in silenced for one in heard.said.observation_hashes) if silenced else heard
    chosen, repeated = choose_speakers(passed)
    prints, unmarked = _prints(given, asked)
    own, copied = drop_copies(contract.evidence_similarity, chosen, prints)
    flags = refused | unheard | late | unscored | unmarked | repeated | copied
    if silenced:
        flags.add(Flag.AI_REJECTED)
    return _Heard(speakers=own, machines=view_of_machines(own, climbs), flags=flags)


def _climbs(given: _Given, asked: _Round, heard: Speakers) -> tuple[dict[str, Climb], set[Flag]]:
    """Where the ladder left each observation, by hash; nothing where no score counts."""
    routing, late = given.contract.ai_validation_routing, given.late if asked.window is not None else frozenset[str]()
    timely = [score for hash_, score in given.scores.items() if hash_ not in late]
    scores, flags = choose_scores(routing, timely, scored_until(asked.window, asked.sealed_at, given.compile_time))
    if len(timely) < len(given.scores):
        flags.add(Flag.AI_SCORE_NOT_COUNTED)
    hashes = heard.said.observation_hashes if scores else ()
    return {hash_: climb_ladder(routing, hash_, scores) for hash_ in hashes}, flags


def _prints(given: _Given, asked: _Round) -> tuple[Collection[Fingerprint | Resemblance], set[Flag]]:
    """Those that were there when the round was answered or over: a copy that is found later waits for the next."""
    late = given.late & given.fingerprints.keys() if asked.window is not None else frozenset[str]()
    if not late:
        return given.fingerprints.values(), set()
    return [one for hash_, one in given.fingerprints.items() if hash_ not in late], {Flag.LATE_FINGERPRINT}


def _people(
    given: _Given, asked: _Round, claim: dict[str, object], reporters: Collection[str] = ()
) -> tuple[Tally, AbstractSet[Flag]]:
    """The votes of the round that are about this very claim."""
    if not given.votes:
        return NOBODY_VOTED, asked.flags
    is_bound = any(vote.seen_hash is not None for vote in given.votes.values())
    shown = claim_hash(given.truthkey, given.contract.claim_type_hash, claim) if is_bound else ""
    tally, vote_flags = count_votes(
        given.contract,
        given.truthkey,
        shown,
        given.votes,
        given.snapshot,
        asked.window,
        given.compile_time,
        reporters=frozenset(reporters),
    )
    return tally, asked.flags | vote_flags


def _ruled(given: _Given, asked: _Round, heard: _Heard) -> TruthState:
    contract, said = given.contract, heard.speakers.said
    readings = Readings(said.texts, said.numbers, heard.speakers.weights, lambda: [row.moment for row in said.rows])
    _, bucket_end = bucket_bounds(contract, given.key)
    claim = _claim(given, readings, bucket_end)
    tally, people_flags = _people(given, asked, claim, said.reporters)
    flags = heard.flags | people_flags
    broken = find_contradictions(contract.contradiction_rules, readings)
    authorities = _authorities(given, heard.speakers, tally)
    evidence = said.pieces
    conditions = _conditions(
        heard, tally, evidence, flags, is_contradicted=bool(broken), has_authority=bool(authorities)
    )
    network_trust = from_millionths(sum(map(given.snapshot.trusts.__getitem__, said.reporters)))
    decay = decay_factor(contract.temporal_decay, bucket_end, given.compile_time)
    measures = (
        heard.machines.confidence,
        tally.score,
        network_trust,
        Decimal(len(said.rows)),
        Decimal(len(evidence)),
        measure_agreement(contract.claim_derivation, readings),
        _freshness(given, asked, bucket_end, decay),
        Decimal(len(authorities)),
    )
    confidence = measure_confidence(
        contract.confidence_model, dict(zip(_SOURCES, measures, strict=True)), conditions, decay
    )
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
        )
    )
    told = {*flags, *ruling.flags, *_flags_of(heard, evidence), *_contradicted(broken)}
    return _state(given, ruling, claim, heard, confidence, evidence, told)


def _claim(given: _Given, readings: Readings, bucket_end: Instant) -> dict[str, object]:
    """As the contract derives it; past its validity one that its schema refuses is left out, and ages all the same."""
    contract = given.contract
    claim = derive_claim_payload(contract.claim_derivation, readings)
    if is_expired(contract, bucket_end, given.compile_time) and not is_claim_valid(claim, contract.schema_text):
        return {}
    verify_claim(claim, contract.schema_text)
    return claim


def _freshness(given: _Given, asked: _Round, bucket_end: Instant, decay: Decimal) -> Decimal:
    """Of sealed evidence that at its seal: what people made of it does not fall back by itself; decay does the rest."""
    if asked.sealed_at is None:
        return decay
    return decay_factor(given.contract.temporal_decay, bucket_end, asked.sealed_at)


def _authorities(given: _Given, speakers: Speakers, tally: Tally) -> set[str]:
    """Agents of the highest standing who reported or voted."""
    voters = {ballot.vote.voter_id for ballot in tally.ballots if ballot.standing is _AUTHORITY}
    # Nobody is of a standing whose weight nobody has.
    if given.contract.role_weights[_HIGHEST_RANK] not in speakers.weights:
        return voters
    ranks = given.snapshot.ranks
    return voters | {reporter for reporter in speakers.said.reporters if ranks[reporter] == _HIGHEST_RANK}


def _conditions(
    heard: _Heard,
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


def _flags_of(heard: _Heard, evidence: Collection[str]) -> Iterable[Flag]:
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
    given: _Given,
    ruling: Ruling,
    claim: dict[str, object],
    heard: _Heard,
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
        compile_inputs=_inputs(given, ids),
        evidence_refs=evidence,
        observation_ids=ids,
    )


def _inputs(given: _Given, observation_ids: tuple[str, ...]) -> CompileInputs:
    """Kaori 10.3: the ids of what speaks, and by hash everything that was given, whether it counts or not."""
    return CompileInputs(
        observation_ids=observation_ids,
        claim_type_id=given.contract.id,
        claim_type_hash=given.contract.claim_type_hash,
        policy_version=given.policy_version,
        compiler_version=given.compiler_version,
        trust_snapshot_hash=given.snapshot.snapshot_hash,
        compile_time=given.compile_time,
        observation_hashes=given.observations.hashes,
        observation_receipts=given.observations.receipts(),
        vote_hashes=tuple(given.votes),
        ai_score_hashes=tuple(given.scores),
        window_event_hashes=tuple(given.events),
        fingerprint_hashes=tuple(given.fingerprints),
        sealed_at=given.seals,
        late_hashes=tuple(sorted(given.late)),
        signed_at=given.signed_at,
        signed_at_reason=given.signed_at_reason,
    )


def _unverified(given: _Given, flags: Iterable[Flag]) -> TruthState:
    """Nothing was observed that counts, so nothing is claimed, and no schema judges it."""
    nobody = MachineView(confidence=_ZERO, variance=_ZERO, is_scored=False, is_finished=True, asks_people=False)
    nothing = Confidence(
        fresh=_ZERO, aged=_ZERO, breakdown=ConfidenceBreakdown(components={}, modifiers={}, decay=_ONE)
    )
    ruling = Ruling(TruthStatus.UNVERIFIED, VerificationBasis.NONE)
    silent = Speakers(given.observations.only(()), ())
    return _state(given, ruling, {}, _Heard(speakers=silent, machines=nobody, flags=set()), nothing, (), flags)


def _require_versions(contract: Contract, policy_version: str, compiler_version: str) -> None:
    if policy_version != contract.policy_version:
        raise InputsMismatchError(f"expected policy version `{contract.policy_version}`, got `{policy_version[:80]}`")
    if not _is_version(compiler_version):
        raise InputsMismatchError(f"expected a version of `[A-Za-z0-9._+-]`, got `{compiler_version[:80]}`")


@lru_cache(maxsize=1 << 6)
def _is_version(text: str) -> bool:
    return _VERSION.fullmatch(text) is not None


def _require_reason(signed_at: datetime | None, reason: str | None) -> None:
    if (signed_at is None) is not (reason is None):
        raise SigningTimeError("expected a reason exactly where the time of signing is overridden")
    if reason is not None and not reason.strip():
        raise SigningTimeError("expected a reason in words where the time of signing is overridden, got an empty one")


def _past(seals: list[Instant], now: Instant) -> tuple[Instant, ...]:
    """People's answer seals what was there; one that is still to come would hush what nobody judged."""
    if seals[-1:] > [now]:
        raise InputsMismatchError(
            f"expected answers up to {render_instant(now)}, the time of the state, got {render_instant(seals[-1])}"
        )
    return tuple(seals)


def _require_given(given: _Given) -> None:
    unknown = given.late - {*given.observations.hashes, *given.scores, *given.fingerprints} if given.late else None
    if unknown:
        raise InputsMismatchError(f"expected only records that are given to be late, got {min(unknown)[:80]}")


def _sound(score: AiScore) -> AiScore:
    if type(score.score) is not Decimal or not 0 <= exact_number(score.score) <= 1:
        raise NumberFormError(f"expected a score from 0 to 1, got `{str(score.score)[:80]}`")
    return score


def _sound_print(mark: Fingerprint | Resemblance) -> Fingerprint | Resemblance:
    if isinstance(mark, Resemblance) and (
        type(mark.similarity) is not Decimal or not 0 <= exact_number(mark.similarity) <= 1
    ):
        raise NumberFormError(f"expected a similarity from 0 to 1, got `{str(mark.similarity)[:80]}`")
    return mark


def _by_hash(records: Iterable[_Record], hash_of: Callable[[_Record], str]) -> dict[str, _Record]:
    """Each record once, sorted by hash: neither order nor repetition can matter after this."""
    found = {hash_of(record): record for record in records}
    return {hash_: found[hash_] for hash_ in sorted(found)}


# Late observations compile their key again, with the same votes and scores as before.
_vote_hash = lru_cache(maxsize=1 << 14)(vote_hash)
_score_hash = lru_cache(maxsize=1 << 16)(ai_score_hash)
_event_hash = lru_cache(maxsize=1 << 12)(window_event_hash)

_print_hash = lru_cache(maxsize=1 << 16)(fingerprint_hash)
