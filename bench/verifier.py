"""The verifier with 1 and 10 assertions, and everything around the model but the model itself.

The peer is the reference implementation of the specification, which no registry carries: its figures are scaled by this
run's rfc8785 rate over the 4,300 per second that they were taken beside. Ours judges every obligation of the slice and
compares predicate, operand, metric, observation and truth; the peer re-evaluates what the model asserted.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from itertools import cycle
from statistics import median

import rfc8785
from msgspec.json import encode

from assay.flows.verdicts.shelves import DocketShelf
from assay.kernel.digest import digest_of
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Head, Link, extend, genesis, prepare
from assay.verdicts.docket import Docket, open_docket
from assay.verdicts.envelope import ModelAnswer
from assay.verdicts.fastpath import state_assertions
from assay.verdicts.govern import govern
from assay.verdicts.graph.edge import Edge, EdgeType
from assay.verdicts.graph.graph import KnowledgeGraph
from assay.verdicts.graph.hash import versioned
from assay.verdicts.graph.index import build_index
from assay.verdicts.graph.node import NodeId, RiskTier, Rule, Subject
from assay.verdicts.graph.obligation import Obligation
from assay.verdicts.reason import RawReply, build_request, interpret_reply, provenance_of
from assay.verdicts.record import draft_verdict, seal_envelope
from assay.verdicts.slice import RuleSlice
from assay.verdicts.telemetry import Telemetry, parse_telemetry
from assay.verdicts.verify import expected_verdict, judge_all, verify
from bench._frame import Figure, load, measure, print_table
from bench.canonical import RECORD

__all__ = ["Pipeline", "figures", "graph_of", "part_of", "telemetry_of"]

_ONE, _TEN, _PIPELINE = 94_000, 31_000, 4_000
_RFC8785_BESIDE_IT = 4_300
_ROUNDS = 5
_SECONDS = 0.4
_NOON = Instant(datetime(2026, 1, 7, 12, tzinfo=UTC))
_TENANT = TenantId("bench")
_HASH = digest_of(b"bench")


def part_of(count: int, tier: RiskTier = RiskTier.MEDIUM) -> RuleSlice:
    rule = versioned(Rule(id=NodeId("rule:emissions"), name="emission limits", risk_tier=tier.value))
    obligations = tuple(
        versioned(
            Obligation(
                id=NodeId(f"obligation:limit-{number}"),
                obligation_type="must_not_exceed",
                metric=f"pollutant_{number}",
                value=Decimal(50 + number),
                unit="mg/m3",
                summary="an hourly limit of the permit",
            )
        )
        for number in range(count)
    )
    edges = tuple(Edge(type=EdgeType.CONSISTS_OF, source=rule.id, target=one.id) for one in obligations)
    return RuleSlice(rule=rule, obligations=obligations, edges=edges)


def graph_of(count: int) -> KnowledgeGraph:
    part = part_of(count)
    subject = versioned(Subject(id=NodeId("stack-1"), name="stack-1"))
    applies = Edge(type=EdgeType.APPLIES_TO, source=part.rule.id, target=subject.id)
    return KnowledgeGraph(
        subjects=(subject,), rules=(part.rule,), obligations=part.obligations, edges=(applies, *part.edges)
    )


def telemetry_of(count: int, place: int = 0) -> Telemetry:
    """Different numbers at each place, so that nothing is quick because it was seen before."""
    measurement = {
        f"pollutant_{number}": {"value": round(40.5 + number + place / 1000, 3), "unit": "mg/m3"}
        for number in range(count)
    }
    return parse_telemetry(
        {
            "telemetry_id": f"t-{place}",
            "timestamp": "2026-01-07T12:00:00Z",
            "subject": "stack-1",
            "measurement": measurement,
        }
    )


def _answer(docket: Docket, telemetry: Telemetry) -> ModelAnswer:
    judgements = judge_all(docket, telemetry, {})
    return ModelAnswer(
        reasoning="every value is below its limit",
        formalizable_assertions=state_assertions(docket, telemetry, {}, judgements),
        kg_citations=tuple(docket.citable.values()),
        verdict=expected_verdict(judgements, is_mapped=True),
    )


def _verifying(count: int) -> Callable[[], object]:
    docket, telemetry = open_docket(part_of(count), is_mapped=True), telemetry_of(count)
    answer = _answer(docket, telemetry)
    result = verify(docket, telemetry, {}, answer).result
    # A figure for a verifier that found nothing to check would be worth nothing.
    assert (result.status, result.checked_assertions) == ("AGREED", count)  # noqa: S101 - as above
    return lambda: verify(docket, telemetry, {}, answer)


def _reply(docket: Docket, telemetry: Telemetry) -> RawReply:
    text = encode(_answer(docket, telemetry)).decode()
    return RawReply(text=text, backend_name="bench", model_weight_hash=_HASH, started_at=_NOON, completed_at=_NOON)


class Pipeline:
    """A record to a linked entry: slice, prompt, grammar, reading the reply, verify, govern, envelope, chain.

    The transcript is not part of it: it belongs to the model's call, whose time is left out.
    """

    def __init__(self, count: int) -> None:
        self.dockets = DocketShelf(build_index(graph_of(count)))
        self.head: Head = genesis(_TENANT)
        docket = open_docket(part_of(count), is_mapped=True)
        self.cases = cycle([(one, _reply(docket, one)) for one in (telemetry_of(count, place) for place in range(512))])

    def __call__(self) -> Link:
        telemetry, reply = next(self.cases)
        _, [docket] = self.dockets.find(
            telemetry.subject, as_of=telemetry.timestamp, jurisdiction=telemetry.jurisdiction
        )
        request = build_request(docket, telemetry, {}, seed=7)
        read = interpret_reply(reply, docket)
        checked = verify(docket, telemetry, {}, read.answer, error=read.error)
        ruling = govern(read.answer.verdict, checked.result.status, docket.tier)
        envelope = seal_envelope(
            docket,
            read.answer,
            checked,
            ruling,
            provenance=provenance_of(request, model_weight_hash=_HASH, kg_version_hash=_HASH),
            transcript_ref=_HASH,
        )
        draft = draft_verdict(_TENANT, docket, telemetry, envelope, ruling, checked, facts={}, at=_NOON)
        [link], self.head = extend(self.head, [prepare(draft)])
        return link


def _beside_reference(name: str, ours: Callable[[], object], reference: int, target: float, note: str) -> Figure:
    """Ours and rfc8785 take turns; the reference's rate follows from how fast rfc8785 was in the same round."""
    pairs = [
        (measure(ours, _SECONDS), measure(lambda: rfc8785.dumps(RECORD), _SECONDS))  # type: ignore[arg-type]  # its alias wants invariant containers
        for _ in range(_ROUNDS)
    ]
    rates = [(mine, theirs / _RFC8785_BESIDE_IT * reference) for (mine, _), (theirs, _) in pairs]
    return Figure(
        name=name,
        ours=median(mine for mine, _ in rates),
        peer=median(theirs for _, theirs in rates),
        peer_name="reference, scaled",
        unit="calls/s",
        ratio=median(mine / theirs for mine, theirs in rates),
        target=target,
        cpu_seconds=sum(mine + theirs for (_, mine), (_, theirs) in pairs),
        load=load(),
        note=note,
    )


def figures() -> list[Figure]:
    pipeline = Pipeline(1)
    assert pipeline().entry_hash != pipeline().entry_hash  # noqa: S101 - each call must link an entry of its own
    checked = "every obligation judged"
    return [
        _beside_reference("verifier, 1 assertion", _verifying(1), _ONE, 3, checked),
        _beside_reference("verifier, 10 assertions", _verifying(10), _TEN, 3, checked),
        _beside_reference("verdict pipeline without the model", pipeline, _PIPELINE, 5, "slice to linked entry"),
    ]


if __name__ == "__main__":
    print_table(figures())
