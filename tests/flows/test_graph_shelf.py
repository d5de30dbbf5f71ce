"""The dockets of a graph are looked up as a whole where they were before, and are never another record's."""

from datetime import UTC, datetime, timedelta

import pytest

from assay.flows.verdicts.shelves import DocketShelf
from assay.kernel.instant import Instant
from assay.verdicts.graph.index import build_index
from assay.verdicts.graph.parse import parse_graph
from tests.flows._verdicts import graph_document, rule

_NOON = Instant(datetime(2026, 3, 2, 12, tzinfo=UTC))
_RULES = (
    rule("limit"),
    rule("later", effective_date_start="2026-03-02T12:00:01Z"),
    rule("burn", subject="kiln"),
    rule("past", subject="idle", effective_date_end="2020-01-01T00:00:00Z"),
)


@pytest.fixture
def shelf() -> DocketShelf:
    return DocketShelf(build_index(parse_graph(graph_document(*_RULES))))


def test_the_same_slice_has_the_same_dockets(shelf: DocketShelf) -> None:
    first, dockets = shelf.find("stack", as_of=_NOON)
    second, again = shelf.find("stack", as_of=Instant(_NOON - timedelta(days=1)))
    assert (again, second.as_of) == (dockets, _NOON - timedelta(days=1))
    assert all(one is other for one, other in zip(dockets, again, strict=True))
    assert tuple(dockets) == shelf.dockets_of(first)


def test_what_is_in_force_by_now_is_judged_from_now_on(shelf: DocketShelf) -> None:
    counts = [
        [len(docket.checks) for docket in shelf.find("stack", as_of=Instant(_NOON + timedelta(seconds=at)))[1]]
        for at in (0, 1, 0)
    ]
    assert counts == [[0, 1], [1, 1], [0, 1]]


def test_a_subject_without_rules_is_not_an_unknown_one(shelf: DocketShelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does either become the other where little may be kept."""
    for most in (4096, 1):
        monkeypatch.setattr("assay.flows.verdicts.shelves._MOST_DOCKETS", most)
        told = [
            [(docket.is_mapped, docket.rule_id) for docket in shelf.find(subject, as_of=_NOON)[1]]
            for subject in ("nowhere", "kiln", "idle", "nowhere", "kiln")
        ]
        assert told == [[(False, "")], [(True, "burn")], [(True, "past")], [(False, "")], [(True, "burn")]]
