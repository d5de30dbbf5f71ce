"""Slices, records and answers that tests start from, and a model that tells the truth."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from assay.kernel.digest import Digest, digest_of
from assay.kernel.instant import Instant
from assay.verdicts.docket import Docket, open_docket
from assay.verdicts.envelope import ModelAnswer, ModelProvenance, Verdict
from assay.verdicts.fastpath import state_assertions
from assay.verdicts.graph.condition import parse_conditions
from assay.verdicts.graph.edge import Edge, EdgeType
from assay.verdicts.graph.hash import versioned
from assay.verdicts.graph.node import Exemption, NodeId, RiskTier, Rule
from assay.verdicts.graph.obligation import FlatPredicate, Obligation, PredicateName
from assay.verdicts.slice import RuleSlice
from assay.verdicts.telemetry import Telemetry, parse_telemetry
from assay.verdicts.verify import expected_verdict, judge_all
from assay.verdicts.window_fact import WindowFact

NOON = Instant(datetime(2026, 3, 2, 12, tzinfo=UTC))
WEIGHTS = digest_of(b"weights")
GRAPH = digest_of(b"graph")
PROVENANCE = ModelProvenance(
    model_weight_hash=WEIGHTS,
    kg_version_hash=GRAPH,
    prompt_template_id="ski.v3.evaluate.1",
    prompt_template_hash=digest_of(b"prompt"),
    decoder_seed=7,
    structured_grammar_hash=digest_of(b"grammar"),
)


def operand(value: object) -> object:
    """A plain value as a graph holds it."""
    if isinstance(value, list | tuple):
        return tuple(operand(part) for part in value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return Decimal(repr(value))


def obligation(
    name: str,
    kind: str,
    metric: str | None = "nox",
    value: object = None,
    *,
    unit: str | None = None,
    window: float | None = None,
) -> Obligation:
    return versioned(
        Obligation(
            id=NodeId(name),
            obligation_type=kind,
            metric=metric,
            value=operand(value),  # type: ignore[arg-type]  # a plain value became an operand
            unit=unit,
            window_seconds=None if window is None else Decimal(repr(window)),
        )
    )


def flat(name: str, predicate: PredicateName, metric: str = "nox", **fields: object) -> Obligation:
    """An obligation that a flat rule was converted to, by its predicate over time."""
    parts = {key: value if key == "op" else operand(value) for key, value in fields.items()}
    return versioned(
        Obligation(
            id=NodeId(name),
            obligation_type="must",
            metric=metric,
            predicate=FlatPredicate(name=predicate, **parts),  # type: ignore[arg-type]  # checked by the tests' own words
        )
    )


def exemption(name: str, condition: str) -> Exemption:
    return versioned(Exemption(id=NodeId(name), condition=condition, formal=parse_conditions(condition)))


def part_of(
    *obligations: Obligation, tier: str = "medium", exempted: Mapping[str, Sequence[Exemption]] | None = None
) -> RuleSlice:
    rule = versioned(Rule(id=NodeId("rule-1"), name="a rule", risk_tier=tier))
    exemptions = {one.id: one for group in (exempted or {}).values() for one in group}
    edges = [Edge(type=EdgeType.CONSISTS_OF, source=rule.id, target=one.id) for one in obligations]
    edges += [
        Edge(type=EdgeType.EXEMPTED_BY, source=NodeId(source), target=one.id)
        for source, group in (exempted or {}).items()
        for one in group
    ]
    return RuleSlice(
        rule=rule,
        obligations=tuple(sorted(obligations, key=lambda one: one.id)),
        exemptions=tuple(exemptions[name] for name in sorted(exemptions)),
        edges=tuple(edges),
    )


def docket_of(
    *obligations: Obligation, tier: str = "medium", exempted: Mapping[str, Sequence[Exemption]] | None = None
) -> Docket:
    return open_docket(part_of(*obligations, tier=tier, exempted=exempted), is_mapped=True)


def tiered(docket: Docket, tier: RiskTier) -> Docket:
    assert docket.part is not None
    rule = replace(docket.part.rule, risk_tier=tier.value)
    return open_docket(replace(docket.part, rule=rule), is_mapped=docket.is_mapped)


def record(measurement: Mapping[str, object], *, at: str = "2026-03-02T12:00:00Z", name: str = "t-1") -> Telemetry:
    return parse_telemetry(
        {"telemetry_id": name, "timestamp": at, "subject": "stack-1", "measurement": dict(measurement)}
    )


def honest(docket: Docket, telemetry: Telemetry, facts: Mapping[str, WindowFact] | None = None) -> ModelAnswer:
    """What a model says that makes no mistake: one assertion for each obligation that can be computed."""
    judgements = judge_all(docket, telemetry, facts or {})
    return ModelAnswer(
        reasoning="as computed",
        formalizable_assertions=state_assertions(docket, telemetry, facts or {}, judgements),
        kg_citations=tuple(docket.citable[check.obligation_id] for check in docket.checks),
        verdict=expected_verdict(judgements, is_mapped=docket.is_mapped, doubt=docket.doubt),
    )


def saying(answer: ModelAnswer, verdict: Verdict) -> ModelAnswer:
    return replace(answer, verdict=verdict)


def digest(text: str) -> Digest:
    return digest_of(text.encode())


def vector_cases(path: str) -> list[Any]:
    """The cases of `tests/vectors/verdicts/<path>.json`."""
    text = (Path(__file__).parents[1] / "vectors" / "verdicts" / f"{path}.json").read_text()
    cases: list[Any] = json.loads(text)["cases"]
    return cases
