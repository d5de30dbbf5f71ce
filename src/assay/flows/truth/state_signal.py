"""The trust signal that a final state is: what it says about those who spoke, worked out from its inputs alone.

state + observations + votes + trust + round -> ballots -> outcomes -> TRUTHSTATE_EMITTED
Whoever has the inputs works it out again, so that nobody can write outcomes into a state's entry.
"""

from collections.abc import Collection, Sequence

from assay.flows.truth.judge_outcomes import judge_outcomes
from assay.flows.truth.state_entry import security_of
from assay.flows.truth.validation_ticket import TRUTH_SERVICE
from assay.trust.signal import SignalKind, TrustSignal, TruthstateEmitted
from assay.truth.consensus import NOBODY_VOTED, Tally, count_votes
from assay.truth.contract import Contract
from assay.truth.learn import is_by_people
from assay.truth.observation import Observation
from assay.truth.snapshot import TrustSnapshot
from assay.truth.state import TruthState, shown_hash
from assay.truth.status import FINAL_STATUSES
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
