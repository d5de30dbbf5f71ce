"""What has no canonical bytes is refused with a code, by both paths alike."""

import dataclasses
import math
import re
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from types import MappingProxyType
from uuid import UUID

import msgspec
import orjson
import pytest

from assay.kernel.canonical import MAX_DEPTH, MAX_SAFE_INTEGER, Profile, canonicalize, canonicalize_exact
from assay.kernel.errors import CanonicalError, Error
from assay.kernel.instant import NaiveDatetimeError


class Plain(Enum):
    A = "a"


@dataclasses.dataclass
class Data:
    a: int


class Row(msgspec.Struct, array_like=True):
    a: int


class Sparse(msgspec.Struct, omit_defaults=True):
    a: int = 1


def nested(levels: int, *, of: object = None) -> object:
    value = of
    for _ in range(levels):
        value = [value]
    return value


def itself() -> object:
    loop: list[object] = [1]
    loop.append({"again": loop})
    return loop


REFUSED: list[tuple[str, object]] = [
    ("canonical.non_finite", math.nan),
    ("canonical.non_finite", {"a": [math.inf]}),
    ("canonical.non_finite", -math.inf),
    ("canonical.integer_range", MAX_SAFE_INTEGER + 1),
    ("canonical.integer_range", [-MAX_SAFE_INTEGER - 1]),
    ("canonical.integer_range", {"a": 10**10_000}),
    ("canonical.integer_range", [1.0, 2**64]),
    ("canonical.key_type", {1: "a"}),
    ("canonical.key_type", {"a": {None: 1.0}}),
    ("canonical.key_type", MappingProxyType({(): 1})),
    ("canonical.key_type", {b"a": 1}),
    ("canonical.key_collision", {"é": 1, "e\u0301": 2}),
    ("canonical.key_collision", [{"\u212b": 1, "\u00c5": 1.0}]),
    ("canonical.lone_surrogate", "\ud800"),
    ("canonical.lone_surrogate", ["a\udfffb", 1.0]),
    ("canonical.lone_surrogate", {"\ude00\ud83d": 1}),
    ("canonical.depth", nested(MAX_DEPTH + 1)),
    ("canonical.depth", nested(MAX_DEPTH, of={})),
    ("canonical.depth", nested(MAX_DEPTH, of={"a": 1.0})),
    ("canonical.depth", nested(MAX_DEPTH + 1, of=1.0)),
    ("canonical.depth", nested(5000)),
    ("canonical.depth", itself()),
    ("canonical.type", b"bytes"),
    ("canonical.type", {1, 2}),
    ("canonical.type", Decimal(1)),
    ("canonical.type", UUID(int=1)),
    ("canonical.type", [Plain.A]),
    ("canonical.type", {"a": Data(1)}),
    ("canonical.type", date(2026, 1, 7)),
    ("canonical.type", PurePath("a")),
    ("canonical.type", Row(1)),
    ("canonical.type", [Sparse()]),
    ("canonical.type", nested(MAX_DEPTH, of=object())),
    ("canonical.type", orjson.Fragment(b"1")),
    ("canonical.type", msgspec.Raw(b"1")),
    ("canonical.type", [iter(())]),
    ("form.naive_datetime", datetime(2026, 1, 7)),  # noqa: DTZ001 - a naive one is meant
    ("form.naive_datetime", {"a": [datetime(2026, 1, 7)]}),  # noqa: DTZ001 - a naive one is meant
    ("form.instant", datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))),
]


@pytest.mark.clause("ski", "7.3")
@pytest.mark.clause("kaori", "3.2")
@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize(("code", "value"), REFUSED, ids=lambda part: part if isinstance(part, str) else "")
def test_each_refusal_has_its_code_on_both_paths(profile: Profile, code: str, value: object) -> None:
    for refuse in (canonicalize, canonicalize_exact):
        with pytest.raises(Error) as caught:
            refuse(value, profile)
        assert caught.value.code == code
        assert "\n" not in str(caught.value)
        str(caught.value).encode("ascii")


@pytest.mark.clause("kaori", "4.2")
def test_a_naive_datetime_is_a_naive_datetime_error() -> None:
    with pytest.raises(NaiveDatetimeError):
        canonicalize(datetime(2026, 1, 7), Profile.KAORI)  # noqa: DTZ001 - a naive one is meant


@pytest.mark.clause("kaori", "3.2")
@pytest.mark.parametrize("keys", [("a b", "a  b"), ("a", "a "), ("", "\u3000"), ("ü b", "ü\u00a0b")])
def test_keys_that_collide_only_in_white_space_are_refused_in_kaori_only(keys: tuple[str, str]) -> None:
    value = dict.fromkeys(keys, 1)
    assert canonicalize(value) == canonicalize_exact(value)
    for refuse in (canonicalize, canonicalize_exact):
        with pytest.raises(CanonicalError) as caught:
            refuse(value, Profile.KAORI)
        assert caught.value.code == "canonical.key_collision"


def test_the_first_refusal_in_reading_order_is_the_one_told() -> None:
    overflow = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))
    for value, code in (
        ({"é": 1, "e\u0301": overflow}, "canonical.key_collision"),
        ([overflow, math.nan], "form.instant"),
        ([math.nan, overflow], "canonical.non_finite"),
    ):
        for refuse in (canonicalize, canonicalize_exact):
            with pytest.raises(Error) as caught:
                refuse(value, Profile.SKI)
            assert caught.value.code == code


def test_a_refusal_says_where() -> None:
    with pytest.raises(CanonicalError, match=re.escape(r"got `nan` at `/a/1/\xfc`")):
        canonicalize({"a": [0, {"ü": math.nan}]})


def test_a_self_containing_value_costs_no_recursion_error() -> None:
    """The limit is reached long before the interpreter's, with room for the caller's own frames."""
    loop: dict[str, object] = {"at": datetime(2026, 1, 7, tzinfo=UTC)}
    loop["again"] = loop
    with pytest.raises(CanonicalError):
        canonicalize(loop)
