"""Whatever is reported by whomever: a contract with a posterior gives one state, the same in any order and number."""

from decimal import Decimal
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.truth.competence import Competence, FieldCompetence
from assay.truth.observation import HashedObservation
from assay.truth.snapshot import TrustSnapshot, parse_snapshot, render_snapshot
from assay.truth.state import render_truth_state
from assay.truth.validation import SchemaValidationError
from tests.truth.believing import experienced
from tests.truth.compiling import compiled, flood, observed

_NAMES = "abcdef"
_VALUES = ["low", "moderate", "high", "critical"]
_REPORTS = st.integers(0, 60_000_000).map(lambda number: Decimal(number) / 1_000_000)
_TEXTS = st.sampled_from([f'"{value}"' for value in _VALUES])


@st.composite
def _records(draw: st.DrawFn) -> Competence:
    rows = draw(st.dictionaries(_TEXTS, st.dictionaries(_TEXTS, _REPORTS, max_size=4), max_size=4))
    value = FieldCompetence(right=draw(_REPORTS), wrong=draw(_REPORTS), matrix=rows)
    distance = st.integers(-10_000_000, 10_000_000).map(lambda number: Decimal(number) / 1_000_000)
    number = FieldCompetence(right=draw(_REPORTS), wrong=draw(_REPORTS), bias=draw(distance), spread=draw(_REPORTS))
    kin = draw(st.sampled_from([None, "user:a", "user:b"]))
    return Competence(fields={"severity": value, "water_level_meters": number}, kin=kin)


_ANYTHING = st.one_of(
    st.sampled_from([*_VALUES, "unheard-of", None, True, 3]),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(-1e12, 1e12),
)


@st.composite
def _given(draw: st.DrawFn) -> tuple[list[HashedObservation], TrustSnapshot]:
    said = []
    for name in draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=6, unique=True)):
        payload: dict[str, object] = {
            "severity": draw(st.one_of(st.sampled_from(_VALUES), _ANYTHING)),
            "water_level_meters": draw(st.one_of(st.floats(0, 50, width=16), _ANYTHING)),
        }
        minute = draw(st.integers(10, 12))
        said.append(observed(f"user:{name}", payload, reported=f"12:{minute}", claim_type="earth.flood.v2"))
    records = {name: draw(st.one_of(st.none(), _records())) for name in _NAMES}
    return said, experienced(records)


@pytest.mark.clause("kaori", "law 2")
@settings(max_examples=150)
@given(_given(), st.integers(0, 9))
def test_any_reports_compile_to_the_same_bytes_in_any_order_and_number(
    drawn: tuple[list[HashedObservation], TrustSnapshot], seed: int
) -> None:
    said, snapshot = drawn
    contract = flood(name="flood_v2")
    try:
        whole = render_truth_state(compiled(contract, said, snapshot))
    except SchemaValidationError:
        return  # a claim that lacks what its schema requires is a coded refusal
    chance = Random(seed)  # noqa: S311  a sample, not a secret
    mixed = [*said, *chance.sample(said, 1)]
    chance.shuffle(mixed)
    again = parse_snapshot(render_snapshot(snapshot))
    assert render_truth_state(compiled(contract, mixed, again)) == whole
