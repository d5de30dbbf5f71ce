"""The kill switch is latched: errors take power away at once, and only a person gives it back."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from assay.identity.principal import PrincipalKind
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.registry.errors import RegistryError
from assay.registry.health import Outcome, OutcomeWindow, Totals
from assay.registry.tier import decide
from assay.registry.trip import (
    Fired,
    FiringCause,
    Restored,
    SenseFigures,
    Switch,
    SwitchRule,
    SwitchState,
    active_tier,
    figures_of,
    follow,
    judge,
    pull,
    restore,
    restore_ticket,
    self_test,
)
from assay.review.kind import OnExpiry, TicketKind
from assay.review.ticket import Ticket
from tests.identity.people import NOON, later
from tests.raising import is_of, raises
from tests.registry.fleet import AGENT, admin, ask, make_grant, make_power, settled, ticket_for
from tests.review.desk import make_ticket, reviewer

_RULE = SwitchRule()
_SWITCH = Switch(service_id="mari8x-backend")
_PERSON = PrincipalId("user:amira")


def _figures(requests: int, errors: int) -> SenseFigures:
    return SenseFigures(requests=requests, errors=errors, active_tier=3)


def _firing(switch: Switch = _SWITCH, at: Instant = NOON) -> Fired:
    _, fired = judge(switch, _RULE, _figures(100, 50), at=at)
    assert fired is not None
    return fired


@pytest.mark.clause("forja", "kill-switch")
@pytest.mark.parametrize(
    ("requests", "errors", "state"),
    [
        (49, 49, SwitchState.ARMED),
        (50, 0, SwitchState.ARMED),
        (50, 1, SwitchState.WARN),
        (50, 2, SwitchState.FIRED),
        (100, 2, SwitchState.WARN),
        (100, 3, SwitchState.FIRED),
        (200, 1, SwitchState.ARMED),
        (200, 2, SwitchState.WARN),
        (200, 5, SwitchState.FIRED),
    ],
)
def test_the_switch_fires_above_two_per_cent_of_at_least_fifty(requests: int, errors: int, state: SwitchState) -> None:
    """Exactly 2 % is not above; it warns from half of that on."""
    found, fired = judge(_SWITCH, _RULE, _figures(requests, errors), at=NOON)
    assert found is state
    assert (fired is not None) == (state is SwitchState.FIRED)


@pytest.mark.clause("forja", "kill-switch")
def test_a_firing_keeps_the_figures_and_leaves_reading_alone() -> None:
    fired = _firing()
    after = follow(_SWITCH, [fired])
    assert fired.snapshot == _figures(100, 50)
    assert (fired.cause, fired.episode, fired.fired_by) == (FiringCause.ERROR_RATE, 1, None)
    assert [active_tier(after, _RULE, tier) for tier in (0, 1, 2, 3)] == [0, 1, 1, 1]
    assert [active_tier(_SWITCH, _RULE, tier) for tier in (0, 1, 2, 3)] == [0, 1, 2, 3]


@pytest.mark.clause("forja", "kill-switch")
@given(figures=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=20))
def test_no_figures_open_a_fired_switch(figures: list[tuple[int, int]]) -> None:
    after = follow(_SWITCH, [_firing()])
    for requests, errors in figures:
        assert judge(after, _RULE, _figures(requests, errors), at=later(hours=9)) == (SwitchState.FIRED, None)


def test_a_threshold_of_zero_fires_on_the_first_error() -> None:
    rule = SwitchRule(error_rate_threshold="0", min_requests=1)
    assert judge(_SWITCH, rule, _figures(10**6, 0), at=NOON) == (SwitchState.ARMED, None)
    assert judge(_SWITCH, rule, _figures(10**6, 1), at=NOON)[0] is SwitchState.FIRED


def test_a_disabled_switch_fires_by_hand_only() -> None:
    rule = SwitchRule(enabled=False)
    assert judge(_SWITCH, rule, _figures(100, 100), at=NOON) == (SwitchState.ARMED, None)
    fired = pull(_SWITCH, _figures(0, 0), reason="a drill", by=_PERSON, at=NOON)
    assert fired is not None
    assert (fired.cause, fired.fired_by) == (FiringCause.MANUAL, _PERSON)
    assert pull(follow(_SWITCH, [fired]), _figures(0, 0), reason="again", by=_PERSON, at=NOON) is None


@pytest.mark.parametrize("reason", ["", " ", "x" * 501])
def test_whoever_pulls_the_switch_says_why(reason: str) -> None:
    with raises(RegistryError.switch_rule):
        pull(_SWITCH, _figures(0, 0), reason=reason, by=_PERSON, at=NOON)


@pytest.mark.clause("forja", "kill-switch")
def test_a_person_restores_by_answering_the_ticket_about_this_firing() -> None:
    fired = _firing()
    ticket = ticket_for(fired)
    fact = restore(
        follow(_SWITCH, [fired]), ticket, settled(ticket, (_PERSON, "restore")), reviewer(), at=later(minutes=5)
    )
    assert fact.restored_by == (_PERSON,)
    after = follow(_SWITCH, [fired, fact])
    assert (after.is_fired, after.episode, after.restored_at) == (False, 1, later(minutes=5))
    assert follow(after, [_firing(after)]).episode == 2


def test_no_time_out_answers_the_ticket() -> None:
    draft = restore_ticket(_firing(), eligible_roles=("ops_team",), opened_by=AGENT)
    assert (draft.kind, draft.on_expiry, draft.about) == (TicketKind.RESTORE, None, "mari8x-backend#1")
    assert ticket_for(_firing()).on_expiry is OnExpiry.STAY_OPEN


def _another_episode(ticket: Ticket) -> Any:  # noqa: ANN401  a bundle of arguments
    old = ticket_for(replace(_firing(), episode=7), seed=1)
    return old, settled(old, (_PERSON, "restore")), reviewer(), ticket.opened_at


_REFUSED: dict[str, Any] = {
    "no answer": lambda ticket: (ticket, settled(ticket), reviewer(), NOON),
    "kept restricted": lambda ticket: (ticket, settled(ticket, (_PERSON, "keep_restricted")), reviewer(), NOON),
    "an agent": lambda ticket: (
        ticket, settled(ticket, (AGENT, "restore")), admin("ai:planner", PrincipalKind.AGENT), NOON,
    ),
    "someone who did not answer": lambda ticket: (
        ticket, settled(ticket, (_PERSON, "restore")), reviewer("user:other"), NOON,
    ),
    "someone disabled": lambda ticket: (
        ticket, settled(ticket, (_PERSON, "restore")), reviewer(disabled_at=NOON), NOON,
    ),
    "before it fired": lambda ticket: (
        ticket, settled(ticket, (_PERSON, "restore")), reviewer(), later(seconds=-1),
    ),
    "another firing": _another_episode,
    "another ticket's settlement": lambda ticket: (
        ticket, settled(ticket_for(_firing(), seed=1), (_PERSON, "restore")), reviewer(), NOON,
    ),
    "another kind of ticket": lambda ticket: (
        make_ticket(shown=ticket.shown), settled(ticket, (_PERSON, "restore")), reviewer(), NOON,
    ),
}  # fmt: skip


@pytest.mark.clause("forja", "kill-switch")
@pytest.mark.parametrize("case", _REFUSED)
def test_nothing_else_restores(case: str) -> None:
    fired = _firing()
    ticket, settlement, by, at = _REFUSED[case](ticket_for(fired))
    with raises(RegistryError.restore) as caught:
        restore(follow(_SWITCH, [fired]), ticket, settlement, by, at=at)
    assert caught.value.code == "registry.restore"


def test_what_is_not_fired_is_not_restored() -> None:
    ticket = ticket_for(_firing())
    with raises(RegistryError.restore, match="not fired"):
        restore(_SWITCH, ticket, settled(ticket, (_PERSON, "restore")), reviewer(), at=NOON)


def test_facts_must_follow_one_another() -> None:
    """A second worker's word about the same firing changes nothing; everything else out of order is damage."""
    fired = _firing()
    twice = replace(fired, fired_at=later(seconds=1))
    assert follow(_SWITCH, [fired, twice]) == follow(_SWITCH, [fired])
    forged = Restored(
        service_id="mari8x-backend",
        episode=1,
        fired_hash=ticket_for(twice).shown_hash,
        ticket_id=ticket_for(fired).id,
        restored_by=(),
        restored_at=NOON,
    )
    wrong: list[list[Fired | Restored]] = [
        [replace(fired, episode=2)],
        [fired, replace(fired, episode=2)],
        [fired, forged],
        [forged],
        [replace(fired, service_id="other")],
    ]
    for facts in wrong:
        with raises(RegistryError.switch_history):
            follow(_SWITCH, facts)


@pytest.mark.parametrize(
    "fields",
    [{"error_rate_threshold": text} for text in ("-0.1", "1", "2", "x", "", "nan", "1/0", "1/50", None)]
    + [{"min_requests": 0}, {"min_requests": True}, {"fallback_tier": 2}, {"fallback_tier": -1}],
)
def test_a_rule_that_would_not_protect_is_refused(fields: dict[str, Any]) -> None:
    """A fallback above reading would leave writes open."""
    with raises(RegistryError.switch_rule):
        SwitchRule(**fields)


@pytest.mark.clause("forja", "kill-switch")
@pytest.mark.parametrize("threshold", ["0.29", 0.29])
def test_a_threshold_is_what_its_digits_say_however_it_is_given(threshold: Any) -> None:  # noqa: ANN401  also a number, as the protocol's own option is
    rule = SwitchRule(error_rate_threshold=threshold)
    assert judge(_SWITCH, rule, _figures(100, 29), at=NOON)[1] is None
    assert judge(_SWITCH, rule, _figures(100, 30), at=NOON)[1] is not None


def test_the_self_test_fires_a_spare_switch() -> None:
    assert self_test(_RULE, at=NOON)
    assert self_test(SwitchRule(fallback_tier=0, min_requests=1, error_rate_threshold="0.5"), at=NOON)
    assert not self_test(SwitchRule(enabled=False), at=NOON)


def test_figures_come_from_totals() -> None:
    assert figures_of(Totals(requests=9, errors=2), active_tier=3, attempts=4) == SenseFigures(
        requests=9, errors=2, active_tier=3, self_escalation_attempts=4
    )


class SwitchMachine(RuleBasedStateMachine):
    """Agents, outcomes, time, wrong answers and right ones in any order; the facts alone are kept between steps."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOON
        self.window = OutcomeWindow()
        self.facts: list[Fired | Restored] = []
        self.person_restored = 0
        self.grant = make_grant()
        self.attempts = 0

    @property
    def switch(self) -> Switch:
        return follow(_SWITCH, self.facts)

    @property
    def active(self) -> int:
        return active_tier(self.switch, _RULE, 3)

    def _figures(self) -> SenseFigures:
        return figures_of(self.window.totals(self.now), active_tier=self.active, attempts=self.attempts)

    @rule(count=st.integers(1, 80), failed=st.booleans())
    def outcomes(self, count: int, failed: bool) -> None:  # noqa: FBT001  a drawn value
        for _ in range(count):
            self.window.observe(Outcome.FAILED if failed else Outcome.SERVED, self.now)
        _, fired = judge(self.switch, _RULE, self._figures(), at=self.now)
        self.facts += [fired] if fired else []

    @rule(seconds=st.integers(0, 10**6))
    def time_passes(self, seconds: int) -> None:
        self.now = Instant(self.now + timedelta(seconds=seconds))

    @rule()
    def pull(self) -> None:
        fired = pull(self.switch, self._figures(), reason="by hand", by=_PERSON, at=self.now)
        self.facts += [fired] if fired else []

    @rule(tier=st.none() | st.integers(0, 9), mask=st.none() | st.integers(0, 2**32 - 1))
    def an_agent_asks(self, tier: int | None, mask: int | None) -> None:
        before = self.grant
        request = ask(requested_tier=tier, requested_mask=mask)
        ruling = decide(self.grant, make_power(active_tier=self.active), request)
        self.attempts += ruling.counted
        assert self.grant == before
        if ruling.allowed:
            assert not self.switch.is_fired

    @precondition(lambda self: self.switch.is_fired)
    @rule(choice=st.sampled_from(["restore", "keep_restricted"]), agent=st.booleans())
    def somebody_answers(self, choice: str, agent: bool) -> None:  # noqa: FBT001  a drawn value
        switch = self.switch
        assert switch.fired is not None
        ticket = ticket_for(switch.fired)
        by = admin("ai:planner", PrincipalKind.AGENT) if agent else reviewer()
        settlement = settled(ticket, (by.id, choice), at=self.now)
        try:
            self.facts.append(restore(switch, ticket, settlement, by, at=self.now))
        except RegistryError as refused:
            if not is_of(refused, RegistryError.restore):
                raise
            return
        assert (choice, agent) == ("restore", False)
        self.person_restored += 1
        self.window = self.window.after(self.now)

    @invariant()
    def every_opening_had_a_person(self) -> None:
        fired = sum(isinstance(fact, Fired) for fact in self.facts)
        assert self.switch.is_fired == (fired > self.person_restored)
        assert self.active == (1 if self.switch.is_fired else 3)


TestSwitchMachine = SwitchMachine.TestCase
TestSwitchMachine.settings = settings(stateful_step_count=30, max_examples=40, deadline=None)
