"""Training pairs: what a person concluded, kept for models to learn from (PRAMANA 10.4).

work item + conclusion -> capture_pair -> TrainingPair -> next_batch;   pairs -> three exports
A pair is captured on every close, with or without a plugin. Its id comes from its content: twice is once.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256

import msgspec
from msgspec import UNSET, Struct, UnsetType

from assay.delivery.conclude import Conclusion
from assay.delivery.errors import DeliveryError
from assay.delivery.plugin import Category, PluginSignal, PurvaPaksha
from assay.delivery.rule import RuleId
from assay.delivery.workitem import WorkItem, plugin_request
from assay.kernel.canonical import canonicalize
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant

DEFAULT_BATCH = 50
_SYSTEM = (
    "A knowledge rule was followed by failures. Say where the failure lies (A routing, B application, C the rule "
    "itself), what is concluded, and for C the corrected rule."
)


class PairInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`purva_paksha` is there only if a plugin was active.

    `query` is what was asked; where the failing answer was a model's verdict, the case that the model was shown.
    """

    query: str
    original_response: str
    phala_signals: tuple[PluginSignal, ...]
    purva_paksha: PurvaPaksha | UnsetType = UNSET


class PairLabel(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    failure_category: Category
    siddhanta: str
    corrected_rule: str | UnsetType = UNSET


class TrainingPair(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Exactly the members of PRAMANA 10.4; `captured_by` is the person who concluded."""

    training_pair_id: str
    rule_id: RuleId
    input: PairInput
    label: PairLabel
    captured_by: PrincipalId
    captured_at: Instant


def capture_pair(item: WorkItem, conclusion: Conclusion) -> TrainingPair:
    """The pair of an item and its conclusion; refuses a conclusion of something else."""
    if (conclusion.item_id, conclusion.rule) != (item.item_id, item.rule):
        raise DeliveryError.pair(f"expected the conclusion of `{item.item_id}`, got one of `{conclusion.item_id}`")
    learned = PairInput(
        query=item.judged,
        original_response=item.original_response,
        phala_signals=plugin_request(item).phala_signals,
        purva_paksha=UNSET if item.purva_paksha is None else item.purva_paksha,
    )
    label = PairLabel(
        failure_category=conclusion.failure_category,
        siddhanta=conclusion.siddhanta,
        corrected_rule=UNSET if conclusion.corrected_rule is None else conclusion.corrected_rule,
    )
    return TrainingPair(
        training_pair_id=_pair_id(item.rule.rule_id, learned, label),
        rule_id=item.rule.rule_id,
        input=learned,
        label=label,
        captured_by=conclusion.concluded_by,
        captured_at=conclusion.concluded_at,
    )


def next_batch(waiting: Sequence[TrainingPair], *, size: int = DEFAULT_BATCH) -> tuple[TrainingPair, ...] | None:
    """The oldest `size` pairs; None while fewer than that are waiting."""
    if size < 1:
        raise DeliveryError.pair(f"expected a batch of at least 1 pair, got {size}")
    return tuple(waiting[:size]) if len(waiting) >= size else None


def render_pairs(pairs: Iterable[TrainingPair]) -> bytes:
    """The pairs as the JSON of PRAMANA 10.4, in one array."""
    return msgspec.json.encode(tuple(pairs))


def render_chat(pairs: Iterable[TrainingPair]) -> bytes:
    """One conversation on a line, as fine-tuning of chat models reads it; the person's conclusion is the reply."""
    return _lines(
        {
            "messages": [
                {"role": "system", "content": _SYSTEM},
                {"role": "user", "content": _question(pair)},
                {"role": "assistant", "content": _conclusion(pair.label)},
            ]
        }
        for pair in pairs
    )


def render_preferences(pairs: Iterable[TrainingPair]) -> bytes:
    """One preference on a line: the person's conclusion over the plugin's hypothesis where a person corrected it.

    Where there was none, or it was right, there is nothing that the person preferred, and no line.
    """
    return _lines(
        {"prompt": _question(pair), "chosen": _conclusion(pair.label), "rejected": rejected}
        for pair in pairs
        if (rejected := _rejected(pair)) is not None
    )


def _rejected(pair: TrainingPair) -> str | None:
    thought = pair.input.purva_paksha
    if thought is UNSET:
        return None
    told = PairLabel(
        failure_category=thought.failure_category,
        siddhanta=thought.hypothesis,
        corrected_rule=thought.proposed_correction if thought.failure_category is Category.RULE else UNSET,
    )
    same = (told.failure_category, told.corrected_rule) == (pair.label.failure_category, pair.label.corrected_rule)
    return None if same else _conclusion(told)


def _question(pair: TrainingPair) -> str:
    told = pair.input
    signals = [f"- {one.outcome}: {one.query_context or 'no context'} ({one.timestamp})" for one in told.phala_signals]
    return "\n".join(
        [f"Rule: {pair.rule_id}", f"Query: {told.query}", f"Response: {told.original_response}", "Outcomes:", *signals]
    )


def _conclusion(label: PairLabel) -> str:
    lines = [f"Category {label.failure_category}", label.siddhanta]
    return "\n".join(lines if label.corrected_rule is UNSET else [*lines, f"Corrected rule: {label.corrected_rule}"])


def _lines(rows: Iterable[dict[str, object]]) -> bytes:
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def _pair_id(rule_id: RuleId, learned: PairInput, label: PairLabel) -> str:
    """A UUID (RFC 9562, version 8) of the content, so that the same lesson is one pair whoever captures it when."""
    content = canonicalize(
        {"rule": rule_id, "input": msgspec.to_builtins(learned), "label": msgspec.to_builtins(label)}
    )
    raw = bytearray(sha256(content).digest()[:16])
    raw[6], raw[8] = raw[6] & 0x0F | 0x80, raw[8] & 0x3F | 0x80
    text = raw.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
