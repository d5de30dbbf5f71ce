"""Two paths and one peer: the fast path, the exact path and rfc8785 give the same bytes, or all refuse."""

import math
import struct
from enum import StrEnum
from unicodedata import normalize

import msgspec
import pytest
import rfc8785
from hypothesis import assume, example, given
from hypothesis import strategies as st

from assay.kernel.canonical import MAX_SAFE_INTEGER, Profile, canonicalize, canonicalize_exact
from assay.kernel.errors import Error
from assay.kernel.json_text import JsonValue, parse_json

NASTY = st.sampled_from(
    [
        "",
        " ",
        "a",
        "e\u0301",
        "é",
        "\u212b",
        "\ufb33",
        "\U0001f600",
        "\ue000",
        "\uffff",
        "\u0301",
        "a  b",
        "\x85",
        "\x1f",
        '"',
        "\\",
    ]
)
TEXTS = st.text() | NASTY | st.lists(NASTY, max_size=4).map("".join)
INTEGERS = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
BITS = st.integers(0, 2**64 - 1).map(lambda bits: float(struct.unpack(">d", bits.to_bytes(8, "big"))[0]))
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | BITS.filter(math.isfinite) | INTEGERS.map(float)
SHORT_FLOATS = st.decimals(-(10**9), 10**9, places=7).map(float)
SCALARS = st.none() | st.booleans() | INTEGERS | FLOATS | SHORT_FLOATS | TEXTS


def documents(scalars: st.SearchStrategy[object], keys: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5), max_leaves=20
    )


DOCUMENTS = documents(SCALARS, TEXTS)
BROKEN = documents(
    SCALARS
    | st.sampled_from([math.nan, math.inf, 2**53, -(2**53), 10**400, b"", object, "\ud800"])
    | st.datetimes(timezones=st.none() | st.timezones()),
    TEXTS | st.sampled_from([1, None, "\udfff"]),
)


class Word(StrEnum):
    PLAIN = "plain"
    WIDE = "e\u0301  x"


class Box(msgspec.Struct):
    left: object
    right: object


class Tagged(msgspec.Struct, tag="tagged"):
    inner: object


class Sparse(msgspec.Struct, omit_defaults=True):
    inner: object = None


RECORDS = st.recursive(
    BROKEN | st.sampled_from(Word),
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.builds(Box, left=inner, right=inner | st.just(msgspec.UNSET))
        | st.builds(Tagged, inner=inner)
        | st.builds(Sparse, inner=inner)
    ),
    max_leaves=8,
)


def nfc(value: object) -> object:
    """A copy in NFC; colliding keys make it smaller."""
    if isinstance(value, str):
        return normalize("NFC", value)
    if isinstance(value, list):
        return [nfc(item) for item in value]
    if isinstance(value, dict):
        return {nfc(key): nfc(item) for key, item in value.items()}
    return value


def outcome(value: object, profile: Profile, *, exact: bool = False) -> bytes | str:
    """The bytes, or the code of the refusal."""
    try:
        return (canonicalize_exact if exact else canonicalize)(value, profile)
    except Error as error:
        return error.code


@pytest.mark.clause("ski", "7.3")
@given(DOCUMENTS)
@example({"\U0001f600": 1, "\ue000": 2})
@example({"a": -0.0, "b": 1e21, "c": 1e-7, "d": 0.000001})
def test_ski_bytes_are_those_of_rfc8785_over_nfc(value: object) -> None:
    got = outcome(value, Profile.SKI)
    assume(got != "canonical.key_collision")
    assert got == outcome(value, Profile.SKI, exact=True) == rfc8785.dumps(nfc(value))  # type: ignore[arg-type]  # JSON by construction


@pytest.mark.parametrize("profile", list(Profile))
@given(value=BROKEN)
def test_the_two_paths_agree_on_bytes_and_on_refusals(profile: Profile, value: object) -> None:
    assert outcome(value, profile) == outcome(value, profile, exact=True)


@pytest.mark.parametrize("profile", list(Profile))
@given(value=RECORDS)
def test_the_two_paths_agree_on_records_of_our_own_types(profile: Profile, value: object) -> None:
    assert outcome(value, profile) == outcome(value, profile, exact=True)


@pytest.mark.parametrize("profile", list(Profile))
@given(value=DOCUMENTS)
def test_the_canonical_text_read_back_has_the_same_canonical_text(profile: Profile, value: object) -> None:
    """Where it can be read back: ski-3.0 writes floats from 2^53 on as integers, which a strict reader refuses."""
    content = outcome(value, profile)
    assume(isinstance(content, bytes) and not _has_large_float(value))
    assert isinstance(content, bytes)
    again: JsonValue = parse_json(content)
    assert canonicalize(again, profile) == content


@given(FLOATS)
def test_every_float_s_ski_text_reads_back_as_itself(number: float) -> None:
    assert float(canonicalize(number)) == number


@pytest.mark.clause("kaori", "3.2")
@given(FLOATS)
def test_a_kaori_float_is_never_further_off_than_half_a_millionth(number: float) -> None:
    assume(abs(number) <= MAX_SAFE_INTEGER)
    text = canonicalize(number, Profile.KAORI).decode()
    assert "e" not in text
    assert len(text.partition(".")[2]) <= 6
    assert abs(float(text) - number) <= 0.5e-6 * (1 + 1e-9)


def _has_large_float(value: object) -> bool:
    if isinstance(value, float):
        return abs(value) > MAX_SAFE_INTEGER
    if isinstance(value, list):
        return any(map(_has_large_float, value))
    return isinstance(value, dict) and any(map(_has_large_float, value.values()))
