"""What is worth a look, and who may do what: each list says what the flows would do, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.delivery.level import Level
from assay.delivery.tally import AlertRule
from assay.flows.delivery.service_state import ShowState, show_state
from assay.flows.registry.fire_switch import fire_switch
from assay.flows.registry.own_actions import OWN_ACTIONS
from assay.identity.caller import local_caller
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId
from assay.operations.table import BY_NAME
from assay.registry.trip import Fired, FiringCause, SenseFigures
from assay.surfaces.http.guard import needs_of
from assay.surfaces.http.pramana import emit_sense, record_phala
from tests.acting import disable_principal
from tests.contract._kit import refused
from tests.delivering import list_alerts, list_sessions, list_shortfalls, show_session, show_trust
from tests.flows._delivery import BELL, RULE, SLUG, Delivery, opened_delivery
from tests.flows._people import ADMIN, TENANT


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Delivery]:
    with opened_delivery(tmp_path) as delivery:
        yield delivery.ready()


def _may(node: Delivery, name: str) -> tuple[str, ...]:
    return show_trust(node.tools, TENANT, name, at=node.desk.at(minutes=3)).can_execute


@pytest.mark.clause("pramana", "7.1")
def test_what_state_says_it_can_do_is_what_its_routes_do() -> None:
    """The same requirements at the door and in the table, so that neither can say more than the other."""
    routes = {"EMIT_EVENT": emit_sense, "REPORT_OUTCOME": record_phala}
    told = {name: needs_of(route.opt, "POST") for name, route in routes.items()}
    assert told | {"CONCLUDE_ROOT_CAUSE": BY_NAME["rootcause.conclude"].needs} == dict(OWN_ACTIONS)


@pytest.mark.clause("pramana", "7.2")
def test_trust_lists_the_actions_that_would_be_done(node: Delivery) -> None:
    """A reviewer concludes, whoever was granted rules reports, and everybody tells events under their own name."""
    assert show_state(node.tools, local_caller(TENANT, at=node.tools.clock.now()), ShowState()).can_do == tuple(
        sorted(OWN_ACTIONS)
    )
    assert _may(node, "user:amira") == ("EMIT_EVENT",)
    assert _may(node, "user:rita") == ("CONCLUDE_ROOT_CAUSE", "EMIT_EVENT")
    assert _may(node, BELL) == ("EMIT_EVENT", "REPORT_OUTCOME")
    node.grant()
    assert _may(node, BELL) == ("EMIT_EVENT",)
    with refused("delivery.outcome_source"):
        node.report(key="k")


def test_who_is_disabled_may_ask_and_do_nothing(node: Delivery) -> None:
    at = node.desk.at(minutes=2)
    disable_principal(node.tools, TENANT, PrincipalId("user:amira"), by=ADMIN, at=at)
    told = show_trust(node.tools, TENANT, "user:amira", at=node.desk.at(minutes=3))
    assert (told.can_query, told.can_execute) == ((), ())


def test_a_fired_switch_leaves_machines_nothing_to_do(node: Delivery) -> None:
    """People are who sets things right again."""
    figures = SenseFigures(requests=100, errors=50, active_tier=3, self_escalation_attempts=0)
    fired = Fired(
        service_id="assay",
        episode=1,
        cause=FiringCause.ERROR_RATE,
        reason="too many errors",
        snapshot=figures,
        fired_at=node.desk.start,
    )
    fire_switch(node.tools, TENANT, fired, at=node.desk.start)
    assert _may(node, BELL) == ()
    assert "CONCLUDE_ROOT_CAUSE" in _may(node, "user:rita")


@pytest.mark.clause("pramana", "12.8")
def test_an_answer_below_what_its_kind_should_reach_is_listed_with_its_owner(node: Delivery) -> None:
    node.query("vessel.sure", answerer=SLUG, expected_level=Level.AUTHENTIC)
    good, short = node.ask(), node.ask(slug="vessel.sure")
    assert good.body.output == short.body.output
    [found] = list_shortfalls(node.tools, TENANT, limit=9)
    assert (found.answer_id, found.query_type) == (short.answer_id, "vessel.sure")
    assert (found.level, found.expected_level, found.strands_missing) == (Level.PARTIAL, Level.AUTHENTIC, ("proof",))
    assert found.owner == "user:olga"
    assert list_shortfalls(node.tools, TENANT, limit=9, slug=SLUG) == ()
    second = node.ask(slug="vessel.sure")
    pages = list_shortfalls(node.tools, TENANT, limit=1)
    assert [one.answer_id for one in pages] == [short.answer_id, second.answer_id]


def test_rules_with_bad_outcomes_are_listed_the_worst_first(node: Delivery) -> None:
    """Also where no run of failures ever opened a root cause: every other one is enough."""
    node.rule("MAR-2", "another rule")
    for number in range(6):
        node.report("failure" if number % 2 else "success", key=f"a{number}")
        node.report("failure" if number % 3 else "success", key=f"b{number}", rule_id="MAR-2")
    found = list_alerts(node.tools, TENANT, AlertRule(min_total=6, min_confidence=0.6))
    assert [(one.alert.rule_id, one.item_id) for one in found] == [("MAR-2", None), (RULE, None)]
    assert list_alerts(node.tools, TENANT) == ()
    assert list_alerts(node.tools, TENANT, AlertRule(min_total=7)) == ()


@pytest.mark.clause("pramana", "12.9")
def test_sessions_are_listed_and_each_shows_its_signals(node: Delivery) -> None:
    node.report("success", key="a", session_id="night")
    node.report("failure", key="b", session_id="night")
    node.report("success", key="c")
    found = list_sessions(node.tools, TENANT, limit=1)
    assert [(one.session, one.signals) for one in found] == [(f"sender:{BELL}", 1), ("session:night", 2)]
    assert [str(one.outcome) for one in show_session(node.tools, TENANT, "session:night")] == ["success", "failure"]
    with pytest.raises(Error) as unknown:
        show_session(node.tools, TENANT, "session:day")
    assert unknown.value.code == "flow.not_found"
