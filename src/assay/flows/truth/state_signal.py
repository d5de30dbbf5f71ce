"""The trust signal that a final state is: what it says about those who spoke, worked out from its inputs alone.

state + observations + votes + trust + round -> ballots -> outcomes -> TRUTHSTATE_EMITTED
Whoever has the inputs works it out again, so that nobody can write outcomes into a state's entry.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TypeGuard

from assay.facts.truth import security_of
from assay.flows.truth.validation_ticket import TRUTH_SERVICE
from assay.kernel.canonical import Profile, canonical_json
from assay.trust.signal import Outcome, OutcomeRole, SignalKind, TrustSignal, TruthstateEmitted
from assay.truth.centre import FINE, tolerance_of, weighted_median
from assay.truth.consensus import NOBODY_VOTED, Ballot, Tally, count_votes
from assay.truth.contract import CENTRES, Contract, Derivation, DerivationStrategy, VoteType
from assay.truth.edition import Edition, edition_of
from assay.truth.learn import is_by_people, lessons_of
from assay.truth.number import exact_number, from_millionths, whole_millionths
from assay.truth.observation import Observation
from assay.truth.snapshot import TrustSnapshot
from assay.truth.state import TruthState, shown_hash
from assay.truth.status import FINAL_STATUSES, TruthStatus
from assay.truth.vote import parse_vote, vote_hash
from assay.truth.window import Window


def count_ballots(
    contract: Contract,
    state: TruthState,
    votes: Sequence[str],
    observations: Collection[Observation],
    snapshot: TrustSnapshot,
    window: Window | None,
) -> Tally:
    """The votes that count about the claim of this state, as the compiler counted them; `votes` are texts."""
    if not votes:
        return NOBODY_VOTED
    heard = frozenset(state.observation_ids)
    reporters = {one.reporter_id for one in observations if one.observation_id in heard}
    by_hash = {vote_hash(vote): vote for vote in map(parse_vote, votes)}
    at = state.compile_inputs.compile_time
    shown = shown_hash(state)
    tally, _ = count_votes(contract, state.truthkey, shown, by_hash, snapshot, window, at, reporters=reporters)
    return tally


def emitted_signal(
    contract: Contract,
    state: TruthState,
    observations: Collection[Observation],
    tally: Tally,
    snapshot: TrustSnapshot,
) -> TrustSignal | None:
    """None where the state is not final: only a final one, and a person's penalty, moves a standing."""
    if state.status not in FINAL_STATUSES:
        return None
    security = security_of(state)
    outcomes = judge_outcomes(contract, state, observations, tally.ballots, snapshot)
    is_lesson = any(outcome.lessons for outcome in outcomes)
    return TrustSignal(
        signal_id=f"state.{security.state_hash}",
        kind=SignalKind.TRUTHSTATE_EMITTED,
        agent_id=TRUTH_SERVICE,
        occurred_at=state.compile_inputs.compile_time,
        object=TruthstateEmitted(
            truthkey=state.truthkey,
            claim_type=state.claim_type,
            state_hash=security.state_hash,
            status=state.status,
            outcomes=outcomes,
            signed_by=security.key_id,
            by_people=is_by_people(state) if is_lesson else None,
        ),
    )


# Only where there is one right answer can somebody be wrong: a minimum or a count contradicts nobody.
_ONE_ANSWER = (DerivationStrategy.WEIGHTED_MODE, DerivationStrategy.BOOLEAN_MAJORITY)
_FOR, _AGAINST = (VoteType.RATIFY,), (VoteType.REJECT, VoteType.CHALLENGE)


def judge_outcomes(
    contract: Contract,
    state: TruthState,
    observations: Iterable[Observation],
    ballots: Iterable[Ballot],
    snapshot: TrustSnapshot | None = None,
) -> tuple[Outcome, ...]:
    """For a final state. Quality is how sure it is: of a claim that was found false, how unlikely it was.

    An outcome names the probe that its observation was made for: who made the probe gains less by it. With the snapshot
    that the state was compiled with, reporters' outcomes have the lessons of a contract with a posterior.
    """
    quality = Decimal(1) - state.confidence if state.status is TruthStatus.VERIFIED_FALSE else state.confidence
    heard = frozenset(state.observation_ids)
    speaking = [one for one in observations if one.observation_id in heard]
    centres = _centres(contract, state, speaking)
    judged = {one.reporter_id: (_reporter_was_right(contract, state, one, centres), one.probe_id) for one in speaking}
    lessons = {} if snapshot is None else lessons_of(contract, state, speaking, snapshot)
    reporters = [
        Outcome(
            agent_id=agent,
            role=OutcomeRole.REPORTER,
            correct=right,
            quality=quality,
            probe_id=probe_id,
            lessons=lessons.get(agent, ()),
        )
        for agent, (right, probe_id) in sorted(judged.items())
    ]
    voters = [
        Outcome(
            agent_id=one.vote.voter_id, role=OutcomeRole.VOTER, correct=_voter_was_right(one, state), quality=quality
        )
        for one in sorted(ballots, key=lambda ballot: ballot.vote.voter_id)
    ]
    return (*reporters, *voters)


def _centres(contract: Contract, state: TruthState, speaking: Sequence[Observation]) -> dict[str, Decimal]:
    """By path, the median of what was said: a number that a few far-off reports cannot move, unlike a mean."""
    if edition_of(state.compile_inputs.compiler_version) is Edition.FIRST:
        return {}
    centres = {}
    for path in {rule.path for rule in contract.claim_derivation.values() if rule.strategy in CENTRES}:
        said = [number for one in speaking if _is_number(number := _look_up(one.payload, path))]
        if said:
            centre = weighted_median([whole_millionths(number) for number in said], [1] * len(said))
            centres[path] = from_millionths(centre) / FINE
    return centres


def _reporter_was_right(
    contract: Contract, state: TruthState, observation: Observation, centres: Mapping[str, Decimal]
) -> bool | None:
    """Whether a reporter was right: who said the claim shares its fate; who said otherwise is wrong if it is true."""
    agrees = _agrees(contract, state.claim, observation.payload, centres)
    if agrees is None:
        return None
    if state.status is TruthStatus.VERIFIED_TRUE:
        return agrees
    return False if state.status is TruthStatus.VERIFIED_FALSE and agrees else None


def _voter_was_right(ballot: Ballot, state: TruthState) -> bool | None:
    vote = ballot.vote
    if state.status not in (TruthStatus.VERIFIED_TRUE, TruthStatus.VERIFIED_FALSE):
        return None
    if vote.override_status is not None:
        return vote.override_status is state.status
    if vote.vote_type not in (*_FOR, *_AGAINST):
        return None
    return (vote.vote_type in _FOR) is (state.status is TruthStatus.VERIFIED_TRUE)


def _agrees(
    contract: Contract, claim: Mapping[str, object], payload: Mapping[str, object], centres: Mapping[str, Decimal]
) -> bool | None:
    """At every field with one right answer that the reporter spoke about; None where there is no such field."""
    answers = []
    for name, rule in contract.claim_derivation.items():
        if name in claim:
            centre = centres.get(rule.path)
            answers.append(_agrees_at(contract, rule, claim[name], _look_up(payload, rule.path), centre))
    known = [answer for answer in answers if answer is not None]
    return all(known) if known else None


def _agrees_at(
    contract: Contract, rule: Derivation, claimed: object, said: object, centre: Decimal | None
) -> bool | None:
    """A number agrees within the tolerance of the robust centre; in the first edition, of the claimed number."""
    if said is None:
        return None
    if rule.strategy in _ONE_ANSWER:
        return canonical_json(said, Profile.KAORI) == canonical_json(claimed, Profile.KAORI)
    tolerance = tolerance_of(rule, contract.contradiction_rules)
    if rule.strategy not in CENTRES or tolerance is None or not (_is_number(said) and _is_number(claimed)):
        return None
    return abs(exact_number(said) - (exact_number(claimed) if centre is None else centre)) <= from_millionths(tolerance)


def _is_number(value: object) -> TypeGuard[float]:
    return type(value) in (int, float)


def _look_up(payload: object, path: str) -> object:
    value = payload
    for name in path.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value
