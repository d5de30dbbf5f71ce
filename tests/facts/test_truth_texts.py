"""The texts of truth's rows are the canonical form of what the entries hold, however they are made."""

import orjson
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from assay.facts.trust import kaori_text
from assay.kernel.canonical import Profile, canonicalize, canonicalize_exact
from assay.kernel.errors import CanonicalError

_NUMBERS = st.one_of(
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(-1e12, 1e12, allow_nan=False),
    st.decimals(-1000, 1000, places=6).map(float),
    st.sampled_from([0.0005, 1e-6, 1e-7, 1e9 + 0.5, 0.001, 123456.1234567, -0.0, 4.175, 73.509]),
)
_ODD = ["a  b", " a", "a ", "a\tb", 'x" y', "1.23456789,0.001", "é", "\U0001f600"]
_TEXTS = st.one_of(st.text(), st.sampled_from(_ODD))
_NAMES = st.text("abcé \U0001f600", max_size=3)
_VALUES = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["a", "b", "payload"]), _VALUES))
def test_a_text_is_the_canonical_form_of_what_the_entry_holds(value: dict[str, object]) -> None:
    """Also where the bytes of the entry are taken as they are: the profiles differ in white space and in numbers."""
    try:
        kept = canonicalize(value, Profile.KAORI)
    except CanonicalError:  # what has no canonical form is recorded nowhere
        return
    held = canonicalize(orjson.loads(kept))
    assert kaori_text(Raw(held)).encode() == kept == canonicalize_exact(orjson.loads(held), Profile.KAORI)


@given(st.dictionaries(st.sampled_from(["a", "b"]), _VALUES))
def test_a_value_in_any_other_form_is_brought_into_it(value: dict[str, object]) -> None:
    """An entry of somebody else may hold what our records never do."""
    try:
        held, expected = canonicalize(value), canonicalize_exact(value, Profile.KAORI)
    except CanonicalError:
        return
    assert kaori_text(Raw(held)).encode() == expected
