"""A verdict in the words of its rule: from its entry and the graph of its hash, and no more than may be told."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.flows.errors import NotFoundError
from assay.flows.verdicts.explain_verdict import VerdictExplainer
from assay.flows.verdicts.shelves import GraphShelf
from assay.kernel.key import TrustAnchors
from assay.verdicts.errors import GraphError
from assay.verdicts.predicate import Doubt, Outcome
from tests.flows._node import TENANT
from tests.flows._verdicts import VerdictDesk, opened_verdicts, rule
from tests.verdict_calls import evaluate_many


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[VerdictDesk]:
    with opened_verdicts(tmp_path) as opened:
        opened.judge_by(
            rule("limit", unit="mg"),
            rule("watch", "high"),
            rule("day", kind="must_average_within", value=[0, 20], window_seconds=3600, unit="mg"),
        )
        yield opened


def test_each_obligation_is_told_with_limit_observation_outcome_and_clause(desk: VerdictDesk) -> None:
    """Numbers and units as the graph and the record have them; the window as it was decided."""
    decided = desk.decide({"so2": {"value": 40, "unit": "mg"}})
    told = {one.rule_id: one for one in VerdictExplainer(desk.tools, TENANT).explain(decided)}
    (limit,) = told["limit"].obligations
    assert (limit.predicate, limit.limit, limit.unit, limit.observed, limit.observed_unit, limit.outcome) == (
        "must_not_exceed",
        35,
        "mg",
        40,
        "mg",
        Outcome.BREACHED,
    )
    assert [(one.source_document, one.source_clause) for one in limit.clauses] == [("2010/75/EU", "Annex V")]
    (day,) = told["day"].obligations
    assert (day.window_kind, day.window_seconds, day.observed, day.unit) == ("average", 3600, 40, "mg")
    assert (told["limit"].rule_name, told["limit"].is_graph_kept) == ("The limit rule", True)


@pytest.mark.clause("ski", "5.4")
def test_a_held_verdict_is_explained_without_what_it_came_to(desk: VerdictDesk) -> None:
    """The rule and the record are no secret; the verdict is not one yet."""
    decided = desk.decide({"so2": 40})
    held = next(one for one in VerdictExplainer(desk.tools, TENANT).explain(decided) if one.rule_id == "watch")
    (obligation,) = held.obligations
    assert (obligation.limit, obligation.observed) == (35, 40)
    assert (obligation.outcome, obligation.doubt, held.ruling) == (None, None, None)


def test_what_is_not_measured_is_told_as_missing(desk: VerdictDesk) -> None:
    """No value is made up for it."""
    decided = desk.decide({"nox": 1})
    told = {one.rule_id: one for one in VerdictExplainer(desk.tools, TENANT).explain(decided)}
    (limit,) = told["limit"].obligations
    assert (limit.observed, limit.outcome, limit.doubt) == (None, Outcome.UNDETERMINED, Doubt.MISSING)


def test_a_graph_that_is_not_trusted_any_more_explains_and_never_judges(desk: VerdictDesk) -> None:
    """Reading an old verdict must not bring its graph back into use."""
    decided = desk.decide({"so2": 1})
    desk.use(graphs=GraphShelf(), anchors=TrustAnchors(public_keys=frozenset({b"o" * 32})))
    assert VerdictExplainer(desk.tools, TENANT).explain(decided)[0].rule_name == "The day rule"
    with pytest.raises(GraphError):
        desk.decide({"so2": 1}, name="t-2")


def test_an_entry_that_is_not_there_is_refused(desk: VerdictDesk) -> None:
    """What a caller made up is not explained."""
    decided = desk.decide({"so2": 1})
    forged = replace(decided, verdicts=(replace(decided.verdicts[0], sequence_number=9999),))
    with pytest.raises(NotFoundError, match="entry 9999"):
        VerdictExplainer(desk.tools, TENANT).explain(forged)


def test_whoever_stops_early_begins_nothing_more(desk: VerdictDesk) -> None:
    """With several workers too: what waits is let go, and what was answered is recorded."""
    taken = []

    def lines() -> Iterator[str]:
        for number in range(1000):
            taken.append(number)
            yield f'{{"id":"n-{number}","timestamp":"2026-01-01T00:00:00Z","subject":"nobody","measurement":{{"a":1}}}}'

    desk.settings(fast_path_n=0)
    with closing(evaluate_many(desk.tools, lines(), credential=desk.sensor, workers=2)) as results:
        first = next(results)
    assert first.decided is not None
    assert first.decided.telemetry_id == "n-0"
    assert len(taken) <= 9
