"""Rows of delivery, as a flow would add them."""

from assay.kernel.digest import digest_of
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
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
from tests.contract._kit import AT
from tests.contract._records import ACME
from tests.contract._unchecked import put

__all__ = [
    "BELL",
    "answer",
    "asked",
    "certified",
    "concluded",
    "counters",
    "fill_delivery",
    "finding",
    "grant",
    "item",
    "job",
    "pair",
    "proposed",
    "query",
    "result",
    "rule",
    "rule_signal",
    "signal",
]

BELL = PrincipalId("service:bell")


def rule(version: int = 1, name: str = "MAR-1", *, place: int = 1) -> RecordedRule:
    hashed = digest_of(f"{name} {version}".encode())
    return RecordedRule(
        rule_id=name, version=version, content_hash=hashed, text="{}", content=f"{version}", sequence_number=place
    )


def certified(version: int = 1, *, place: int = 2) -> CertifiedRule:
    return CertifiedRule(rule_id="MAR-1", version=version, text="{}", sequence_number=place)


def query(version: int = 1, slug: str = "vessel.status", *, place: int = 3) -> RecordedQuery:
    return RecordedQuery(slug=slug, version=version, text="{}", sequence_number=place)


def grant(text: str = "{}", *, place: int = 4) -> GrantedReporter:
    return GrantedReporter(principal_id=BELL, text=text, by=PrincipalId("user:olga"), sequence_number=place)


def answer(
    name: str = "ans_1", *, place: int = 5, slug: str = "vessel.status", short_of: str | None = None
) -> DeliveredAnswer:
    return DeliveredAnswer(
        answer_id=name,
        query_type=slug,
        asked_by=PrincipalId("user:amira"),
        level="PRAMANA-2",
        text="{}",
        answered_at=AT,
        sequence_number=place,
        short_of=short_of,
    )


def signal(
    name: str = "sig_1", *, session: str = "session:s", place: int = 6, answer_id: str | None = "ans_1"
) -> StoredSignal:
    return StoredSignal(
        signal_id=name,
        content_hash=digest_of(name.encode()),
        session=session,
        answer_id=answer_id,
        text="{}",
        received_at=AT,
        sequence_number=place,
    )


def rule_signal(
    name: str = "sig_1",
    outcome: str = "failure",
    *,
    rule_id: str = "MAR-1",
    version: int | None = 1,
    place: int = 6,
    at: Instant = AT,
) -> RuleSignal:
    return RuleSignal(
        rule_id=rule_id,
        sequence_number=place,
        rule_version=version,
        signal_id=name,
        outcome=outcome,
        session="session:s",
        occurred_at=at,
        received_at=at,
    )


def counters(total: int = 1, rule_id: str = "MAR-1", *, until: Instant | None = None, place: int = 6) -> RuleCounters:
    return RuleCounters(
        rule_id=rule_id,
        total=total,
        success=0,
        failure=total,
        partial=0,
        indeterminate=0,
        consecutive_failures=total,
        tainted_success=0,
        streak=total,
        item_id=None if until is None else "rca_1",
        absorbed=0,
        batched_until=until,
        sequence_number=place,
    )


def item(name: str = "rca_1", *, place: int = 7) -> OpenedItem:
    return OpenedItem(item_id=name, rule_id="MAR-1", text="{}", opened_at=AT, sequence_number=place)


def asked(name: str = "rca_1", *, place: int = 8) -> AskedPeople:
    return AskedPeople(item_id=name, ticket_id=f"tkt_{name}", text="{}", sequence_number=place)


def concluded(name: str = "rca_1", *, category: str = "C", version: int = 1, place: int = 9) -> ConcludedItem:
    return ConcludedItem(
        item_id=name,
        rule_id="MAR-1",
        rule_version=version,
        failure_category=category,
        text="{}",
        pair_id="pair_1",
        sequence_number=place,
    )


def proposed(name: str = "rca_1", *, place: int = 10) -> ProposedRule:
    return ProposedRule(item_id=name, rule_id="MAR-1", ticket_id="tkt_p", text="{}", sequence_number=place)


def finding(text: str = "{}", *, place: int = 11) -> AnswerFinding:
    return AnswerFinding(answer_id="ans_1", text=text, sequence_number=place)


def pair(name: str = "pair_1", *, place: int = 12) -> StoredPair:
    return StoredPair(pair_id=name, rule_id="MAR-1", item_id="rca_1", text="{}", sequence_number=place)


def job(name: str = "job_1", *, through: int = 12, place: int = 13) -> TrainingJobRow:
    return TrainingJobRow(job_id=name, through=through, pairs=1, text="{}", triggered_at=AT, sequence_number=place)


def result(name: str = "job_1") -> TrainingResultRow:
    return TrainingResultRow(job_id=name, text="{}", finished_at=AT, sequence_number=14)


def fill_delivery(unit: Unit) -> None:
    """One row at least in every table."""
    store = unit.delivery
    put(unit, ACME, rule())
    put(unit, ACME, certified())
    put(unit, ACME, query())
    put(unit, ACME, grant())
    put(unit, ACME, answer())
    store.add_signals(ACME, [signal()])
    store.add_rule_signals(ACME, [rule_signal()])
    store.put_counters(ACME, [counters()])
    put(unit, ACME, item())
    put(unit, ACME, asked())
    put(unit, ACME, concluded())
    put(unit, ACME, proposed())
    store.add_findings(ACME, [finding()])
    put(unit, ACME, pair())
    put(unit, ACME, job())
    put(unit, ACME, result())
