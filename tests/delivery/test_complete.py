"""What an answer says of itself need not be told again with its outcome; what is told is kept as it is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.delivery.annotate import Annotation
from assay.delivery.attribute import verify_attribution
from assay.delivery.complete import complete_outcome, find_incomplete
from assay.delivery.errors import DeliveryError
from assay.delivery.outcome import parse_outcome
from assay.kernel.instant import render_instant
from tests.delivery.answers import make_annotation
from tests.delivery.signals import SENDER
from tests.identity.people import NOON
from tests.raising import raises

_ANSWER = make_annotation(["capability", "knowledge"])


def _whole(annotation: Annotation) -> dict[str, Any]:
    """As a sender writes it out who read the annotation."""
    return {
        "signal_type": "phala",
        "rule_ids": [ref.rule_id for ref in annotation.rules],
        "applied_by": annotation.service,
        "query_context": annotation.query_type,
        "strands_available": list(annotation.strands_present),
        "strand_missing": list(annotation.strands_missing),
        "authenticity_level": annotation.authenticity_level.value,
        "timestamp": render_instant(NOON),
    }


@pytest.mark.clause("pramana", "7.4.1")
@given(left_out=st.sets(st.sampled_from(sorted(_whole(_ANSWER)))))
def test_whatever_is_left_out_the_signal_is_the_one_that_says_it_all(left_out: set[str]) -> None:
    """Every subset of the members: the completed signal has all of them, and fits the answer."""
    needed = {"answer_id": _ANSWER.answer_id, "outcome": "partial"}
    told = {name: value for name, value in _whole(_ANSWER).items() if name not in left_out} | needed
    content = complete_outcome(told, _ANSWER, occurred_at=NOON)
    signal = parse_outcome(content, sender=SENDER, at=NOON)
    expected = parse_outcome(json.dumps(_whole(_ANSWER) | needed), sender=SENDER, at=NOON)
    verify_attribution(signal, _ANSWER, withheld=False)
    for name in ("rule_ids", "applied_by", "query_context", "outcome", "strands_available", "strand_missing"):
        assert getattr(signal, name) == getattr(expected, name)
    assert (signal.authenticity_level, signal.occurred_at) == (expected.authenticity_level, NOON)
    assert find_incomplete(content) is None


def test_what_is_told_is_never_changed() -> None:
    told = {"answer_id": "a", "outcome": "failure", "rule_id": "X-1", "applied_by": "me", "event": "phala"}
    whole = json.loads(complete_outcome(told, _ANSWER, occurred_at=NOON))
    assert {name: whole[name] for name in told} == told
    assert "rule_ids" not in whole
    assert "signal_type" not in whole


def test_only_a_signal_that_names_its_answer_and_lacks_something_is_incomplete() -> None:
    whole = _whole(_ANSWER) | {"outcome": "success"}
    named = whole | {"answer_id": "ans_1"}
    optional = {"query_context", "strand_missing"}
    assert find_incomplete(json.dumps(whole).encode()) is None
    assert find_incomplete(json.dumps(named).encode()) is None
    for name in whole.keys() - {"outcome"}:
        short = {one: value for one, value in named.items() if one != name}
        assert (find_incomplete(json.dumps(short).encode()) is None) is (name in optional), name
        unnamed = {one: value for one, value in whole.items() if one != name}
        assert find_incomplete(json.dumps(unnamed).encode()) is None
    assert find_incomplete(b'{"answer_id": 7}') is None
    with raises(DeliveryError.outcome):
        find_incomplete(b'{"answer_id": "a", "answer_id": "b"}')
