"""A permission is a bit with a name: either it is set or it is not."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.registry import bits
from assay.registry.errors import RegistryError
from assay.registry.permission import (
    ANKR_32BIT_V1,
    DEFAULT_SCHEMAS,
    MaskSchema,
    describe,
    has_all,
    has_perm,
    make_schema,
    make_table,
    mask_of,
    missing_bits,
    parse_mask,
)
from tests.raising import raises

_VECTOR = json.loads((Path(__file__).parents[1] / "vectors" / "registry" / "bits.json").read_text())
_ALLOWED = ((1 << 32) - 1) & ~ANKR_32BIT_V1.reserved
_WIDE = make_schema("bank-64bit-v1", {8: "LEND", 40: "SETTLE"}, width=64)


@pytest.mark.clause("forja", "trust-bitmask")
def test_the_bits_are_where_the_protocol_puts_them() -> None:
    """Names, numbers and the reserved bits of `ankr-32bit-v1` are those of the text."""
    assert {str(bit): name for bit, name in enumerate(ANKR_32BIT_V1.names) if name} == _VECTOR["named"]
    assert [bit for bit in range(32) if ANKR_32BIT_V1.reserved >> bit & 1] == _VECTOR["reserved"]
    assert {name: value for name, value in vars(bits).items() if name.isupper()} == {
        n: 1 << int(b) for b, n in _VECTOR["named"].items()
    }
    assert DEFAULT_SCHEMAS["ankr-32bit-v1"] is ANKR_32BIT_V1


@pytest.mark.clause("forja", "trust-bitmask")
@pytest.mark.parametrize("bit", _VECTOR["reserved"])
def test_a_reserved_bit_is_refused(bit: int) -> None:
    with raises(RegistryError.reserved_bit, match=f"got bits {bit}"):
        parse_mask(1 << bit | 1)


@pytest.mark.parametrize("value", [True, False, 1.0, "1", "0x1", None, 2**32, -(2**31) - 1, [1]])
def test_what_is_no_number_of_32_bits_is_refused(value: object) -> None:
    """A text is refused too: in 32 bits a mask is a number."""
    with raises(RegistryError.mask_width) as caught:
        parse_mask(value)
    assert caught.value.code == "registry.mask_width"


def test_a_signed_mask_is_the_same_mask() -> None:
    """Bit 31 is reserved in 32 bits, so it is refused after it was read."""
    full = make_schema("all", {bit: f"N{bit}" for bit in range(32, 64)}, width=64)
    assert parse_mask(1 - 2**63, full) == 1 | 1 << 63
    with raises(RegistryError.reserved_bit, match="got bits 30, 31"):
        parse_mask(-(2**30))


@pytest.mark.clause("forja", "trust-bitmask")
@given(mask=st.integers(0, _ALLOWED).map(lambda value: value & _ALLOWED), bit=st.integers(0, 31))
def test_one_permission_is_one_bitwise_and(mask: int, bit: int) -> None:
    assert has_perm(mask, 1 << bit) == bool(mask >> bit & 1)


@pytest.mark.clause("forja", "trust-bitmask")
@given(mask=st.integers(0, _ALLOWED), needed=st.integers(0, _ALLOWED))
def test_all_permissions_must_be_set_and_none_implies_another(mask: int, needed: int) -> None:
    assert has_all(mask, needed) == (missing_bits(mask, needed) == 0) == (mask | needed == mask)
    assert not has_all(bits.SUPER, bits.READ)


@pytest.mark.parametrize("value", [0, 3, -1, True])
def test_a_question_about_no_bit_or_several_is_no_question(value: int) -> None:
    with raises(RegistryError.unknown_permission):
        has_perm(7, value)


@pytest.mark.parametrize(("mask", "needed"), [(-1, 1), (1, -1), (True, 1), (1.0, 1)])
def test_a_mask_that_was_not_parsed_answers_nothing(mask: int, needed: int) -> None:
    """-1 would hold every bit."""
    with raises(RegistryError.mask_width):
        has_all(mask, needed)


@given(mask=st.integers(0, _ALLOWED).map(lambda value: value & _ALLOWED))
def test_names_and_numbers_say_the_same(mask: int) -> None:
    assert mask_of(describe(mask)) == mask == parse_mask(mask)


def test_a_name_of_another_schema_is_refused() -> None:
    with raises(RegistryError.unknown_permission, match="LEND"):
        mask_of(["READ", "LEND"])
    assert mask_of(["READ", "LEND"], _WIDE) == 1 | 1 << 8


def test_a_wider_mask_has_the_same_api() -> None:
    """Above 32 bits a mask travels as text, since readers of JSON lose digits beyond 2^53."""
    mask = mask_of(["SETTLE", "READ"], _WIDE)
    assert parse_mask("0x10000000001", _WIDE) == parse_mask(mask, _WIDE) == mask
    assert describe(mask, _WIDE) == ("READ", "SETTLE")
    assert has_perm(mask, 1 << 40)


@pytest.mark.parametrize("value", [True, 1.0, "0x", "0xG", "0X1", "1", None, 2**64, -(2**63) - 1, "0x1" + "0" * 16])
def test_what_is_no_number_of_the_wide_schema_is_refused(value: object) -> None:
    with raises(RegistryError.mask_width):
        parse_mask(value, _WIDE)


@pytest.mark.parametrize(
    ("domain", "width"),
    [({0: "MINE"}, 32), ({24: "MINE"}, 32), ({32: "MINE"}, 32), ({8: "READ"}, 32), ({8: "mine"}, 32), ({}, 33), ({}, 0),
     ({}, 2048)],
)  # fmt: skip
def test_a_schema_names_its_own_bits_and_no_others(domain: dict[int, str], width: int) -> None:
    with raises(RegistryError.mask_schema) as caught:
        make_schema("mine-v1", domain, width=width)
    assert caught.value.code == "registry.mask_schema"


def test_the_universal_blocks_are_the_same_in_every_schema() -> None:
    names = list(ANKR_32BIT_V1.names)
    for change in ({0: "WRITE2"}, {24: "AI_WRITE"}):
        with raises(RegistryError.mask_schema):
            MaskSchema(id="mine", names=tuple(change.get(bit, name) for bit, name in enumerate(names)))
    with raises(RegistryError.mask_schema, match="expected an id"):
        make_schema("Mine V1", {})


def test_roles_and_actions_have_tables() -> None:
    """Given as numbers or as names."""
    table = make_table({"clerk": ["READ", "BOOK"], "auditor": bits.READ | bits.AUDIT})
    assert table.get("clerk") == bits.READ | bits.BOOK
    with raises(RegistryError.unknown_action, match="got `captain`"):
        table.get("captain")
    with raises(RegistryError.reserved_bit):
        make_table({"clerk": 1 << 31})
