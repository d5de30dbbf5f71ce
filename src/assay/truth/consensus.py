"""What people say together (Kaori 13): score = sum of weight(standing) x value(vote).

votes + snapshot + window -> ballots: those that count, one for each voter -> tally
A vote outside the window, for another key or claim, by whoever is no person or has not the standing, or about what the
voter reported is recorded, no more.
"""

from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal

from msgspec import Struct

from assay.kernel.instant import Instant
from assay.truth._moment import span_of
from assay.truth.contract import ConsensusModel, Contract, FlowMode, Standing, VoteType
from assay.truth.flag import Flag
from assay.truth.snapshot import AgentTrust, TrustSnapshot
from assay.truth.status import FINAL_STATUSES, TruthStatus
from assay.truth.vote import Vote
from assay.truth.weigh import trusted_weight
from assay.truth.window import Window, WindowEvent, fold_rounds, last_round

# Everything is an agent, and only an id that begins with one of these is a person's; one without a prefix is nobody's.
PEOPLE = frozenset({"person", "user"})
_LEAST = {
    FlowMode.AUTO: Standing.BRONZE,
    FlowMode.HUMAN_PEER: Standing.BRONZE,
    FlowMode.HUMAN_EXPERT: Standing.EXPERT,
    FlowMode.AUTHORITY_GATE: Standing.AUTHORITY,
}
_RANK = {standing: rank for rank, standing in enumerate(Standing)}
_SIGNS = {TruthStatus.VERIFIED_TRUE: Decimal(1), TruthStatus.VERIFIED_FALSE: Decimal(-1)}


class Ballot(Struct, frozen=True, kw_only=True):
    """A vote that counts; `value` is its weight times what its type is worth."""

    vote: Vote
    vote_hash: str
    standing: Standing
    value: Decimal

    @property
    def moment(self) -> tuple[Instant, str]:
        return self.vote.cast_at, self.vote_hash

    @property
    def is_answer(self) -> bool:
        """Whether it says anything: who abstains does not help to make a quorum."""
        return self.vote.vote_type is not VoteType.ABSTAIN


class Tally(Struct, frozen=True, kw_only=True):
    """`override` is the status that an authority set, `challenged_at` the first challenge that stands.

    `answered_at` says by voter when that was first done, where it was before the vote that counts.
    """

    ballots: tuple[Ballot, ...]
    score: Decimal
    override: TruthStatus | None
    challenged_at: Instant | None
    answered_at: Mapping[str, Instant] = {}

    @property
    def answers(self) -> tuple[Ballot, ...]:
        return tuple([ballot for ballot in self.ballots if ballot.is_answer])

    def answered_before(self, deadline: Instant) -> int:
        """How many of those who answer were there in time; voting once more later takes nothing from that."""
        votes = [ballot.vote for ballot in self.answers]
        return sum(self.answered_at.get(vote.voter_id, vote.cast_at) < deadline for vote in votes)


NOBODY_VOTED = Tally(ballots=(), score=Decimal(0), override=None, challenged_at=None)


def find_window(
    contract: Contract, truthkey: str, events: Iterable[WindowEvent], compile_time: Instant
) -> tuple[Window | None, set[Flag]]:
    """The round that counts as it stood; none is longer than the contract's `window`, once more for each extension.

    One that a dispute opened lasts as long as the contract gives a dispute, instead of `window`.
    """
    given = list(events)
    known = [event for event in given if event.truthkey == truthkey and event.occurred_at <= compile_time]
    flags = {Flag.WINDOW_EVENT_NOT_COUNTED} if len(known) < len(given) else set[Flag]()
    flow = contract.validation_flow
    rounds = fold_rounds(
        known,
        max_extensions=flow.max_extensions,
        longest=span_of(flow.window),
        longest_disputed=span_of(contract.dispute_resolution.timeout),
    )
    if rounds and rounds[-1].is_aborted:
        flags.add(Flag.WINDOW_ABORTED)
    return last_round(rounds), flags


def count_votes(
    contract: Contract,
    truthkey: str,
    shown: str,
    votes: Mapping[str, Vote],
    snapshot: TrustSnapshot,
    window: Window | None,
    compile_time: Instant,
    *,
    reporters: Collection[str] = (),
) -> tuple[Tally, set[Flag]]:
    """Count votes, given by hash. A voter's latest vote that counts stands; of several overrides the latest decides.

    `shown` is the claim's hash: a vote binds what its voter saw, so one that names another claim does not count.
    Nobody judges their own report: votes of `reporters` count only where the contract says so.
    """
    may_judge_own = contract.consensus_model.reporters_may_vote
    latest: dict[str, Ballot] = {}
    answered: dict[str, Instant] = {}
    flags: set[Flag] = set()
    for hash_, vote in votes.items():
        is_timely = window is not None and vote.cast_at <= compile_time and window.admits(vote.cast_at)
        ballot = _ballot(contract, vote, hash_, snapshot) if is_timely and vote.truthkey == truthkey else None
        if ballot is None:
            flags.add(Flag.VOTE_NOT_COUNTED)
        elif vote.seen_hash not in (None, shown):
            flags.add(Flag.VOTE_ON_ANOTHER_CLAIM)
        elif vote.voter_id in reporters and not may_judge_own:
            flags.add(Flag.VOTER_IS_REPORTER)
        else:
            flags |= {Flag.VOTER_IS_REPORTER} if vote.voter_id in reporters else set()
            latest[vote.voter_id] = max(latest.get(vote.voter_id, ballot), ballot, key=_moment)
            if ballot.is_answer:
                answered[vote.voter_id] = min(answered.get(vote.voter_id, vote.cast_at), vote.cast_at)
    tally = _tally(sorted(latest.values(), key=_moment), answered)
    if len({ballot.vote.override_status for ballot in tally.ballots} - {None}) > 1:
        flags.add(Flag.OVERRIDES_DIFFER)
    return tally, flags


def _moment(ballot: Ballot) -> tuple[Instant, str]:
    return ballot.moment


def _is_person(voter_id: str) -> bool:
    prefix, colon, name = voter_id.partition(":")
    return prefix in PEOPLE and bool(colon and name)


def may_dispute(contract: Contract, agent_id: str, snapshot: TrustSnapshot) -> bool:
    """Whether a challenge would count as a vote: by a person who is heard, of a standing that the mode admits."""
    trust = _heard(agent_id, snapshot)
    return trust is not None and _has_standing(contract, trust)


def disputed_since(tally: Tally, window: Window | None) -> Instant | None:
    """From when on the claim is held for people: a dispute opened the round, or somebody challenged the claim in it."""
    if window is not None and window.is_disputed and not window.is_aborted:
        return window.opened_at
    return tally.challenged_at


def _heard(agent_id: str, snapshot: TrustSnapshot) -> AgentTrust | None:
    trust = snapshot.find(agent_id)
    return None if trust is None or not trust.admissible or not _is_person(agent_id) else trust


def _has_standing(contract: Contract, trust: AgentTrust) -> bool:
    is_enough = _RANK[trust.standing] >= _RANK[_LEAST[contract.validation_flow.mode]]
    return is_enough and trusted_weight(contract.consensus_model, trust) > 0


def _ballot(contract: Contract, vote: Vote, hash_: str, snapshot: TrustSnapshot) -> Ballot | None:
    model, trust = contract.consensus_model, _heard(vote.voter_id, snapshot)
    if trust is None:
        return None
    weight = trusted_weight(model, trust)
    if vote.vote_type is VoteType.OVERRIDE:
        may_vote = trust.standing in model.override_allowed_roles and vote.override_status in FINAL_STATUSES
    else:
        may_vote = _has_standing(contract, trust)
    if not may_vote:
        return None
    return Ballot(vote=vote, vote_hash=hash_, standing=trust.standing, value=weight * _worth(model, vote))


def _worth(model: ConsensusModel, vote: Vote) -> Decimal:
    """An override speaks as the status it sets: against the claim if false, for neither side if it only ends it."""
    worth = model.vote_types[vote.vote_type]
    if vote.override_status is None:
        return worth
    return worth * _SIGNS.get(vote.override_status, Decimal(0))


def _tally(ballots: list[Ballot], answered: Mapping[str, Instant]) -> Tally:
    overrides = [ballot.vote.override_status for ballot in ballots if ballot.vote.override_status is not None]
    challenges = [ballot.vote.cast_at for ballot in ballots if ballot.vote.vote_type is VoteType.CHALLENGE]
    return Tally(
        ballots=tuple(ballots),
        score=sum((ballot.value for ballot in ballots), Decimal(0)),
        override=overrides[-1] if overrides else None,
        challenged_at=challenges[0] if challenges else None,
        answered_at=answered,
    )
