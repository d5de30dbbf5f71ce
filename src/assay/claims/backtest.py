"""Backtest: what another policy would have decided about bundles that are on record.

recorded case + policy -> the same chain with the facts of then -> before and after -> newly published first
Pure: the facts that a decision rested on are given; what is not on record any more is named, and the gate that needs it
answers as it did.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from msgspec import Struct

from assay.claims.bundle import ClaimBundle, Decision, GateName
from assay.claims.decide import Outcome, run_gates
from assay.claims.estimate.fit_threshold import fit_threshold
from assay.claims.finding import FindingCode
from assay.claims.gate import Gate, GateAnswer, GateFacts, GateRules, standard_gates
from assay.claims.guardian import BuiltInGuardian, Guardian, Suspect, ThreatReport
from assay.claims.policy import ClaimsPolicy
from assay.claims.risk import highest_tier
from assay.kernel.digest import Digest
from assay.kernel.instant import Instant

_MOST_LISTED = 1000
# Decided outside of the gates: by people, or since they could not be shown it.
_OUTSIDE = frozenset({FindingCode.NOT_SHOWABLE, FindingCode.APPROVAL_REJECTED, FindingCode.APPROVAL_EXPIRED})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCase:
    """One decision as it was recorded, and what it rested on; `missing` are facts that are not on record any more.

    `threat` is the worst report of the guardians then; where they were not asked, the built-in one is. `as_recorded`
    are gates whose answer is taken from the record, since what they looked at is missing.
    """

    bundle: ClaimBundle
    facts: GateFacts
    outcome: Outcome
    threat: ThreatReport | None = None
    as_recorded: frozenset[GateName] = frozenset()
    missing: tuple[str, ...] = ()
    is_latest: bool = True


class Redecided(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One decision before and after; `gate_before` and `gate_after` are None where none stopped."""

    bundle_hash: Digest | None
    bundle_id: str
    agent: str
    tier: str
    decided_at: Instant
    before: Decision
    after: Decision
    gate_before: GateName | None
    gate_after: GateName | None
    reason_after: str
    missing: tuple[str, ...] = ()

    @property
    def is_changed(self) -> bool:
        return self.before is not self.after


class ChangeCount(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many decisions of one agent, tier or gate went from one decision to another."""

    kind: str
    name: str
    before: Decision
    after: Decision
    decisions: int


class Backtest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`newly_published` come first, since they are what a policy risks; `changed` are the others that differ.

    Both lists end after a thousand; the counts are of all. `missing` are the facts that were not on record, with for
    how many decisions.
    """

    decisions: int
    unchanged: int
    newly_published: tuple[Redecided, ...]
    changed: tuple[Redecided, ...]
    left_out: int
    counts: tuple[ChangeCount, ...]
    missing: dict[str, int]


class AlphaCost(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The share of recorded values that a threshold for this alpha defers; without a threshold all of them."""

    alpha: float
    threshold: float | None
    deferred: float


class _RecordedGuardian:
    """Answers what guardians answered then."""

    def __init__(self, report: ThreatReport) -> None:
        self.name = report.guardian
        self._report = report

    def examine(self, suspect: Suspect) -> ThreatReport:  # noqa: ARG002  it was examined then
        return self._report


def redecide(case: RecordedCase, policy: ClaimsPolicy, *, rules: GateRules | None = None) -> Redecided:
    """The decision under the policy, with the facts of then; `rules` None takes the edition that decided."""
    facts = case.facts if rules is None else replace(case.facts, rules=rules)
    outcome = case.outcome
    if not is_outside(outcome):
        outcome = run_gates(case.bundle, _gates(case), facts, policy)
    return Redecided(
        bundle_hash=outcome.bundle_hash,
        bundle_id=case.bundle.id,
        agent=case.bundle.origin_agent,
        tier=str(highest_tier(case.bundle)),
        decided_at=case.outcome.decided_at,
        before=case.outcome.decision,
        after=outcome.decision,
        gate_before=case.outcome.stopped_by,
        gate_after=outcome.stopped_by,
        reason_after=outcome.reason[:_MOST_LISTED],
        missing=case.missing,
    )


def is_outside(outcome: Outcome) -> bool:
    """Whether no gate made the decision, and so no policy changes it: its agent took it back, or people denied it."""
    return not outcome.answers or any(one.code in _OUTSIDE for one in outcome.findings)


def summarise(rows: Iterable[Redecided]) -> Backtest:
    """The report of all decisions: what would be published that was not, what else changes, and how often."""
    published: list[Redecided] = []
    changed: list[Redecided] = []
    counts: Counter[tuple[str, str, Decision, Decision]] = Counter()
    missing: Counter[str] = Counter()
    decisions = left_out = 0
    for row in rows:
        decisions += 1
        missing.update(row.missing)
        if not row.is_changed:
            continue
        counts.update((kind, name, row.before, row.after) for kind, name in _kinds(row))
        kept = published if row.after is Decision.PUBLISH else changed
        if len(kept) < _MOST_LISTED:
            kept.append(row)
        else:
            left_out += 1
    total = len(published) + len(changed) + left_out
    return Backtest(
        decisions=decisions,
        unchanged=decisions - total,
        newly_published=tuple(published),
        changed=tuple(changed),
        left_out=left_out,
        counts=tuple(
            ChangeCount(kind=kind, name=name, before=before, after=after, decisions=number)
            for (kind, name, before, after), number in sorted(counts.items())
        ),
        missing=dict(sorted(missing.items())),
    )


def alpha_costs(
    uncertainties: Sequence[float],
    wrong: Sequence[bool],
    recorded: Sequence[float],
    *,
    alphas: Sequence[float],
    delta: float = 0.1,
) -> tuple[AlphaCost, ...]:
    """For each alpha the threshold that labelled cases allow, and which share of the recorded values it defers."""
    return tuple(
        _alpha_cost(fit_threshold(uncertainties, wrong, alpha=one, delta=delta).threshold, one, recorded)
        for one in alphas
    )


def _alpha_cost(threshold: float | None, alpha: float, recorded: Sequence[float]) -> AlphaCost:
    if threshold is None or not recorded:
        return AlphaCost(alpha=alpha, threshold=threshold, deferred=1.0 if threshold is None else 0.0)
    above = sum(value > threshold for value in recorded)
    return AlphaCost(alpha=alpha, threshold=threshold, deferred=above / len(recorded))


def _kinds(row: Redecided) -> Iterator[tuple[str, str]]:
    yield "agent", row.agent
    yield "tier", row.tier
    yield "gate", str(row.gate_after or row.gate_before or "none")


def _gates(case: RecordedCase) -> tuple[tuple[GateName, Gate], ...]:
    """The standard chain, with the guardian of then; a gate that is taken as recorded gives its old answer."""
    guardian: Guardian = BuiltInGuardian() if case.threat is None else _RecordedGuardian(case.threat)
    answers = {one.gate: one for one in case.outcome.answers}
    return tuple(
        (name, _answering(answers[name]) if name in case.as_recorded and name in answers else gate)
        for name, gate in standard_gates((guardian,))
    )


def _answering(answer: GateAnswer) -> Gate:
    def answered(_bundle: ClaimBundle, _facts: GateFacts, _policy: ClaimsPolicy) -> GateAnswer:
        return answer

    return answered
