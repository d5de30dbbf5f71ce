"""Root-cause work: what a reviewer is shown of a failing rule, and the conclusion that only a person draws.

trigger + registry + signals (+ a plugin's hypothesis) -> WorkItem -> draft_ticket -> the review desk
a person's answer -> parse_conclusion -> conclude -> Conclusion: a category, and the Siddhanta (PRAMANA 10)
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from hashlib import sha256

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from assay.delivery._read import is_text, read_object, shape
from assay.delivery.errors import ConcluderError, InvalidConclusionError, InvalidWorkItemError
from assay.delivery.level import Level
from assay.delivery.outcome import Outcome, Signal
from assay.delivery.plugin import Category, CategoryHint, PluginRequest, PluginSignal, PurvaPaksha
from assay.delivery.rule import RuleId, RuleRef, RuleVersion, render_ref
from assay.delivery.tally import Tally
from assay.delivery.twowrong import TwoWrong
from assay.identity.authorise import has_role
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import digest_of
from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.instant import Instant, render_instant
from assay.review.kind import TicketKind
from assay.review.ticket import LONGEST_SHOWN, TicketDraft

__all__ = [
    "CHOICES",
    "MOST_CONTEXTS",
    "Conclusion",
    "FailingContext",
    "OpeningReason",
    "Siddhanta",
    "WorkItem",
    "conclude",
    "context_of",
    "draft_ticket",
    "item_id_of",
    "open_item",
    "parse_conclusion",
    "plugin_request",
]

# The choices of a root-cause ticket are the three categories, in words.
CHOICES: Mapping[Category, str] = {
    Category.ROUTING: "routing_failure",
    Category.APPLICATION: "application_failure",
    Category.RULE: "rule_failure",
}
MOST_CONTEXTS = 50
_MAY_CONCLUDE = (BuiltInRole.REVIEWER,)
_LONGEST_TEXT = 20_000
_LONGEST_SUMMARY = 10_000
_FEW = 10
_LONGEST_NAME = 100
_ID_HEX = 32


class OpeningReason(StrEnum):
    FAILURES = "failures"
    TWO_WRONG = "two_wrong"
    MANUAL = "manual"


_TITLES = {
    OpeningReason.FAILURES: "it keeps failing",
    OpeningReason.TWO_WRONG: "a success by two wrong steps",
    OpeningReason.MANUAL: "somebody asks",
}


class FailingContext(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One signal as the reviewer reads it."""

    signal_id: str
    outcome: Outcome
    query_context: str | None
    session: str
    answer_id: str | None
    authenticity_level: Level
    strands_available: tuple[str, ...]
    strand_missing: tuple[str, ...]
    occurred_at: Instant


class WorkItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that a reviewer needs about one failing rule; never edited.

    `contexts` are the latest signals, at most MOST_CONTEXTS, of `signals` in all. `purva_paksha` is a plugin's
    hypothesis, there for the reviewer to accept or to correct.
    """

    item_id: str
    rule: RuleRef
    reason: OpeningReason
    opened_at: Instant
    rule_content: str
    rule_history: tuple[RuleVersion, ...]
    tally: Tally
    original_query: str
    original_response: str
    contexts: tuple[FailingContext, ...]
    signals: int
    batch_id: str | None = None
    two_wrong: TwoWrong | None = None
    plugin_id: str | None = None
    purva_paksha: PurvaPaksha | None = None

    def __post_init__(self) -> None:
        if not self.rule_history or self.rule_history[-1].rule_id != self.rule.rule_id:
            raise InvalidWorkItemError(f"expected the history of `{self.rule.rule_id}`, got another or none")
        if not self.contexts or len(self.contexts) > MOST_CONTEXTS:
            raise InvalidWorkItemError(f"expected 1 to {MOST_CONTEXTS} signals to look at, got {len(self.contexts)}")
        if (self.plugin_id is None) != (self.purva_paksha is None):
            raise InvalidWorkItemError("expected a hypothesis with the plugin that made it, and only then")
        if (self.reason is OpeningReason.TWO_WRONG) and self.two_wrong is None:
            raise InvalidWorkItemError("expected the finding of two wrong steps, got none")


class Siddhanta(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the reviewer wrote: the category, the Siddhanta, and for a wrong rule its corrected text."""

    failure_category: Category
    siddhanta: str
    sub_category: str | UnsetType = UNSET
    corrected_rule: str | UnsetType = UNSET


class Conclusion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An item closed by an authenticated person, who answers for it by name (PRAMANA 14.5)."""

    item_id: str
    rule: RuleRef
    failure_category: Category
    sub_category: str | None
    siddhanta: str
    corrected_rule: str | None
    concluded_by: PrincipalId
    concluded_at: Instant
    ticket_id: TicketId


def item_id_of(rule_id: RuleId, signal_id: str) -> str:
    """By the rule and the signal that opened it, so that opening it twice is opening it once."""
    return f"rca_{sha256(f'{rule_id} {signal_id}'.encode()).hexdigest()[:_ID_HEX]}"


def context_of(signal: Signal) -> FailingContext:
    return FailingContext(
        signal_id=signal.signal_id,
        outcome=signal.outcome,
        query_context=signal.query_context,
        session=signal.session,
        answer_id=signal.answer_id,
        authenticity_level=signal.authenticity_level,
        strands_available=signal.strands_available,
        strand_missing=signal.strand_missing,
        occurred_at=signal.occurred_at,
    )


def open_item(
    rule: RuleRef,
    signals: Sequence[Signal],
    *,
    reason: OpeningReason,
    rule_content: str,
    rule_history: Iterable[RuleVersion],
    tally: Tally,
    original_query: str,
    original_response: str,
    at: Instant,
    batch_id: str | None = None,
    two_wrong: TwoWrong | None = None,
) -> WorkItem:
    """`signals` are those of the episode, oldest first; the last one opened it. A hypothesis may be added later."""
    if not signals:
        raise InvalidWorkItemError(f"expected the signals that opened a root cause of `{rule.rule_id}`, got none")
    return WorkItem(
        item_id=item_id_of(rule.rule_id, signals[-1].signal_id),
        rule=rule,
        reason=reason,
        opened_at=at,
        rule_content=rule_content,
        rule_history=tuple(rule_history),
        tally=tally,
        original_query=original_query,
        original_response=original_response,
        contexts=tuple(map(context_of, signals[-MOST_CONTEXTS:])),
        signals=len(signals),
        batch_id=batch_id,
        two_wrong=two_wrong,
    )


def plugin_request(item: WorkItem, hint: CategoryHint = CategoryHint.UNKNOWN) -> PluginRequest:
    return PluginRequest(
        rule_id=item.rule.rule_id,
        rule_content=item.rule_content,
        original_query=item.original_query,
        original_response=item.original_response,
        phala_signals=tuple(
            PluginSignal(
                outcome=one.outcome, query_context=one.query_context or "", timestamp=render_instant(one.occurred_at)
            )
            for one in item.contexts
        ),
        failure_category_hint=hint,
    )


def draft_ticket(
    item: WorkItem, *, opened_by: PrincipalId, eligible_roles: tuple[str, ...] = _MAY_CONCLUDE
) -> TicketDraft:
    """The question to people: it offers the three categories, stays open until one answers, and closes no other way."""
    shown = _rendered(item)
    return TicketDraft(
        kind=TicketKind.ROOT_CAUSE,
        title=f"root cause of {render_ref(item.rule)}: {_TITLES[item.reason]}",
        shown=shown if len(shown.encode()) <= LONGEST_SHOWN else _rendered(_summary(item)),
        eligible_roles=tuple(sorted(str(role) for role in eligible_roles)),
        opened_by=opened_by,
        about=item.item_id,
    )


def parse_conclusion(
    body: bytes | str, *, choice: str, sub_categories: Mapping[Category, Collection[str]] | None = None
) -> Siddhanta:
    """Read an answer to a root-cause ticket; its category must be the choice that was signed.

    Only category C says that the rule is wrong: it carries the corrected text, and the others none.
    """
    found = shape(read_object(body, InvalidConclusionError), Siddhanta, InvalidConclusionError)
    category = found.failure_category
    if choice != CHOICES[category]:
        raise InvalidConclusionError(
            f"expected choice `{CHOICES[category]}` for category {category}, got `{choice[:80]}`"
        )
    if not is_text(found.siddhanta, _LONGEST_TEXT):
        raise InvalidConclusionError(f"expected a `siddhanta` of 1 to {_LONGEST_TEXT} printable characters")
    corrected = found.corrected_rule
    if (category is Category.RULE) != (corrected is not UNSET):
        raise InvalidConclusionError("expected `corrected_rule` with category C, and with no other")
    if corrected is not UNSET and not is_text(corrected, _LONGEST_TEXT):
        raise InvalidConclusionError(f"expected a `corrected_rule` of 1 to {_LONGEST_TEXT} printable characters")
    _require_sub_category(found, sub_categories)
    return found


def conclude(
    item: WorkItem,
    found: Siddhanta,
    *,
    by: Principal | None,
    at: Instant,
    ticket_id: TicketId,
    roles: Iterable[str] = _MAY_CONCLUDE,
) -> Conclusion:
    """Close an item. Refuses everyone but an active person with the role; there is no other way to close one."""
    if by is None:
        raise ConcluderError("expected an authenticated person, got nobody")
    if not by.is_person() or not by.is_active(at) or not has_role(by, roles):
        raise ConcluderError(f"expected an active person who may conclude, got {by.kind} `{by.id}`")
    if at < item.opened_at:
        raise InvalidConclusionError(f"expected {render_instant(item.opened_at)} or later, got {render_instant(at)}")
    return Conclusion(
        item_id=item.item_id,
        rule=item.rule,
        failure_category=found.failure_category,
        sub_category=None if found.sub_category is UNSET else found.sub_category,
        siddhanta=found.siddhanta,
        corrected_rule=None if found.corrected_rule is UNSET else found.corrected_rule,
        concluded_by=by.id,
        concluded_at=at,
        ticket_id=ticket_id,
    )


def _rendered(item: WorkItem) -> str:
    return msgspec.json.format(canonicalize(msgspec.to_builtins(item)), indent=2).decode()


def _summary(item: WorkItem) -> WorkItem:
    """What one person can look at: long texts cut, each with its hash, and the latest few signals and versions."""
    return replace(
        item,
        rule_content=_cut(item.rule_content),
        original_query=_cut(item.original_query),
        original_response=_cut(item.original_response),
        contexts=item.contexts[-_FEW:],
        rule_history=item.rule_history[-_FEW:],
    )


def _cut(text: str) -> str:
    if len(text) <= _LONGEST_SUMMARY:
        return text
    return f"{text[:_LONGEST_SUMMARY]} … cut here; the whole is {digest_of(text.encode())}"


def _require_sub_category(found: Siddhanta, known: Mapping[Category, Collection[str]] | None) -> None:
    """Optional; where the operator lists some, no other is taken (PRAMANA 10.1)."""
    name = found.sub_category
    if name is UNSET:
        return
    if not is_text(name, _LONGEST_NAME):
        raise InvalidConclusionError(f"expected a `sub_category` of 1 to {_LONGEST_NAME} printable characters")
    if known is not None and name not in known.get(found.failure_category, ()):
        raise InvalidConclusionError(f"category {found.failure_category} has no sub-category `{name[:80]}`")
