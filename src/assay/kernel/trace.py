"""Trace ids: one id for everything that follows from one request (W3C Trace Context).

`traceparent` header -> TraceId, or a new one from random bytes -> `traceparent` of the calls that follow
"""

import re
from typing import NewType

from assay.kernel.ids import MalformedIdError

TraceId = NewType("TraceId", str)

TRACE_BYTES = 16
SPAN_BYTES = 8
_TRACE = re.compile(r"[0-9a-f]{32}", re.ASCII)
# Version 00 has exactly these four parts; a later version may append more, which are ignored.
_PARENT = re.compile(
    r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-[0-9a-f]{2}(?P<more>-.*)?"
)
_NONE = "0" * (2 * TRACE_BYTES)
_NO_SPAN = "0" * (2 * SPAN_BYTES)


def parse_trace_id(text: str) -> TraceId:
    """Accept 32 lower-case hex digits that are not all zero."""
    if _TRACE.fullmatch(text) is None or text == _NONE:
        raise MalformedIdError(f"expected a trace id: 32 lower-case hex digits, not all zero, got `{text[:80]}`")
    return TraceId(text)


def find_trace(traceparent: str) -> TraceId | None:
    """Return the trace id of a `traceparent` header, or None where the header is invalid and must be ignored."""
    match = _PARENT.fullmatch(traceparent.strip())
    if match is None or match["version"] == "ff" or (match["version"] == "00" and match["more"]):
        return None
    if match["trace"] == _NONE or match["span"] == _NO_SPAN:
        return None
    return TraceId(match["trace"])


def new_trace(entropy: bytes) -> TraceId:
    """Make a trace id of 16 random bytes."""
    if len(entropy) != TRACE_BYTES or not any(entropy):
        raise MalformedIdError(f"expected {TRACE_BYTES} random bytes, got {len(entropy)}")
    return TraceId(entropy.hex())


def render_traceparent(trace: TraceId, span: bytes) -> str:
    """Render the header of a call that continues the trace."""
    return f"00-{trace}-{span.hex()}-01"
