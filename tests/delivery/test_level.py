"""The level follows from the strands alone, as a table written from the text says."""

import json
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.delivery.errors import InvalidLevelError
from assay.delivery.level import Level, assess, parse_level, rank_of, read_level
from assay.delivery.strand import CAPABILITY, CORE, KNOWLEDGE, PROOF, StrandId
from tests.delivery.answers import widened

_VECTORS = Path(__file__).parents[1] / "vectors" / "delivery" / "levels.json"
_ROWS: list[dict[str, Any]] = json.loads(_VECTORS.read_text())["rows"]
_SYMBOLS = dict(zip("ckp", CORE, strict=True))


def _subsets(ids: tuple[StrandId, ...]) -> list[tuple[StrandId, ...]]:
    return list(chain.from_iterable(combinations(ids, size) for size in range(len(ids) + 1)))


def _expected(core: tuple[StrandId, ...], defined: int, found: int) -> int:
    pattern = "".join(symbol if strand in core else "-" for symbol, strand in _SYMBOLS.items())
    [row] = [one for one in _ROWS if one["core"] == pattern]
    rank: int = row["by_extended"][defined][found]
    return rank


@pytest.mark.clause("pramana", "6.1")
@pytest.mark.clause("pramana", "6.2")
@pytest.mark.clause("pramana", "6.3")
@pytest.mark.clause("pramana", "6.5")
@pytest.mark.clause("pramana", "8")
@pytest.mark.clause("pramana", "11.4")
@pytest.mark.parametrize("defined", range(4))
def test_every_subset_of_up_to_six_strands_has_the_level_of_the_table(defined: int) -> None:
    """The table was written from the text, by hand; here each of its rows stands for all subsets of that size."""
    ids = widened(defined).ids()
    seen = 0
    for core in _subsets(CORE):
        for others in _subsets(ids[len(CORE) :]):
            found = assess({*core, *others}, ids)
            assert rank_of(found.level) == _expected(core, defined, len(others)), (core, others)
            seen += 1
    assert seen == 2 ** len(ids)


def test_the_table_has_every_row() -> None:
    assert len({row["core"] for row in _ROWS}) == 8
    assert all([len(cells) for cells in row["by_extended"]] == [1, 2, 3, 4] for row in _ROWS)


@pytest.mark.clause("pramana", "6.1")
def test_a_cap_says_what_it_lowered_and_why() -> None:
    found = assess({KNOWLEDGE, PROOF}, CORE)
    assert found.cap is not None
    assert (found.level, found.cap.cause, found.cap.uncapped_level) == (Level.SINGLE_SOURCE, CAPABILITY, Level.PARTIAL)
    assert assess({CAPABILITY, PROOF}, CORE).cap is None
    assert assess((), CORE).cap is None


@pytest.mark.clause("pramana", "6.5")
def test_what_is_not_defined_counts_for_nothing_and_the_core_always_does() -> None:
    assert assess({CAPABILITY, StrandId("x-unknown")}, CORE).level is Level.SINGLE_SOURCE
    assert assess({CAPABILITY}, [CAPABILITY]).level is Level.SINGLE_SOURCE
    assert assess(CORE, []).level is Level.AUTHENTIC


@pytest.mark.clause("pramana", "8.5")
def test_a_plugin_tells_three_from_three_plus_and_nothing_else() -> None:
    assert assess(CORE, CORE, slm=True).level is Level.INFERRED
    assert assess({CAPABILITY, KNOWLEDGE}, CORE, slm=True).level is Level.PARTIAL
    assert rank_of(Level.INFERRED) == rank_of(Level.AUTHENTIC) == 3


@pytest.mark.clause("pramana", "6.5")
@pytest.mark.clause("pramana", "15")
def test_there_are_five_levels_and_no_more() -> None:
    assert [str(one) for one in Level] == ["PRAMANA-0", "PRAMANA-1", "PRAMANA-2", "PRAMANA-3", "PRAMANA-3+"]
    with pytest.raises(InvalidLevelError, match="PRAMANA-4"):
        parse_level("PRAMANA-4")
    assert parse_level("PRAMANA-3+") is Level.INFERRED


@pytest.mark.clause("pramana", "8")
@pytest.mark.parametrize("value", [None, "", "PRAMANA-9", "pramana-3", 3, True, [], {}])
def test_a_missing_or_unknown_level_is_zero(value: object) -> None:
    assert read_level(value) is Level.UNVERIFIED


def test_a_level_that_is_given_is_read() -> None:
    assert [read_level(str(one)) for one in Level] == list(Level)


@given(st.sets(st.sampled_from(widened(3).ids())), st.sampled_from(widened(3).ids()))
def test_one_more_strand_never_lowers_a_level(found: set[StrandId], more: StrandId) -> None:
    ids = widened(3).ids()
    assert rank_of(assess(found, ids).level) <= rank_of(assess(found | {more}, ids).level)
