"""The short way to a request refuses what the long way refuses, with the same problems."""

from typing import Annotated

import pytest
from msgspec import Meta, Struct

from assay.flows.request import FieldsError
from assay.operations.fields import find_problems, parse_fields


class Loose(Struct, frozen=True, kw_only=True):
    name: str = ""


class Outer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    inner: Loose | None = None
    inners: tuple[Loose, ...] = ()


class Timed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    at: Annotated[str, Meta(extra_json_schema={"format": "date-time"})] | None = None


class Plain(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    count: Annotated[int, Meta(ge=1)]
    names: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("kind", "document"),
    [
        (Outer, {"inner": {"other": 1}}),
        (Outer, {"inners": [{}, {"other": 1}]}),
        (Timed, {"at": "yesterday"}),
        (Plain, {"count": 0, "names": [1], "more": 2}),
        (Plain, []),
    ],
)
def test_everything_that_is_wrong_is_named(kind: type[Struct], document: object) -> None:
    problems = find_problems(kind, document)
    assert problems
    with pytest.raises(FieldsError) as refusal:
        parse_fields(kind, document)
    assert tuple(refusal.value.problems) == problems


def test_what_is_right_is_parsed() -> None:
    assert parse_fields(Plain, {"count": 2, "names": ["a"]}) == Plain(count=2, names=("a",))
    assert parse_fields(Timed, {"at": "2026-01-01T00:00:00Z"}).at == "2026-01-01T00:00:00Z"
