"""Questions, answers, outcomes, root causes, training, peers and webhooks: their entries, and the rows that follow.

Rows of 0.1.0 whose entries commit to less than a row holds have no `bound`: of these, only what the entry says is
compared. From now on every entry commits to the whole row.
"""

from collections.abc import Callable, Iterable, Iterator, MutableMapping
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import asdict, replace

from assay.delivery.annotate import Annotation
from assay.delivery.conclude import Conclusion
from assay.delivery.federate import Agreement
from assay.delivery.outcome import ReporterGrant
from assay.delivery.pair import TrainingPair
from assay.delivery.propose import Proposal
from assay.delivery.query import QueryType, Shortfall
from assay.delivery.rule import Certification, RuleVersion
from assay.delivery.strand import StrandReport
from assay.delivery.twowrong import Remark, Success
from assay.delivery.webhook import Webhook
from assay.facts.kinds import Fact, Projected, Table, Transient
from assay.kernel.canonical import canonical_digest
from assay.kernel.digest import Digest, digest_of
from assay.kernel.entry import Entry
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.delivery_store import (
    AnswerFinding,
    AskedPeople,
    CertifiedRule,
    ConcludedItem,
    DeliveredAnswer,
    GrantedReporter,
    OpenedItem,
    ProposedRule,
    RecordedQuery,
    RecordedRule,
    RuleCounters,
    RuleSignal,
    StoredPair,
    StoredSignal,
    TrainingJobRow,
    TrainingResultRow,
)
from assay.ports.peer_store import RecordedAgreement
from assay.ports.trainer import TrainingJob, TrainingResult
from assay.ports.webhook_store import EndedWebhook, StoredWebhook, WebhookAttempts

# Longer pairs have the hash of their input in the entry, which may not be as long as an answer.
_LONGEST_LOGGED = 512 * 1024


class ReporterGranted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `reporter.granted` entry."""

    principal_id: PrincipalId
    rules: tuple[str, ...]
    granted_by: PrincipalId


class AnswerDelivered(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of an `answer.delivered` entry: question and output by their hashes, the rest as it was.

    A withheld output has no hash here, which would confirm a guess of it; `record_hash` binds it all the same.
    `resumed` is there where the answer was asked for again; 0.1.0 told that by the later time alone.
    """

    asked_by: PrincipalId
    session_id: str | None
    answerer: str
    question_hash: Digest
    output_hash: Digest | None
    record_hash: Digest
    level: str
    strands: StrandReport
    shortfall: Shortfall | None
    delivered: Annotation
    resumed: bool | UnsetType = UNSET


class MovedRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a signal did to one rule."""

    rule_id: str
    version: int
    move: str


class CountedRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where a rule stands after an entry, as the entry has it."""

    rule_id: str
    total: int = 0
    success: int = 0
    failure: int = 0
    partial: int = 0
    indeterminate: int = 0
    consecutive_failures: int = 0
    tainted_success: int = 0
    streak: int = 0
    item_id: str | None = None
    absorbed: int = 0
    batched_until: Instant | None = None


class RulesCounted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `rules.counted` entry: where rules stand after something else than one outcome."""

    reason: str
    counters: tuple[CountedRule, ...]


class RulesProjected(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `rules.projected` entry: what entry `through`, of a graph or a contract, brought into the registry.

    The text of each version is bound by its `content_hash`.
    """

    through: int
    versions: tuple[RuleVersion, ...]
    certifications: tuple[Certification, ...]


class OutcomeReported(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of an `outcome.reported` entry; what was received is bound by `content_hash`, our record of it by
    `record_hash`, and what was found of a success by `finding_hash`, where it is new. `counters` are where rules stand
    after it.
    """

    signal_id: str
    content_hash: Digest
    sender: PrincipalId
    outcome: str
    answer_id: str | None
    two_wrong: bool
    rules: tuple[MovedRule, ...]
    record_hash: Digest | UnsetType = UNSET
    session: str | UnsetType = UNSET
    occurred_at: Instant | UnsetType = UNSET
    counters: tuple[CountedRule, ...] = ()
    finding_hash: Digest | UnsetType = UNSET


class RootCauseOpened(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `root_cause.opened` entry."""

    item_id: str
    rule_id: str
    version: int
    reason: str
    signals: tuple[str, ...]
    batch_id: str | None
    item_hash: Digest | UnsetType = UNSET


class RootCauseAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `root_cause.asked` entry."""

    item_id: str
    ticket_id: str
    plugin_id: str | None
    asked_by: PrincipalId
    item_hash: Digest | UnsetType = UNSET


class RootCauseClosed(Conclusion, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `root_cause.closed` entry: the conclusion, and the training pair that was captured from it."""

    pair_id: str | UnsetType = UNSET


class RuleProposed(Proposal, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `rule.proposed` entry: the proposal, and the ticket that asks about it."""

    ticket_id: str | UnsetType = UNSET


class PairCaptured(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `training.pair` entry: the pair, whose input is bound by its hash where it is long."""

    training_pair_id: str
    rule_id: str
    label: Raw
    captured_by: PrincipalId
    captured_at: Instant
    input: Raw | UnsetType = UNSET
    input_hash: Digest | UnsetType = UNSET
    item_id: str | UnsetType = UNSET


class TrainingTriggered(TrainingJob, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `training.triggered` entry: the job, and the entry of its last pair."""

    through: int | UnsetType = UNSET


class TrainingFinished(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `training.finished` entry."""

    job_id: str
    result: TrainingResult


class PeerAgreed(Agreement, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `peer.agreed` entry: the agreement, and who recorded it."""

    agreed_by: PrincipalId | UnsetType = UNSET


class WebhookFailed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `webhook.failed` entry: an event that was given up after so many attempts."""

    webhook_id: str
    position: int
    attempts: int
    problem: str


class WebhookReplayed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `webhook.replayed` entry: the events that are to be posted again; 0.1.0 said only how many."""

    webhook_id: str
    after: int | None
    events: int
    asked_by: PrincipalId
    positions: tuple[int, ...] | UnsetType = UNSET


class WebhookResent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `webhook.resent` entry: an event that was asked for again was taken."""

    webhook_id: str
    position: int


class WebhookRemoved(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `webhook.removed` entry."""

    webhook_id: str
    removed_by: PrincipalId


def text_of(record: Struct) -> str:
    """The JSON of a record, as rows hold it."""
    return msgspec.json.encode(record).decode()


def hash_of(text: str) -> Digest:
    return digest_of(text.encode())


def logged_pair(text: str) -> dict[str, Any]:
    """A training pair as its entry has it."""
    told: dict[str, Any] = msgspec.json.decode(text)
    if len(text.encode()) > _LONGEST_LOGGED:
        told["input_hash"] = canonical_digest(told.pop("input"))
    return told


def as_part(body: Struct, kind: type[Struct]) -> Struct:
    """The record that a body is made of, without what the entry adds to it."""
    return kind(**{name: getattr(body, name) for name in kind.__struct_fields__})


def counted(row: RuleCounters) -> CountedRule:
    """The counters as an entry has them."""
    return CountedRule(**{name: getattr(row, name) for name in CountedRule.__struct_fields__})


def _counter_rows(entry: Entry, counters: Iterable[CountedRule]) -> Iterator[RuleCounters]:
    for one in counters:
        yield RuleCounters(**asdict(one), sequence_number=entry.sequence_number)


def _counted_rows(entry: Entry, body: RulesCounted) -> Iterator[RuleCounters]:
    return _counter_rows(entry, body.counters)


def _fold_counters(rows: MutableMapping[Any, Any], entry: Entry) -> None:
    kind: Any = RulesCounted if entry.kind is EntryKind.RULES_COUNTED else OutcomeReported
    body = msgspec.json.decode(entry.body, type=kind)
    rows.update((row.rule_id, row) for row in _counter_rows(entry, body.counters))


def _version_rows(entry: Entry, body: RuleVersion) -> Iterator[RecordedRule]:
    yield RecordedRule(
        rule_id=body.rule_id,
        version=body.version,
        content_hash=body.content_hash,
        text=text_of(body),
        content=body.content_hash,
        sequence_number=entry.sequence_number,
    )


def _certification_rows(entry: Entry, body: Certification) -> Iterator[CertifiedRule]:
    yield CertifiedRule(
        rule_id=body.rule_id, version=body.version, text=text_of(body), sequence_number=entry.sequence_number
    )


def _projected_rows(entry: Entry, body: RulesProjected) -> Iterator[RecordedRule | CertifiedRule]:
    for version in body.versions:
        yield from _version_rows(entry, version)
    for certification in body.certifications:
        yield from _certification_rows(entry, certification)


def _seal_version(row: RecordedRule) -> RecordedRule:
    return replace(row, content=hash_of(row.content))


def _remark_rows(entry: Entry, body: Remark) -> Iterator[AnswerFinding]:
    success = Success(answer_id=body.answer_id, steps=body.steps, finding=body.after)
    yield AnswerFinding(answer_id=body.answer_id, text=hash_of(text_of(success)), sequence_number=entry.sequence_number)


def _seal_finding(row: AnswerFinding) -> AnswerFinding:
    return replace(row, text=hash_of(row.text))


def _query_rows(entry: Entry, body: QueryType) -> Iterator[RecordedQuery]:
    yield RecordedQuery(slug=body.slug, version=body.version, text=text_of(body), sequence_number=entry.sequence_number)


def _grant_rows(entry: Entry, body: ReporterGranted) -> Iterator[GrantedReporter]:
    grant = ReporterGrant(principal_id=body.principal_id, rules=body.rules)
    yield GrantedReporter(
        principal_id=body.principal_id,
        text=text_of(grant),
        by=body.granted_by,
        sequence_number=entry.sequence_number,
    )


def _answer_rows(entry: Entry, body: AnswerDelivered) -> Iterator[DeliveredAnswer]:
    """The row of an answer follows from its first delivery; a later one, after people let it through, adds none."""
    told = body.delivered
    if body.resumed is not UNSET or told.answered_at != entry.timestamp:
        return
    yield DeliveredAnswer(
        answer_id=told.answer_id,
        query_type=told.query_type,
        asked_by=body.asked_by,
        level=body.level,
        text=body.record_hash,
        answered_at=told.answered_at,
        sequence_number=entry.sequence_number,
        short_of=None if body.shortfall is None else str(body.shortfall.expected_level),
    )


def _outcome_rows(
    entry: Entry, body: OutcomeReported
) -> Iterator[StoredSignal | RuleSignal | RuleCounters | AnswerFinding]:
    is_bound = body.record_hash is not UNSET
    session = body.session if isinstance(body.session, str) else ""
    occurred_at = entry.timestamp if body.occurred_at is UNSET else body.occurred_at
    bound = 1 if is_bound else None
    yield StoredSignal(
        signal_id=body.signal_id,
        content_hash=body.content_hash,
        session=session,
        answer_id=body.answer_id,
        text=body.record_hash if isinstance(body.record_hash, str) else "",
        received_at=entry.timestamp,
        sequence_number=entry.sequence_number,
        bound=bound,
    )
    for rule in body.rules:
        yield RuleSignal(
            rule_id=rule.rule_id,
            sequence_number=entry.sequence_number,
            rule_version=rule.version,
            signal_id=body.signal_id,
            outcome=body.outcome,
            session=session,
            occurred_at=occurred_at,
            received_at=entry.timestamp,
            bound=bound,
        )
    yield from _counter_rows(entry, body.counters)
    if isinstance(body.finding_hash, str) and body.answer_id is not None:
        yield AnswerFinding(answer_id=body.answer_id, text=body.finding_hash, sequence_number=entry.sequence_number)


def _opened_rows(entry: Entry, body: RootCauseOpened) -> Iterator[OpenedItem]:
    yield OpenedItem(
        item_id=body.item_id,
        rule_id=body.rule_id,
        text=body.item_hash if isinstance(body.item_hash, str) else "",
        opened_at=entry.timestamp,
        sequence_number=entry.sequence_number,
        bound=None if body.item_hash is UNSET else 1,
    )


def _asked_rows(entry: Entry, body: RootCauseAsked) -> Iterator[AskedPeople]:
    yield AskedPeople(
        item_id=body.item_id,
        ticket_id=body.ticket_id,
        text=body.item_hash if isinstance(body.item_hash, str) else "",
        sequence_number=entry.sequence_number,
        bound=None if body.item_hash is UNSET else 1,
    )


def _closed_rows(entry: Entry, body: RootCauseClosed) -> Iterator[ConcludedItem]:
    yield ConcludedItem(
        item_id=body.item_id,
        rule_id=body.rule.rule_id,
        rule_version=body.rule.version,
        failure_category=body.failure_category,
        text=text_of(as_part(body, Conclusion)),
        pair_id=body.pair_id if isinstance(body.pair_id, str) else "",
        sequence_number=entry.sequence_number,
        bound=None if body.pair_id is UNSET else 1,
    )


def _proposed_rows(entry: Entry, body: RuleProposed) -> Iterator[ProposedRule]:
    yield ProposedRule(
        item_id=body.item_id,
        rule_id=body.rule_id,
        ticket_id=body.ticket_id if isinstance(body.ticket_id, str) else "",
        text=text_of(as_part(body, Proposal)),
        sequence_number=entry.sequence_number,
        bound=None if body.ticket_id is UNSET else 1,
    )


def _pair_rows(entry: Entry, body: PairCaptured) -> Iterator[StoredPair]:
    told: dict[str, Any] = msgspec.json.decode(entry.body)
    told.pop("item_id", None)
    yield StoredPair(
        pair_id=body.training_pair_id,
        rule_id=body.rule_id,
        item_id=body.item_id if isinstance(body.item_id, str) else "",
        text=canonical_digest(told),
        sequence_number=entry.sequence_number,
        bound=None if body.item_id is UNSET else 1,
    )


def _job_rows(entry: Entry, body: TrainingTriggered) -> Iterator[TrainingJobRow]:
    yield TrainingJobRow(
        job_id=body.job_id,
        through=body.through if isinstance(body.through, int) else 0,
        pairs=len(body.pair_ids),
        text=text_of(as_part(body, TrainingJob)),
        triggered_at=body.triggered_at,
        sequence_number=entry.sequence_number,
        bound=None if body.through is UNSET else 1,
    )


def _result_rows(entry: Entry, body: TrainingFinished) -> Iterator[TrainingResultRow]:
    yield TrainingResultRow(
        job_id=body.job_id,
        text=text_of(body.result),
        finished_at=entry.timestamp,
        sequence_number=entry.sequence_number,
    )


def _agreement_rows(entry: Entry, body: PeerAgreed) -> Iterator[RecordedAgreement]:
    yield RecordedAgreement(
        peer=body.peer,
        text=text_of(as_part(body, Agreement)),
        by=body.agreed_by if body.agreed_by is not UNSET else PrincipalId(""),
        sequence_number=entry.sequence_number,
        bound=None if body.agreed_by is UNSET else 1,
    )


def _webhook_rows(entry: Entry, body: Webhook) -> Iterator[StoredWebhook]:
    yield StoredWebhook(webhook_id=body.webhook_id, text=text_of(body), sequence_number=entry.sequence_number)


def _webhook_end_rows(entry: Entry, body: WebhookRemoved) -> Iterator[EndedWebhook]:
    yield EndedWebhook(
        webhook_id=body.webhook_id,
        by=body.removed_by,
        ended_at=entry.timestamp,
        sequence_number=entry.sequence_number,
    )


def _seal_answer(row: DeliveredAnswer) -> DeliveredAnswer:
    return replace(row, text=hash_of(row.text))


def _seal_pair(row: StoredPair) -> StoredPair:
    sealed = replace(row, text=_pair_hash(row.text))
    return sealed if row.bound else replace(sealed, item_id="")


def _pair_hash(text: str) -> str:
    """The hash of what the entry says of a pair; a text that is not exactly our JSON of one has none."""
    try:
        pair = msgspec.json.decode(text, type=TrainingPair)
    except msgspec.MsgspecError:
        return ""
    return canonical_digest(logged_pair(text)) if text_of(pair) == text else ""


def _seal_rule_signal(row: RuleSignal) -> RuleSignal:
    return row if row.bound else replace(row, session="", occurred_at=row.received_at)


def _hashed(**unbound: object) -> Callable[[Any], Struct]:
    """Seal a row whose text the entry commits to by its hash; a row of 0.1.0 without what its entry does not say."""

    def seal(row: Any) -> Struct:  # noqa: ANN401 - a row with `text` and `bound`
        sealed: Struct = replace(row, text=hash_of(row.text)) if row.bound else replace(row, text="", **unbound)
        return sealed

    return seal


def _said(**unbound: object) -> Callable[[Any], Struct]:
    """Seal a row that its entry says whole; a row of 0.1.0 without what its entry does not say."""

    def seal(row: Any) -> Struct:  # noqa: ANN401 - a row with `bound`
        sealed: Struct = row if row.bound else replace(row, **unbound)
        return sealed

    return seal


FACTS: tuple[Fact, ...] = (
    Fact(EntryKind.QUERY_TYPE_RECORDED, QueryType, _query_rows, into=(RecordedQuery,)),
    Fact(EntryKind.REPORTER_GRANTED, ReporterGranted, _grant_rows, into=(GrantedReporter,)),
    Fact(EntryKind.ANSWER_DELIVERED, AnswerDelivered, _answer_rows, into=(DeliveredAnswer,)),
    Fact(
        EntryKind.OUTCOME_REPORTED,
        OutcomeReported,
        _outcome_rows,
        into=(StoredSignal, RuleSignal, RuleCounters, AnswerFinding),
    ),
    Fact(EntryKind.RULES_COUNTED, RulesCounted, _counted_rows, into=(RuleCounters,)),
    Fact(EntryKind.ANSWER_REMARKED, Remark, _remark_rows, into=(AnswerFinding,)),
    Fact(EntryKind.RULE_RECORDED, RuleVersion, _version_rows, into=(RecordedRule,)),
    Fact(EntryKind.RULE_CERTIFIED, Certification, _certification_rows, into=(CertifiedRule,)),
    Fact(EntryKind.RULES_PROJECTED, RulesProjected, _projected_rows, into=(RecordedRule, CertifiedRule)),
    Fact(EntryKind.ROOT_CAUSE_OPENED, RootCauseOpened, _opened_rows, into=(OpenedItem,)),
    Fact(EntryKind.ROOT_CAUSE_ASKED, RootCauseAsked, _asked_rows, into=(AskedPeople,)),
    Fact(EntryKind.ROOT_CAUSE_CLOSED, RootCauseClosed, _closed_rows, into=(ConcludedItem,)),
    Fact(EntryKind.RULE_PROPOSED, RuleProposed, _proposed_rows, into=(ProposedRule,)),
    Fact(EntryKind.TRAINING_PAIR, PairCaptured, _pair_rows, into=(StoredPair,)),
    Fact(EntryKind.TRAINING_TRIGGERED, TrainingTriggered, _job_rows, into=(TrainingJobRow,)),
    Fact(EntryKind.TRAINING_FINISHED, TrainingFinished, _result_rows, into=(TrainingResultRow,)),
    Fact(EntryKind.PEER_AGREED, PeerAgreed, _agreement_rows, into=(RecordedAgreement,)),
    Fact(EntryKind.WEBHOOK_ADDED, Webhook, _webhook_rows, into=(StoredWebhook,)),
    Fact(EntryKind.WEBHOOK_REMOVED, WebhookRemoved, _webhook_end_rows, into=(EndedWebhook,)),
)
TABLES = (
    Table(
        "rule_version",
        Projected(RecordedRule, seal=_seal_version),
        keys=("rule_id",),
        taken="version {version} of rule `{rule_id}`",
    ),
    Table(
        "rule_certification",
        Projected(CertifiedRule),
        keys=("rule_id",),
        taken="the certification of `{rule_id}`",
    ),
    Table("query_type", Projected(RecordedQuery), keys=("slug",), taken="version {version} of `{slug}`"),
    Table("reporter_grant", Projected(GrantedReporter), keys=("principal_id",), taken="the grant to `{principal_id}`"),
    Table(
        "delivered_answer",
        Projected(DeliveredAnswer, seal=_seal_answer),
        keys=("answer_id",),
        taken="answer `{answer_id}`",
    ),
    Table("outcome_signal", Projected(StoredSignal, seal=_hashed(session="")), taken="signal `{signal_id}`"),
    Table("rule_outcome", Projected(RuleSignal, seal=_seal_rule_signal), taken="signal `{signal_id}`"),
    Table(
        "rule_counter",
        Projected(RuleCounters, fold=_fold_counters, folds=(EntryKind.OUTCOME_REPORTED, EntryKind.RULES_COUNTED)),
        keys=("rule_id", "item_id"),
        replaces=("rule_id",),
    ),
    Table(
        "root_cause",
        Projected(OpenedItem, seal=_hashed()),
        keys=("item_id", "rule_id"),
        taken="root cause `{item_id}`",
    ),
    Table(
        "root_cause_ticket",
        Projected(AskedPeople, seal=_hashed()),
        keys=("item_id", "ticket_id"),
        taken="the ticket about `{item_id}`",
    ),
    Table(
        "root_cause_conclusion",
        Projected(ConcludedItem, seal=_said(pair_id="")),
        keys=("item_id", "rule_id"),
        taken="the conclusion of `{item_id}`",
    ),
    Table(
        "rule_proposal",
        Projected(ProposedRule, seal=_said(ticket_id="")),
        keys=("item_id", "rule_id"),
        taken="the proposal of `{item_id}`",
    ),
    Table(
        "answer_finding",
        Projected(AnswerFinding, seal=_seal_finding),
        keys=("answer_id",),
        taken="the finding of entry {sequence_number}",
    ),
    Table(
        "training_pair",
        Projected(StoredPair, seal=_seal_pair),
        keys=("pair_id", "rule_id", "item_id"),
        taken="training pair `{pair_id}`",
    ),
    Table(
        "training_job",
        Projected(TrainingJobRow, seal=_said(through=0)),
        keys=("job_id",),
        taken="training job `{job_id}`",
    ),
    Table("training_result", Projected(TrainingResultRow), keys=("job_id",), taken="the result of `{job_id}`"),
    Table(
        "peer_agreement",
        Projected(RecordedAgreement, seal=_said(by=PrincipalId(""))),
        keys=("peer", "by"),
        taken="an agreement with `{peer}`",
    ),
    Table("webhook", Projected(StoredWebhook), keys=("webhook_id",), taken="the webhook `{webhook_id}`"),
    Table("webhook_end", Projected(EndedWebhook), keys=("webhook_id",), taken="the end of the webhook `{webhook_id}`"),
    Table(
        "webhook_attempt",
        Transient(
            "nothing: attempts carry a MAC under a key outside the database, and without it the event is posted as if"
            " for the first time; what was given up or asked for again is read from the ledger",
            row=WebhookAttempts,
        ),
    ),
)
