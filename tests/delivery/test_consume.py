"""A consumer believes no level that does not fit what its producer declares."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.delivery.annotate import SlmContribution, render_annotation
from assay.delivery.consume import (
    ProducerState,
    Recognised,
    check_claim,
    component_of,
    open_annotation,
    read_state,
)
from assay.delivery.errors import DeliveryError
from assay.delivery.level import Level
from assay.delivery.strand import CORE, StrandId
from tests.delivery.answers import RULE, make_annotation
from tests.raising import raises

_FULL = ProducerState(service="org.a", strands_supported=CORE)
_NAMES = ("capability", "knowledge", "proof")


def _claim(level: str | None, present: tuple[str, ...] = (), **more: Any) -> Any:  # noqa: ANN401  a claim
    return open_annotation({"authenticity_level": level, "strands_present": list(present), **more})


@pytest.mark.clause("pramana", "8")
def test_a_missing_level_is_zero() -> None:
    found = check_claim(open_annotation({}), _FULL)
    assert (found.level, found.reason) == (Level.UNVERIFIED, "the output carries no authenticity level")


@given(st.sets(st.sampled_from(_NAMES)), st.booleans())
def test_what_we_mark_ourselves_is_recognised_as_it_is(names: set[str], slm: bool) -> None:  # noqa: FBT001  drawn
    plugin = SlmContribution(plugin_id="p", rules_applied=(RULE,)) if slm else None
    annotation = make_annotation(names, slm=plugin)
    found = check_claim(open_annotation(json.loads(render_annotation(annotation))), _FULL)
    assert (found.level, found.is_downgraded) == (annotation.authenticity_level, False)


@pytest.mark.clause("pramana", "14.1")
@pytest.mark.parametrize(
    ("claim", "state"),
    [
        (_claim("PRAMANA-3", _NAMES), ProducerState(service="b", strands_supported=CORE[:2])),
        (_claim("PRAMANA-3", ()), _FULL),
        (_claim("PRAMANA-3", _NAMES[:2]), _FULL),
        (_claim("PRAMANA-2", ("capability",)), _FULL),
        (_claim("PRAMANA-2", ("knowledge", "proof")), _FULL),
        (_claim("PRAMANA-3", _NAMES, strands_missing=["proof"]), _FULL),
        (_claim("PRAMANA-3", _NAMES, strand_missing="proof"), _FULL),
        (_claim("PRAMANA-3+", _NAMES), _FULL),
        (_claim("PRAMANA-3+", _NAMES, slm_plugin_id="p"), _FULL),
        (_claim("PRAMANA-1", ("capability",)), None),
        (_claim("PRAMANA-1", ("capability",)), ProducerState(service="b", strands_supported=())),
    ],
)
def test_a_claim_that_does_not_fit_is_downgraded_to_zero(claim: Any, state: ProducerState | None) -> None:  # noqa: ANN401  a claim
    found = check_claim(claim, state)
    assert (found.level, found.is_downgraded) == (Level.UNVERIFIED, True)


@pytest.mark.clause("pramana", "14.1")
def test_a_scalar_strand_is_read_as_level_one_has_it() -> None:
    claim = open_annotation({"authenticity_level": "PRAMANA-1", "strand_present": "proof"})
    assert check_claim(claim, _FULL).level is Level.SINGLE_SOURCE


@pytest.mark.clause("pramana", "15")
def test_private_strands_count_only_by_agreement() -> None:
    state = ProducerState(service="b", strands_supported=(*CORE, StrandId("x-audit")))
    claim = _claim("PRAMANA-2", ("capability", "x-audit"))
    assert check_claim(claim, state).level is Level.SINGLE_SOURCE
    assert check_claim(claim, state, agreed={"x-audit"}).level is Level.PARTIAL
    whole = _claim("PRAMANA-3", (*_NAMES, "x-audit"))
    assert check_claim(whole, state).level is Level.AUTHENTIC


def test_a_producer_that_claims_nothing_is_not_downgraded() -> None:
    found = check_claim(_claim("PRAMANA-0"), _FULL)
    assert (found.level, found.is_downgraded) == (Level.UNVERIFIED, False)


@given(st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.text())))
def test_strange_annotations_never_raise(fields: dict[str, Any]) -> None:
    assert check_claim(open_annotation(fields), _FULL).level is Level.UNVERIFIED


@pytest.mark.clause("pramana", "13.3")
def test_the_recognised_level_goes_into_a_composite() -> None:
    recognised = Recognised(level=Level.UNVERIFIED, claimed=Level.AUTHENTIC, reason="forged")
    assert component_of("org.b", recognised).level is Level.UNVERIFIED


def test_a_state_declares_its_strands_or_none() -> None:
    assert read_state('{"service": "a", "strands_supported": ["proof", 1], "more": {}}').strands_supported == ("proof",)
    assert read_state('{"service": "a"}').strands_supported == ()
    with raises(DeliveryError.annotation, match="service"):
        read_state("{}")
