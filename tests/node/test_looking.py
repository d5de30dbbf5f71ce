"""What a node tells from Python: graphs and how they serve, contracts and standings, rules and what failed."""

import pytest

from assay.flows.verdicts.inspect_graphs import GraphState
from assay.kernel.digest import digest_of
from assay.kernel.errors import Error
from assay.kernel.instant import render_instant
from assay.node.facade import Node
from tests.flows._verdicts import graph_document, rule
from tests.node._home import RULE, SLUG, Home, record, report, signal


def test_graphs_verdicts_and_how_well_they_serve(home: Home, node: Node) -> None:
    sensor = home.keys["sensor"]
    node.acting(sensor).evaluate(record("v-1", so2=1))
    node.acting(sensor).evaluate({**record("v-2"), "subject": "nobody"})
    assert {one.telemetry_id for one in node.verdicts()} == {"v-1", "v-2"}
    assert {one.telemetry_id for one in node.verdicts(subject="stack")} == {"v-1"}
    now = node.tools.clock.now()
    assert list(node.verdicts(from_at=render_instant(now))) == []
    assert {one.telemetry_id for one in node.verdicts(to=render_instant(now), limit=1)} == {"v-1", "v-2"}
    decided = node.verdicts_of("v-1")
    asked = next(one.envelope.transcript_ref for one in decided.verdicts if one.envelope is not None)
    assert "so2" in str(node.transcript(asked))
    assert [one.state for one in node.graphs()][-1] is GraphState.IN_USE
    active = node.active_graph().document_hash
    assert node.graph(active).is_in_use
    assert digest_of(node.graph_document(active)) == active
    candidate = graph_document(rule("NEW"), name="next")
    assert node.acting(home.keys["olga"]).graph_impact(candidate).records >= 1
    assert [one.subject for one in node.coverage(open=True)] == ["nobody"]
    assert node.agreement().observed >= 1


def test_contracts_standings_and_windows(home: Home, node: Node) -> None:
    (one,) = node.contracts()
    assert node.contract(one.claim_type).claim_type_hash == one.claim_type_hash
    seen = node.acting(home.keys["gateway"]).observe(report("user:ben"))
    node.compile_state(seen.truthkey)
    assert list(node.agents()) == []
    assert len(list(node.signals())) >= 1
    assert node.expire_states().stuck == ()
    with pytest.raises(Error):
        node.acting(home.keys["olga"]).change_window(seen.truthkey, "close", reason="over")
    with pytest.raises(Error):
        node.acting(home.keys["olga"]).request_penalty("user:nobody", points=5, reason="why")


def test_rules_are_certified_and_root_causes_concluded(home: Home, node: Node) -> None:
    """What failed three times is asked about; a person says why, and what is taught follows."""
    rita = home.keys["rita"]
    asked = node.acting(rita).ask_certification(RULE)
    node.acting(rita).certify_rule(RULE, seen=asked.shown_hash, reason="I stand by it")
    assert node.rule(RULE).certifications
    node.answers(SLUG, rules=[RULE])(lambda _question: "yes")
    for number in range(3):
        answer = node.acting(home.keys["amira"]).ask(SLUG)
        marked = answer.body.annotation
        failed = signal(
            "failure",
            answer_id=answer.answer_id,
            authenticity_level=answer.body.authenticity_level,
            strands_available=list(marked.strands_present),
            strand_missing=list(marked.strands_missing),
        )
        node.acting(home.keys["sensor"]).outcome(failed, idempotency_key=f"k-{number}")
    (item,) = node.root_causes(open=True)
    assert item.ticket is not None
    assert node.root_cause(item.item.item_id).item == item.item
    concluded = node.acting(rita).conclude_root_cause(
        item.item.item_id, failure_category="B", siddhanta="the tide was misread", seen=item.ticket.shown_hash
    )
    assert concluded.pair_id is not None
    assert list(node.root_causes(open=True)) == []
    assert node.training_pairs().startswith(b"[")
    assert [one.slug for one in node.queries()] == [SLUG]
    assert list(node.shortfalls(query_type="other")) == []
    assert len(list(node.alerts())) <= 1
    assert node.gate_policy().policy_id == "default"
