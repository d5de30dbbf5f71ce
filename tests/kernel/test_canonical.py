"""Canonical bytes against published vectors, and the rules of both profiles one by one."""

import json
import struct
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum, IntEnum, IntFlag, StrEnum
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Self
from unicodedata import normalize

import msgspec
import pytest

from assay.kernel import _canonical_exact
from assay.kernel.canonical import (
    MAX_DEPTH,
    DepthError,
    IntegerRangeError,
    NonFiniteError,
    Profile,
    canonical_digest,
    canonical_hash,
    canonical_json,
    canonicalize,
    canonicalize_exact,
)
from assay.kernel.errors import CanonicalError
from assay.kernel.json_text import parse_json

VECTORS = Path(__file__).parent.parent / "vectors"
BOTH = pytest.mark.parametrize("profile", list(Profile))


def vectors(name: str) -> Any:  # noqa: ANN401 - the shape of a vector file is its own
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


def texts(value: object, profile: Profile) -> str:
    """The canonical text, after the two paths have agreed on it."""
    text = canonical_json(value, profile)
    assert canonicalize_exact(value, profile) == text.encode()
    return text


def ski(value: object) -> str:
    return texts(value, Profile.SKI)


def kaori(value: object) -> str:
    return texts(value, Profile.KAORI)


@pytest.mark.clause("ski", "7.3")
@pytest.mark.parametrize("case", vectors("canonical/rfc8785_numbers.json")["cases"], ids=lambda case: case["ieee754"])
def test_numbers_are_written_as_in_rfc_8785_appendix_b(case: dict[str, str | None]) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(str(case["ieee754"])))
    if case["text"] is None:
        with pytest.raises(NonFiniteError):
            canonicalize(number)
    else:
        assert ski(number) == case["text"]


@pytest.mark.clause("ski", "7.3")
def test_the_sample_object_of_rfc_8785_has_its_published_bytes() -> None:
    sample = vectors("canonical/rfc8785_objects.json")["sample"]
    value = parse_json(sample["input"])
    assert canonicalize(value).hex() == canonicalize_exact(value).hex() == sample["utf8_hex"]


@pytest.mark.clause("ski", "7.3")
def test_keys_are_in_the_published_order_of_rfc_8785() -> None:
    """UTF-16 code units: the emoji comes before U+FF21, though its code point is higher."""
    files = vectors("canonical/rfc8785_objects.json")
    stable, sorting = files["sorting_stable"], files["sorting"]
    assert list(json.loads(ski(parse_json(stable["input"]))).values()) == stable["order"]
    assert list(json.loads(ski(parse_json(sorting["input"]))).values()) == sorting["order_nfc"]
    keys = json.loads(sorting["input"])
    assert [keys[key] for key in _canonical_exact._ordered(keys, Profile.SKI)] == sorting["order"]


@pytest.mark.clause("kaori", "3.1")
@pytest.mark.clause("kaori", "3.2")
@pytest.mark.clause("kaori", "3.3")
@pytest.mark.parametrize("case", vectors("kaori/canonical.json")["cases"], ids=lambda case: case["id"])
def test_kaori_texts_and_hashes_are_those_of_the_vectors(case: dict[str, Any]) -> None:
    value = parse_json(case["input"])
    if case.get("refused"):
        with pytest.raises(CanonicalError):
            canonicalize(value, Profile.KAORI)
        return
    assert kaori(value) == case["canonical"]
    assert canonical_hash(value, Profile.KAORI) == case["sha256"]


@pytest.mark.clause("kaori", "3.2")
@pytest.mark.parametrize("case", vectors("kaori/floats.json")["cases"], ids=lambda case: case["input"])
def test_kaori_floats_are_quantised_as_in_the_vectors(case: dict[str, str]) -> None:
    assert kaori(float(case["input"])) == case["ref"]


@pytest.mark.clause("kaori", "3.2")
@pytest.mark.parametrize("case", vectors("kaori/strings.json")["cases"], ids=lambda case: ascii(case["input"]))
def test_kaori_strings_are_normalised_as_in_the_vectors(case: dict[str, str]) -> None:
    assert json.loads(kaori(case["input"])) == case["ref"]
    assert json.loads(kaori({case["input"]: 1.0})) == {case["ref"]: 1}


@pytest.mark.clause("kaori", "3.2")
@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0000005, "0.000001"),
        (-0.0000005, "-0.000001"),
        (-0.00000049, "0"),
        (-1.0000005, "-1.000001"),
        (-2.5000005, "-2.500001"),
        (0.1234565, "0.123457"),
        (1e-6, "0.000001"),
        (-0.0, "0"),
        (123456789012.3456, "123456789012.3456"),
        (4503599627370495.5, "4503599627370495.5"),
        (9007199254740991.0, "9007199254740991"),
        (-9007199254740991.0, "-9007199254740991"),
    ],
)
def test_a_half_is_rounded_away_from_zero_on_the_shortest_repr(number: float, text: str) -> None:
    """Rounding 2.5000005 on its binary value would give 2.5: the text decides, in both directions from zero."""
    assert kaori(number) == text


@pytest.mark.clause("kaori", "3.2")
@pytest.mark.parametrize("number", [9007199254740992.0, -9007199254740992.0, 1e21, 1e300])
def test_a_float_that_is_an_integer_out_of_range_is_refused_in_kaori_and_written_in_ski(number: float) -> None:
    for refuse in (canonicalize, canonicalize_exact):
        with pytest.raises(IntegerRangeError):
            refuse([number], Profile.KAORI)
    assert json.loads(ski(number)) == number


@pytest.mark.clause("kaori", "3.2")
def test_white_space_is_this_set_on_every_interpreter() -> None:
    """What `str.split` splits on is pinned: were an interpreter to add one, hashes would change with it."""
    pinned = (
        "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    )
    pinned += "\u2028\u2029\u202f\u205f\u3000"
    assert {chr(code) for code in range(0x110000) if not chr(code).split()} == set(pinned)
    for space in pinned:
        assert kaori(f"{space}a{space}{space}b{space}") == '"a b"'
        assert kaori({f"ü{space}b": f"a{space}ü"}) == '{"ü b":"a ü"}'


@pytest.mark.clause("kaori", "3.2")
@pytest.mark.parametrize("text", [" a", "a ", "a  b", "a\tb", "a\\b", 'a" b', "a \u0301b", "ǖ  ", "\u0130 x"])
def test_kaori_trims_and_collapses_whatever_stands_beside_the_blank(text: str) -> None:
    assert json.loads(kaori({"k": [text, 0.5]})) == {"k": [" ".join(text.split()), 0.5]}


@pytest.mark.clause("kaori", "3.2")
def test_kaori_orders_keys_by_code_point_and_ski_by_utf_16() -> None:
    keys = {"\U0001f600": 1, "\ufffd": 2, "\ue000": 3}
    assert kaori(keys) == '{"\ue000":3,"\ufffd":2,"\U0001f600":1}'
    assert ski(keys) == '{"\U0001f600":1,"\ue000":3,"\ufffd":2}'


@pytest.mark.clause("ski", "7.3")
@pytest.mark.clause("kaori", "3.2")
@BOTH
def test_strings_and_keys_are_in_nfc(profile: Profile) -> None:
    assert texts({"e\u0301": ["\u212b", "a\n\u0301", "한"]}, profile).startswith('{"é":["Å",')
    assert texts("\u1112\u1161\u11ab", profile) == '"한"'


@pytest.mark.clause("ski", "7.3")
@pytest.mark.parametrize("text", ["😀", "e\u0301 😀", "\ufb33", "plain", "ü", "ń\u0323", "\x7f\x80\u2028"])
def test_strings_are_nfc_beside_numbers_that_need_work(text: str) -> None:
    for other in (0.5, 1.0, 1e21, 1e-7):
        _, text_again = json.loads(ski([other, text]))
        assert text_again == normalize("NFC", text)


@pytest.mark.clause("ski", "7.3")
def test_escapes_are_the_shortest() -> None:
    every = "".join(map(chr, range(0x21))) + '"\\/\x7f'
    expected = (
        r'"\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f'
        r"\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f "
    )
    assert ski(every) == expected + '\\"\\\\/\x7f"'


@pytest.mark.clause("kaori", "4.2")
@pytest.mark.clause("kaori", "3.2")
@BOTH
@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 1, 7, 12, tzinfo=UTC), "2026-01-07T12:00:00Z"),
        (datetime(2026, 1, 7, 20, tzinfo=timezone(timedelta(hours=8))), "2026-01-07T12:00:00Z"),
        (datetime(2026, 1, 7, 12, 0, 0, 250000, tzinfo=UTC), "2026-01-07T12:00:00.25Z"),
        (datetime(2026, 1, 7, 12, 0, 0, 1, tzinfo=UTC), "2026-01-07T12:00:00.000001Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00Z"),
        (
            datetime(2026, 1, 7, 12, 0, 10, 500000, tzinfo=timezone(timedelta(milliseconds=500))),
            "2026-01-07T12:00:10Z",
        ),
        (datetime(2026, 1, 7, 12, 0, 10, tzinfo=timezone(timedelta(milliseconds=500))), "2026-01-07T12:00:09.5Z"),
    ],
)
def test_datetimes_are_utc_with_z(profile: Profile, moment: datetime, text: str) -> None:
    assert texts({"at": moment}, profile) == f'{{"at":"{text}"}}'


class Colour(StrEnum):
    RED = "red"


class OldColour(str, Enum):  # noqa: UP042 - its `str()` is not its value, unlike a StrEnum's
    RED = "red"


class Tier(IntEnum):
    READ = 1


class Mask(IntFlag):
    READ = 1
    WRITE = 2


class Real(float):
    def __repr__(self) -> str:
        return "surprise"


class Pair(NamedTuple):
    left: int
    right: int


@BOTH
def test_a_subclass_counts_as_its_base_and_cannot_change_its_text(profile: Profile) -> None:
    value = {Colour.RED: Colour.RED, "old": OldColour.RED, "tier": Tier.READ, "mask": Mask.READ | Mask.WRITE}
    assert texts(value, profile) == '{"mask":3,"old":"red","red":"red","tier":1}'
    assert texts([Real(0.5), Pair(1, 2)], profile) == "[0.5,[1,2]]"


@BOTH
def test_any_mapping_is_an_object_and_a_bool_is_no_number(profile: Profile) -> None:
    value = MappingProxyType({"b": True, "a": (None, False), "c": MappingProxyType({})})
    assert texts(value, profile) == '{"a":[null,false],"b":true,"c":{}}'


class Inner(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    some_name: float
    left_out: int | msgspec.UnsetType = msgspec.UNSET


class Outer(msgspec.Struct, frozen=True, kw_only=True, tag="outer", tag_field="kind"):
    z: tuple[Inner, ...]
    a: datetime
    none: None = None


@BOTH
def test_a_struct_is_its_encoded_fields_with_its_tag_and_without_unset(profile: Profile) -> None:
    value = Outer(z=(Inner(some_name=1.0), Inner(some_name=0.25, left_out=2)), a=datetime(2026, 1, 7, tzinfo=UTC))
    expected = (
        '{"a":"2026-01-07T00:00:00Z","kind":"outer","none":null,"z":[{"someName":1},{"leftOut":2,"someName":0.25}]}'
    )
    assert texts(value, profile) == expected
    assert canonicalize(parse_json(msgspec.json.encode(value)), profile) == expected.encode()


class Foreign(msgspec.Struct, rename={"word": "mot", "key": "cle\u0301  x"}):
    """One of its names is not in NFC, and has white space."""

    word: str
    key: str


def test_a_struct_whose_names_need_work_is_written_as_the_object_it_is() -> None:
    value = [Foreign(word="a", key="b"), Foreign(word="\u00e9", key="c\u0301")]
    assert ski(value) == '[{"cl\u00e9  x":"b","mot":"a"},{"cl\u00e9  x":"\u0107","mot":"\u00e9"}]'
    assert kaori(value) == '[{"cl\u00e9 x":"b","mot":"a"},{"cl\u00e9 x":"\u0107","mot":"\u00e9"}]'


class Odd(StrEnum):
    """Its members are one text, and have another as their value."""

    ONE = "one"

    def __new__(cls, text: str) -> Self:
        member = str.__new__(cls, text)
        member._value_ = f"not {text}"
        return member


class Nothing(msgspec.Struct):
    pass


class Mixed(msgspec.Struct):
    at: datetime
    colour: Colour
    odd: object
    parts: tuple[object, ...]


@BOTH
def test_a_struct_of_anything_is_the_object_of_its_members(profile: Profile) -> None:
    at = datetime(2026, 1, 7, 1, tzinfo=timezone(timedelta(hours=1)))
    for odd, text in ((Odd.ONE, '"one"'), (Tier.READ, "1"), (Nothing(), "{}"), (0.5, "0.5"), (-0.0, "0")):
        value = Mixed(at=at, colour=Colour.RED, odd=odd, parts=(Inner(some_name=0.5), [odd]))
        expected = f'{{"at":"2026-01-07T00:00:00Z","colour":"red","odd":{text},"parts":[{{"someName":0.5}},[{text}]]}}'
        assert texts(value, profile) == expected


@BOTH
def test_structs_are_as_deep_as_other_containers(profile: Profile) -> None:
    value: object = Inner(some_name=2.5)
    for _ in range(MAX_DEPTH - 1):
        value = (value,)
    assert texts(value, profile) == "[" * (MAX_DEPTH - 1) + '{"someName":2.5}' + "]" * (MAX_DEPTH - 1)
    with pytest.raises(DepthError):
        canonicalize((value,), profile)
    value = Nothing()
    for _ in range(MAX_DEPTH):
        value = [value]
    with pytest.raises(DepthError):
        canonicalize(value, profile)


@BOTH
def test_nesting_up_to_the_limit_is_written(profile: Profile) -> None:
    value: object = 1.0
    for level in range(MAX_DEPTH):
        value = [value] if level % 2 else {"a": value}
    assert texts(value, profile).count("[") == MAX_DEPTH // 2
    arrays: object = []
    for _ in range(MAX_DEPTH - 1):
        arrays = [arrays]
    assert texts(arrays, profile) == "[" * MAX_DEPTH + "]" * MAX_DEPTH


@pytest.mark.clause("kaori", "3.3")
def test_a_hash_is_sha_256_of_the_canonical_bytes_alone() -> None:
    value = {"b": 1.0, "a": "  x"}
    for profile in Profile:
        expected = sha256(canonicalize_exact(value, profile)).hexdigest()
        assert canonical_hash(value, profile) == expected
        assert canonical_digest(value, profile) == "sha256:" + expected
    assert canonical_hash(value) == sha256(b'{"a":"  x","b":1}').hexdigest()


def test_the_caller_s_decimal_context_changes_nothing() -> None:
    import decimal

    with decimal.localcontext() as context:
        context.prec = 3
        context.rounding = decimal.ROUND_DOWN
        context.traps[decimal.Inexact] = True
        assert kaori([1234567.1234565, 2.5000005]) == "[1234567.123457,2.500001]"


@pytest.mark.clause("ski", "7.3")
@pytest.mark.clause("kaori", "3.2")
def test_the_worked_examples_of_the_documentation_hold() -> None:
    page = (VECTORS.parent.parent / "docs/formats/canonical.md").read_text(encoding="utf-8")
    value = {"site": " Cafe\u0301  Nord ", "reading": 7.1234565, "count": 3.0, "limit": 1e21}
    assert f"```text\n{ski(value)}\n{canonical_digest(value)}\n```" in page
    with pytest.raises(IntegerRangeError):
        canonicalize(value, Profile.KAORI)
    del value["limit"]
    assert f"```text\n{kaori(value)}\n{canonical_digest(value, Profile.KAORI)}\n```" in page
