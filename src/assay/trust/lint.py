"""Linting a policy: what it would let each kind of agent do, found by reading it and by simulating it.

policy -> the same simulation everyone gets -> findings with stable codes, and the simulation to look at
A finding is not an error: a policy may be used as it is, once somebody has seen what it lets happen.
"""

from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum

from msgspec import Struct

from assay.trust._crowd import Behaviour
from assay.trust.freeze import effective_share
from assay.trust.policy import TrustPolicy
from assay.trust.simulate import AgentRun, Simulation, simulate
from assay.truth.contract import Standing
from assay.truth.number import ARITHMETIC

__all__ = ["LintCode", "LintFinding", "PolicyReport", "lint_policy"]

# Whoever could become an authority in less than this many days was never really watched.
_DAYS_TO_AUTHORITY = 7
# Of a hundred: now and then a lie meets few who looked, and only what happens often is the policy's doing.
_TOLERATED_LIES = 10


class LintCode(StrEnum):
    """Stable kinds of weaknesses."""

    NEWCOMER_UNHEARD = "newcomer_unheard"
    QUICK_AUTHORITY = "quick_authority"
    HONEST_FALL = "honest_fall"
    HONEST_UNHEARD = "honest_unheard"
    LAZY_AS_HONEST = "lazy_as_honest"
    SPAMMER_HEARD = "spammer_heard"
    SYBILS_LIFT_EACH_OTHER = "sybils_lift_each_other"
    COLLUSION_OUTVOTES = "collusion_outvotes"


class LintFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    code: LintCode
    message: str


class PolicyReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """In the order of the codes; no findings means that the simulated agents got nothing they should not."""

    findings: tuple[LintFinding, ...]
    simulation: Simulation


def lint_policy(policy: TrustPolicy, *, seed: str = "assay", rounds: int = 90) -> PolicyReport:
    simulation = simulate(policy, seed=seed, rounds=rounds)
    told = ((code, check(policy, simulation)) for code, check in _CHECKS.items())
    findings = tuple(LintFinding(code=code, message=message) for code, message in told if message is not None)
    return PolicyReport(findings=findings, simulation=simulation)


def _newcomer_unheard(policy: TrustPolicy, _simulation: Simulation) -> str | None:
    share = effective_share(policy.initial_standing, policy)
    if share >= policy.theta_min:
        return None
    return f"expected newcomers to be heard, got a trust of {share} where {policy.theta_min} is asked for"


def _quick_authority(policy: TrustPolicy, _simulation: Simulation) -> str | None:
    way = ARITHMETIC.subtract(policy.standings[Standing.AUTHORITY], policy.initial_standing)
    days = ARITHMETIC.divide(way, policy.limits.per_day)
    if days >= _DAYS_TO_AUTHORITY:
        return None
    return f"expected at least {_DAYS_TO_AUTHORITY} days from newcomer to authority, got {max(days, _NONE):.1f}"


def _honest_fall(policy: TrustPolicy, simulation: Simulation) -> str | None:
    last = _median(simulation, Behaviour.HONEST, _standing)
    if last >= policy.initial_standing:
        return None
    return f"expected honest agents to end at {policy.initial_standing} or above, got a median of {last}"


def _honest_unheard(_policy: TrustPolicy, simulation: Simulation) -> str | None:
    unheard = [run.agent_id for run in _runs(simulation, Behaviour.HONEST) if not run.admissible]
    return f"expected every honest agent to be heard in the end, got {len(unheard)} that are not" if unheard else None


def _lazy_as_honest(_policy: TrustPolicy, simulation: Simulation) -> str | None:
    lazy, honest = (_median(simulation, kind, _score) for kind in (Behaviour.LAZY, Behaviour.HONEST))
    if lazy < honest:
        return None
    return f"expected lazy agents to be trusted less than honest ones, got {lazy} and {honest}"


def _spammer_heard(_policy: TrustPolicy, simulation: Simulation) -> str | None:
    heard = [run.agent_id for run in _runs(simulation, Behaviour.SPAMMER) if run.admissible]
    return f"expected no spammer to be heard in the end, got {len(heard)} that are" if heard else None


def _sybils_lift(_policy: TrustPolicy, simulation: Simulation) -> str | None:
    most = max((run.network_bonus for run in _runs(simulation, Behaviour.SYBIL)), default=_NONE)
    return (
        f"expected names of one hand to gain nothing by endorsing each other, got a bonus of {most}" if most else None
    )


def _collusion_outvotes(_policy: TrustPolicy, simulation: Simulation) -> str | None:
    if simulation.outvoted * 100 <= simulation.attacks * _TOLERATED_LIES:
        return None
    return f"expected colluders to be believed hardly ever, got {simulation.outvoted} of {simulation.attacks} lies"


_NONE = Decimal(0)
_CHECKS: dict[LintCode, Callable[[TrustPolicy, Simulation], str | None]] = {
    LintCode.NEWCOMER_UNHEARD: _newcomer_unheard,
    LintCode.QUICK_AUTHORITY: _quick_authority,
    LintCode.HONEST_FALL: _honest_fall,
    LintCode.HONEST_UNHEARD: _honest_unheard,
    LintCode.LAZY_AS_HONEST: _lazy_as_honest,
    LintCode.SPAMMER_HEARD: _spammer_heard,
    LintCode.SYBILS_LIFT_EACH_OTHER: _sybils_lift,
    LintCode.COLLUSION_OUTVOTES: _collusion_outvotes,
}


def _runs(simulation: Simulation, behaviour: Behaviour) -> list[AgentRun]:
    return [run for run in simulation.runs if run.behaviour is behaviour]


def _standing(run: AgentRun) -> Decimal:
    return run.standings[-1]


def _score(run: AgentRun) -> Decimal:
    return run.trust_scores[-1]


def _median(simulation: Simulation, behaviour: Behaviour, of: Callable[[AgentRun], Decimal]) -> Decimal:
    """The lower of the two in the middle, so that it is always one of them."""
    ranked = sorted(of(run) for run in _runs(simulation, behaviour))
    return ranked[(len(ranked) - 1) // 2]
