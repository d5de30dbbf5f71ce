"""What was fetched of a service, read leniently."""

from typing import Any, TypeAlias

from assay.delivery.level import Level, read_level
from assay.kernel.conformance import Fetched
from assay.kernel.errors import JsonError
from assay.kernel.json_text import JsonValue, Limits, parse_json

Members: TypeAlias = dict[str, JsonValue]
_LIMITS = Limits(max_bytes=4 << 20, max_depth=64)
_GOOD = range(200, 300)


def fault_of(fetched: Fetched | None) -> str | None:
    """Why a document cannot be read; None if it can."""
    if fetched is None:
        return "expected a document, got nothing"
    if fetched.status not in _GOOD:
        return f"expected status 200, got {fetched.status}"
    try:
        parse_json(fetched.content, limits=_LIMITS)
    except JsonError as error:
        return str(error)
    return None


def members_of(fetched: Fetched | None) -> Members:
    """The members of an object; empty where there is none."""
    return as_members(_value(fetched))


def rows_of(fetched: Fetched | None) -> list[Members]:
    """The objects of an array, or of the array that an object holds as `items`."""
    value = _value(fetched)
    rows = value if isinstance(value, list) else as_list(as_members(value).get("items"))
    return [as_members(row) for row in rows]


def as_members(value: JsonValue) -> Members:
    return value if isinstance(value, dict) else {}


def as_list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def is_count(value: Any) -> bool:  # noqa: ANN401  anything may stand there
    return type(value) is int and value >= 0


def mandatory_problems(annotation: Members) -> list[str]:
    """What an annotation lacks of the mandatory content of its level (PRAMANA 8.1 to 8.5)."""
    given = annotation.get("authenticity_level")
    if given not in list(Level):
        return [f"expected one of the five levels, got `{str(given)[:80]}`"]
    level = read_level(given)
    missing = [f"expected `{name}` at {level}" for name in _MANDATORY[level] if not annotation.get(name)]
    if level is Level.UNVERIFIED and annotation.get("human_review_required") is not True:
        missing.append("expected `human_review_required` true at PRAMANA-0")
    return missing


_MANDATORY: dict[Level, tuple[str, ...]] = {
    Level.UNVERIFIED: ("disclosure",),
    Level.SINGLE_SOURCE: ("disclosure", "strand_present"),
    Level.PARTIAL: ("disclosure", "strands_present", "strand_missing"),
    # "No mandatory disclosure is required at PRAMANA-3 beyond the level identifier."
    Level.AUTHENTIC: ("strands_present",),
    Level.INFERRED: ("disclosure", "strands_present", "slm_plugin_id", "slm_rules_applied"),
}


def _value(fetched: Fetched | None) -> JsonValue:
    if fetched is None or fault_of(fetched) is not None:
        return None
    return parse_json(fetched.content, limits=_LIMITS)
