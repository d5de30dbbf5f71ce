"""The address of evidence has one normal form, and what it cannot be told for is refused."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.truth.errors import TruthError
from assay.truth.uri import normalise_uri, uri_scheme
from tests.raising import is_of, raises

_VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "truth" / "uris.json").read_text())


@pytest.mark.clause("kaori", "3.4")
@pytest.mark.parametrize("case", _VECTORS["equal"], ids=lambda case: case["uri"])
def test_equal_addresses_have_one_spelling(case: dict[str, str]) -> None:
    """RFC 3986's own examples for the web; other schemes keep what might carry meaning."""
    assert normalise_uri(case["uri"]) == case["normal"]
    assert normalise_uri(case["normal"]) == case["normal"]


@pytest.mark.parametrize("text", [*_VECTORS["refused"], "x:" + "a" * 3000])
def test_a_text_without_one_normal_form_is_refused(text: str) -> None:
    """Relative, blank, cut off, broken or too long."""
    with raises(TruthError.uri):
        normalise_uri(text)


@given(st.text(alphabet="hHtTpPsS:/.%aZ09?#@[]~é ", max_size=30).map("http".__add__) | st.text(max_size=20))
def test_normalising_twice_changes_nothing(text: str) -> None:
    """The normal form is its own normal form, whatever the text."""
    try:
        normal = normalise_uri(text)
    except TruthError as refused:
        if not is_of(refused, TruthError.uri):
            raise
        return
    assert normalise_uri(normal) == normal


def test_the_scheme_is_read_in_lower_case() -> None:
    assert uri_scheme("GS://bucket/x") == "gs"
