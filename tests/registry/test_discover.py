"""Which services can do this: the index answers what asking each of them would."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import Code
from assay.registry import discover
from assay.registry.bits import ALERT_ACK, BL_ISSUE, BOOK, MANIFEST, READ
from assay.registry.discover import Index, ServiceEntry, build_index, entry_of, update_index
from assay.registry.errors import RegistryError
from assay.registry.permission import ANKR_32BIT_V1, MaskSchema, make_schema
from tests.raising import raises
from tests.registry.codex import make_manifest

_ALLOWED = ~ANKR_32BIT_V1.reserved & 2**32 - 1
_WIDE = make_schema("wide-v1", {bit: f"W{bit}" for bit in range(32, 96)}, width=96)
_masks = st.integers(0, 2**32 - 1).map(lambda value: value & _ALLOWED)
_names = st.sampled_from(["a", "b", "c", "d"])


@st.composite
def _entries(draw: st.DrawFn, most: int = 150) -> list[ServiceEntry]:
    ids = draw(st.lists(st.integers(0, 10**6), unique=True, max_size=most))
    return [
        ServiceEntry(
            id=f"svc-{number}",
            domain=draw(_names),
            capability_mask=draw(_masks),
            tier=draw(st.integers(0, 3)),
            can_answer=tuple(sorted(draw(st.sets(_names)))),
            can_do=tuple(sorted(draw(st.sets(_names)))),
        )
        for number in ids
    ]


def _loop(entries: list[ServiceEntry], needed: int, tier: int = 0) -> list[str]:
    return [one.id for one in entries if one.capability_mask & needed == needed and one.tier >= tier]


def _same(index: Index, entries: list[ServiceEntry], needed: int, tier: int) -> None:
    expected = sorted(_loop(entries, needed, tier))
    assert sorted(index.who_can(needed, tier=tier)) == expected
    assert sorted(index.who_can(needed, tier=tier)) == expected, "the remembered answer is the same"
    assert index.count_can(needed, tier=tier) == len(expected)
    assert sorted(one.id for one in entries if index.explain(one.id, needed, tier=tier).can) == expected
    assert sorted(index.who_answers("a")) == sorted(one.id for one in entries if "a" in one.can_answer)
    assert sorted(index.who_does("a", domain="b")) == sorted(
        one.id for one in entries if "a" in one.can_do and one.domain == "b"
    )
    assert sorted(index.in_domain("c")) == sorted(one.id for one in entries if one.domain == "c")


@pytest.mark.clause("forja", "discovery")
@pytest.mark.clause("forja", "trust-bitmask")
@given(entries=_entries(), needed=st.sampled_from([0, READ, BOOK, BOOK | MANIFEST, 2**5 - 1]), tier=st.integers(0, 3))
def test_the_index_answers_what_a_loop_would(entries: list[ServiceEntry], needed: int, tier: int) -> None:
    index = build_index(entries)
    _same(index, entries, needed, tier)
    assert list(index.who_can(needed, tier=tier)) == _loop(entries, needed, tier)


@pytest.mark.clause("forja", "discovery")
@given(entries=_entries(), needed=st.sampled_from([0, READ, BOOK | MANIFEST]), tier=st.integers(0, 3))
def test_every_way_of_searching_agrees(entries: list[ServiceEntry], needed: int, tier: int) -> None:
    """Fleets are searched by whole numbers, by rows or by columns, as their size asks for; here one is in all ways."""
    index = build_index(entries)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discover, "_SMALL", -1)
        large = build_index(entries)
        by_columns = large.search(needed, tier=tier)
        patch.setattr(discover, "_FEW", -1)
        by_rows = index.search(needed, tier=tier)
    assert by_columns == by_rows == index.search(needed, tier=tier) == _loop(entries, needed, tier)


@given(
    first=_entries(90), steps=st.lists(st.tuples(_entries(20), st.integers(0, 12)), max_size=5),
    needed=st.sampled_from([0, READ, BOOK]), tier=st.integers(0, 3),
)  # fmt: skip
def test_an_updated_index_is_the_one_built_anew(
    first: list[ServiceEntry], steps: list[tuple[list[ServiceEntry], int]], needed: int, tier: int
) -> None:
    """Services come, change and go in any order; every snapshot stays as it was."""
    index = build_index(first)
    held = {one.id: one for one in first}
    before = index.find_ids(needed, tier=tier).tolist()
    start = index
    for put, leaving in steps:
        gone = sorted(held)[:leaving]
        index = update_index(index, put=put, drop=[*gone, "never-there"])
        for name in gone:
            del held[name]
        held |= {one.id: one for one in put}
        _same(index, list(held.values()), needed, tier)
        assert len(index) == len(held)
    assert start.find_ids(needed, tier=tier).tolist() == before


def test_slots_of_the_gone_are_used_again() -> None:
    one, two = (ServiceEntry(id=name, domain="d", capability_mask=READ, tier=1) for name in ("one", "two"))
    index = build_index([one])
    for _ in range(70):
        index = update_index(update_index(index, drop=["one"], put=[two]), drop=["two"], put=[one])
    assert len(index.ids) <= 2
    assert index.who_can(READ) == ("one",)


def test_a_wide_schema_is_searched_by_its_columns() -> None:
    entries = [
        ServiceEntry(id=f"svc-{bit}", domain="d", capability_mask=1 << bit | READ, tier=2) for bit in range(32, 96)
    ]
    index = build_index(entries, _WIDE)
    assert index.who_can(1 << 95) == ("svc-95",)
    assert index.count_can(READ, tier=2) == 64
    later = update_index(index, drop=["svc-95"])
    assert later.who_can(1 << 95) == ()
    assert index.explain("svc-32", 1 << 33).missing == ("W33",)


def test_an_entry_comes_from_a_manifest() -> None:
    manifest = make_manifest()
    index = build_index([entry_of(manifest, tier=3)])
    assert index.who_can(ALERT_ACK, tier=3) == index.who_answers("berth.availability") == ("portwatch-backend",)
    assert index.who_does("ALERT_ACK", domain="maritime-port") == ("portwatch-backend",)


def test_an_explanation_names_the_missing_bits_and_the_tier() -> None:
    index = build_index([ServiceEntry(id="svc", domain="d", capability_mask=READ | BOOK, tier=1)])
    no = index.explain("svc", READ | MANIFEST | BL_ISSUE, tier=2)
    assert (no.can, no.missing, no.active_tier, no.needed_tier) == (False, ("MANIFEST", "BL_ISSUE"), 1, 2)
    assert no.reason == "`svc` lacks MANIFEST, BL_ISSUE and has tier 1, not 2"
    assert index.explain("svc", READ).reason == "`svc` can"
    with raises(RegistryError.unknown_service):
        index.explain("nobody", READ)


@pytest.mark.parametrize("needed", [1 << 31, 1 << 21])
def test_a_question_about_a_reserved_bit_is_refused(needed: int) -> None:
    index = build_index([])
    for ask in (index.who_can, index.count_can):
        with raises(RegistryError.reserved_bit):
            ask(needed)


def test_a_question_that_is_no_mask_or_no_tier_is_refused() -> None:
    index = build_index([])
    with raises(RegistryError.mask_width):
        index.who_can(True)
    for ask in (index.who_can, index.count_can):
        with raises(RegistryError.invalid_rule):
            ask(READ, tier=7)
    assert index.who_can(0) == ()
    assert index.count_can(READ) == 0


@pytest.mark.parametrize(
    ("entries", "error"),
    [
        ([("a", READ, 1), ("a", READ, 1)], RegistryError.duplicate_service),
        ([("a", 1 << 31, 1)], RegistryError.reserved_bit),
        ([("a", -1, 1)], RegistryError.reserved_bit),
        ([("a", -(2**32), 1)], RegistryError.mask_width),
        ([("a", READ, 4)], RegistryError.invalid_rule),
    ],
)
def test_what_contradicts_itself_is_not_indexed(entries: list[tuple[str, int, int]], error: Code) -> None:
    made = [ServiceEntry(id=name, domain="d", capability_mask=mask, tier=tier) for name, mask, tier in entries]
    with raises(error):
        build_index(made)


def test_a_signed_mask_is_not_indexed_as_it_is() -> None:
    """It is to be parsed first: the index keeps one form."""
    full = MaskSchema(id="full", names=(*ANKR_32BIT_V1.names, *(f"N{bit}" for bit in range(32, 64))))
    with raises(RegistryError.invalid_rule, match="unsigned"):
        build_index([ServiceEntry(id="a", domain="d", capability_mask=-(2**32), tier=1)], full)


def test_what_is_remembered_is_bounded() -> None:
    """By the number of answers and by their length."""
    index = build_index([ServiceEntry(id="a", domain="d", capability_mask=READ, tier=1)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discover, "_MOST_ANSWERS", 3)
        for needed in range(8):
            assert index.who_can(needed) == (("a",) if needed in {0, READ} else ())
            assert len(index._known) <= 3
        patch.setattr(discover, "_LONGEST_ANSWER", 0)
        index._known.clear()
        assert index.who_can(READ) == ("a",)
        assert not index._known


def test_only_a_mask_finds_the_answer_to_a_mask() -> None:
    """`True` and `1.0` are equal to 1 in every table, and are refused also where 1 was asked before."""
    index = build_index([ServiceEntry(id="a", domain="d", capability_mask=1, tier=1)])
    assert index.who_can(1, tier=1) == ("a",)
    for needed, tier in ((True, 1), (1.0, 1), (1, True), ([1], 1)):
        with pytest.raises(RegistryError):
            index.who_can(needed, tier=tier)  # type: ignore[arg-type]  # what is no mask, or no tier


def test_who_announces_or_judges_does_without_numpy() -> None:
    loaded = (
        "import assay.registry.discover, assay.registry.fleet, assay.registry.announce, assay.registry.conform, sys\n"
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", loaded], check=False).returncode == 0
