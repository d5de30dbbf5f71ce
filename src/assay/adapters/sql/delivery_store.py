"""Rules, answers, outcomes, root causes and training pairs in SQL."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from operator import attrgetter
from typing import TypeVar

from msgspec import Struct

from assay.adapters.sql.row import add_rows, put_rows, sortable, verify_row
from assay.adapters.sql.rows import Rows
from assay.adapters.sql.session import Row
from assay.adapters.sql.storable import MAX_KEY_BYTES, verify_key, verify_text
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
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
    ReportingSession,
    RuleCounters,
    RuleSignal,
    StoredPair,
    StoredSignal,
    TrainingJobRow,
    TrainingResultRow,
)

T = TypeVar("T", bound=Struct)


_BY_PLACE = " ORDER BY sequence_number"
# Signals come together, and each moment of theirs is in two rows.
_sortable = lru_cache(maxsize=256)(sortable)
_RULE_OF = attrgetter("rule_id")
# Only the row of an entry that is not older than what was reported last: an earlier state of the row is none.
_NEWEST_COUNTERS = (
    "AND sequence_number >= coalesce((SELECT max(o.sequence_number) FROM rule_outcome AS o"
    " WHERE o.rule_id = rule_counter.rule_id AND o.tenant_id = rule_counter.tenant_id), 0)"
)
# The last column of each is the one that may be long; the others are looked up by.
_SIGNAL_COLUMNS = (
    "tenant_id",
    "signal_id",
    "content_hash",
    "session",
    "answer_id",
    "received_at",
    "sequence_number",
    "bound",
    "text",
)
_RULE_SIGNAL_COLUMNS = (
    "tenant_id",
    "rule_id",
    "sequence_number",
    "rule_version",
    "signal_id",
    "outcome",
    "occurred_at",
    "received_at",
    "bound",
    "session",
)
# Places in one statement; every engine takes as many. A power of two, see `_filled`.
_AT_ONCE = 512


class SqlDeliveryStore:
    """Implements `ports.delivery_store.DeliveryStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._session = rows.session

    def rule_ids(self, tenant_id: TenantId, *, after: str = "", limit: int | None = None) -> tuple[str, ...]:
        sql = "SELECT rule_id FROM rule_version WHERE tenant_id = ? AND rule_id > ? AND version = 1 ORDER BY rule_id"
        values: tuple[object, ...] = (tenant_id, after)
        if limit is not None:
            sql, values = f"{sql} LIMIT ?", (*values, limit)
        return tuple(str(row[0]) for row in self._session.query(sql, values))

    def versions_of(self, tenant_id: TenantId, rule_ids: Iterable[str]) -> tuple[RecordedRule, ...]:
        found = self._any(tenant_id, "rule_id", rule_ids, RecordedRule)
        return tuple(sorted(found, key=lambda row: (row.rule_id, row.version)))

    def certifications_of(self, tenant_id: TenantId, rule_ids: Iterable[str]) -> tuple[CertifiedRule, ...]:
        found = self._any(tenant_id, "rule_id", rule_ids, CertifiedRule)
        return tuple(sorted(found, key=lambda row: (row.rule_id, row.sequence_number)))

    def rule_versions(self, tenant_id: TenantId, rule_id: str) -> tuple[RecordedRule, ...]:
        sql = "WHERE rule_id = ? AND tenant_id = ? ORDER BY version"
        return self._all(sql, (rule_id, tenant_id), RecordedRule)

    def every_rule(self, tenant_id: TenantId) -> Iterator[RecordedRule]:
        return self._rows.stream(RecordedRule, "WHERE tenant_id = ? ORDER BY rule_id, version", (tenant_id,))

    def every_certification(self, tenant_id: TenantId) -> Iterator[CertifiedRule]:
        return self._rows.stream(CertifiedRule, "WHERE tenant_id = ? ORDER BY rule_id, sequence_number", (tenant_id,))

    def latest_versions(self, tenant_id: TenantId, rule_ids: Iterable[str]) -> dict[str, int]:
        newest = (
            "AND version = (SELECT max(o.version) FROM rule_version AS o"
            " WHERE o.rule_id = rule_version.rule_id AND o.tenant_id = rule_version.tenant_id)"
        )
        return {row.rule_id: row.version for row in self._any(tenant_id, "rule_id", rule_ids, RecordedRule, newest)}

    def certifications(self, tenant_id: TenantId, rule_id: str) -> tuple[CertifiedRule, ...]:
        sql = f"WHERE rule_id = ? AND tenant_id = ?{_BY_PLACE}"
        return self._all(sql, (rule_id, tenant_id), CertifiedRule)

    def queries(self, tenant_id: TenantId) -> tuple[RecordedQuery, ...]:
        return self._all(f"WHERE tenant_id = ?{_BY_PLACE}", (tenant_id,), RecordedQuery)

    def query_versions(self, tenant_id: TenantId, slug: str) -> tuple[RecordedQuery, ...]:
        sql = "WHERE slug = ? AND tenant_id = ? ORDER BY version"
        return self._all(sql, (slug, tenant_id), RecordedQuery)

    def find_grant(self, tenant_id: TenantId, principal_id: PrincipalId) -> GrantedReporter | None:
        sql = "WHERE principal_id = ? AND tenant_id = ? ORDER BY sequence_number DESC LIMIT 1"
        return self._one(sql, (principal_id, tenant_id), GrantedReporter)

    def grants(self, tenant_id: TenantId, *, after: str, limit: int) -> tuple[GrantedReporter, ...]:
        sql = (
            "WHERE tenant_id = ? AND principal_id > ? AND sequence_number = (SELECT max(later.sequence_number)"
            " FROM reporter_grant AS later WHERE later.tenant_id = reporter_grant.tenant_id"
            " AND later.principal_id = reporter_grant.principal_id) ORDER BY principal_id LIMIT ?"
        )
        return self._all(sql, (tenant_id, after, limit), GrantedReporter)

    def find_answer(self, tenant_id: TenantId, answer_id: str) -> DeliveredAnswer | None:
        return self._one("WHERE answer_id = ? AND tenant_id = ?", (answer_id, tenant_id), DeliveredAnswer)

    def find_answers(self, tenant_id: TenantId, answer_ids: Iterable[str]) -> Iterator[DeliveredAnswer]:
        return self._any(tenant_id, "answer_id", answer_ids, DeliveredAnswer)

    def short_answers(
        self, tenant_id: TenantId, *, after: int, limit: int, query_type: str | None = None
    ) -> tuple[DeliveredAnswer, ...]:
        sql = "WHERE short_of IS NOT NULL AND tenant_id = ? AND sequence_number > ?"
        values: tuple[object, ...] = (tenant_id, after)
        if query_type is not None:
            sql, values = f"{sql} AND query_type = ?", (*values, query_type)
        return self._all(f"{sql}{_BY_PLACE} LIMIT ?", (*values, limit), DeliveredAnswer)

    def sessions(self, tenant_id: TenantId, *, after: str, limit: int) -> tuple[ReportingSession, ...]:
        # In the order of the index, so that a page reads its own sessions alone.
        sql = (
            "SELECT session FROM outcome_signal WHERE session > ? AND tenant_id = ?"
            " GROUP BY session ORDER BY session LIMIT ?"
        )
        names = self._session.query(sql, (after, tenant_id, limit))
        return tuple(self._session_of(tenant_id, str(name)) for (name,) in names)

    def _session_of(self, tenant_id: TenantId, session: str) -> ReportingSession:
        """Counted from rows that are compared; a sum of the database would count any."""
        count = first = last = 0
        rest = f"WHERE session = ? AND tenant_id = ?{_BY_PLACE}"
        for row in self._rows.stream(StoredSignal, rest, (session, tenant_id)):
            count, first, last = count + 1, first or row.sequence_number, row.sequence_number
        return ReportingSession(session=session, signals=count, first=first, last=last)

    def add_signals(self, tenant_id: TenantId, signals: Sequence[StoredSignal]) -> None:
        rows = [
            (
                tenant_id,
                signal.signal_id,
                signal.content_hash,
                signal.session,
                signal.answer_id,
                _sortable(signal.received_at),
                signal.sequence_number,
                signal.bound,
                signal.text,
            )
            for signal in signals
        ]
        self._add_many("outcome_signal", _SIGNAL_COLUMNS, rows)

    def find_signals(self, tenant_id: TenantId, signal_ids: Iterable[str]) -> tuple[StoredSignal, ...]:
        return tuple(self._any(tenant_id, "signal_id", signal_ids, StoredSignal))

    def session_signals(
        self, tenant_id: TenantId, session: str, *, after: int = 0, limit: int
    ) -> tuple[StoredSignal, ...]:
        sql = f"WHERE session = ? AND tenant_id = ? AND sequence_number > ?{_BY_PLACE} LIMIT ?"
        return self._all(sql, (session, tenant_id, after, limit), StoredSignal)

    def answer_signals(self, tenant_id: TenantId, answer_id: str) -> tuple[StoredSignal, ...]:
        sql = f"WHERE answer_id = ? AND tenant_id = ?{_BY_PLACE}"
        return self._all(sql, (answer_id, tenant_id), StoredSignal)

    def add_rule_signals(self, tenant_id: TenantId, signals: Sequence[RuleSignal]) -> None:
        rows = [
            (
                tenant_id,
                signal.rule_id,
                signal.sequence_number,
                signal.rule_version,
                signal.signal_id,
                str(signal.outcome),
                _sortable(signal.occurred_at),
                _sortable(signal.received_at),
                signal.bound,
                signal.session,
            )
            # Those of a rule lie together in the table, and each page is gone to once.
            for signal in sorted(signals, key=_RULE_OF)
        ]
        self._add_many("rule_outcome", _RULE_SIGNAL_COLUMNS, rows)

    def rule_signals(self, tenant_id: TenantId, rule_id: str, *, since: Instant | None = None) -> Iterator[RuleSignal]:
        rest, values = "WHERE rule_id = ? AND tenant_id = ?", (rule_id, tenant_id)
        if since is not None:
            rest, values = f"{rest} AND received_at >= ?", (*values, sortable(since))  # type: ignore[assignment]  # one more
        return self._rows.stream(RuleSignal, rest + _BY_PLACE, values)

    def latest_signals(self, tenant_id: TenantId, rule_id: str, *, limit: int) -> tuple[StoredSignal, ...]:
        rest = "rule_id = ? AND tenant_id = ? ORDER BY sequence_number DESC LIMIT ?"
        return self._signals_of(tenant_id, rest, (rule_id, tenant_id, limit))

    def _signals_of(self, tenant_id: TenantId, rest: str, values: tuple[object, ...]) -> tuple[StoredSignal, ...]:
        """The signals behind what was said of rules, the oldest first."""
        names = {row.signal_id for row in self._all(f"WHERE {rest}", values, RuleSignal)}
        # Selected again instead of listed: for a list, PostgreSQL reads a whole tenant that it takes for a small one.
        asked = f"WHERE signal_id IN (SELECT signal_id FROM rule_outcome WHERE {rest}) AND tenant_id = ?"  # noqa: S608 - ours
        found = [row for row in self._all(asked, (*values, tenant_id), StoredSignal) if row.signal_id in names]
        return tuple(sorted(found, key=lambda row: row.sequence_number))

    def every_outcome(self, tenant_id: TenantId) -> Iterator[RuleSignal]:
        # By rule and place, which is the order of the table itself: each rule's own order is all that counts.
        return self._rows.stream(RuleSignal, "WHERE tenant_id = ? ORDER BY rule_id, sequence_number", (tenant_id,))

    def answers_with(self, tenant_id: TenantId, rule_id: str, version: int, outcome: str) -> tuple[str, ...]:
        rest = f"rule_id = ? AND tenant_id = ? AND rule_version = ? AND outcome = ?{_BY_PLACE}"
        found = self._signals_of(tenant_id, rest, (rule_id, tenant_id, version, outcome))
        return tuple(dict.fromkeys(row.answer_id for row in found if row.answer_id is not None))

    def put_counters(self, tenant_id: TenantId, counters: Sequence[RuleCounters]) -> None:
        for row in counters:
            verify_row(row, "rule_id", "item_id")
        put_rows(self._session, "rule_counter", tenant_id, counters, ("rule_id",))

    def find_counters(self, tenant_id: TenantId, rule_ids: Iterable[str]) -> tuple[RuleCounters, ...]:
        return tuple(self._any(tenant_id, "rule_id", rule_ids, RuleCounters, _NEWEST_COUNTERS))

    def reported_among(self, tenant_id: TenantId, rule_ids: Iterable[str]) -> frozenset[str]:
        found: set[str] = set()
        for part in _filled(rule_ids):
            sql = f"SELECT DISTINCT rule_id FROM rule_outcome WHERE rule_id IN ({_marks(part)}) AND tenant_id = ?"  # noqa: S608 - marks
            found.update(str(row[0]) for row in self._session.query(sql, (*part, tenant_id)))
        return frozenset(found)

    def find_item(self, tenant_id: TenantId, item_id: str) -> OpenedItem | None:
        return self._one("WHERE item_id = ? AND tenant_id = ?", (item_id, tenant_id), OpenedItem)

    def items(self, tenant_id: TenantId, *, open_only: bool = False) -> tuple[OpenedItem, ...]:
        return self._items(tenant_id, without="root_cause_conclusion" if open_only else None)

    def unasked_items(self, tenant_id: TenantId) -> tuple[OpenedItem, ...]:
        return self._items(tenant_id, without="root_cause_ticket")

    def find_asked(self, tenant_id: TenantId, item_id: str) -> AskedPeople | None:
        return self._one("WHERE item_id = ? AND tenant_id = ?", (item_id, tenant_id), AskedPeople)

    def asked_on(self, tenant_id: TenantId, item_ids: Iterable[str]) -> tuple[AskedPeople, ...]:
        return tuple(self._any(tenant_id, "item_id", item_ids, AskedPeople))

    def conclusions_on(self, tenant_id: TenantId, item_ids: Iterable[str]) -> tuple[ConcludedItem, ...]:
        return tuple(self._any(tenant_id, "item_id", item_ids, ConcludedItem))

    def has_conclusion(self, tenant_id: TenantId, rule_id: str, version: int, category: str) -> bool:
        rest = "WHERE rule_id = ? AND tenant_id = ? AND rule_version = ? AND failure_category = ? LIMIT 1"
        return self._one(rest, (rule_id, tenant_id, version, category), ConcludedItem) is not None

    def proposals_on(self, tenant_id: TenantId, item_ids: Iterable[str]) -> tuple[ProposedRule, ...]:
        return tuple(self._any(tenant_id, "item_id", item_ids, ProposedRule))

    def add_findings(self, tenant_id: TenantId, findings: Sequence[AnswerFinding]) -> None:
        for row in findings:
            verify_row(row, "answer_id")
        add_rows(self._session, "answer_finding", tenant_id, findings, "the findings")

    def findings(self, tenant_id: TenantId, answer_id: str) -> tuple[AnswerFinding, ...]:
        return self._all(f"WHERE answer_id = ? AND tenant_id = ?{_BY_PLACE}", (answer_id, tenant_id), AnswerFinding)

    def every_finding(self, tenant_id: TenantId) -> Iterator[AnswerFinding]:
        return self._rows.stream(AnswerFinding, "WHERE tenant_id = ? ORDER BY answer_id, sequence_number", (tenant_id,))

    def find_pair(self, tenant_id: TenantId, pair_id: str) -> StoredPair | None:
        return self._one("WHERE pair_id = ? AND tenant_id = ?", (pair_id, tenant_id), StoredPair)

    def pairs(
        self, tenant_id: TenantId, *, after: int = 0, through: int | None = None, limit: int | None = None
    ) -> tuple[StoredPair, ...]:
        sql = "WHERE tenant_id = ? AND sequence_number > ?"
        values: tuple[object, ...] = (tenant_id, after)
        if through is not None:
            sql, values = f"{sql} AND sequence_number <= ?", (*values, through)
        sql += _BY_PLACE
        if limit is not None:
            sql, values = f"{sql} LIMIT ?", (*values, limit)
        return self._all(sql, values, StoredPair)

    def jobs(self, tenant_id: TenantId) -> tuple[TrainingJobRow, ...]:
        return self._all(f"WHERE tenant_id = ?{_BY_PLACE}", (tenant_id,), TrainingJobRow)

    def find_result(self, tenant_id: TenantId, job_id: str) -> TrainingResultRow | None:
        return self._one("WHERE job_id = ? AND tenant_id = ?", (job_id, tenant_id), TrainingResultRow)

    def _items(self, tenant_id: TenantId, *, without: str | None) -> tuple[OpenedItem, ...]:
        sql = "WHERE tenant_id = ?"
        if without is not None:
            sql += (
                f" AND NOT EXISTS (SELECT 1 FROM {without} d"  # noqa: S608 - our constants
                " WHERE d.item_id = root_cause.item_id AND d.tenant_id = root_cause.tenant_id)"
            )
        return self._all(sql + _BY_PLACE, (tenant_id,), OpenedItem)

    def _add_many(self, table: str, columns: tuple[str, ...], rows: Sequence[Row]) -> None:
        """Add rows that come thousands of times a second: one look at all texts of all rows together."""
        keys = [value for row in rows for value in row[:-1] if type(value) is str]
        whole = "".join(keys) + "".join([row[-1] for row in rows])
        if not whole.isascii() or "\0" in whole or max(map(len, keys), default=0) > MAX_KEY_BYTES:
            _verify_each(rows)
        self._session.insert(table, columns, rows)

    def _one(self, rest: str, parameters: tuple[object, ...], kind: type[T]) -> T | None:
        return self._rows.one(kind, rest, parameters)

    def _any(
        self, tenant_id: TenantId, column: str, names: Iterable[str], kind: type[T], rest: str = ""
    ) -> Iterator[T]:
        for part in _filled(names):
            sql = f"WHERE {column} IN ({_marks(part)}) AND tenant_id = ? {rest}"
            yield from self._all(sql, (*part, tenant_id), kind)

    def _all(self, rest: str, parameters: tuple[object, ...], kind: type[T]) -> tuple[T, ...]:
        return self._rows.all(kind, rest, parameters)


def _verify_each(rows: Sequence[Row]) -> None:
    """Raise for the first text that cannot be kept, or by which no row could be found."""
    for row in rows:
        for value in row[:-1]:
            if type(value) is str:
                verify_key("key of a signal", value)
        verify_text("signal", row[-1])


def _filled(names: Iterable[str]) -> Iterator[list[str]]:
    """Each name at least once, in parts whose lengths are powers of two: few statements serve every number of them."""
    waiting = iter(dict.fromkeys(names))
    while part := list(islice(waiting, _AT_ONCE)):
        length = 1 << (len(part) - 1).bit_length()
        yield part + part[-1:] * (length - len(part))


def _marks(part: Sequence[str]) -> str:
    return ", ".join("?" * len(part))
