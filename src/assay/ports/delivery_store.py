"""What the node remembers of delivery: rules, kinds of question, answers, outcomes, root causes, training pairs.

Every row follows from the entry of the ledger that its `sequence_number` names (`assay.facts`); `text` is the JSON of
the room's own type. Rows are added and never changed, but for the counters, whose row is that of the last entry.
A row is `bound` (1) where the entry commits to all of it, and None where 0.1.0 wrote an entry that commits to less.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant


class RecordedRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One version of a rule; `text` is its `RuleVersion`, `content` what `content_hash` is the digest of."""

    rule_id: str
    version: int
    content_hash: Digest
    text: str
    content: str
    sequence_number: int


class CertifiedRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person stands by a version; `text` is the `Certification`."""

    rule_id: str
    version: int
    text: str
    sequence_number: int


class RecordedQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One version of a kind of question; `text` is its `QueryType`."""

    slug: str
    version: int
    text: str
    sequence_number: int


class GrantedReporter(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For which rules a principal may report outcomes, from this entry on; `text` is the `ReporterGrant`."""

    principal_id: PrincipalId
    text: str
    by: PrincipalId
    sequence_number: int


class DeliveredAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer as it was made and marked; `text` is the JSON of question, output, annotation, strands and steps.

    `short_of` is the level that its kind of question should reach, where it does not.
    """

    answer_id: str
    query_type: str
    asked_by: PrincipalId
    level: str
    text: str
    answered_at: Instant
    sequence_number: int
    short_of: str | None = None


class StoredSignal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One outcome as it was received and counted; `text` is its `Signal`."""

    signal_id: str
    content_hash: Digest
    session: str
    answer_id: str | None
    text: str
    received_at: Instant
    sequence_number: int
    bound: int | None = None


class ReportingSession(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who told outcomes together: how many signals, and the entries of the first and the last of them."""

    session: str
    signals: int
    first: int
    last: int


class RuleSignal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one signal says of one rule: the history that the counters are a count of."""

    rule_id: str
    sequence_number: int
    rule_version: int | None
    signal_id: str
    outcome: str
    session: str
    occurred_at: Instant
    received_at: Instant
    bound: int | None = None


class RuleCounters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a rule stands after an entry: the counters of PRAMANA 7.4.2, and how far its episode has come."""

    rule_id: str
    total: int
    success: int
    failure: int
    partial: int
    indeterminate: int
    consecutive_failures: int
    tainted_success: int
    streak: int
    item_id: str | None
    absorbed: int
    batched_until: Instant | None
    sequence_number: int = 0


class OpenedItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A root cause to be looked at; `text` is the `WorkItem` as it was opened, before any hypothesis."""

    item_id: str
    rule_id: str
    text: str
    opened_at: Instant
    sequence_number: int
    bound: int | None = None


class AskedPeople(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ticket that asks about an item; `text` is the `WorkItem` with the hypothesis, where there is one."""

    item_id: str
    ticket_id: str
    text: str
    sequence_number: int
    bound: int | None = None


class ConcludedItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person concluded; `text` is the `Conclusion`."""

    item_id: str
    rule_id: str
    rule_version: int
    failure_category: str
    text: str
    pair_id: str
    sequence_number: int
    bound: int | None = None


class ProposedRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A correction that waits for a second person; `text` is the `Proposal`."""

    item_id: str
    rule_id: str
    ticket_id: str
    text: str
    sequence_number: int
    bound: int | None = None


class AnswerFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was found of the steps behind a success, the latest last; `text` is the `Success`."""

    answer_id: str
    text: str
    sequence_number: int


class StoredPair(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A training pair, once however often it was captured; `text` is the `TrainingPair`."""

    pair_id: str
    rule_id: str
    item_id: str
    text: str
    sequence_number: int
    bound: int | None = None


class TrainingJobRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A batch of pairs that training was asked for: all that were captured after the job before, up to `through`."""

    job_id: str
    through: int
    pairs: int
    text: str
    triggered_at: Instant
    sequence_number: int
    bound: int | None = None


class TrainingResultRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came of a job; `text` is the `TrainingResult`."""

    job_id: str
    text: str
    finished_at: Instant
    sequence_number: int


class DeliveryStore(Protocol):
    """A place that is taken is `store.conflict`; lists come in the order of the ledger unless they say otherwise."""

    def rule_ids(self, tenant_id: TenantId, *, after: str = "", limit: int | None = None) -> tuple[str, ...]:
        """The ids of rules, sorted, from the one after `after` on."""
        ...

    def versions_of(self, tenant_id: TenantId, rule_ids: Iterable[str]) -> tuple[RecordedRule, ...]:
        """All versions of these rules, by rule and version."""
        ...

    def certifications_of(self, tenant_id: TenantId, rule_ids: Iterable[str]) -> tuple[CertifiedRule, ...]:
        """All certifications of these rules, by rule, each in the order of the ledger."""
        ...

    def rule_versions(self, tenant_id: TenantId, rule_id: str) -> tuple[RecordedRule, ...]: ...

    def every_rule(self, tenant_id: TenantId) -> Iterator[RecordedRule]:
        """All versions of all rules, by rule and version."""
        ...

    def every_certification(self, tenant_id: TenantId) -> Iterator[CertifiedRule]:
        """Every certification, by rule, each in the order of the ledger."""
        ...

    def latest_versions(self, tenant_id: TenantId, rule_ids: Iterable[str]) -> dict[str, int]:
        """The versions in force; a rule that is not there has none."""
        ...

    def certifications(self, tenant_id: TenantId, rule_id: str) -> tuple[CertifiedRule, ...]: ...

    def queries(self, tenant_id: TenantId) -> tuple[RecordedQuery, ...]: ...

    def query_versions(self, tenant_id: TenantId, slug: str) -> tuple[RecordedQuery, ...]: ...

    def find_grant(self, tenant_id: TenantId, principal_id: PrincipalId) -> GrantedReporter | None:
        """The one in force, which is the latest."""
        ...

    def grants(self, tenant_id: TenantId, *, after: str, limit: int) -> tuple[GrantedReporter, ...]:
        """The one in force of each principal whose id follows `after`, sorted by id."""
        ...

    def find_answer(self, tenant_id: TenantId, answer_id: str) -> DeliveredAnswer | None: ...

    def find_answers(self, tenant_id: TenantId, answer_ids: Iterable[str]) -> Iterator[DeliveredAnswer]:
        """Those of them that are there, in any order: some hundreds with each question."""
        ...

    def short_answers(
        self, tenant_id: TenantId, *, after: int, limit: int, query_type: str | None = None
    ) -> tuple[DeliveredAnswer, ...]:
        """Answers below the level of their kind, the oldest first, from the entry after `after` on."""
        ...

    def sessions(self, tenant_id: TenantId, *, after: str, limit: int) -> tuple[ReportingSession, ...]:
        """Sessions that told outcomes, by name, from the one after `after` on."""
        ...

    def add_signals(self, tenant_id: TenantId, signals: Sequence[StoredSignal]) -> None:
        """In the quickest way there is. When one is there already, the unit of work must not be kept."""
        ...

    def find_signals(self, tenant_id: TenantId, signal_ids: Iterable[str]) -> tuple[StoredSignal, ...]:
        """Those of them that are there, in any order."""
        ...

    def session_signals(
        self, tenant_id: TenantId, session: str, *, after: int = 0, limit: int
    ) -> tuple[StoredSignal, ...]: ...

    def answer_signals(self, tenant_id: TenantId, answer_id: str) -> tuple[StoredSignal, ...]:
        """What was reported of one answer, by whomever."""
        ...

    def add_rule_signals(self, tenant_id: TenantId, signals: Sequence[RuleSignal]) -> None:
        """As `add_signals`."""
        ...

    def rule_signals(self, tenant_id: TenantId, rule_id: str, *, since: Instant | None = None) -> Iterator[RuleSignal]:
        """The history of one rule, oldest first: the whole of it, or what was received from an instant on."""
        ...

    def latest_signals(self, tenant_id: TenantId, rule_id: str, *, limit: int) -> tuple[StoredSignal, ...]:
        """The latest signals about a rule, oldest of them first."""
        ...

    def every_outcome(self, tenant_id: TenantId) -> Iterator[RuleSignal]:
        """Every signal of the tenant, once for each of its rules, by rule and in the order of the ledger."""
        ...

    def answers_with(self, tenant_id: TenantId, rule_id: str, version: int, outcome: str) -> tuple[str, ...]:
        """The answers that this version took part in and of which this outcome was reported, each once."""
        ...

    def put_counters(self, tenant_id: TenantId, counters: Sequence[RuleCounters]) -> None:
        """Replaces what was counted of these rules before, each of which is there once; the entries are appended."""
        ...

    def find_counters(self, tenant_id: TenantId, rule_ids: Iterable[str]) -> tuple[RuleCounters, ...]:
        """The counters of these rules after their newest outcomes, in any order; older ones are not returned."""
        ...

    def reported_among(self, tenant_id: TenantId, rule_ids: Iterable[str]) -> frozenset[str]:
        """Those of these rules of which outcomes were reported."""
        ...

    def find_item(self, tenant_id: TenantId, item_id: str) -> OpenedItem | None: ...

    def items(self, tenant_id: TenantId, *, open_only: bool = False) -> tuple[OpenedItem, ...]: ...

    def unasked_items(self, tenant_id: TenantId) -> tuple[OpenedItem, ...]:
        """Those that are not before people yet."""
        ...

    def find_asked(self, tenant_id: TenantId, item_id: str) -> AskedPeople | None: ...

    def asked_on(self, tenant_id: TenantId, item_ids: Iterable[str]) -> tuple[AskedPeople, ...]:
        """About any of these items, in any order. A few questions, however many items."""
        ...

    def conclusions_on(self, tenant_id: TenantId, item_ids: Iterable[str]) -> tuple[ConcludedItem, ...]:
        """As `asked_on`."""
        ...

    def has_conclusion(self, tenant_id: TenantId, rule_id: str, version: int, category: str) -> bool:
        """Whether a person concluded this of this version of a rule."""
        ...

    def proposals_on(self, tenant_id: TenantId, item_ids: Iterable[str]) -> tuple[ProposedRule, ...]:
        """As `asked_on`."""
        ...

    def add_findings(self, tenant_id: TenantId, findings: Sequence[AnswerFinding]) -> None:
        """As `add_signals`."""
        ...

    def findings(self, tenant_id: TenantId, answer_id: str) -> tuple[AnswerFinding, ...]: ...

    def every_finding(self, tenant_id: TenantId) -> Iterator[AnswerFinding]:
        """Those of an answer together, the latest last."""
        ...

    def find_pair(self, tenant_id: TenantId, pair_id: str) -> StoredPair | None: ...

    def pairs(
        self, tenant_id: TenantId, *, after: int = 0, through: int | None = None, limit: int | None = None
    ) -> tuple[StoredPair, ...]:
        """Those captured after one entry and up to another."""
        ...

    def jobs(self, tenant_id: TenantId) -> tuple[TrainingJobRow, ...]: ...

    def find_result(self, tenant_id: TenantId, job_id: str) -> TrainingResultRow | None: ...
