"""PHALA: what came of an answer, led back to the rules that caused it (PRAMANA 7.4.1).

bytes + authenticated sender -> parse_outcome -> Signal, which names each of its rules once
A signal is known by its sender's idempotency key, or by its content: sent twice, it counts once.
"""

from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from assay.delivery._read import is_text, read_object, shape
from assay.delivery.errors import DeliveryError, InvalidLevelError, InvalidRuleVersionError, OutcomeConflictError
from assay.delivery.level import Level, parse_level
from assay.delivery.plain import plain_bytes
from assay.delivery.rule import RuleId, parse_rule_id
from assay.delivery.strand import MOST_STRANDS
from assay.kernel.digest import Digest, digest_of
from assay.kernel.errors import CanonicalError, TypeFormError
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant, parse_foreign_instant, render_instant
from assay.kernel.json_text import JsonValue, is_shallow

_TYPE_NAMES = ("signal_type", "type", "event")
# Set by the registry and never believed from outside, so it does not make two signals different.
_IGNORED = frozenset({*_TYPE_NAMES, "rca_triggered"})
_MAX_SKEW = timedelta(minutes=5)
_MOST_RULES = 256
_LONGEST_CONTEXT = 4000
_LONGEST_NAME = 200
_ID_HEX = 32
_PLAIN_LENGTH = 1 << 16


class Outcome(StrEnum):
    """Closed by PRAMANA 7.4.1."""

    SUCCESS = "success"
    FAILURE = "failure"
    PARTIAL = "partial"
    INDETERMINATE = "indeterminate"


class Signal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One accepted signal. INVARIANT: `rule_ids` is not empty and names each rule once.

    `two_wrong_claimed` is what the sender says; what we find ourselves is recorded with the finding.
    """

    signal_id: str
    content_hash: Digest
    rule_ids: tuple[RuleId, ...]
    applied_by: str
    query_context: str | None
    outcome: Outcome
    strands_available: tuple[str, ...]
    strand_missing: tuple[str, ...]
    authenticity_level: Level
    two_wrong_claimed: bool
    occurred_at: Instant
    session_id: str | None
    sender_batch_id: str | None
    answer_id: str | None
    sender: PrincipalId
    received_at: Instant

    @property
    def session(self) -> str:
        """The session in which an outcome was seen; a signal without one counts its sender as the session."""
        return f"sender:{self.sender}" if self.session_id is None else f"session:{self.session_id}"


class RuleOutcome(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a signal says of one rule; those of one signal share its `signal_id`."""

    rule_id: RuleId
    rule_version: int | None
    signal_id: str
    outcome: Outcome
    session: str
    occurred_at: Instant
    received_at: Instant


class ReporterGrant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For which rules a principal may report: ids, or a prefix and `*`; an empty grant allows nothing."""

    principal_id: PrincipalId
    rules: tuple[str, ...]

    def covers(self, rule_id: RuleId) -> bool:
        return any(rule_id.startswith(one[:-1]) if one.endswith("*") else rule_id == one for one in self.rules)


class _Wire(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    signal_type: Literal["phala"] | UnsetType = UNSET
    type: Literal["phala"] | UnsetType = UNSET
    event: Literal["phala"] | UnsetType = UNSET
    rule_id: str | UnsetType = UNSET
    rule_ids: tuple[str, ...] | UnsetType = UNSET
    applied_by: str
    query_context: str | UnsetType = UNSET
    outcome: Outcome
    strands_available: tuple[str, ...]
    strand_missing: tuple[str, ...] = ()
    authenticity_level: str
    rca_triggered: bool | UnsetType = UNSET
    two_wrong_flag: bool = False
    timestamp: str
    session_id: str | UnsetType = UNSET
    batch_id: str | UnsetType = UNSET
    answer_id: str | UnsetType = UNSET


def parse_outcome(
    content: bytes | str, *, sender: PrincipalId, at: Instant, idempotency_key: str | None = None
) -> Signal:
    """Read strictly what an authenticated sender posted; `rca_triggered` is read and ignored (it is ours to set)."""
    fields = _find_plain(content) or read_object(content, DeliveryError.outcome)
    wire = shape(fields, _Wire, DeliveryError.outcome)
    if wire.signal_type is UNSET and wire.type is UNSET and wire.event is UNSET:
        raise DeliveryError.outcome("expected `signal_type` `phala`, got nothing")
    try:
        told = {name: value for name, value in fields.items() if name not in _IGNORED}
        # What has this shape has texts, truths and lists of texts, and no number.
        content_hash = digest_of(plain_bytes(told))
        occurred_at = parse_foreign_instant(wire.timestamp)
        level = parse_level(wire.authenticity_level)
    except (CanonicalError, TypeFormError, InvalidLevelError) as error:
        raise DeliveryError.outcome(str(error)) from error
    if occurred_at > at + _MAX_SKEW:
        raise DeliveryError.outcome(f"expected a time until {render_instant(at)}, got `{wire.timestamp[:80]}`")
    _require_texts(wire, idempotency_key)
    return Signal(
        signal_id=_signal_id(sender, idempotency_key, content_hash),
        content_hash=content_hash,
        rule_ids=_rule_ids(wire),
        applied_by=wire.applied_by,
        query_context=_context(wire),
        outcome=wire.outcome,
        strands_available=wire.strands_available,
        strand_missing=wire.strand_missing,
        authenticity_level=level,
        two_wrong_claimed=wire.two_wrong_flag,
        occurred_at=occurred_at,
        session_id=_or_none(wire.session_id),
        sender_batch_id=_or_none(wire.batch_id),
        answer_id=_or_none(wire.answer_id),
        sender=sender,
        received_at=at,
    )


def verify_reporter(signal: Signal, grants: Iterable[ReporterGrant]) -> None:
    """Raise unless the sender may report for every rule named (PRAMANA 14.2); one foreign rule refuses the whole."""
    own = [grant for grant in grants if grant.principal_id == signal.sender]
    foreign = [rule for rule in signal.rule_ids if not any(grant.covers(rule) for grant in own)]
    if foreign:
        raise DeliveryError.outcome_source(f"`{signal.sender}` may not report outcomes of `{', '.join(foreign)[:200]}`")


def verify_same(known: Signal, again: Signal) -> None:
    """Raise unless a repeated idempotency key came with the same signal; the first one has been counted."""
    if (known.signal_id, known.content_hash) != (again.signal_id, again.content_hash):
        raise OutcomeConflictError(f"expected {known.content_hash} under this key, got {again.content_hash}")


def render_phala(
    signal: Signal, rule_id: RuleId, *, rca_triggered: bool, two_wrong: bool = False, batch_id: str | None = None
) -> dict[str, Any]:
    """The signal about one rule with the members of PRAMANA 7.4.1, as the registry knows it now."""
    told: dict[str, Any] = {
        "signal_type": "phala",
        "rule_id": rule_id,
        "applied_by": signal.applied_by,
        "outcome": str(signal.outcome),
        "strands_available": list(signal.strands_available),
        "strand_missing": list(signal.strand_missing),
        "authenticity_level": str(signal.authenticity_level),
        "rca_triggered": rca_triggered,
        "timestamp": render_instant(signal.occurred_at),
    }
    if len(signal.rule_ids) > 1:
        told["rule_ids"] = list(signal.rule_ids)
    if two_wrong:
        told["two_wrong_flag"] = True
    if signal.query_context is not None:
        told["query_context"] = signal.query_context
    if signal.session_id is not None:
        told["session_id"] = signal.session_id
    batch = batch_id or signal.sender_batch_id
    if batch is not None:
        told["batch_id"] = batch
    return told


def _find_plain(content: bytes | str) -> dict[str, JsonValue] | None:
    """The members of a text about which no two readers can differ; None for all others, which are read the long way.

    Such a text is short, shallow, printable and ASCII, and escapes nothing. Where no quotation mark is followed by a
    space, each name is followed by its colon: as many such pairs as there are members, and none was named twice.
    INVARIANT: the result is that of `read_object`, except for numbers, of which a signal has none.
    """
    text = content if isinstance(content, str) else content.decode("latin-1")
    is_plain = len(text) <= _PLAIN_LENGTH and text.isascii() and text.isprintable()
    if not is_plain or "\\" in text or '" ' in text or not is_shallow(text):
        return None
    try:
        fields: object = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    return fields if isinstance(fields, dict) and text.count('":') == len(fields) else None


def _rule_ids(wire: _Wire) -> tuple[RuleId, ...]:
    """`rule_id`, `rule_ids`, or both, where the one must be among the many; a rule named twice counts once."""
    many = () if wire.rule_ids is UNSET else wire.rule_ids
    if wire.rule_ids is not UNSET and not 1 <= len(many) <= _MOST_RULES:
        raise DeliveryError.outcome(f"expected 1 to {_MOST_RULES} `rule_ids`, got {len(many)}")
    if wire.rule_id is UNSET and not many:
        raise DeliveryError.outcome("expected `rule_id` or `rule_ids`, got neither")
    if wire.rule_id is not UNSET and many and wire.rule_id not in many:
        raise DeliveryError.outcome(f"expected `rule_id` among `rule_ids`, got `{wire.rule_id[:80]}`")
    try:
        return tuple(dict.fromkeys(map(parse_rule_id, many or (str(wire.rule_id),))))
    except InvalidRuleVersionError as error:
        raise DeliveryError.outcome(str(error)) from error


def _require_texts(wire: _Wire, idempotency_key: str | None) -> None:
    for name, text in (
        ("applied_by", wire.applied_by),
        ("session_id", wire.session_id),
        ("batch_id", wire.batch_id),
        ("answer_id", wire.answer_id),
        ("idempotency_key", idempotency_key),
    ):
        if text is not UNSET and text is not None and not _is_name(text):
            raise DeliveryError.outcome(f"expected `{name}` of 1 to {_LONGEST_NAME} printable characters")
    context = _context(wire)
    if context is not None and not is_text(context, _LONGEST_CONTEXT):
        raise DeliveryError.outcome(f"expected `query_context` of at most {_LONGEST_CONTEXT} printable characters")
    strands = (*wire.strands_available, *wire.strand_missing)
    if len(strands) > MOST_STRANDS or not all(map(_is_name, strands)):
        raise DeliveryError.outcome(f"expected at most {MOST_STRANDS} strand type ids")
    both = set(wire.strands_available).intersection(wire.strand_missing)
    if both:
        raise DeliveryError.outcome(f"expected a strand available or missing, got both for `{', '.join(sorted(both))}`")


def _is_name(text: str) -> bool:
    return len(text) <= _LONGEST_NAME and _is_printable(text)


# The same few strands and services are named in every signal; what is longer than a name never gets here.
@lru_cache(maxsize=1024)
def _is_printable(name: str) -> bool:
    return is_text(name, _LONGEST_NAME)


def _signal_id(sender: PrincipalId, key: str | None, content_hash: Digest) -> str:
    # A sender's keys are its own: nobody can take an id away from somebody else. No principal id contains a line feed.
    named = f"{sender}\ncontent\n{content_hash}" if key is None else f"{sender}\nkey\n{key}"
    return f"sig_{sha256(named.encode()).hexdigest()[:_ID_HEX]}"


def _context(wire: _Wire) -> str | None:
    """One that is empty is a text all the same, and says as much as none."""
    return None if wire.query_context is UNSET or not wire.query_context.strip() else wire.query_context


def _or_none(text: str | UnsetType) -> str | None:
    return None if text is UNSET else text
