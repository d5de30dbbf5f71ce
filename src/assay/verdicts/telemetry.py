"""Telemetry: one record of measurements about one subject at one moment, read strictly or refused with every reason.

JSON text -> value (strict, exact numbers) -> readings by dotted path -> Telemetry + `telemetry_hash`
Numbers are those of the text: one that binary64 would change is refused, so comparing two numbers of a record, or one
of a record with one of a graph, orders them exactly as their decimal texts do.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TypeAlias
from unicodedata import category, is_normalized, normalize

from msgspec import Struct

from assay.identity.problem import shortened
from assay.kernel.canonical import MAX_SAFE_INTEGER, canonicalize
from assay.kernel.digest import Digest, digest_of
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId, parse_tenant_id
from assay.kernel.instant import Instant, parse_foreign_instant, render_instant
from assay.kernel.json_text import JsonValue, Limits, parse_json
from assay.verdicts._problem import InputProblem, InputProblemCode
from assay.verdicts.errors import TelemetryError, VerdictsError

Scalar: TypeAlias = bool | int | float | str | None

MAX_BYTES = 64 * 1024
MAX_DEPTH = 8
MAX_READINGS = 256
MAX_TEXT = 4096
_LIMITS = Limits(max_bytes=MAX_BYTES, max_depth=MAX_DEPTH, exact_numbers=True)
_MAX_NAME = 256
_ID_NAMES = ("measurement_id", "telemetry_id", "id")
_FIELDS = frozenset({*_ID_NAMES, "timestamp", "subject", "measurement", "jurisdiction", "tenant_id"})
_QUANTITY = frozenset({"value", "unit"})
_NAME = re.compile(r"[!-~]([ -~]*[!-~])?", re.ASCII)
# Control, format, private and unassigned characters, and separators other than the blank: nobody sees them on a screen.
_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


class Reading(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """One measured value; `unit` is None where the record names none."""

    value: Scalar
    unit: str | None = None


class Telemetry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record as it was received. Made by `parse_telemetry`.

    `document` is the received record, `canonical` its canonical bytes and `telemetry_hash` their digest (SKI 7.1);
    `readings` are its measurements by dotted path, texts in NFC.
    """

    telemetry_id: str
    timestamp: Instant
    subject: str
    readings: dict[str, Reading]
    jurisdiction: str | None
    tenant_id: TenantId | None
    telemetry_hash: Digest
    canonical: bytes
    document: dict[str, JsonValue]


class SkewLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far a record's clock may be from ours; `behind_seconds` None lets records be as late as they like."""

    ahead_seconds: int = 300
    behind_seconds: int | None = None


def parse_telemetry(text: bytes | str | Mapping[str, object]) -> Telemetry:
    """A record from JSON text or its value; refused with `json.*`, `canonical.*` or everything wrong with it."""
    # A value goes through its canonical text, so that nothing is accepted that the text would not be.
    value = parse_json(canonicalize(text) if isinstance(text, Mapping) else text, limits=_LIMITS)
    problems: list[InputProblem] = []
    record = _read_record(value, problems)
    if problems or record is None:
        raise TelemetryError(problems)
    return record


def check_skew(telemetry: Telemetry, now: Instant, limits: SkewLimits) -> None:
    """Refuse a record from too far in the future, or later than is allowed (a late one otherwise takes its place)."""
    offset = telemetry.timestamp - now
    if offset > timedelta(seconds=limits.ahead_seconds):
        raise VerdictsError.telemetry_skew(
            f"expected a timestamp at most {limits.ahead_seconds} s after {render_instant(now)}, "
            f"got {render_instant(telemetry.timestamp)}"
        )
    if limits.behind_seconds is not None and -offset > timedelta(seconds=limits.behind_seconds):
        raise VerdictsError.telemetry_skew(
            f"expected a timestamp at most {limits.behind_seconds} s before {render_instant(now)}, "
            f"got {render_instant(telemetry.timestamp)}"
        )


def is_repeat(telemetry: Telemetry, recorded_hash: Digest | None) -> bool:
    """Whether a record is known by its id already; one with the same id and another content is refused."""
    if recorded_hash is None:
        return False
    if recorded_hash != telemetry.telemetry_hash:
        raise VerdictsError.telemetry_conflict(
            f"expected `{telemetry.telemetry_id}` to be the record `{recorded_hash}`, got `{telemetry.telemetry_hash}`"
        )
    return True


def find_reading(readings: Mapping[str, Reading], metric: str) -> Reading | None:
    """What the record says at a dotted path; `x.value` also names the value of a quantity `x`."""
    reading = readings.get(metric)
    if reading is None and metric.endswith(".value"):
        return readings.get(metric.removesuffix(".value"))
    return reading


def recorded_readings(measurement: Mapping[str, JsonValue]) -> dict[str, Reading]:
    """The readings of a record that was accepted, from its canonical text: what is wrong with others is not asked."""
    found = {path: _read_leaf(leaf, path, []) for path, leaf in _leaves(measurement, "")}
    return {path: _restored(reading) for path, reading in found.items() if reading is not None}


def _restored(reading: Reading) -> Reading:
    """Canonical JSON writes a large float without a point; no record has an integer that large."""
    value = reading.value
    if type(value) is int and not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
        return Reading(value=float(value), unit=reading.unit)
    return reading


def _read_record(value: JsonValue, problems: list[InputProblem]) -> Telemetry | None:
    if not isinstance(value, dict):
        problems.append(_problem("", "type", f"expected an object, got {_kind(value)}"))
        return None
    # A misspelt `jurisdiction` would silently drop obligations, so nothing unknown is passed over.
    known = ", ".join(sorted(_FIELDS))
    unknown = sorted(value.keys() - _FIELDS)
    problems.extend(_problem(name[:80], "unknown_field", f"expected one of {known}") for name in unknown)
    telemetry_id = _read_id(value, problems)
    timestamp = _read_timestamp(value.get("timestamp"), problems)
    subject = _read_name(value, "subject", problems)
    jurisdiction = _read_optional_name(value, "jurisdiction", problems)
    tenant_id = _read_tenant(value.get("tenant_id"), problems)
    readings = _read_measurement(value.get("measurement"), problems)
    if problems or telemetry_id is None or timestamp is None or subject is None:
        return None
    content = canonicalize(value)
    return Telemetry(
        telemetry_id=telemetry_id,
        timestamp=timestamp,
        subject=subject,
        readings=readings,
        jurisdiction=jurisdiction,
        tenant_id=tenant_id,
        telemetry_hash=digest_of(content),
        canonical=content,
        document=value,
    )


def _read_id(value: Mapping[str, JsonValue], problems: list[InputProblem]) -> str | None:
    given = [name for name in _ID_NAMES if name in value]
    if not given:
        problems.append(_problem("telemetry_id", "required", f"expected one of {', '.join(_ID_NAMES)}, got none"))
        return None
    found = [_read_name(value, name, problems) for name in given]
    if any(other != found[0] for other in found):
        problems.append(_problem(given[1], "ambiguous", f"expected one id, got {len(set(found))}"))
    return found[0]


def _read_name(value: Mapping[str, JsonValue], name: str, problems: list[InputProblem]) -> str | None:
    given = value.get(name)
    if not isinstance(given, str):
        code = "required" if given is None else "type"
        problems.append(_problem(name, code, f"expected a text, got {_kind(given)}"))
        return None
    text = _nfc(given)
    if not _is_name(text):
        expected = f"expected 1 to {_MAX_NAME} visible characters without blanks around them"
        problems.append(_problem(name, "form", f"{expected}, got `{ascii(text)[1:-1][:80]}`"))
        return None
    return text


def _read_optional_name(value: Mapping[str, JsonValue], name: str, problems: list[InputProblem]) -> str | None:
    return None if value.get(name) in (None, "") else _read_name(value, name, problems)


def _read_timestamp(value: JsonValue, problems: list[InputProblem]) -> Instant | None:
    if not isinstance(value, str):
        code = "required" if value is None else "type"
        problems.append(_problem("timestamp", code, f"expected an RFC 3339 date-time, got {_kind(value)}"))
        return None
    try:
        return parse_foreign_instant(value)
    except Error as error:
        problems.append(_problem("timestamp", error.code.removeprefix("form."), str(error)))
        return None


def _read_tenant(value: JsonValue, problems: list[InputProblem]) -> TenantId | None:
    if value is None:
        return None
    try:
        return parse_tenant_id(value if isinstance(value, str) else "")
    except Error as error:
        problems.append(_problem("tenant_id", "form", str(error)))
        return None


def _read_measurement(value: JsonValue, problems: list[InputProblem]) -> dict[str, Reading]:
    if not isinstance(value, dict):
        code = "required" if value is None else "type"
        problems.append(_problem("measurement", code, f"expected an object, got {_kind(value)}"))
        return {}
    readings: dict[str, Reading] = {}
    for path, leaf in _leaves(value, ""):
        reading = _read_leaf(leaf, f"measurement.{path}", problems)
        if not _is_name(path):
            message = f"expected 1 to {_MAX_NAME} visible characters, got `{ascii(path)[1:-1][:80]}`"
            problems.append(_problem("measurement", "form", message))
        if path in readings:
            # `{"a": {"b": 1}, "a.b": 2}`: a metric that names both names neither.
            problems.append(_problem(f"measurement.{path}"[:80], "ambiguous", "expected one value at a dotted path"))
        if reading is not None:
            readings[path] = reading
    problems.extend(_hidden(readings))
    if len(readings) > MAX_READINGS:
        problems.append(_problem("measurement", "size", f"expected at most {MAX_READINGS} values, got {len(readings)}"))
    return readings


def _hidden(readings: Mapping[str, Reading]) -> Iterator[InputProblem]:
    """`{"x": {"value": 72}, "x.value": 12}`: a rule about `x.value` would see the second, and nobody the first."""
    for path in readings:
        if path.endswith(".value") and path.removesuffix(".value") in readings:
            yield _problem(f"measurement.{path}"[:80], "ambiguous", "expected one value for a quantity, got another")


def _leaves(value: Mapping[str, JsonValue], prefix: str) -> Iterator[tuple[str, JsonValue]]:
    """Depth is bounded by the parser's limit."""
    for name, part in value.items():
        path = prefix + _nfc(name)
        if isinstance(part, dict) and not _is_quantity(part):
            yield from _leaves(part, path + ".")
        else:
            yield path, part


def _is_quantity(value: Mapping[str, JsonValue]) -> bool:
    return "value" in value and value.keys() <= _QUANTITY and not isinstance(value["value"], dict)


def _read_leaf(leaf: JsonValue, path: str, problems: list[InputProblem]) -> Reading | None:
    value, unit = (leaf["value"], leaf.get("unit")) if isinstance(leaf, dict) else (leaf, None)
    if isinstance(value, list | dict):
        problems.append(_problem(path[:80], "type", "expected a scalar or an object of value and unit, got a list"))
        return None
    if not (unit is None or (isinstance(unit, str) and _is_name(_nfc(unit)))):
        problems.append(_problem(f"{path[:80]}.unit", "form", f"expected the name of a unit, got `{shortened(unit)}`"))
        return None
    if isinstance(value, str):
        value = _nfc(value)
        if len(value) > MAX_TEXT or "\0" in value:
            problems.append(_problem(path[:80], "text", f"expected at most {MAX_TEXT} characters and no U+0000"))
            return None
    return Reading(value=value, unit=None if unit is None else _nfc(unit))


def _is_name(text: str) -> bool:
    if len(text) > _MAX_NAME:
        return False
    if text.isascii():
        return _NAME.fullmatch(text) is not None
    return text == text.strip() and not any(category(character) in _UNSEEN for character in text)


def _nfc(text: str) -> str:
    return text if text.isascii() or is_normalized("NFC", text) else normalize("NFC", text)


def _kind(value: object) -> str:
    return "nothing" if value is None else type(value).__name__


def _problem(path: str, code: str, message: str) -> InputProblem:
    return InputProblem(path=path, code=InputProblemCode(code), message=message)
