"""Two wrongs that look right, at outcome time (PRAMANA 12.4): the steps of a success, and replays of repaired ones."""

from collections.abc import Callable

from msgspec.structs import replace

from assay.delivery.answerer import Answerer
from assay.delivery.outcome import Outcome, Signal
from assay.delivery.plugin import Category
from assay.delivery.twowrong import (
    Replay,
    Step,
    StepKind,
    StepVerdict,
    Success,
    confirm,
    replays_needed,
    suspect,
)
from assay.flows.delivery.answer_record import AnswerRecord, find_record
from assay.flows.time_limit import Late, run_within
from assay.flows.tools import Tools
from assay.kernel.canonical import canonicalize
from assay.kernel.ids import TenantId
from assay.ports.database import Unit


def judge_success(tools: Tools, tenant_id: TenantId, signal: Signal) -> Success | None:
    """The finding about a success of an answer of ours; None for any other signal. Replays run here, in no commit."""
    if not may_be_judged(signal) or signal.answer_id is None:
        return None
    answer_id = signal.answer_id
    record, steps = tools.database.read(lambda unit: _look(unit, tenant_id, answer_id))
    if record is None:
        return None
    finding = suspect(Outcome.SUCCESS, steps)
    needed = replays_needed(finding)
    answerer = tools.delivery.answerers.get(record.answerer)
    if needed and answerer is not None:
        finding = confirm(finding, _replays(tools, answerer, record, needed))
    return Success(answer_id=answer_id, steps=steps, finding=finding)


def judged_now(unit: Unit, tenant_id: TenantId, success: Success) -> Success:
    """The same in the commit: a rule may have been concluded to be wrong while the success was looked at.

    A new suspicion has no replay; it stands until somebody looks.
    """
    steps = wrong_rules(unit, tenant_id, success.steps)
    if steps == success.steps:
        return success
    return replace(success, steps=steps, finding=suspect(Outcome.SUCCESS, steps))


def may_be_judged(signal: Signal) -> bool:
    return signal.outcome is Outcome.SUCCESS and signal.answer_id is not None


def wrong_rules(unit: Unit, tenant_id: TenantId, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps as they are judged now: a version of a rule of which a person concluded category C is wrong."""
    return tuple(_judged(unit, tenant_id, step) for step in steps)


def _look(unit: Unit, tenant_id: TenantId, answer_id: str) -> tuple[AnswerRecord | None, tuple[Step, ...]]:
    record = find_record(unit, tenant_id, answer_id)
    return record, () if record is None else wrong_rules(unit, tenant_id, record.steps)


def _judged(unit: Unit, tenant_id: TenantId, step: Step) -> Step:
    rule_id, _, version = step.ref.rpartition("@")
    if step.kind is not StepKind.RULE or step.verdict is StepVerdict.WRONG or not version.isdecimal():
        return step
    if not unit.delivery.has_conclusion(tenant_id, rule_id, int(version), Category.RULE):
        return step
    return replace(step, verdict=StepVerdict.WRONG, evidence="a person concluded that this version is wrong")


def _replays(
    tools: Tools, answerer: Answerer, record: AnswerRecord, needed: tuple[tuple[str, ...], ...]
) -> list[Replay]:
    """The first output succeeded, so a replay that says the same is a success, and one that says otherwise is not."""
    works = {repaired: _work(answerer, record, repaired) for repaired in needed}
    found = run_within(tools.delivery.answer_seconds, works, owner=lambda _: f"replay {record.answerer}")
    first = canonicalize(record.output)
    return [
        Replay(repaired=repaired, outcome=Outcome.SUCCESS if output == first else Outcome.FAILURE)
        for repaired, output in found.items()
        if not isinstance(output, Exception | Late)
    ]


def _work(answerer: Answerer, record: AnswerRecord, repaired: tuple[str, ...]) -> Callable[[], bytes]:
    def again() -> bytes:
        return canonicalize(answerer.replay(record.question, repaired))

    return again
