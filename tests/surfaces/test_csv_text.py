"""CSV for spreadsheets and programs: every row is there as it is, and none of it is ever calculated."""

import csv
import io
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from assay.flows.csv_text import cell_of, columns_of, render_records, render_rows


class _Inner(Struct, frozen=True, kw_only=True):
    name: str
    at: str | None = None


class _Row(Struct, frozen=True, kw_only=True):
    number: int
    text: str
    inner: _Inner | None = None
    tags: tuple[str, ...] = ()
    rest: dict[str, int] = {}
    share: float = 0.5
    exact: Decimal = Decimal("1.50")
    yes: bool = True


def _read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_columns_follow_from_the_type_also_without_rows() -> None:
    heads = ["number", "text", "inner.name", "inner.at", "tags", "rest", "share", "exact", "yes"]
    assert list(columns_of(_Row)) == heads
    assert _read(render_rows(_Row, ())) == [heads]


def test_each_kind_of_value_has_its_one_spelling() -> None:
    whole = _Row(number=-1, text='say "x"\nnow', inner=_Inner(name="n"), tags=("a", "b"), rest={"k": 1})
    _, told, empty = _read(render_rows(_Row, (whole, _Row(number=2, text=""))))
    assert told == ["-1", 'say "x"\nnow', "n", "", "a; b", '{"k":1}', "0.5", "1.50", "true"]
    assert empty[:6] == ["2", "", "", "", "", "{}"]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "\n=1"])
def test_a_text_that_a_spreadsheet_would_calculate_is_a_text(text: str) -> None:
    assert cell_of(text).startswith("'")
    assert cell_of([text, "b"]).startswith("'")


@given(st.text(), st.text(), st.integers())
def test_whatever_strangers_wrote_stays_in_its_cell_and_begins_no_formula(text: str, name: str, number: int) -> None:
    rows = _read(render_rows(_Row, (_Row(number=number, text=text, inner=_Inner(name=name)),)))
    assert [len(row) for row in rows] == [9, 9]
    assert rows[1][0] == str(number)
    for cell in rows[1][1:3]:
        assert not cell.lstrip().startswith(("=", "+", "-", "@", "\t", "\r"))


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1), min_size=1))
def test_plain_texts_are_read_back_as_they_are(texts: list[str]) -> None:
    rows = _read(render_rows(_Inner, (_Inner(name=one) for one in texts)))
    assert [row[0] for row in rows[1:]] == texts


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ([], []),
        ({"anchors": ["a", "b"]}, [["anchors"], ["a"], ["b"]]),
        ([{"a": 1, "b": {"c": "x"}}, {"a": 2, "d": [1]}], [["a", "b.c", "d"], ["1", "x", ""], ["2", "", "[1]"]]),
        (["x", "y"], [["value"], ["x"], ["y"]]),
        ([_Inner(name="n")], [["name", "at"], ["n", ""]]),
        ({"no": "list"}, []),
        ([{"=1+1": 1}, {"a\u202eb": 2}], [["'=1+1", "a\\u202eb"], ["1", ""], ["", "2"]]),
    ],
    ids=["nothing", "one list", "mappings", "texts", "types", "no list", "names of strangers"],
)
def test_lists_of_any_kind_have_the_columns_that_their_rows_have(value: Any, told: list[list[str]]) -> None:  # noqa: ANN401
    assert _read(render_records(value)) == told
