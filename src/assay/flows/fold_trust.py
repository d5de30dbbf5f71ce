"""Trust as the signal log tells it: folded under the policy in force, from the last mark on.

policy in force + mark + signals after it -> Fold -> standings, snapshots; every so often a new mark
A mark is a short cut and never an authority: `check_trust` folds the whole log again and compares.
"""

from dataclasses import dataclass
from functools import lru_cache

from assay.flows.errors import NoPolicyError, NotFoundError
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.ports.database import Unit
from assay.ports.trust_store import FoldMark, RegisteredPolicy
from assay.trust.errors import TrustError
from assay.trust.evolve import Fold
from assay.trust.fold_state import parse_fold_state, render_fold_state
from assay.trust.parse_policy import parse_policy
from assay.trust.policy import TrustPolicy
from assay.trust.signal import read_stored_signal

__all__ = ["MARK_EVERY", "Folded", "fold_from", "fold_trust", "get_policy_in_force", "keep_mark", "read_policy"]

MARK_EVERY = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """A fold of the log up to entry `through`; `since_mark` is how many signals that took."""

    fold: Fold
    through: int
    since_mark: int


def fold_trust(
    unit: Unit, tenant_id: TenantId, *, policy_hash: str | None = None, through: int | None = None
) -> Folded:
    """Under the policy in force, or another that was registered; up to an entry, or to the end of the log."""
    policy = read_policy(_policy(unit, tenant_id, policy_hash).document)
    mark = unit.trust.find_mark(tenant_id, policy.policy_hash)
    if mark is None or (through is not None and mark.through > through):
        return fold_from(unit, tenant_id, Fold(policy), after=0, through=through)
    try:
        fold = Fold.resume(policy, parse_fold_state(mark.text))
    except TrustError:
        # A mark that cannot be read costs time and nothing else.
        return fold_from(unit, tenant_id, Fold(policy), after=0, through=through)
    return fold_from(unit, tenant_id, fold, after=mark.through, through=through)


def fold_from(unit: Unit, tenant_id: TenantId, fold: Fold, *, after: int, through: int | None = None) -> Folded:
    """Go on with the signals after an entry."""
    last, count = after, 0
    for logged in unit.trust.signals(tenant_id, after=after, through=through):
        fold.add(read_stored_signal(logged.kind, logged.text))
        last, count = logged.sequence_number, count + 1
    return Folded(fold=fold, through=last, since_mark=count)


def keep_mark(tools: Tools, tenant_id: TenantId, folded: Folded, *, every: int = MARK_EVERY) -> None:
    """Leave a mark where the way from the last one has become long."""
    if folded.since_mark < every:
        return
    mark = FoldMark(
        policy_hash=folded.fold.policy.policy_hash,
        through=folded.through,
        text=render_fold_state(folded.fold.checkpoint()).decode(),
    )
    tools.database.write(lambda unit: unit.trust.put_mark(tenant_id, mark))


def get_policy_in_force(unit: Unit, tenant_id: TenantId) -> RegisteredPolicy:
    return _policy(unit, tenant_id, None)


def _policy(unit: Unit, tenant_id: TenantId, policy_hash: str | None) -> RegisteredPolicy:
    if policy_hash is not None:
        found = unit.trust.find_policy(tenant_id, policy_hash)
        if found is None:
            raise NotFoundError(f"tenant `{tenant_id}` has no trust policy {policy_hash[:80]}")
        return found
    known = unit.trust.policies(tenant_id)
    if not known:
        raise NoPolicyError(
            f"tenant `{tenant_id}` has no trust policy: register one: `assay trust policy register FILE`"
        )
    return known[-1]


@lru_cache(maxsize=64)
def read_policy(document: str) -> TrustPolicy:
    """From its canonical document, which holds everything it inherits."""
    return parse_policy(document)
