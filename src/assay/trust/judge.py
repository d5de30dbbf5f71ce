"""What a final state says about the standing of those who spoke: the change each would get if nothing limited it.

TRUTHSTATE_EMITTED -> for each agent, its outcomes -> + correct x ln(1+q) | - incorrect x ln(1+q), self-dealing apart
"""

from collections.abc import Callable
from decimal import Decimal

from assay.trust._signal_body import Outcome, OutcomeRole, TruthstateEmitted
from assay.trust.policy import SelfDealing, Updates
from assay.trust.standing import MICRO, in_micro, learned
from assay.truth.status import TruthStatus

# EXPIRED says that a claim grew old, not that anybody was wrong; what is pending says nothing yet.
_JUDGING = frozenset({TruthStatus.VERIFIED_TRUE, TruthStatus.VERIFIED_FALSE, TruthStatus.INCONCLUSIVE})
_WHOLE = Decimal(1)


def judges(state: TruthstateEmitted) -> bool:
    """Only a state that is signed and final can move a standing."""
    return state.signed_by is not None and state.status in _JUDGING


def wanted_changes(
    state: TruthstateEmitted,
    self_dealing: SelfDealing,
    *,
    updates_of: Callable[[str], Updates],
    maker_of: Callable[[str], str | None],
) -> dict[str, int]:
    """In millionths, one sum for each agent; `maker_of` says who created a probe, if anybody did."""
    reporters = {outcome.agent_id for outcome in state.outcomes if outcome.role is OutcomeRole.REPORTER}
    wanted: dict[str, int] = {}
    for outcome in state.outcomes:
        if outcome.correct is None:
            continue
        agent_id = outcome.agent_id
        updates = updates_of(agent_id)
        if outcome.correct:
            kept = _kept(outcome, self_dealing, reporters, maker_of)
            change = learned(updates.correct, outcome.quality)
            change = change if kept is _WHOLE else change * in_micro(kept) // MICRO
        else:
            change = -learned(updates.incorrect, outcome.quality)
        wanted[agent_id] = wanted.get(agent_id, 0) + change
    return wanted


def _kept(
    outcome: Outcome, self_dealing: SelfDealing, reporters: set[str], maker_of: Callable[[str], str | None]
) -> Decimal:
    """The share of a gain that is kept: all of it, unless the agent dealt with itself."""
    kept = _WHOLE
    if outcome.role is OutcomeRole.VOTER and outcome.agent_id in reporters:
        kept = min(kept, self_dealing.own_observation)
    if outcome.probe_id is not None and maker_of(outcome.probe_id) == outcome.agent_id:
        kept = min(kept, self_dealing.own_probe)
    return kept
