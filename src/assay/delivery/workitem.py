"""Root-cause work: what a reviewer is shown of a failing rule.

trigger + registry + signals (+ a plugin's hypothesis) -> open_item -> WorkItem -> draft_ticket -> the review desk
What a person concludes from it is the step `conclude`.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.delivery.errors import DeliveryError
from assay.delivery.level import Level
from assay.delivery.outcome import Outcome, Signal
from assay.delivery.plugin import Category, CategoryHint, PluginRequest, PluginSignal, PurvaPaksha
from assay.delivery.rule import RuleId, RuleRef, RuleVersion, render_ref
from assay.delivery.suggestion import CategorySuggestion
from assay.delivery.tally import Tally
from assay.delivery.twowrong import TwoWrong
from assay.identity.principal import BuiltInRole
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import digest_of
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant, render_instant
from assay.review.kind import TicketKind
from assay.review.ticket import LONGEST_SHOWN, TicketDraft

MOST_CONTEXTS = 50
_MAY_REVIEW = (BuiltInRole.REVIEWER,)
_LONGEST_SUMMARY = 10_000
_FEW = 10
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

    `case` is what a model was shown, where the failing answer was its verdict.
    `contexts` are the latest signals, at most MOST_CONTEXTS, of `signals` in all. `purva_paksha` is a plugin's
    hypothesis, there for the reviewer to accept or to correct; `suggestion` is what earlier conclusions make likely.
    `sub_categories` are those that a conclusion may name, by category; without any it is free.
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
    suggestion: CategorySuggestion | None = None
    case: str | None = None
    sub_categories: dict[Category, tuple[str, ...]] | None = None

    def __post_init__(self) -> None:
        if not self.rule_history or self.rule_history[-1].rule_id != self.rule.rule_id:
            raise DeliveryError.work_item(f"expected the history of `{self.rule.rule_id}`, got another or none")
        if not self.contexts or len(self.contexts) > MOST_CONTEXTS:
            raise DeliveryError.work_item(f"expected 1 to {MOST_CONTEXTS} signals to look at, got {len(self.contexts)}")
        if (self.plugin_id is None) != (self.purva_paksha is None):
            raise DeliveryError.work_item("expected a hypothesis with the plugin that made it, and only then")
        if (self.reason is OpeningReason.TWO_WRONG) and self.two_wrong is None:
            raise DeliveryError.work_item("expected the finding of two wrong steps, got none")

    @property
    def judged(self) -> str:
        """What there was to judge: the case that a model was shown, else the question."""
        return self.original_query if self.case is None else self.case


def item_id_of(rule_id: RuleId, opened_by: str) -> str:
    """The id of an item, from its rule and the signal or batch that opened it: opening it twice is opening it once."""
    return f"rca_{sha256(f'{rule_id} {opened_by}'.encode()).hexdigest()[:_ID_HEX]}"


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
    case: str | None = None,
    opened_by: str | None = None,
) -> WorkItem:
    """A root cause for people to find. `signals` are of the episode, oldest first; the last, or its batch, opened it.

    `opened_by` names what opened it where that was neither: a signal may have opened an item before, which is closed. A
    hypothesis may be added later.
    """
    if not signals:
        raise DeliveryError.work_item(f"expected the signals that opened a root cause of `{rule.rule_id}`, got none")
    return WorkItem(
        item_id=item_id_of(rule.rule_id, opened_by or batch_id or signals[-1].signal_id),
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
        case=case,
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


def draft_ticket(item: WorkItem, *, opened_by: PrincipalId) -> TicketDraft:
    """The question to people: it offers the three categories, stays open until one answers, and closes no other way."""
    shown = _rendered(item)
    return TicketDraft(
        kind=TicketKind.ROOT_CAUSE,
        title=f"root cause of {render_ref(item.rule)}: {_TITLES[item.reason]}",
        shown=shown if len(shown.encode()) <= LONGEST_SHOWN else _rendered(_summary(item)),
        eligible_roles=_MAY_REVIEW,
        opened_by=opened_by,
        about=item.item_id,
    )


def _rendered(item: WorkItem) -> str:
    return msgspec.json.format(canonicalize(msgspec.to_builtins(item)), indent=2).decode()


def _summary(item: WorkItem) -> WorkItem:
    """What one person can look at: long texts cut, each with its hash, and few of what there are many of."""
    return replace(
        item,
        rule_content=_cut(item.rule_content),
        original_query=_cut(item.original_query),
        original_response=_cut(item.original_response),
        case=None if item.case is None else _cut(item.case),
        contexts=item.contexts[-_FEW:],
        rule_history=tuple(map(_short, item.rule_history[-_FEW:])),
        two_wrong=None if item.two_wrong is None else replace(item.two_wrong, wrong=_first(item.two_wrong.wrong)),
    )


def _short(version: RuleVersion) -> RuleVersion:
    return replace(version, domains=_first(version.domains), capabilities=_first(version.capabilities))


def _first(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_cut, names[:_FEW]))


def _cut(text: str) -> str:
    if len(text) <= _LONGEST_SUMMARY:
        return text
    return f"{text[:_LONGEST_SUMMARY]} … cut here; the whole is {digest_of(text.encode())}"
