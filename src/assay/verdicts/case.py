"""A case in a file: obligations, exemptions, a record and earlier ones, as JSON that a person can write.

JSON -> parse_case -> Case -> open_case -> docket, record, window facts -> expected_of -> what the verifier makes of it
Cases measure models and teach them; they go the way of a verdict, and nothing is decided by them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from assay.kernel.errors import CanonicalError
from assay.kernel.instant import Instant, render_instant
from assay.verdicts.comparison import nfc
from assay.verdicts.docket import Docket, open_docket
from assay.verdicts.envelope import Verdict
from assay.verdicts.errors import VerdictsError
from assay.verdicts.graph.condition import parse_conditions
from assay.verdicts.graph.edge import Edge, EdgeType
from assay.verdicts.graph.hash import versioned
from assay.verdicts.graph.node import Exemption, NodeId, Rule
from assay.verdicts.graph.obligation import FlatPredicate, Obligation, PredicateName
from assay.verdicts.predicate import Doubt, Judgement, Outcome
from assay.verdicts.prompt import render_prompt
from assay.verdicts.slice import RuleSlice
from assay.verdicts.telemetry import Telemetry, parse_telemetry
from assay.verdicts.verify import expected_verdict, judge_all
from assay.verdicts.window import window_facts
from assay.verdicts.window_fact import WindowFact, buffer_record

_ENDS = frozenset({"min", "max"})
_NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


class CaseObligation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """`type` is the obligation's; `window` is in seconds; `flat` is a predicate of a flat graph, if it has one.

    `value` is a scalar, a list, or a range as a graph writes it: `[low, high]` or `{"min": low, "max": high}`.
    """

    id: str
    type: str
    metric: str | None = None
    value: Any = None
    unit: str | None = None
    window: int | None = None
    flat: dict[str, Any] | None = None


class EarlierRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`ago` is in seconds before the record that is judged."""

    ago: float
    measurement: dict[str, Any]


class Case(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`exemptions` are conditions by obligation; `dropped` says that records up to so many seconds ago are lost.

    `facts` say what windows came to, in place of the earlier records that they came to it by.
    """

    obligations: tuple[CaseObligation, ...]
    measurement: dict[str, Any]
    exemptions: dict[str, tuple[str, ...]] = {}
    earlier: tuple[EarlierRecord, ...] = ()
    dropped: int | None = None
    facts: tuple[WindowFact, ...] | UnsetType = UNSET


class Expected(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The right answer: the verdict, and for each obligation its class and whether it is satisfied (None: unknown)."""

    verdict: Verdict
    classes: tuple[str, ...]
    truths: tuple[bool | None, ...]


@dataclass(frozen=True, slots=True)
class OpenCase:
    """A case as the steps of a verdict see it."""

    docket: Docket
    telemetry: Telemetry
    facts: Mapping[str, WindowFact]

    @property
    def prompt(self) -> str:
        return render_prompt(self.docket.head, self.docket.lines, self.telemetry, self.facts).text


def parse_case(plain: object) -> Case:
    """Plain JSON as a case."""
    try:
        return msgspec.convert(plain, Case)
    except msgspec.ValidationError as error:
        raise VerdictsError.case(f"expected a case, got {error}") from error


def open_case(case: Case) -> OpenCase:
    """The same docket, record and facts for the same case; refuses one that no graph or record could hold."""
    _check_names(case)
    try:
        obligations = tuple(_obligation(one) for one in case.obligations)
        exempted = {
            nfc(name): tuple(_exemption(f"{nfc(name)}-x{n}", text) for n, text in enumerate(texts))
            for name, texts in sorted(case.exemptions.items())
        }
        docket = open_docket(_part(obligations, exempted), is_mapped=True)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise VerdictsError.case(f"expected obligations as a graph has them, got {error}") from error
    telemetry = _record("now", 0, case.measurement)
    if case.facts is not UNSET:
        return OpenCase(docket, telemetry, _given_facts(case, docket, case.facts))
    earlier = [buffer_record(_record(f"t-{n}", one.ago, one.measurement)) for n, one in enumerate(case.earlier)]
    dropped = None if case.dropped is None else Instant(_NOON - timedelta(seconds=case.dropped))
    return OpenCase(docket, telemetry, window_facts(docket.plans, telemetry, earlier, dropped_until=dropped))


def _check_names(case: Case) -> None:
    names = [nfc(one.id) for one in case.obligations]
    if len(set(names)) < len(names):
        raise VerdictsError.case(f"expected obligations with an id each, got {names}"[:300])
    strange = sorted({nfc(name) for name in case.exemptions} - set(names))
    if strange:
        raise VerdictsError.case(f"expected exemptions of {names}, got some of {strange}"[:300])


def _given_facts(case: Case, docket: Docket, facts: Sequence[WindowFact]) -> Mapping[str, WindowFact]:
    """One for each obligation that looks back, and nothing else that windows could be made of."""
    if case.earlier or case.dropped is not None:
        raise VerdictsError.case("expected earlier records or facts about them, got both")
    told = sorted((fact.obligation_id, fact.kind, fact.metric) for fact in facts)
    planned = sorted((plan.obligation_id, plan.kind, plan.metric) for plan in docket.plans)
    if told != planned:
        raise VerdictsError.case(f"expected facts about {planned}, got {told}"[:300])
    return {fact.obligation_id: fact for fact in facts}


def expected_of(opened: OpenCase) -> Expected:
    """What the verifier makes of a case by itself."""
    judgements = judge_all(opened.docket, opened.telemetry, opened.facts)
    return Expected(
        verdict=expected_verdict(judgements, is_mapped=True),
        classes=tuple(class_of(judgement) for judgement in judgements),
        truths=tuple(judgement.truth for judgement in judgements),
    )


def class_of(judgement: Judgement) -> str:
    """What an obligation came to, in one word."""
    if judgement.doubt in {Doubt.DISCRETIONARY, Doubt.UNKNOWN_TYPE}:
        return "judgement"
    return "undetermined" if judgement.outcome is Outcome.UNDETERMINED else judgement.outcome.value


def _operand(value: Any) -> Any:  # noqa: ANN401  a plain JSON value
    if isinstance(value, dict) and set(value) == _ENDS:
        value = [value["min"], value["max"]]
    if isinstance(value, list | tuple):
        return tuple(_operand(part) for part in value)
    if isinstance(value, dict):
        raise TypeError(f"an object with {', '.join(sorted(value)) or 'nothing'} where a range has min and max")
    if isinstance(value, int) and not isinstance(value, bool) and int(float(value)) != value:
        raise ValueError(f"the number {value}, which binary64 does not keep")
    return value if isinstance(value, bool | str) or value is None else Decimal(repr(value))


def _obligation(one: CaseObligation) -> Obligation:
    return versioned(
        Obligation(
            id=NodeId(nfc(one.id)),
            obligation_type=one.type,
            metric=None if one.metric is None else nfc(one.metric),
            value=_operand(one.value),
            unit=one.unit,
            window_seconds=_operand(one.window),
            predicate=None if one.flat is None else _flat(one.flat),
        )
    )


def _flat(fields: Mapping[str, Any]) -> FlatPredicate:
    parts = {key: _operand(value) for key, value in fields.items() if key not in {"name", "op"}}
    op = PredicateName(fields["op"]) if "op" in fields else None
    return FlatPredicate(name=PredicateName(str(fields.get("name"))), op=op, **parts)


def _exemption(name: str, text: str) -> Exemption:
    return versioned(Exemption(id=NodeId(name), condition=text, formal=parse_conditions(text)))


def _part(obligations: Sequence[Obligation], exempted: Mapping[str, Sequence[Exemption]]) -> RuleSlice:
    rule = versioned(Rule(id=NodeId("rule-1"), name="a rule", risk_tier="medium"))
    edges = [Edge(type=EdgeType.CONSISTS_OF, source=rule.id, target=one.id) for one in obligations]
    edges += [
        Edge(type=EdgeType.EXEMPTED_BY, source=NodeId(source), target=one.id)
        for source, group in exempted.items()
        for one in group
    ]
    exemptions = tuple(one for group in exempted.values() for one in group)
    return RuleSlice(rule=rule, obligations=tuple(obligations), exemptions=exemptions, edges=tuple(edges))


def _record(name: str, ago: float, measurement: Mapping[str, Any]) -> Telemetry:
    moment = render_instant(Instant(_NOON - timedelta(seconds=ago)))
    try:
        return parse_telemetry(
            {"telemetry_id": name, "timestamp": moment, "subject": "stack-1", "measurement": dict(measurement)}
        )
    except CanonicalError as error:
        raise VerdictsError.case(f"expected a record's values, got {error}") from error
