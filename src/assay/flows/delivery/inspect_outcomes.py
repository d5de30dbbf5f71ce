"""What is worth a look: answers below what their kind should reach, rules whose outcomes are bad, and sessions."""

from msgspec import Struct

from assay.delivery.level import Level
from assay.delivery.rule import RuleId
from assay.delivery.tally import Alert, AlertRule, check_alert
from assay.flows.delivery.answer_record import AnswerRecord
from assay.flows.delivery.delivery_entry import read_text
from assay.flows.delivery.rule_counters import tally_of
from assay.flows.tools import Tools
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.delivery_store import DeliveredAnswer, ReportingSession

__all__ = ["RuleAlert", "ShortAnswer", "list_alerts", "list_sessions", "list_shortfalls"]


class ShortAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer below the level that its kind of question should reach, and whose business that is."""

    answer_id: str
    query_type: str
    level: Level
    expected_level: Level
    strands_missing: tuple[str, ...]
    owner: PrincipalId | None
    answered_at: Instant
    sequence_number: int


class RuleAlert(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule whose outcomes are worth a look; `item_id` where a root cause is open about it already."""

    alert: Alert
    item_id: str | None


def list_shortfalls(
    tools: Tools, tenant_id: TenantId, *, after: int = 0, limit: int, slug: str | None = None
) -> tuple[ShortAnswer, ...]:
    """The oldest first, those recorded after that entry; of one kind of question, or of all."""

    def work(unit: Unit) -> tuple[ShortAnswer, ...]:
        rows = unit.delivery.short_answers(tenant_id, after=after, limit=limit, query_type=slug)
        return tuple(map(_short, rows))

    return tools.database.read(work)


def list_alerts(tools: Tools, tenant_id: TenantId, rule: AlertRule | None = None) -> tuple[RuleAlert, ...]:
    """Every rule that the alert rule is about, the least confidence first."""

    def work(unit: Unit) -> list[RuleAlert]:
        found = []
        for row in unit.delivery.counters(tenant_id):
            alert = check_alert(RuleId(row.rule_id), tally_of(row), rule or AlertRule())
            if alert is not None:
                found.append(RuleAlert(alert=alert, item_id=row.item_id))
        return found

    return tuple(sorted(tools.database.read(work), key=lambda one: (one.alert.confidence, one.alert.rule_id)))


def list_sessions(tools: Tools, tenant_id: TenantId, *, after: str = "", limit: int) -> tuple[ReportingSession, ...]:
    """Sessions that told outcomes, by name, from the one after `after` on; `show_session` has the signals of one."""
    return tools.database.read(lambda unit: unit.delivery.sessions(tenant_id, after=after, limit=limit))


def _short(row: DeliveredAnswer) -> ShortAnswer:
    record = read_text(row.text, AnswerRecord)
    owner = None if record.shortfall is None else record.shortfall.owner
    return ShortAnswer(
        answer_id=row.answer_id,
        query_type=row.query_type,
        level=record.annotation.authenticity_level,
        expected_level=Level(str(row.short_of)),
        strands_missing=tuple(record.annotation.strands_missing),
        owner=owner,
        answered_at=row.answered_at,
        sequence_number=row.sequence_number,
    )
