"""Linting a policy: what it would let each kind of agent do, found by reading it and by simulating it.

policy -> the same few simulations everyone gets -> findings with stable codes, each of its worst run
A finding is not an error: a policy may be used as it is, once somebody has accepted what it lets happen.
"""

from collections.abc import Callable, Iterable
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from assay.kernel.canonical import Profile, canonical_hash
from assay.trust._crowd import Behaviour
from assay.trust.attack import AttackRequest, simulate_attacks
from assay.trust.errors import TrustError
from assay.trust.freeze import effective_share
from assay.trust.policy import TrustPolicy
from assay.trust.simulate import AgentRun, Simulation, simulate
from assay.trust.simulated_contract import simulated_contract
from assay.truth._wire import plain_record
from assay.truth.contract import Standing
from assay.truth.number import ARITHMETIC

# Whoever could become an authority in less than this many days was never really watched.
_DAYS_TO_AUTHORITY = 7
# Of a hundred: now and then a lie meets few who looked, and only what happens often is the policy's doing.
_TOLERATED_LIES = 10
_TOLERATED_BELIEF = _TOLERATED_HARM = 20


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
    LIES_BELIEVED = "lies_believed"
    HONEST_HARMED = "honest_harmed"


class LintFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was found in the worst run, and in how many of them it was found at all."""

    code: LintCode
    message: str
    runs: int


class PolicyReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """In the order of the codes; no findings means that the simulated agents got nothing they should not.

    `simulation` is the run with the most findings, the first of several.
    """

    findings: tuple[LintFinding, ...]
    simulation: Simulation
    runs: int


def report_hash(report: PolicyReport) -> str:
    """The hash of its canonical bytes (`kaori-2.1`): who lints the same policy in the same way finds the same."""
    return canonical_hash(plain_record(report), Profile.KAORI)


class _Flaw(NamedTuple):
    """How bad it is, to tell the worst of several runs by, and what to say of it."""

    extent: Decimal
    message: str


def lint_policy(policy: TrustPolicy, *, seed: str = "assay", rounds: int = 90, runs: int = 3) -> PolicyReport:
    """Look for weaknesses in several runs, since one crowd may be lucky; each is told as the worst run shows it.

    The first run has the seed itself, the others seeds made from it.
    """
    if runs < 1:
        raise TrustError.simulation(f"expected one run or more, got {runs}")
    seeds = [seed, *(f"{seed}/{number}" for number in range(2, runs + 1))]
    simulations = [simulate(policy, seed=one, rounds=rounds) for one in seeds]
    # Where competence weighs reports, who is heard and outvoted is asked of the attacks below, which compute it.
    skipped = () if policy.competence is None else _BY_STANDING
    flaws = [
        {code: None if code in skipped else check(policy, one) for code, check in _CHECKS.items()}
        for one in simulations
    ]
    told = [_finding(code, [found[code] for found in flaws]) for code in _CHECKS]
    told += [] if policy.competence is None else _attack_findings(policy, seed)
    worst = max(range(runs), key=lambda place: (sum(one is not None for one in flaws[place].values()), -place))
    return PolicyReport(
        findings=tuple(one for one in told if one is not None), simulation=simulations[worst], runs=runs
    )


def _attack_findings(policy: TrustPolicy, seed: str) -> list[LintFinding | None]:
    """What the attacks of the simulation do to a contract with a posterior, through the production compiler."""
    report = simulate_attacks(simulated_contract(), policy, AttackRequest(seed=seed, quiet=30, attacked=15, after=5))
    believed = [one for one in report.attacks if one.believed * 100 > one.lies * _TOLERATED_BELIEF]
    harmed = [one for one in report.attacks if one.harmed * 100 > report.request.honest * _TOLERATED_HARM]
    findings: list[LintFinding | None] = []
    if believed:
        told = ", ".join(f"{one.kind} {one.believed} of {one.lies}" for one in believed)
        message = f"expected lies to be believed hardly ever, got {told}"
        findings.append(LintFinding(code=LintCode.LIES_BELIEVED, message=message, runs=1))
    if harmed:
        told = ", ".join(f"{one.harmed} under {one.kind}" for one in harmed)
        message = f"expected attacks to cost hardly any honest agent its record, got {told} of {report.request.honest}"
        findings.append(LintFinding(code=LintCode.HONEST_HARMED, message=message, runs=1))
    return findings


def _finding(code: LintCode, found: Iterable[_Flaw | None]) -> LintFinding | None:
    flaws = [one for one in found if one is not None]
    if not flaws:
        return None
    return LintFinding(code=code, message=max(flaws, key=lambda flaw: flaw.extent).message, runs=len(flaws))


def _newcomer_unheard(policy: TrustPolicy, _simulation: Simulation) -> _Flaw | None:
    share = effective_share(policy.initial_standing, policy)
    if share >= policy.theta_min:
        return None
    message = f"expected newcomers to be heard, got a trust of {share} where {policy.theta_min} is asked for"
    return _Flaw(_NONE, message)


def _quick_authority(policy: TrustPolicy, _simulation: Simulation) -> _Flaw | None:
    way = ARITHMETIC.subtract(policy.standings[Standing.AUTHORITY], policy.initial_standing)
    days = ARITHMETIC.divide(way, policy.limits.per_day)
    if days >= _DAYS_TO_AUTHORITY:
        return None
    told = max(days, _NONE)
    return _Flaw(_NONE, f"expected at least {_DAYS_TO_AUTHORITY} days from newcomer to authority, got {told:.1f}")


def _honest_fall(policy: TrustPolicy, simulation: Simulation) -> _Flaw | None:
    last = _median(simulation, Behaviour.HONEST, _standing)
    if last >= policy.initial_standing:
        return None
    message = f"expected honest agents to end at {policy.initial_standing} or above, got a median of {last}"
    return _Flaw(-last, message)


def _honest_unheard(_policy: TrustPolicy, simulation: Simulation) -> _Flaw | None:
    unheard = sum(not run.admissible for run in _runs(simulation, Behaviour.HONEST))
    message = f"expected every honest agent to be heard in the end, got {unheard} that are not"
    return _Flaw(Decimal(unheard), message) if unheard else None


def _lazy_as_honest(_policy: TrustPolicy, simulation: Simulation) -> _Flaw | None:
    lazy, honest = (_median(simulation, kind, _score) for kind in (Behaviour.LAZY, Behaviour.HONEST))
    if lazy < honest:
        return None
    message = f"expected lazy agents to be trusted less than honest ones, got {lazy} and {honest}"
    return _Flaw(ARITHMETIC.subtract(lazy, honest), message)


def _spammer_heard(_policy: TrustPolicy, simulation: Simulation) -> _Flaw | None:
    heard = sum(run.admissible for run in _runs(simulation, Behaviour.SPAMMER))
    return _Flaw(Decimal(heard), f"expected no spammer to be heard in the end, got {heard} that are") if heard else None


def _sybils_lift(_policy: TrustPolicy, simulation: Simulation) -> _Flaw | None:
    most = max((run.network_bonus for run in _runs(simulation, Behaviour.SYBIL)), default=_NONE)
    message = f"expected names of one hand to gain nothing by endorsing each other, got a bonus of {most}"
    return _Flaw(most, message) if most else None


def _collusion_outvotes(_policy: TrustPolicy, simulation: Simulation) -> _Flaw | None:
    if simulation.outvoted * 100 <= simulation.attacks * _TOLERATED_LIES:
        return None
    message = f"expected colluders to be believed hardly ever, got {simulation.outvoted} of {simulation.attacks} lies"
    return _Flaw(ARITHMETIC.divide(Decimal(simulation.outvoted), Decimal(simulation.attacks)), message)


_NONE = Decimal(0)
_BY_STANDING = (LintCode.SPAMMER_HEARD, LintCode.COLLUSION_OUTVOTES, LintCode.LAZY_AS_HONEST)
_CHECKS: dict[LintCode, Callable[[TrustPolicy, Simulation], _Flaw | None]] = {
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
