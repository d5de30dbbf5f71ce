"""Two wrongs that look right: a success in which wrong steps cancelled each other out (PRAMANA 12, item 4).

steps with verdicts + outcome -> suspect;   + replays of repaired steps -> confirm;   a category C conclusion -> remark
A step's verdict comes from evidence other than the outcome. The specified counters are never touched by any of this.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from assay.delivery.errors import DeliveryError
from assay.delivery.outcome import Outcome
from assay.delivery.rule import RuleRef, render_ref

_FEWEST = 2


class StepKind(StrEnum):
    """What an answer is made of."""

    ROUTE = "route"
    RULE = "rule"
    PARAMETERS = "parameters"
    ASSERTION = "assertion"


class StepVerdict(StrEnum):
    CORRECT = "correct"
    WRONG = "wrong"
    UNKNOWN = "unknown"


class Step(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One step of an answer; `ref` names it within the answer, for a rule as `ID@version`.

    INVARIANT: a verdict other than UNKNOWN says on what evidence; that the answer turned out well is none.
    """

    kind: StepKind
    ref: str
    verdict: StepVerdict = StepVerdict.UNKNOWN
    evidence: str | None = None

    def __post_init__(self) -> None:
        if (self.verdict is StepVerdict.UNKNOWN) != (self.evidence is None):
            raise DeliveryError.step(f"expected evidence with a verdict, and only then, at step `{self.ref[:80]}`")


class Replay(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came of the same question with these steps repaired, judged as the first outcome was."""

    repaired: tuple[str, ...]
    outcome: Outcome


class Standing(StrEnum):
    """NONE: nothing to suspect. CLEARED: replays show that the wrong steps did not cancel each other out."""

    NONE = "none"
    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"
    CLEARED = "cleared"


class TwoWrong(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The finding about one answer; `wrong` are the wrong steps."""

    standing: Standing
    wrong: tuple[str, ...] = ()
    reason: str

    @property
    def is_tainted(self) -> bool:
        """Whether the success is counted as `tainted_success`, and its root cause is asked for."""
        return self.standing in (Standing.SUSPECTED, Standing.CONFIRMED)


class Success(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer that succeeded, as it is kept for a later look."""

    answer_id: str
    steps: tuple[Step, ...]
    finding: TwoWrong


class Remark(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a later conclusion changed about an earlier success; added beside it, never written over it."""

    answer_id: str
    steps: tuple[Step, ...]
    before: TwoWrong
    after: TwoWrong

    @property
    def is_newly_tainted(self) -> bool:
        return self.after.is_tainted and not self.before.is_tainted


def verify_steps(steps: Sequence[Step]) -> None:
    """Raise unless each step is named once; asked before an answer is given, since its outcome is judged by them."""
    refs = [step.ref for step in steps]
    if len(set(refs)) != len(refs):
        raise DeliveryError.step("expected each step of an answer once")


def suspect(outcome: Outcome, steps: Sequence[Step]) -> TwoWrong:
    """At outcome time: a success with at least two wrong steps is suspected."""
    verify_steps(steps)
    wrong = tuple(step.ref for step in steps if step.verdict is StepVerdict.WRONG)
    if outcome is not Outcome.SUCCESS:
        return TwoWrong(standing=Standing.NONE, wrong=wrong, reason=f"the outcome is {outcome}")
    if len(wrong) < _FEWEST:
        return TwoWrong(standing=Standing.NONE, wrong=wrong, reason=f"{len(wrong)} steps are known to be wrong")
    return TwoWrong(standing=Standing.SUSPECTED, wrong=wrong, reason=f"a success with {len(wrong)} wrong steps")


def replays_needed(finding: TwoWrong) -> tuple[tuple[str, ...], ...]:
    """The repairs to replay: each wrong step alone, then all of them together."""
    if finding.standing is not Standing.SUSPECTED:
        return ()
    return (*((ref,) for ref in finding.wrong), finding.wrong)


def confirm(finding: TwoWrong, replays: Iterable[Replay]) -> TwoWrong:
    """Confirmed if each single repair fails and all together succeed; cleared if one shows otherwise.

    Where none does, one that is missing or undecided leaves the suspicion standing; two that disagree do so too.
    """
    needed = replays_needed(finding)
    if not needed:
        return finding
    seen: dict[frozenset[str], set[Outcome]] = {}
    for replay in replays:
        seen.setdefault(frozenset(replay.repaired), set()).add(replay.outcome)
    together = needed[-1]
    left_open: TwoWrong | None = None
    for repaired in needed:
        found = seen.get(frozenset(repaired), set())
        if found == {Outcome.SUCCESS if repaired == together else Outcome.FAILURE}:
            continue
        told = _unconfirmed(finding, repaired, found)
        # One that shows otherwise settles it, wherever it stands among the others.
        if told.standing is Standing.CLEARED:
            return told
        left_open = left_open or told
    if left_open is not None:
        return left_open
    return replace(finding, standing=Standing.CONFIRMED, reason="each repair alone fails, all together succeed")


def remark(rule: RuleRef, successes: Iterable[Success], *, evidence: str) -> tuple[Remark, ...]:
    """A root cause closed as category C: this version of the rule was wrong in every earlier success that used it.

    Only what changes is told. The same conclusion twice changes nothing more.
    """
    ref = render_ref(rule)
    found = []
    for success in successes:
        steps = tuple(_as_wrong(step, evidence) if _is_rule(step, ref) else step for step in success.steps)
        if steps == success.steps:
            continue
        after = suspect(Outcome.SUCCESS, steps)
        found.append(Remark(answer_id=success.answer_id, steps=steps, before=success.finding, after=after))
    return tuple(found)


def _unconfirmed(finding: TwoWrong, repaired: tuple[str, ...], found: set[Outcome]) -> TwoWrong:
    named = ", ".join(repaired)[:200]
    if len(found) == 1 and found <= {Outcome.SUCCESS, Outcome.FAILURE}:
        [outcome] = found
        return replace(finding, standing=Standing.CLEARED, reason=f"repaired `{named}`, it was a {outcome}")
    return replace(finding, reason=f"no clear replay with `{named}` repaired")


def _is_rule(step: Step, ref: str) -> bool:
    return step.kind is StepKind.RULE and step.ref == ref and step.verdict is not StepVerdict.WRONG


def _as_wrong(step: Step, evidence: str) -> Step:
    return replace(step, verdict=StepVerdict.WRONG, evidence=evidence)
