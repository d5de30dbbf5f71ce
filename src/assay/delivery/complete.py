"""Whoever tells the outcome of an answer of ours need not repeat what the answer says of itself (PRAMANA 7.4.1).

members told + annotation of the answer -> the whole signal, as if its sender had written it out
What was told is never changed; whether it agrees with the answer is found where every signal is, by `attribute`.
"""

from collections.abc import Mapping

import msgspec

from assay.delivery._read import read_object
from assay.delivery.annotate import Annotation
from assay.delivery.errors import DeliveryError
from assay.kernel.instant import Instant, render_instant
from assay.kernel.json_text import JsonValue

_TYPE_NAMES = frozenset({"signal_type", "type", "event"})
_RULE_NAMES = frozenset({"rule_id", "rule_ids"})
_NEEDED = frozenset({"applied_by", "strands_available", "authenticity_level", "timestamp"})


def find_incomplete(content: bytes) -> dict[str, JsonValue] | None:
    """The members of a signal that names its answer and leaves out what that answer can tell; None for any other."""
    # Most signals name no answer, and are read but once.
    if b"answer_id" not in content:
        return None
    told = read_object(content, DeliveryError.outcome)
    is_whole = told.keys() >= _NEEDED and names_rules(told) and not _TYPE_NAMES.isdisjoint(told)
    return told if isinstance(told.get("answer_id"), str) and not is_whole else None


def names_rules(told: Mapping[str, JsonValue]) -> bool:
    return not _RULE_NAMES.isdisjoint(told)


def complete_outcome(told: Mapping[str, JsonValue], annotation: Annotation, *, occurred_at: Instant) -> bytes:
    """The whole signal; `annotation` is the one before any floor, `occurred_at` the time where none was told."""
    whole = {**_facts(annotation), "timestamp": render_instant(occurred_at), **told}
    if _TYPE_NAMES.isdisjoint(told):
        whole["signal_type"] = "phala"
    if not names_rules(told):
        whole |= _rules(annotation)
    return msgspec.json.encode(whole, order="sorted")


def _facts(annotation: Annotation) -> dict[str, JsonValue]:
    return {
        "applied_by": annotation.service,
        "query_context": annotation.query_type,
        "strands_available": list(annotation.strands_present),
        "strand_missing": list(annotation.strands_missing),
        "authenticity_level": str(annotation.authenticity_level),
    }


def _rules(annotation: Annotation) -> dict[str, JsonValue]:
    names: list[JsonValue] = [ref.rule_id for ref in annotation.rules]
    return {"rule_id": names[0]} if len(names) == 1 else {"rule_ids": names}
