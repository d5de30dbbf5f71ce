"""From findings to a status: rules in a fixed order, of which the first that applies decides (Kaori 10.1, 15).

expired -> overridden -> disputed -> people -> escalation -> implicit consensus -> machines -> window over -> interim
"""

from collections.abc import Callable, Collection
from decimal import Decimal
from itertools import compress

from msgspec import Struct

from assay.kernel.instant import Instant
from assay.truth._moment import later, span_of
from assay.truth.confidence import Confidence
from assay.truth.consensus import Tally, disputed_since
from assay.truth.contract import (
    Contract,
    ContradictionAction,
    FlowMode,
    ImplicitConsensus,
    RiskProfile,
    Standing,
    TimeoutAction,
)
from assay.truth.edition import Edition
from assay.truth.flag import Flag
from assay.truth.ladder import MachineView
from assay.truth.status import TruthStatus, VerificationBasis
from assay.truth.window import Window

# Looking a member up in its enumeration costs more than the question it answers.
_CRITICAL, _AUTO = RiskProfile.CRITICAL, FlowMode.AUTO
_HUMAN_REVIEW, _UNDECIDED = ContradictionAction.HUMAN_REVIEW, ContradictionAction.UNDECIDED
_EXPERTS = (Standing.EXPERT, Standing.AUTHORITY)
_ONLY_FLAGGED = {ContradictionAction.FLAG}


class Findings(Struct, frozen=True, kw_only=True):
    """What the steps before found out; `contradictions` are the actions of the rules that were broken.

    `network_trust` is the sum of the trust scores of those who speak. `is_critical` is the contract's risk profile, or
    what its `critical_when` makes of the claim.
    """

    contract: Contract
    speaker_count: int
    machines: MachineView
    tally: Tally
    window: Window | None
    contradictions: frozenset[ContradictionAction]
    confidence: Confidence
    network_trust: Decimal
    authority_count: int
    bucket_end: Instant
    compile_time: Instant
    is_critical: bool
    edition: Edition


class Ruling(Struct, frozen=True):
    """A status, what put the state there, and what a reader should know about it."""

    status: TruthStatus
    basis: VerificationBasis
    flags: Collection[Flag] = ()


_Rule = Callable[[Findings], Ruling | None]


def rule_on(findings: Findings) -> Ruling:
    is_silent = findings.window is None and not findings.tally.ballots
    for rule in _WITHOUT_PEOPLE if is_silent else _RULES:
        ruling = rule(findings)
        if ruling is not None:
            return ruling
    return _interim(findings)


def is_expired(contract: Contract, bucket_end: Instant, compile_time: Instant) -> bool:
    """Validity includes its last instant."""
    return compile_time > later(bucket_end, span_of(contract.temporal_decay.max_validity))


def _expired(found: Findings) -> Ruling | None:
    """Past its validity nothing is known any more, whoever said it."""
    if not is_expired(found.contract, found.bucket_end, found.compile_time):
        return None
    return Ruling(TruthStatus.EXPIRED, VerificationBasis.TIMEOUT_DEFAULT)


def _overridden(found: Findings) -> Ruling | None:
    if found.tally.override is None:
        return None
    return Ruling(found.tally.override, VerificationBasis.AUTHORITY_OVERRIDE, (Flag.OVERRIDDEN,))


def _disputed(found: Findings) -> Ruling | None:
    """A challenge, or a round that a dispute opened, holds everything until enough people answered in time.

    Else the contract's default is taken.
    """
    since, dispute = disputed_since(found.tally, found.window), found.contract.dispute_resolution
    if since is None:
        return None
    deadline = later(since, span_of(dispute.timeout))
    if found.tally.answered_before(deadline) >= dispute.quorum and _people_say(found) is not None:
        return None
    if found.compile_time < deadline:
        return Ruling(TruthStatus.PENDING_HUMAN_REVIEW, VerificationBasis.NONE, (Flag.DISPUTED,))
    return _TIMEOUTS[dispute.default_action_on_timeout]


_TIMEOUTS = {
    TimeoutAction.INCONCLUSIVE: Ruling(TruthStatus.INCONCLUSIVE, VerificationBasis.TIMEOUT_DEFAULT, (Flag.DISPUTED,)),
    TimeoutAction.EXPIRE: Ruling(TruthStatus.EXPIRED, VerificationBasis.TIMEOUT_DEFAULT, (Flag.DISPUTED,)),
    TimeoutAction.REJECT: Ruling(TruthStatus.VERIFIED_FALSE, VerificationBasis.TIMEOUT_DEFAULT, (Flag.DISPUTED,)),
    TimeoutAction.ESCALATE: Ruling(
        TruthStatus.PENDING_HUMAN_REVIEW, VerificationBasis.NONE, (Flag.DISPUTED, Flag.ESCALATED)
    ),
    TimeoutAction.STAY_OPEN: Ruling(TruthStatus.UNDECIDED, VerificationBasis.NONE, (Flag.DISPUTED,)),
}


def _people_say(found: Findings) -> bool | None:
    """True, false, or None where the score lies between the thresholds or too few answered."""
    model, lane = found.contract.consensus_model, found.contract.state_verification_policy.critical_lane
    if not found.tally.answers:
        return None
    if _is_critical(found) and lane is not None and len(found.tally.answers) < lane.min_human_votes:
        return None
    if found.tally.score >= model.finalize_threshold:
        return True
    if found.tally.score <= model.reject_threshold:
        return False
    return _experts_say(found) if _is_critical(found) and lane is not None else None


def _experts_say(found: Findings) -> bool | None:
    """In the critical lane experts who all say the same settle what the others split; as many as the lane asks for."""
    lane = found.contract.state_verification_policy.critical_lane
    values = [ballot.value for ballot in found.tally.answers if ballot.standing in _EXPERTS]
    if found.edition is Edition.FIRST or lane is None or len(values) < lane.min_human_votes:
        return None
    if all(value > 0 for value in values):
        return True
    return False if all(value < 0 for value in values) else None


def _by_people(found: Findings) -> Ruling | None:
    said = _people_say(found)
    return None if said is None else _verified(found, VerificationBasis.HUMAN_CONSENSUS, said=said)


def _by_escalation(found: Findings) -> Ruling | None:
    """Critical and undecided after a while: those whom the contract names decide among themselves."""
    lane, window = found.contract.state_verification_policy.critical_lane, found.window
    if not _is_critical(found) or lane is None or lane.authority_escalation is None or window is None:
        return None
    escalation = lane.authority_escalation
    if found.compile_time < later(window.opened_at, span_of(escalation.after)):
        return None
    answers = [ballot for ballot in found.tally.answers if ballot.standing in escalation.roles]
    score = sum(ballot.value for ballot in answers)
    if len(answers) < escalation.min_votes or not score:
        return None
    return _verified(found, VerificationBasis.HUMAN_CONSENSUS, Flag.ESCALATED, said=score > 0)


def _verified(found: Findings, basis: VerificationBasis, *flags: Flag, said: bool) -> Ruling | None:
    """True only from the contract's confidence on; false needs none, since confidence is that in the claim."""
    if not said:
        return Ruling(TruthStatus.VERIFIED_FALSE, basis, flags)
    return Ruling(TruthStatus.VERIFIED_TRUE, basis, flags) if _is_sure(found) else None


def _is_sure(found: Findings) -> bool:
    policy = found.contract.state_verification_policy
    lane = policy.critical_lane if _is_critical(found) else policy.monitor_lane
    least = found.contract.confidence_model.thresholds.verify
    return found.confidence.fresh >= (least if lane is None else max(least, lane.min_confidence))


def _is_critical(found: Findings) -> bool:
    return found.is_critical


def _implicitly(found: Findings) -> Ruling | None:
    rule = found.contract.implicit_consensus
    if rule is None or not rule.enabled or not _agree(rule, found) or not _may_skip_people(found):
        return None
    # Nobody verifies silently what people speak against.
    if _authority_sets_aside(found) or found.tally.score < 0:
        return None
    return _verified(found, VerificationBasis.IMPLICIT_CONSENSUS, said=True)


def _agree(rule: ImplicitConsensus, found: Findings) -> bool:
    return (
        found.speaker_count >= rule.min_observations
        and found.network_trust >= rule.min_network_trust
        and found.machines.confidence >= rule.min_ai_confidence
        and found.machines.variance <= rule.max_ai_variance
        and not found.contradictions
    )


def _authority_sets_aside(found: Findings) -> bool:
    """Where authorities are present, they are asked instead of counted in."""
    rule = found.contract.implicit_consensus
    return (
        rule is not None
        and rule.enabled
        and rule.override_if_authority_present
        and found.authority_count >= rule.override_min_authority_count
    )


def _by_machines(found: Findings) -> Ruling | None:
    """Kaori 15.1: only in the monitor lane, only where the contract allows it, and never inside the band."""
    lane, rule = found.contract.state_verification_policy.monitor_lane, found.contract.autovalidation
    machines, band = found.machines, found.contract.autovalidation.uncertainty_band
    if lane is None or not lane.allow_ai_verification or not machines.is_scored or not machines.is_finished:
        return None
    if band.low <= machines.confidence <= band.high or not _may_skip_people(found):
        return None
    if machines.confidence >= rule.ai_verified_true_threshold and found.tally.score >= 0:
        return _verified(found, VerificationBasis.AI_AUTOVALIDATION, said=True)
    if machines.confidence <= rule.ai_verified_false_threshold and found.tally.score <= 0:
        return _verified(found, VerificationBasis.AI_AUTOVALIDATION, said=False)
    return None


def _may_skip_people(found: Findings) -> bool:
    """Nobody asked for people, and where people come first their window is over."""
    is_over = found.window is not None and found.compile_time >= found.window.end
    return (
        not _is_critical(found)
        and not _people_must(found)
        and not _people_should(found)
        and not found.contradictions - _ONLY_FLAGGED
        and (found.contract.validation_flow.mode is _AUTO or is_over)
    )


def _people_must(found: Findings) -> bool:
    """Whether people must decide, by the contract alone, whatever was observed."""
    gating, lane = found.contract.human_gating, found.contract.state_verification_policy.critical_lane
    return (
        gating.always_require_human
        or (_CRITICAL if found.is_critical else found.contract.risk_profile) in gating.required_for_risk_profiles
        or (_is_critical(found) and lane is not None and lane.require_human_consensus)
    )


def _people_should(found: Findings) -> bool:
    """Whether people should decide, by what was observed: the ladder asks, or trust or confidence is too low."""
    gating = found.contract.human_gating
    return (
        found.machines.asks_people
        or found.network_trust < gating.min_trust_score * found.speaker_count
        or found.machines.confidence < gating.min_ai_confidence
    )


def _window_over(found: Findings) -> Ruling | None:
    """At the end of a window there is a final status; one that was aborted never asked."""
    window = found.window
    if window is None or window.is_aborted or found.compile_time < window.end:
        return None
    return Ruling(TruthStatus.INCONCLUSIVE, VerificationBasis.TIMEOUT_DEFAULT, _doubts(found))


def _interim(found: Findings) -> Ruling:
    return Ruling(_interim_status(found), VerificationBasis.NONE, _doubts(found))


def _interim_status(found: Findings) -> TruthStatus:
    if found.tally.answers:
        return _lean(found)
    if _HUMAN_REVIEW in found.contradictions or _people_must(found):
        return TruthStatus.PENDING_HUMAN_REVIEW
    if _UNDECIDED in found.contradictions:
        return TruthStatus.UNDECIDED
    if not found.machines.is_finished and not found.machines.asks_people:
        return TruthStatus.PENDING
    if _people_should(found) or found.confidence.fresh < found.contract.confidence_model.thresholds.review:
        return TruthStatus.PENDING_HUMAN_REVIEW
    return _lean(found)


def _lean(found: Findings) -> TruthStatus:
    """To where the votes point; without any, to where the machines do."""
    band, machines, score = found.contract.autovalidation.uncertainty_band, found.machines, found.tally.score
    is_voted = bool(found.tally.answers)
    if score > 0 if is_voted else machines.confidence > band.high:
        return TruthStatus.LEANING_TRUE
    if score < 0 if is_voted else machines.confidence < band.low:
        return TruthStatus.LEANING_FALSE
    return TruthStatus.UNDECIDED


def _doubts(found: Findings) -> tuple[Flag, ...]:
    """Why the state is not verified."""
    holds = (_people_must(found) or _people_should(found), _authority_sets_aside(found), not _is_sure(found))
    return tuple(compress(_DOUBTS, holds))


_DOUBTS = (Flag.HUMAN_REQUIRED, Flag.AUTHORITY_SETS_ASIDE, Flag.CONFIDENCE_TOO_LOW)


_RULES: tuple[_Rule, ...] = (
    _expired,
    _overridden,
    _disputed,
    _by_people,
    _by_escalation,
    _implicitly,
    _by_machines,
    _window_over,
)
# Those that can apply where nobody was asked and nobody voted.
_WITHOUT_PEOPLE: tuple[_Rule, ...] = (_expired, _implicitly, _by_machines)
