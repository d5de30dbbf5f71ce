"""Deterministic CBOR against RFC 8949's own examples, against another's implementation, and against every loose end."""

import json
from pathlib import Path
from typing import Any

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.cbor import (
    MAX_DEPTH,
    MAX_ITEMS,
    CborRefusedError,
    CborTag,
    CborValue,
    MalformedCborError,
    parse_cbor,
    render_cbor,
)

VECTORS: dict[str, Any] = json.loads((Path(__file__).parent.parent / "vectors/cbor/rfc8949.json").read_text())

_KEYS = st.integers(-(2**64), 2**64 - 1) | st.text(max_size=5) | st.binary(max_size=5)
_LEAVES = _KEYS | st.booleans() | st.none()
_VALUES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4), max_leaves=12
)


def _nested(depth: int) -> CborValue:
    value: CborValue = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("case", VECTORS["values"], ids=lambda case: case["hex"][:20])
def test_examples_of_the_rfc_are_written_and_read(case: dict[str, Any]) -> None:
    encoded = bytes.fromhex(case["hex"])
    assert render_cbor(case["json"]) == encoded
    assert parse_cbor(encoded) == case["json"]
    assert type(parse_cbor(encoded)) is type(case["json"])


def test_bytes_integer_keys_and_tags_of_the_rfc_are_written_and_read() -> None:
    values: list[tuple[CborValue, str]] = [(bytes.fromhex(one["content"]), one["hex"]) for one in VECTORS["bytes"]]
    values += [(dict(VECTORS["int_keys"]["pairs"]), VECTORS["int_keys"]["hex"])]
    values += [(CborTag(one["number"], _tagged(one)), one["hex"]) for one in VECTORS["tags"]]
    for value, encoded in values:
        assert render_cbor(value).hex() == encoded
        assert parse_cbor(bytes.fromhex(encoded)) == value


def _tagged(case: dict[str, Any]) -> CborValue:
    return bytes.fromhex(case["bytes"]) if "bytes" in case else case.get("text", case.get("integer"))


def test_every_example_of_the_appendix_is_here_and_once() -> None:
    """Written and read, or refused: another's reader finds in each the value that stands beside it."""
    read = [*VECTORS["values"], *VECTORS["bytes"], VECTORS["int_keys"], *VECTORS["tags"]]
    every = [one["hex"] for one in (*read, *VECTORS["refused"])]
    assert len(every) == len(set(every)) == 82
    for one in VECTORS["values"]:
        assert cbor2.loads(bytes.fromhex(one["hex"])) == one["json"]
    for one in VECTORS["refused"]:
        cbor2.loads(bytes.fromhex(one["hex"]))


@pytest.mark.parametrize("case", VECTORS["refused"], ids=lambda case: case["why"])
def test_what_the_rfc_has_beyond_our_kinds_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(MalformedCborError):
        parse_cbor(bytes.fromhex(case["hex"]))


@given(_VALUES)
def test_another_implementation_writes_the_same_bytes_and_reads_them(value: CborValue) -> None:
    """cbor2's canonical form sorts keys by length first, as RFC 7049 did; it is compared where there are no maps."""
    encoded = render_cbor(value)
    assert cbor2.loads(encoded) == value
    assert parse_cbor(encoded) == value
    if "{" not in repr(value):
        assert cbor2.dumps(value, canonical=True) == encoded


@given(st.binary(max_size=40))
def test_whatever_is_read_renders_to_the_same_bytes(received: bytes) -> None:
    """One value has one encoding: a text is refused, or is the one that we would write."""
    try:
        value = parse_cbor(received)
    except MalformedCborError:
        return
    assert render_cbor(value) == received


@pytest.mark.parametrize(
    ("encoded", "why"),
    [
        ("", "nothing"),
        ("0000", "bytes after the end"),
        ("1817", "a longer form of 23"),
        ("1900ff", "a longer form of 255"),
        ("1b00000000ffffffff", "a longer form of 32 bits"),
        ("1c", "a reserved length"),
        ("18", "a number cut short"),
        ("4201", "bytes cut short"),
        ("61ff", "text that is no UTF-8"),
        ("9b7fffffffffffffff", "an array that promises more than there is"),
        ("ba7fffffff", "a map that promises more than there is"),
        ("a2010201", "a map cut short"),
        ("a201020102", "a key twice"),
        ("a202010102", "keys out of order"),
        ("a1f401", "a boolean as key"),
        ("a18001", "an array as key"),
        ("d2", "a tag of nothing"),
    ],
)
def test_every_loose_end_is_refused(encoded: str, why: str) -> None:
    with pytest.raises(MalformedCborError) as caught:
        parse_cbor(bytes.fromhex(encoded))
    assert str(caught.value), why


def test_depth_is_limited_in_both_directions() -> None:
    """A coded refusal, never a RecursionError."""
    assert parse_cbor(render_cbor(_nested(MAX_DEPTH))) == _nested(MAX_DEPTH)
    with pytest.raises(CborRefusedError):
        render_cbor(_nested(MAX_DEPTH + 1))
    with pytest.raises(MalformedCborError):
        parse_cbor(b"\x81" * 100_000 + b"\x01")


@pytest.mark.parametrize("value", [2**64, -(2**64) - 1, 1.5, "\ud800", {1.5: 1}, {"a": object()}])
def test_a_value_beyond_our_kinds_is_not_written(value: Any) -> None:  # noqa: ANN401 - what has no encoding
    with pytest.raises(CborRefusedError):
        render_cbor(value)


def test_many_items_are_refused_before_they_are_made() -> None:
    """A byte is an item, and an item is a hundred bytes of memory: what is small on the wire stays small here."""

    def empties(count: int) -> bytes:
        return b"\x9a" + count.to_bytes(4, "big") + b"\x80" * count

    assert parse_cbor(render_cbor([[]] * (MAX_ITEMS - 1))) == [[]] * (MAX_ITEMS - 1)
    with pytest.raises(MalformedCborError, match=f"at most {MAX_ITEMS} items"):
        parse_cbor(empties(2**20))
