"""Nothing is inherited across a border: levels are recognised, rule ids translated, the rest goes to a person."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.delivery.annotate import annotate, render_annotation
from assay.delivery.consume import ProducerState, check_claim, open_annotation
from assay.delivery.errors import DeliveryError, FederationError
from assay.delivery.federate import (
    Agreement,
    accept_foreign,
    registry_for_peer,
    report_for_peer,
    translate_signal,
)
from assay.delivery.level import Level
from assay.delivery.outcome import outcomes_of
from assay.delivery.rule import RuleId
from assay.delivery.strand import CORE, StrandId
from tests.delivery.answers import make_annotation, make_facts, report, widened
from tests.delivery.signals import make_signal

_AGREEMENT = Agreement(
    peer="org.b",
    rules=((RuleId("B-1"), RuleId("OWN-1")), (RuleId("B-2"), RuleId("OWN-1")), (RuleId("B-3"), RuleId("OWN-3"))),
    strands=(StrandId("x-extra-1"),),
)
_STATE = ProducerState(service="org.b", strands_supported=CORE)


@pytest.mark.clause("pramana", "13.1")
def test_an_answer_at_three_from_elsewhere_is_marked_by_our_own_strands() -> None:
    theirs = json.loads(render_annotation(make_annotation(CORE)))
    recognised, component = accept_foreign(theirs, _STATE, _AGREEMENT)
    assert (recognised.level, component.source) == (Level.AUTHENTIC, "org.b")
    assert make_annotation(["capability"], components=(component,)).authenticity_level is Level.SINGLE_SOURCE


@pytest.mark.clause("pramana", "13.3")
@pytest.mark.clause("pramana", "14.1")
def test_a_forged_level_lowers_the_composite_to_zero() -> None:
    theirs = json.loads(render_annotation(make_annotation(CORE)))
    poor = ProducerState(service="org.b", strands_supported=CORE[:1])
    _, component = accept_foreign(theirs, poor, _AGREEMENT)
    composite = make_annotation(CORE, components=(component,))
    assert (composite.authenticity_level, composite.human_review_required) == (Level.UNVERIFIED, True)


@pytest.mark.clause("pramana", "13.2")
def test_an_outcome_comes_home_in_our_own_rule_ids() -> None:
    signal = make_signal(rule_id=..., rule_ids=["B-1", "B-2", "B-3", "B-9"])
    found = translate_signal(signal, _AGREEMENT)
    assert found.signal is not None
    assert found.review is not None
    assert [one.rule_id for one in outcomes_of(found.signal, {})] == ["OWN-1", "OWN-3"]
    assert (found.review.rule_ids, found.review.peer) == (("B-9",), "org.b")
    assert found.signal.signal_id == signal.signal_id


@pytest.mark.clause("pramana", "13.2")
def test_what_cannot_be_translated_counts_for_nothing_and_is_not_lost() -> None:
    found = translate_signal(make_signal(), _AGREEMENT)
    assert found.signal is None
    assert found.review is not None
    assert found.review.signal == make_signal()
    assert translate_signal(make_signal(rule_id="B-1"), _AGREEMENT).review is None


@given(st.lists(st.sampled_from([f"B-{number}" for number in range(1, 6)]), min_size=1))
def test_every_rule_is_translated_or_reviewed(names: list[str]) -> None:
    found = translate_signal(make_signal(rule_id=..., rule_ids=names), _AGREEMENT)
    known = dict(_AGREEMENT.rules)
    reviewed = set() if found.review is None else set(found.review.rule_ids)
    ours = set() if found.signal is None else set(found.signal.rule_ids)
    assert reviewed == set(names) - set(known)
    assert ours == {known[RuleId(name)] for name in names if name in known}


@pytest.mark.clause("pramana", "15")
@pytest.mark.clause("pramana", "13.4")
def test_private_strands_count_only_between_those_who_agreed() -> None:
    registry = widened(2)
    assert registry_for_peer(registry).ids() == CORE
    assert registry_for_peer(registry, _AGREEMENT).ids() == (*CORE, "x-extra-1")
    theirs: dict[str, Any] = {"authenticity_level": "PRAMANA-2", "strands_present": ["capability", "x-extra-1"]}
    wide = ProducerState(service="org.b", strands_supported=registry.ids())
    assert accept_foreign(theirs, wide, _AGREEMENT)[0].level is Level.PARTIAL
    assert accept_foreign(theirs, wide, Agreement(peer="org.c"))[0].level is Level.SINGLE_SOURCE


@pytest.mark.clause("pramana", "15")
@given(st.sets(st.sampled_from(widened(2).ids())), st.booleans())
def test_a_peer_recognises_what_we_mark_for_it_as_it_is(names: set[str], agreed: bool) -> None:  # noqa: FBT001  drawn
    """Against our public STATE, which names every strand that we check."""
    ours = widened(2)
    agreement = _AGREEMENT if agreed else None
    registry = registry_for_peer(ours, agreement)
    annotation = annotate(make_facts(), report_for_peer(report(names, ours), registry), registry=registry)
    claim = open_annotation(json.loads(render_annotation(annotation)))
    state = ProducerState(service="org.a", strands_supported=ours.ids())
    found = check_claim(claim, state, agreed=agreement.strands if agreement else ())
    assert found.level is annotation.authenticity_level


@pytest.mark.parametrize(
    "changes",
    [
        {"peer": " "},
        {"rules": (("B-2", "A-1"), ("B-1", "A-1"))},
        {"rules": (("B-1", "A-1"), ("B-1", "A-2"))},
        {"rules": (("B-1", "a b"),)},
        {"rules": (("a b", "A-1"),)},
        {"strands": ("proof",)},
    ],
    ids=str,
)
def test_an_agreement_is_well_formed_or_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(DeliveryError):
        Agreement(**({"peer": "org.b"} | changes))
    assert issubclass(FederationError, DeliveryError)
