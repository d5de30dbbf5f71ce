"""What this room writes it reads back as the same, so that every record can be stored and replayed."""

import msgspec
import pytest
from msgspec import Struct

from assay.delivery.annotate import SlmContribution, deliver
from assay.delivery.answerer import Question, Reply
from assay.delivery.federate import Agreement
from assay.delivery.level import Level
from assay.delivery.outcome import Outcome
from assay.delivery.pair import capture_pair
from assay.delivery.plugin import Category
from assay.delivery.propose import propose_correction
from assay.delivery.query import QueryType
from assay.delivery.rule import RuleId, RuleRef
from assay.delivery.sense import SenseEvent
from assay.delivery.strand import CORE, StrandId
from assay.delivery.tally import recount
from assay.delivery.trace import loop_at_query
from assay.delivery.trigger import BatchRule, TriggerRule, Watch, closed_batches
from assay.delivery.twowrong import Step, StepKind, StepVerdict, suspect
from assay.kernel.canonical import canonicalize
from tests.delivery.answers import OUTPUT, RULE, make_annotation, report, widened
from tests.delivery.items import REGISTRY, THOUGHT, conclusion, make_item
from tests.delivery.signals import SENDER, make_outcome, make_signal
from tests.identity.people import NOON, later

_ITEM = make_item(plugin_id="p", purva_paksha=THOUGHT)
_CONCLUDED = conclusion(Category.RULE, "new text", _ITEM)
_SLM = SlmContribution(plugin_id="p", rules_applied=(RULE,))
_STEP = Step(kind=StepKind.ROUTE, ref="r", verdict=StepVerdict.WRONG, evidence="verifier")
_PROPOSAL = propose_correction(_CONCLUDED, REGISTRY)
assert _PROPOSAL is not None
_RECORDS: list[Struct] = [
    make_annotation(CORE, slm=_SLM),
    make_annotation(["knowledge", "proof"]),
    deliver(OUTPUT, make_annotation(["proof"]), floor=0),
    deliver(OUTPUT, make_annotation(["proof"]), floor=3),
    report(["proof"], widened(2)),
    widened(2),
    REGISTRY.get(RULE).latest,
    RuleRef(rule_id=RULE, version=1),
    make_signal(session_id="s"),
    make_outcome(),
    recount([Outcome.FAILURE]),
    Watch(streak=2, batched_until=NOON),
    TriggerRule(batching=BatchRule()),
    *closed_batches([make_outcome()], BatchRule(), now=later(days=1)),
    _STEP,
    suspect(Outcome.SUCCESS, [_STEP]),
    _ITEM,
    _CONCLUDED,
    capture_pair(_ITEM, _CONCLUDED),
    _PROPOSAL,
    Agreement(peer="org.b", rules=((RuleId("B-1"), RULE),), strands=(StrandId("x-a"),)),
    loop_at_query(make_annotation([]), report([]), state="s"),
    SenseEvent(event_type="own.event", service="s", at=NOON, payload={"deep": [{"a": None}]}),
    Question(query_type="q", question={"a": 1}, asked_by=SENDER, asked_at=NOON),
    Reply(output=[1], rules=(RULE,), steps=(_STEP,), claims=({"claim": 1},), slm=_SLM),
    QueryType(
        slug="q", description="d", domain="m", expected_level=Level.INFERRED, owner=SENDER, answerer="a",
        recorded_at=NOON, recorded_by=SENDER,
    ),
]  # fmt: skip


@pytest.mark.parametrize("record", _RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_is_read_back_as_the_same(record: Struct) -> None:
    assert msgspec.json.decode(msgspec.json.encode(record), type=type(record)) == record
    told = canonicalize(msgspec.to_builtins(record))
    assert msgspec.json.decode(told, type=type(record)) == record


@pytest.mark.parametrize("record", _RECORDS, ids=lambda record: type(record).__name__)
def test_an_unknown_member_is_refused(record: Struct) -> None:
    told = msgspec.to_builtins(record) | {"not_a_member": 1}
    with pytest.raises(msgspec.ValidationError, match="not_a_member"):
        msgspec.convert(told, type(record))
