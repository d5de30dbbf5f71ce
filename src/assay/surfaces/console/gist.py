"""The gist of what a ticket shows: its short values by name, taken from the very text that an answer binds.

A help to the eye and nothing else: the whole text stands below it, and only that is answered for.
"""

from collections.abc import Iterator, Mapping

from assay.kernel.errors import Error
from assay.kernel.json_text import JsonValue, parse_json
from assay.operations.shown.permits import mandate_facts
from assay.review.kind import TicketKind

_LONGEST = 400
_MOST = 16
# A text that is seen at a glance needs none.
_LONG_TEXT = 600


def gist_of(shown: str, kind: TicketKind) -> list[tuple[str, str]]:
    """Names with values, in the order of the text; empty where it is short, no JSON object, or has a name twice."""
    if kind is TicketKind.MANDATE:
        return mandate_facts(shown)
    if len(shown) <= _LONG_TEXT:
        return []
    try:
        value = parse_json(shown)
    except Error:
        return []
    return list(_lines(value))[:_MOST] if isinstance(value, Mapping) else []


def _lines(value: Mapping[str, JsonValue], above: str = "") -> Iterator[tuple[str, str]]:
    for name, one in value.items():
        if isinstance(one, Mapping) and not above:
            yield from _lines(one, f"{name} ")
        elif isinstance(one, str) and 0 < len(one) <= _LONGEST:
            yield above + name, one
        elif isinstance(one, bool):
            yield above + name, "yes" if one else "no"
        elif isinstance(one, int):
            yield above + name, str(one)
