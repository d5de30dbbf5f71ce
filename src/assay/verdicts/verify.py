"""The Symbolic Verifier (SKI 5.3): judges every obligation of the slice itself, then compares what the model says.

docket + record + window facts + the model's answer -> Verification
It is total: whatever a model writes, there is a result. It never touches the verdict: what follows is the governor's.

    LLM_CONTRADICTION           the model's own observed value does not bear out its own `satisfied`
    NEURO_SYMBOLIC_DIVERGENCE   predicate, operand, metric, window, observation, truth, citation or verdict is another;
                                or an unmet obligation was passed over in silence
    UNVERIFIABLE                nothing is wrong, and the verdict hangs on what could not be checked, or nothing was
    AGREED                      what can be checked is as the model says, and the verdict is the same whatever the rest
                                turns out to be: a determined breach is a FLAG whatever else is missing

The first of these that applies is the status; every finding is listed, whatever the status. A divergence starts with
one of the codes of `Divergence`. Under the first rulings anything that could not be checked was UNVERIFIABLE.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import UNSET, Struct

from assay.verdicts._tell import Teller, teller_of
from assay.verdicts.comparison import PlainOperand, is_same
from assay.verdicts.docket import Docket
from assay.verdicts.envelope import (
    FormalizableAssertion,
    KgCitation,
    ModelAnswer,
    Verdict,
    VerifierResult,
    VerifierStatus,
)
from assay.verdicts.predicate import Check, Doubt, Judgement, Outcome, judge, meets, observe
from assay.verdicts.rulings import Rulings
from assay.verdicts.slice import PlaceDoubt
from assay.verdicts.telemetry import Scalar, Telemetry
from assay.verdicts.window_fact import WindowFact


class Divergence(StrEnum):
    """What a line of `divergences` starts with. Closed and growing; a code never changes its meaning."""

    CONTRADICTION = "assertion.contradiction"
    PREDICATE = "assertion.predicate"
    VALUE = "assertion.value"
    METRIC = "assertion.metric"
    WINDOW = "assertion.window"
    OBSERVED = "assertion.observed"
    SATISFIED = "assertion.satisfied"
    OUTSIDE = "assertion.outside_slice"
    INFORMAL = "assertion.not_formalizable"
    REPEATED = "assertion.repeated"
    OMITTED = "assertion.omitted"
    UNASSERTED = "assertion.absent"
    CITATION_OUTSIDE = "citation.outside_slice"
    CITATION_VERSION = "citation.version"
    CITATION_ROLE = "citation.role"
    PLACE_UNDECLARED = "jurisdiction.undeclared"
    PLACE_UNKNOWN = "jurisdiction.unknown"
    VERDICT = "verdict.mismatch"
    UNKNOWN_TYPE = "obligation.unknown_type"
    UNDETERMINED = "obligation.undetermined"
    NOT_FORMAL = "rule.not_formalizable"
    UNPARSED = "reply.unparsed"
    UNFINISHED = "reply.unfinished"
    UNAVAILABLE = "reply.unavailable"
    UNBOUND = "model.grammar_unbound"
    MORE = "more"


class Verification(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """`judgements` are the verifier's own, one for each obligation; `expected` is the verdict they come to."""

    result: VerifierResult
    judgements: tuple[Judgement, ...]
    expected: Verdict


# In the order in which they decide a status.
_WORST = (
    VerifierStatus.LLM_CONTRADICTION,
    VerifierStatus.NEURO_SYMBOLIC_DIVERGENCE,
    VerifierStatus.UNVERIFIABLE,
)
_SATISFIED = Outcome.SATISFIED
_UNMET = frozenset({Outcome.BREACHED, Outcome.STALE, Outcome.UNFOLLOWED, Outcome.EXEMPT})
_HUMAN = frozenset({Doubt.DISCRETIONARY, Doubt.UNKNOWN_TYPE})
_Finding = tuple[VerifierStatus, str]
_MAX_LINES = 256
_CONTRADICTS, _DIVERGES, _UNSURE = _WORST


def verify(
    docket: Docket,
    telemetry: Telemetry,
    facts: Mapping[str, WindowFact],
    answer: ModelAnswer,
    *,
    error: str | None = None,
    notice: str | None = None,
) -> Verification:
    """Check an answer. `error` says why there is no readable one, if so; it is recorded as a divergence (SKI 5.2).

    `notice` says what else is wrong with how a readable one was had; it is recorded too, and decides nothing.
    """
    if error is None and notice is None:
        agreed = _quick_agreement(docket, telemetry, answer)
        if agreed is not None:
            return agreed
    judgements = judge_all(docket, telemetry, facts)
    expected = expected_verdict(judgements, is_mapped=docket.is_mapped, doubt=docket.doubt)
    observed = {check.obligation_id: observe(check, telemetry.readings, facts) for check in docket.checks}
    findings = list(_findings(docket, judgements, observed, expected, answer, error))
    noticed = [] if notice is None else [(_UNSURE, notice)]
    return Verification(
        result=VerifierResult(
            status=_status(docket, judgements, findings, answer, error),
            checked_assertions=sum(_is_checked(docket, one) for one in answer.formalizable_assertions),
            divergences=_lines([*findings, *noticed]),
        ),
        judgements=judgements,
        expected=expected,
    )


def judge_all(docket: Docket, telemetry: Telemetry, facts: Mapping[str, WindowFact]) -> tuple[Judgement, ...]:
    """The verifier's own evaluation of every obligation, before any word of the model is looked at."""
    readings = telemetry.readings
    return tuple([judge(check, readings, facts) for check in docket.checks])


def expected_verdict(judgements: Sequence[Judgement], *, is_mapped: bool, doubt: PlaceDoubt | None = None) -> Verdict:
    """What the judgements come to within one rule; with a jurisdiction in doubt, at best DISCRETIONARY."""
    if not is_mapped:
        return Verdict.NULL_UNMAPPED
    determined = _determined_verdict(judgements)
    return determined if doubt is None or determined is Verdict.FLAG else Verdict.DISCRETIONARY


def _determined_verdict(judgements: Sequence[Judgement]) -> Verdict:
    open_ones = [judgement for judgement in judgements if judgement.outcome is not _SATISFIED]
    if not open_ones:
        return Verdict.CLEAR
    outcomes = {judgement.outcome for judgement in open_ones}
    if _is_human(open_ones):
        return Verdict.DISCRETIONARY
    if Outcome.BREACHED in outcomes:
        return Verdict.FLAG
    if Outcome.STALE in outcomes:
        return Verdict.NULL_STALE
    return Verdict.CLEAR if outcomes == {Outcome.EXEMPT} else Verdict.DISCRETIONARY


def _quick_agreement(docket: Docket, telemetry: Telemetry, answer: ModelAnswer) -> Verification | None:
    """AGREED, if each obligation in turn is asserted exactly as judged and nothing else is said; None is no answer yet.

    INVARIANT: what is returned here is what the full comparison would return; a property test holds it to that.
    """
    if docket.doubt is not None:
        return None
    assertions, readings = answer.formalizable_assertions, telemetry.readings
    if len(assertions) != len(docket.agreements) or not assertions:
        return None
    judgements, is_clear = [], True
    for agreement, assertion in zip(docket.agreements, assertions, strict=True):
        judgement = None if agreement is None else agreement(assertion, readings)
        if judgement is None:
            return None
        judgements.append(judgement)
        is_clear = is_clear and judgement.outcome is _SATISFIED
    citable = docket.citable
    for citation in answer.kg_citations:
        if citable.get(citation.node_id) != citation:
            return None
    expected = Verdict.CLEAR if is_clear else expected_verdict(judgements, is_mapped=True)
    if answer.verdict is not expected:
        return None
    count = len(judgements)
    agreed = _AGREED[count] if count < len(_AGREED) else _agreement(count)
    return Verification(result=agreed, judgements=tuple(judgements), expected=expected)


def _agreement(count: int) -> VerifierResult:
    return VerifierResult(status=VerifierStatus.AGREED, checked_assertions=count)


_AGREED = tuple(_agreement(count) for count in range(64))


def _status(
    docket: Docket,
    judgements: Sequence[Judgement],
    findings: Iterable[_Finding],
    answer: ModelAnswer,
    error: str | None,
) -> VerifierStatus:
    found = {status for status, _ in findings}
    status = next((status for status in _WORST if status in found), VerifierStatus.AGREED)
    if status is not _UNSURE or docket.rulings is Rulings.FIRST:
        return status
    if error is not None or not _is_compared(judgements, answer) or _hangs(docket, judgements):
        return _UNSURE
    return VerifierStatus.AGREED


def _is_compared(judgements: Sequence[Judgement], answer: ModelAnswer) -> bool:
    """Whether the model asserts anything that is determined; otherwise there was nothing to agree about."""
    determined = {
        judgement.obligation_id
        for judgement in judgements
        if judgement.truth is not None or judgement.outcome is Outcome.EXEMPT
    }
    return any(assertion.obligation_id in determined for assertion in answer.formalizable_assertions)


def _hangs(docket: Docket, judgements: Sequence[Judgement]) -> bool:
    """Whether what is undetermined could still change the verdict: its best end and its worst are two verdicts."""
    ends = []
    for is_met in (True, False):
        settled = [
            _settled(check, judgement, is_met=is_met)
            for check, judgement in zip(docket.checks, judgements, strict=True)
        ]
        ends.append(_determined_verdict(settled))
    best, worst = ends
    # Scoped obligations that may apply could be breached as well: only what outranks a breach stands then.
    fixed = (Verdict.FLAG,) if docket.doubt is not None and not _is_human(judgements) else tuple(Verdict)
    return best is not worst or best not in fixed


def _is_human(judgements: Iterable[Judgement]) -> bool:
    return any(judgement.doubt in _HUMAN for judgement in judgements)


def _settled(check: Check, judgement: Judgement, *, is_met: bool) -> Judgement:
    """An obligation as it would be if everything about it were known, at best or at worst."""
    if judgement.outcome is not Outcome.UNDETERMINED or judgement.doubt in _HUMAN:
        return judgement
    return check.satisfied if is_met else check.breached


def _lines(findings: Sequence[_Finding]) -> tuple[str, ...]:
    """All of them, or so many that an entry can still hold them, and how many more there were."""
    lines = [line for _, line in findings[:_MAX_LINES]]
    if len(findings) > _MAX_LINES:
        lines.append(f"{Divergence.MORE}: {len(findings) - _MAX_LINES} findings more than are listed")
    return tuple(lines)


def _is_checked(docket: Docket, assertion: FormalizableAssertion) -> bool:
    check = docket.by_id.get(assertion.obligation_id)
    return check is not None and check.doubt is None


def _findings(
    docket: Docket,
    judgements: Sequence[Judgement],
    observed: Mapping[str, Scalar],
    expected: Verdict,
    answer: ModelAnswer,
    error: str | None,
) -> Iterator[_Finding]:
    judged = {judgement.obligation_id: judgement for judgement in judgements}
    tell = teller_of(docket.rulings)
    if error is not None:
        yield _UNSURE, error
    seen: set[str] = set()
    for assertion in answer.formalizable_assertions:
        yield from _assertion_findings(docket, judged, observed, assertion, seen)
    for check, judgement in zip(docket.checks, judgements, strict=True):
        yield from _obligation_findings(tell, check, judgement, is_asserted=check.obligation_id in seen)
    if docket.doubt is not None:
        yield _UNSURE, _doubt_line(docket.doubt)
    for citation in answer.kg_citations:
        yield from _citation_findings(docket, citation)
    if error is None and answer.verdict is not expected:
        yield _DIVERGES, f"{Divergence.VERDICT}: expected {expected}, got {answer.verdict}"
    if not any(check.doubt is None for check in docket.checks):
        yield _UNSURE, f"{Divergence.NOT_FORMAL}: {_why_not_formal(docket)}"


def _assertion_findings(
    docket: Docket,
    judged: Mapping[str, Judgement],
    observed: Mapping[str, Scalar],
    assertion: FormalizableAssertion,
    seen: set[str],
) -> Iterator[_Finding]:
    """The four steps of SKI 5.3. A contradiction is told first: it needs no slice, and decides the status."""
    tell = teller_of(docket.rulings)
    name = tell.name(assertion.obligation_id)
    check = docket.by_id.get(assertion.obligation_id)
    # SKI 5.3: 2. the predicate's truth, by the model's own words, and 3. compared with what it says is satisfied.
    if _contradicts(check, assertion, judged.get(assertion.obligation_id), observed.get(assertion.obligation_id)):
        claim, satisfied = tell.value(assertion.observed), str(assertion.satisfied).lower()
        told = f"observed {claim} against {tell.value(assertion.value)} does not bear out satisfied {satisfied}"
        yield _CONTRADICTS, f"{Divergence.CONTRADICTION}: {name}: {told}"
    if check is None:
        yield _DIVERGES, f"{Divergence.OUTSIDE}: {name} is not in the slice"
        return
    if assertion.obligation_id in seen:
        yield _DIVERGES, f"{Divergence.REPEATED}: {name} is asserted more than once"
    seen.add(assertion.obligation_id)
    if check.doubt is not None:
        yield _DIVERGES, f"{Divergence.INFORMAL}: {name} cannot be computed: {check.doubt}"
        return
    yield from _field_findings(tell, check, assertion, name)
    # 1. The metric as the record has it, against what the model says it observed.
    if not is_same(observed[assertion.obligation_id], assertion.observed):
        yield _differs(tell, Divergence.OBSERVED, name, observed[assertion.obligation_id], assertion.observed)
    # 4. Our own evaluation of the same obligation.
    yield from _truth_findings(judged[assertion.obligation_id], assertion, name)


def _contradicts(
    check: Check | None, assertion: FormalizableAssertion, judgement: Judgement | None, observed: Scalar
) -> bool:
    """SKI 4.5: the observed value, as the model claims it, against the model's own predicate and operand.

    Of a sum, an average or a converted number no more is shown than survives binary64: a model that claims that number
    as it was shown, and says of it what is exactly so, does not contradict itself where it rounds onto the limit.
    """
    if assertion.observed is None:
        return False
    window = _window(assertion)
    is_its_own = (
        check is not None
        and check.doubt is None
        and check.predicate == assertion.predicate
        and check.window_seconds == window
        and is_same(check.value, assertion.value)
    )
    if is_its_own and check is not None:
        is_rounded = check.plan is not None or bool(check.conversions)
        is_shown = is_rounded and is_same(observed, assertion.observed)
        if is_shown and judgement is not None and judgement.truth is assertion.satisfied:
            return False
        truth = check.test(assertion.observed)
    else:
        truth = meets(assertion.predicate, assertion.value, assertion.observed, window)
    return truth is not None and truth is not assertion.satisfied


def _field_findings(tell: Teller, check: Check, assertion: FormalizableAssertion, name: str) -> Iterator[_Finding]:
    """What is asserted must be what the graph says, field by field."""
    if assertion.predicate != check.predicate:
        yield _differs(tell, Divergence.PREDICATE, name, check.predicate, assertion.predicate)
    if assertion.metric != check.metric:
        yield _differs(tell, Divergence.METRIC, name, check.metric, assertion.metric)
    if not is_same(check.value, assertion.value):
        yield _differs(tell, Divergence.VALUE, name, check.value, assertion.value)
    window = _window(assertion)
    if window != check.window_seconds:
        yield _differs(tell, Divergence.WINDOW, name, check.window_seconds, window)


def _truth_findings(judgement: Judgement, assertion: FormalizableAssertion, name: str) -> Iterator[_Finding]:
    """What is asserted must be what the record says; where that cannot be told, only `satisfied` false may be."""
    if assertion.satisfied is not (judgement.truth is True):
        truth = "undetermined" if judgement.truth is None else str(judgement.truth).lower()
        satisfied = str(assertion.satisfied).lower()
        yield _DIVERGES, f"{Divergence.SATISFIED}: {name}: expected {truth}, got {satisfied}"


def _obligation_findings(tell: Teller, check: Check, judgement: Judgement, *, is_asserted: bool) -> Iterator[_Finding]:
    name = tell.name(check.obligation_id)
    if judgement.doubt is Doubt.UNKNOWN_TYPE:
        # SKI 3.3: the detection is recorded, whatever the model made of it.
        yield _UNSURE, f"{Divergence.UNKNOWN_TYPE}: {name} has the unknown type {tell.value(check.predicate)}"
    elif judgement.doubt is not None and judgement.doubt is not Doubt.DISCRETIONARY:
        yield _UNSURE, f"{Divergence.UNDETERMINED}: {name}: {judgement.doubt}"
    if is_asserted or check.doubt is not None:
        return
    if judgement.outcome in _UNMET:
        yield _DIVERGES, f"{Divergence.OMITTED}: {name} is {judgement.outcome} and was passed over"
    else:
        yield _UNSURE, f"{Divergence.UNASSERTED}: {name}: the model did not commit itself"


def _citation_findings(docket: Docket, citation: KgCitation) -> Iterator[_Finding]:
    tell = teller_of(docket.rulings)
    name = tell.name(citation.node_id)
    known = docket.citable.get(citation.node_id)
    if known is None:
        yield _DIVERGES, f"{Divergence.CITATION_OUTSIDE}: {name} is not in the slice"
        return
    if known.version != citation.version:
        yield _differs(tell, Divergence.CITATION_VERSION, name, known.version, citation.version)
    if known.role is not citation.role:
        yield _differs(tell, Divergence.CITATION_ROLE, name, known.role, citation.role)


def _why_not_formal(docket: Docket) -> str:
    if not docket.is_mapped:
        return "the subject is not in the graph"
    return "no obligation can be computed" if docket.checks else "no obligation applies"


def _doubt_line(doubt: PlaceDoubt) -> str:
    code = Divergence.PLACE_UNDECLARED if doubt is PlaceDoubt.UNDECLARED else Divergence.PLACE_UNKNOWN
    return f"{code}: jurisdiction {doubt}: obligations of the rule that are scoped to one were not checked"


def _differs(tell: Teller, code: Divergence, name: str, expected: PlainOperand, got: PlainOperand) -> _Finding:
    return _DIVERGES, f"{code}: {name}: expected {tell.value(expected)}, got {tell.value(got)}"


def _window(assertion: FormalizableAssertion) -> int | float | None:
    return None if assertion.window_seconds is UNSET else assertion.window_seconds
