"""Strict JSON: what is accepted means the same to every reader, and each refusal has its own code."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.canonical import canonicalize
from assay.kernel.errors import Blame, Error, JsonError
from assay.kernel.json_text import CANONICAL_LIMITS, Limits, LimitsError, parse_json

VECTORS = json.loads((Path(__file__).parent.parent / "vectors/canonical/json_text.json").read_text(encoding="utf-8"))


def code_of(text: bytes | str, limits: Limits | None = None) -> str:
    with pytest.raises(Error) as caught:
        parse_json(text, limits=limits or Limits())
    assert "\n" not in str(caught.value)
    return caught.value.code


@pytest.mark.parametrize("case", VECTORS["accepted"], ids=lambda case: ascii(case["text"]))
def test_good_texts_are_read_as_by_any_reader(case: dict[str, str]) -> None:
    text = case["text"]
    assert repr(parse_json(text)) == repr(parse_json(text.encode())) == repr(json.loads(text))


@pytest.mark.parametrize(
    "case", VECTORS["refused"], ids=lambda case: ascii(case.get("text", case.get("utf8_hex")))[:40]
)
def test_each_refusal_has_its_code(case: dict[str, Any]) -> None:
    if "utf8_hex" in case:
        assert code_of(bytes.fromhex(case["utf8_hex"])) == case["code"]
    else:
        assert code_of(case["text"]) == code_of(case["text"].encode()) == case["code"]


@pytest.mark.parametrize("text", VECTORS["inexact"])
def test_a_number_that_binary64_would_change_is_refused_when_asked(text: str) -> None:
    assert code_of(f"[{text}]", Limits(exact_numbers=True)) == "json.inexact_number"
    assert isinstance(parse_json(text), float)


@pytest.mark.parametrize("text", VECTORS["exact"])
def test_a_number_that_binary64_keeps_is_read_when_asked(text: str) -> None:
    assert parse_json(text, limits=Limits(exact_numbers=True)) == float(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_shortest_text_of_a_float_is_always_exact(number: float) -> None:
    assert parse_json(repr(number), limits=Limits(exact_numbers=True)) == number


def test_a_malformed_text_is_refused_with_line_and_column() -> None:
    with pytest.raises(JsonError, match="line 2 column 3"):
        parse_json("{\n  a: 1}")
    with pytest.raises(JsonError, match="`x\\\\xfc` at line 2 column 2"):
        parse_json("[]\n xü")


def test_a_str_with_a_raw_lone_surrogate_is_refused() -> None:
    assert code_of('"\ud800"') == "json.lone_surrogate"


def test_size_is_counted_in_bytes() -> None:
    limits = Limits(max_bytes=4)
    assert parse_json('"é"', limits=limits) == parse_json('"é"'.encode(), limits=limits) == "é"
    assert code_of('"éa"', limits) == code_of('"éa"'.encode(), limits) == "json.size"


def test_depth_counts_containers_and_not_brackets_in_strings() -> None:
    limits = Limits(max_depth=2)
    assert parse_json('[["[[[["],{"{\\"[":[]}]', limits=Limits(max_depth=3)) == [["[[[["], {'{"[': []}]
    assert parse_json('["[[[\\"[",["]"]]', limits=limits) == ['[[["[', ["]"]]
    assert code_of("[[[]]]", limits) == "json.depth"
    assert code_of("[]", Limits(max_depth=0)) == "json.depth"
    assert parse_json("1", limits=Limits(max_depth=0)) == 1


@pytest.mark.parametrize("text", ["[" * 1_000_000, '{"a":' * 100_000, "[" * 500 + "]" * 500, "[{},[" * 129])
def test_no_depth_costs_a_recursion_error(text: str) -> None:
    assert code_of(text) == "json.depth"


@pytest.mark.parametrize("text", ["]" * 500 + "[" * 600, '"' + "[" * 500, '\\"' + "[" * 500])
def test_brackets_that_open_nothing_are_malformed(text: str) -> None:
    assert code_of(text) == "json.malformed"


def test_numbers_are_bounded_in_characters() -> None:
    assert code_of("12345", Limits(max_number_chars=4)) == "json.number_length"
    assert code_of("1.234", Limits(max_number_chars=4)) == "json.number_length"
    assert parse_json("[1234,1.23]", limits=Limits(max_number_chars=4)) == [1234, 1.23]


@pytest.mark.parametrize(
    "options", [{"max_depth": -1}, {"max_depth": 257}, {"max_number_chars": 0}, {"max_number_chars": 4097}]
)
def test_limits_that_cannot_be_kept_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(LimitsError) as caught:
        Limits(**options)  # type: ignore[arg-type]  # one integer option at a time
    assert (caught.value.code, caught.value.blame) == ("json.limits", Blame.USAGE)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**53) + 1, 2**53 - 1)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_what_json_writes_of_a_good_value_is_read_back(value: object) -> None:
    assert parse_json(json.dumps(value)) == value
    assert parse_json(json.dumps(value, ensure_ascii=False).encode()) == value


@given(st.text(alphabet='{}[]",:\\u0d8e1-.+ NaIfinty\x00\n', max_size=40))
def test_any_text_is_read_or_refused_with_a_code(text: str) -> None:
    """And what is read is what the library's own reader reads."""
    try:
        value = parse_json(text)
    except JsonError:
        return
    assert repr(json.loads(text)) == repr(value)


def test_large_integers_are_read_as_binary64_where_canonical_text_is_read_back() -> None:
    """RFC 8785 writes 1e16 as an integer; read back it must be the same float, and an integer stays an integer."""
    assert parse_json(b"[10000000000000000, 5, -9007199254740993]", limits=CANONICAL_LIMITS) == [
        1e16,
        5,
        -9007199254740992.0,
    ]
    assert canonicalize(parse_json(canonicalize([1e16, -1e20]), limits=CANONICAL_LIMITS)) == canonicalize([1e16, -1e20])
