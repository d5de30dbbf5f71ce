"""Trace ids: taken from `traceparent`, or made, and carried by the entries of a request."""

import json

import pytest

from assay.kernel.canonical import canonicalize_exact
from assay.kernel.entry import MalformedEntryError, parse_entry
from assay.kernel.ids import MalformedIdError
from assay.kernel.ledger import EntryKind, draft_entry, traced
from assay.kernel.trace import TRACE_BYTES, TraceId, find_trace, new_trace, parse_trace_id, render_traceparent
from tests.kernel.test_ledger import AT, TENANT, flag, link_of

TRACE = TraceId("4bf92f3577b34da6a3ce929d0e0e4736")
OTHER = TraceId("0" * 31 + "1")
SPAN = "00f067aa0ba902b7"


def test_a_header_that_continues_the_trace_is_read_again() -> None:
    assert find_trace(render_traceparent(TRACE, bytes.fromhex(SPAN))) == TRACE
    assert find_trace(f" 00-{TRACE}-{SPAN}-00 ") == TRACE
    assert find_trace(f"01-{TRACE}-{SPAN}-01-later-parts") == TRACE


@pytest.mark.parametrize(
    "header",
    [
        "",
        TRACE,
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
    ],
)
def test_an_invalid_header_is_ignored(header: str) -> None:
    assert find_trace(header) is None


def test_a_new_trace_is_made_of_random_bytes() -> None:
    assert new_trace(bytes.fromhex(TRACE)) == TRACE
    for entropy in (b"", bytes(TRACE_BYTES), b"x" * (TRACE_BYTES - 1)):
        with pytest.raises(MalformedIdError, match="random bytes"):
            new_trace(entropy)


@pytest.mark.parametrize("text", ["", TRACE.upper(), TRACE[:-1], "0" * 32, TRACE + "\n"])
def test_another_text_is_no_trace_id(text: str) -> None:
    assert parse_trace_id(TRACE) == TRACE
    with pytest.raises(MalformedIdError, match="expected a trace id"):
        parse_trace_id(text)


def test_an_entry_carries_the_trace_of_its_request_in_its_canonical_place() -> None:
    for draft in (
        draft_entry(TENANT, EntryKind.NOTE, {"n": 1}, at=AT),
        draft_entry(TENANT, EntryKind.VERDICT, {"n": 1}, at=AT, verdict=flag()),
    ):
        plain, link = link_of(draft), link_of(traced(draft, TRACE))
        entry = parse_entry(link.text)
        assert entry.trace_id == TRACE
        assert canonicalize_exact({**_members(plain.text), "trace_id": TRACE}) == link.text
        assert b"trace_id" not in plain.text
        assert parse_entry(plain.text).trace_id is None


def _members(text: bytes) -> dict[str, object]:
    found: dict[str, object] = json.loads(text)
    return found


def test_a_draft_keeps_the_trace_it_has() -> None:
    draft = draft_entry(TENANT, EntryKind.NOTE, {"n": 1}, at=AT)
    assert traced(draft, None) is draft
    assert traced(traced(draft, TRACE), OTHER).trace_id == TRACE


@pytest.mark.parametrize("written", [b'""', b"null", b"1", f'"{TRACE.upper()}"'.encode(), b'"' + b"0" * 32 + b'"'])
def test_an_entry_with_another_trace_is_refused(written: bytes) -> None:
    """An absent trace id has one spelling: the member is omitted."""
    text = link_of(traced(draft_entry(TENANT, EntryKind.NOTE, {"n": 1}, at=AT), TRACE)).text
    with pytest.raises(MalformedEntryError, match="trace"):
        parse_entry(text.replace(f'"{TRACE}"'.encode(), written))
