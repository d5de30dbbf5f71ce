"""What a checker fetched, in the form in which conformance is judged: read leniently, and never invented."""

from typing import Any

import msgspec

from assay.delivery.plugin import PLUGIN_INTERFACE
from assay.delivery.sense import StandardEvent
from assay.kernel.conformance import Fetched

# The name under which a checker reports, by which it knows its own signals.
APPLIED_BY = "assay-check"
_UNREACHED = 0


def members_of(answer: Fetched | None) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(b"" if answer is None else answer.content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def annotation_of(answer: Fetched) -> dict[str, Any]:
    members = members_of(answer)
    found = members.get("annotation")
    return found if isinstance(found, dict) else members


def rules_of(answer: Fetched) -> list[str]:
    rules = annotation_of(answer).get("rules")
    named = [one.get("rule_id") for one in rules if isinstance(one, dict)] if isinstance(rules, list) else []
    return [str(one) for one in named if one]


def content_of(answer: Fetched | None) -> bytes:
    return b"" if answer is None else answer.content


def status_of(answer: Fetched | None) -> int:
    return _UNREACHED if answer is None else answer.status


def root_cause_of(shown: dict[str, Any]) -> Fetched:
    """The work item with the choices that its ticket offers."""
    item, ticket = shown.get("item") or {}, shown.get("ticket") or {}
    return Fetched(status=200, content=msgspec.json.encode({**item, "choices": ticket.get("choices", [])}))


def plugin_of(shown: dict[str, Any]) -> dict[str, bytes]:
    """What the item says a plugin was asked and replied, in the form of the interface."""
    item = shown.get("item") or {}
    rule_id = (item.get("rule") or {}).get("rule_id")
    if item.get("purva_paksha") is None:
        return {}
    signals = [
        {
            "outcome": one.get("outcome"),
            "query_context": one.get("query_context") or "",
            "timestamp": one.get("occurred_at"),
        }
        for one in item.get("contexts", [])
    ]
    named = ("rule_content", "original_query", "original_response")
    request = {
        "plugin_interface": PLUGIN_INTERFACE,
        "rule_id": rule_id,
        **{name: item.get(name) for name in named},
        "phala_signals": signals,
        "failure_category_hint": "unknown",
    }
    reply = {"plugin_interface": PLUGIN_INTERFACE, "rule_id": rule_id, "purva_paksha": item["purva_paksha"]}
    return {"plugin_request": msgspec.json.encode(request), "plugin_reply": msgspec.json.encode(reply)}


def types_of(events: tuple[bytes, ...]) -> set[str]:
    return {str(members_of(Fetched(status=200, content=one)).get("event_type")) for one in events}


def told_signals(events: tuple[bytes, ...]) -> list[dict[str, Any]]:
    """What subscribers were told of the signals of this check."""
    told = [members_of(Fetched(status=200, content=one)) for one in events]
    rows = [one.get("payload") for one in told if one.get("event_type") == StandardEvent.PHALA_GENERATED]
    return [row for row in rows if isinstance(row, dict) and row.get("applied_by") == APPLIED_BY]


def phala_rows(events: tuple[bytes, ...]) -> dict[str, Fetched]:
    """The signals that subscribers were told of: those of one batch, of one session, and those of two wrongs."""
    rows = told_signals(events)
    groups = {
        "batched": _sharing(rows, "batch_id"),
        "session": _sharing(rows, "session_id"),
        "two_wrong": [row for row in rows if row.get("two_wrong_flag") is True],
    }
    return {name: Fetched(status=200, content=msgspec.json.encode(found)) for name, found in groups.items()}


def _sharing(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The rows of the value that most of them share."""
    values = [row[name] for row in rows if row.get(name)]
    most = max(values, key=values.count, default=None)
    return [row for row in rows if most is not None and row.get(name) == most]
