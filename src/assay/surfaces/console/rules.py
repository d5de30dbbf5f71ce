"""Rules and what came of them: counters, and the same by day."""

from litestar import get
from litestar.params import FromPath
from litestar.response import Response

from assay.delivery.tally import Point
from assay.flows.delivery.rules import ListRules, RuleLine, ShowRule
from assay.flows.request import MOST_ITEMS, Page
from assay.surfaces.console.page import render_page
from assay.surfaces.console.session import GivenVisit, Visit, needs


@get("/rules", opt=needs("rules.list"))
async def list_rule_lines(visit: GivenVisit) -> Response[bytes]:
    """Those worth a look first."""
    found = await visit.desk.run(lambda: _every_rule(visit))
    rows = sorted(found, key=lambda one: (one.alert is None and one.item_id is None, one.rule_id))
    return render_page("rules.html", visit, rows=rows)


@get("/rules/{rule_id:path}", opt=needs("rule.show"))
async def show_rule_record(visit: GivenVisit, rule_id: FromPath[str]) -> Response[bytes]:
    """Its text, its versions, who stands by them, and its outcomes over time."""
    wanted = ShowRule(rule_id=rule_id.removeprefix("/"))
    shown = await visit.desk.run(lambda: visit.perform("rule.show", wanted))
    return render_page("rule.html", visit, shown=shown, columns=_columns(shown.series))


def _every_rule(visit: Visit) -> list[RuleLine]:
    found: list[RuleLine] = []
    cursor: str | None = None
    while True:
        page: Page[RuleLine] = visit.perform("rules.list", ListRules(limit=MOST_ITEMS, cursor=cursor))
        found += page.items
        cursor = page.next
        if cursor is None:
            return found


def _columns(series: tuple[Point, ...]) -> list[list[float]]:
    """As the chart takes them: seconds, then one row for each outcome."""
    return [
        [point.starts_at.timestamp() for point in series],
        [point.tally.success for point in series],
        [point.tally.failure for point in series],
        [point.tally.partial + point.tally.indeterminate for point in series],
    ]
