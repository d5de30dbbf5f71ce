"""What if: the same log of signals under two policies, and where they part, agent by agent.

signals -> two folds side by side -> two snapshots at one instant -> differences
"""

from collections.abc import Iterable
from decimal import Decimal

from msgspec import Struct

from assay.kernel.instant import Instant
from assay.trust.evolve import Fold
from assay.trust.freeze import freeze_trust
from assay.trust.policy import TrustPolicy
from assay.trust.signal import TrustSignal
from assay.truth.contract import Standing
from assay.truth.forms import AgentId, HexHash
from assay.truth.number import ARITHMETIC
from assay.truth.snapshot import TrustSnapshot


class Reading(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one policy makes of an agent: the stored standing, and what is frozen from it."""

    standing: Decimal
    standing_class: Standing
    trust_score: Decimal
    admissible: bool


class AgentDifference(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`change` is how much higher or lower the trust score would be under the other policy."""

    agent_id: AgentId
    under_policy: Reading
    under_other: Reading
    change: Decimal


class Counterfactual(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Agents for whom nothing would differ are counted and not listed; the greatest change comes first."""

    policy_hash: HexHash
    other_policy_hash: HexHash
    at: Instant
    signals: int
    unchanged: int
    differences: tuple[AgentDifference, ...]


def replay_under(
    signals: Iterable[TrustSignal], policy: TrustPolicy, other: TrustPolicy, *, claim_type: str, at: Instant
) -> Counterfactual:
    """The signals are read once; `at` is not before any of them."""
    fold, other_fold = Fold(policy), Fold(other)
    for signal in signals:
        fold.add(signal)
        other_fold.add(signal)
    mine, theirs = _readings(fold, claim_type, at), _readings(other_fold, claim_type, at)
    differences = [_difference(agent_id, mine[agent_id], theirs[agent_id]) for agent_id in mine]
    differing = [one for one in differences if one.under_policy != one.under_other]
    return Counterfactual(
        policy_hash=policy.policy_hash,
        other_policy_hash=other.policy_hash,
        at=at,
        signals=fold.signals,
        unchanged=len(differences) - len(differing),
        differences=tuple(sorted(differing, key=lambda one: (-one.change.copy_abs(), one.agent_id))),
    )


def _readings(fold: Fold, claim_type: str, at: Instant) -> dict[str, Reading]:
    snapshot: TrustSnapshot = freeze_trust(fold, fold.agent_ids(), claim_type=claim_type, at=at)
    return {
        agent_id: Reading(
            standing=fold.get_standing(agent_id, at),
            standing_class=trust.standing,
            trust_score=trust.trust_score,
            admissible=trust.admissible,
        )
        for agent_id, trust in snapshot.agent_trusts.items()
    }


def _difference(agent_id: str, mine: Reading, theirs: Reading) -> AgentDifference:
    change = ARITHMETIC.subtract(theirs.trust_score, mine.trust_score)
    return AgentDifference(agent_id=agent_id, under_policy=mine, under_other=theirs, change=change)
