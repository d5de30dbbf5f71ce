"""A verdict on one line, as a compliance officer reads it: what was measured, against which limit of which clause."""

import json
from collections.abc import Sequence

import click

from assay.flows.verdicts.explain_verdict import Clause, ExplainedObligation, ExplainedRule
from assay.flows.verdicts.prepare_verdict import DISPLACED_NOTE
from assay.flows.verdicts.read_verdicts import RuleVerdict
from assay.operations.shown.verdicts import HELD, standing_word
from assay.surfaces.cli.acting import plain
from assay.verdicts.comparison import PlainOperand
from assay.verdicts.docket import UNRULED
from assay.verdicts.envelope import Verdict
from assay.verdicts.graph.obligation_type import ObligationType
from assay.verdicts.predicate import Doubt, Outcome
from assay.verdicts.record import DOUBT_NOTE
from assay.verdicts.telemetry import Scalar
from assay.verdicts.window_fact import WindowKind

_WIDEST = max(len(one.value) for one in Verdict)
_MOST_TOLD = 3
_COLOURS = {
    Verdict.CLEAR: "green",
    Verdict.FLAG: "red",
    Verdict.DISCRETIONARY: "yellow",
    Verdict.NULL_STALE: "magenta",
    Verdict.NULL_UNMAPPED: "blue",
    HELD: "cyan",
}
_RANGES = frozenset({ObligationType.MUST_BE_WITHIN.value, ObligationType.MUST_AVERAGE_WITHIN.value})
_TIMED = frozenset({WindowKind.AGE, WindowKind.RUN})
# The others read as they are spelt.
_DEMANDS = {
    ObligationType.MUST.value: "must be",
    ObligationType.MUST_NOT.value: "must not be",
    ObligationType.SHOULD.value: "should be",
    ObligationType.DISCRETIONARY.value: "at discretion",
    ObligationType.MUST_NOT_EXCEED_IN_WINDOW.value: "must never exceed",
}
_SPANS = ((86_400, "d"), (3_600, "h"), (60, "min"))
_OUTCOMES = {
    Outcome.SATISFIED: "met",
    Outcome.BREACHED: "breached",
    Outcome.STALE: "stale",
    Outcome.UNFOLLOWED: "not followed",
    Outcome.EXEMPT: "exempt",
}
_DOUBTS = {
    Doubt.DISCRETIONARY: "a person must judge",
    Doubt.UNKNOWN_TYPE: "of an unknown type, a person must judge",
    Doubt.NOT_FORMAL: "not written so that a machine could judge",
    Doubt.MISSING: "never taken for compliant",
    Doubt.KIND: "not a value that can be compared",
    Doubt.UNIT: "in another unit, for which the graph declares no conversion",
    Doubt.WINDOW: "the window is not whole any more",
    Doubt.EXEMPTION: "perhaps exempt, a person must judge",
}


def rule_line(telemetry_id: str, subject: str, verdict: RuleVerdict, explained: ExplainedRule) -> str:
    """Record, verdict, rule, tier, limits against observations with their clauses, and why it stands."""
    word = standing_word(verdict)
    shown = click.style(word.ljust(_WIDEST), fg=_COLOURS[Verdict(word) if word != HELD else HELD], bold=True)
    return f"{one_line(telemetry_id)}  {shown}  {rule_text(subject, verdict, explained)}"


def rule_text(subject: str, verdict: RuleVerdict, explained: ExplainedRule) -> str:
    """The line without its first two columns."""
    if verdict.rule_id == UNRULED:
        is_unmapped = verdict.verdict is Verdict.NULL_UNMAPPED
        why = "the graph has no subject" if is_unmapped else "no rule applies to"
        return f"{why} `{one_line(subject)}`; {verdict.reason}"
    name = one_line(explained.rule_name or verdict.rule_id)
    return f"{name} ({verdict.tier} tier): {_findings(verdict, explained)}; {_warning(verdict)}{_reason(verdict)}"


def told_obligation(one: ExplainedObligation) -> str:
    """`so2 is 201 mg/Nm3, must not exceed 200 mg/Nm3 (breached)`."""
    demand = _DEMANDS.get(one.predicate, one_line(one.predicate).replace("_", " "))
    if not one.metric:
        told = f"{one_line(one.summary or one.obligation_id)}: {demand}"
    else:
        told = f"{one_line(one.metric)} {_observed(one)}, {demand} {_limit(one)}".rstrip()
    return f"{told}{_outcome(one)}"


def clause_text(clauses: Sequence[Clause]) -> str:
    return "; ".join(one_line(f"{one.source_document}, {one.source_clause}") for one in clauses)


def one_line(text: str) -> str:
    """The words of strangers, which must not look like lines of ours."""
    return " ".join(plain(text).split())


def _findings(verdict: RuleVerdict, explained: ExplainedRule) -> str:
    if not explained.is_graph_kept:
        return "its graph is not kept any more"
    told = _deciding(verdict, explained.obligations)
    if not told:
        return "nothing of it is in force then and there"
    parts = [_with_clause(one) for one in told[:_MOST_TOLD]]
    more = [f"and {len(told) - _MOST_TOLD} more"] if len(told) > _MOST_TOLD else []
    return "; ".join(parts + more)


def _deciding(verdict: RuleVerdict, obligations: Sequence[ExplainedObligation]) -> Sequence[ExplainedObligation]:
    """What stands against CLEAR; all of them where nothing does."""
    against = [one for one in obligations if one.outcome not in (None, Outcome.SATISFIED, Outcome.EXEMPT)]
    return obligations if verdict.verdict is Verdict.CLEAR else against or obligations


def _with_clause(one: ExplainedObligation) -> str:
    clauses = clause_text(one.clauses)
    return f"{told_obligation(one)} [{clauses}]" if clauses else told_obligation(one)


def _warning(verdict: RuleVerdict) -> str:
    """Warn about a jurisdiction in doubt: obligations that may apply were left out."""
    notes = () if verdict.envelope is None else verdict.envelope.notes
    told = [f"jurisdiction {one.removeprefix(DISPLACED_NOTE)}" for one in notes if one.startswith(DISPLACED_NOTE)]
    told += [one.removeprefix(DOUBT_NOTE) for one in notes if one.startswith(DOUBT_NOTE)]
    return "".join(f"{one_line(one)}; " for one in told)


def _reason(verdict: RuleVerdict) -> str:
    return f"{verdict.reason}, ticket {verdict.ticket_id}" if verdict.verdict is None else verdict.reason


def _observed(one: ExplainedObligation) -> str:
    if one.observed is None:
        return "was not recorded before" if one.window_kind is WindowKind.AGE else "is missing"
    if one.window_kind in _TIMED and isinstance(one.observed, int | float):
        span = _span(one.observed)
        return f"was recorded {span} before" if one.window_kind is WindowKind.AGE else f"has failed for {span}"
    amount = _amount(one.observed, one.observed_unit)
    if one.converted is not None:
        amount = f"{amount} ({_amount(one.converted, one.unit)})"
    if one.window_kind is None:
        return f"is {amount}"
    over = "" if one.window_seconds is None else f" over {_span(one.window_seconds)}"
    return f"has the {one.window_kind} {amount}{over}"


def _limit(one: ExplainedObligation) -> str:
    if one.window_kind in _TIMED and isinstance(one.limit, int | float):
        return _span(one.limit)
    return _amount(one.limit, one.unit, is_range=one.predicate in _RANGES)


def _amount(value: PlainOperand | Scalar, unit: str | None, *, is_range: bool = False) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        text = (" to " if is_range else ", ").join(_value(part) for part in value)
    else:
        text = _value(value)
    return f"{text} {one_line(unit)}" if unit else text


def _value(value: object) -> str:
    """Numbers as they are written in JSON; a text in quotes, so that it cannot pass for our words."""
    return one_line(json.dumps(value, ensure_ascii=False))


def _span(seconds: float) -> str:
    for size, name in _SPANS:
        if seconds >= size and seconds % size == 0:
            return f"{int(seconds // size)} {name}"
    return f"{_value(seconds)} s"


def _outcome(one: ExplainedObligation) -> str:
    if one.outcome is None:
        return ""
    told = _DOUBTS[one.doubt] if one.doubt is not None else _OUTCOMES[one.outcome]
    if one.doubt is Doubt.UNIT and one.observed is not None and one.observed_unit is None:
        told = "without a unit, which the graph requires"
    by = f" by {one_line(one.exemption_id)}" if one.exemption_id is not None else ""
    return f" ({told}{by})"
