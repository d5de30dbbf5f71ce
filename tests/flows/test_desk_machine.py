"""Whatever people, machines and time do to a ticket, in whatever order: it is decided once, and by those who may."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.review.act_review import Wish, act_review, claim_wish, release_wish, undo_wish
from assay.flows.review.desk_settings import DeskSettings
from assay.flows.review.settle_reviews import settle_reviews
from assay.flows.review.show_timeline import TimelineEntry
from assay.identity.principal import PrincipalKind
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import PrincipalId
from assay.review.kind import TicketKind
from assay.review.lease import live_leases
from assay.review.settle import Settlement
from assay.review.ticket import Ticket
from tests.acting import caller_of, issue_api_key, looking, timeline_of
from tests.flows._people import ADMIN, TENANT, Desk, opened_desk
from tests.scale import scale

REVIEWERS = ("user:amira", "user:bo", "user:carl")
REQUESTER, MACHINE = "user:ana", "ai:planner"
ACTORS = st.sampled_from((*REVIEWERS, REQUESTER, MACHINE))
SETTINGS = DeskSettings(
    escalate_before=timedelta(minutes=10),
    longest_lease=timedelta(minutes=30),
    grace={TicketKind.APPROVAL: timedelta(minutes=2)},
)


def _ready(desk: Desk) -> tuple[Desk, dict[str, str]]:
    """Everybody holds the role, so that nothing but who they are keeps them away."""
    for name in (*REVIEWERS, REQUESTER):
        desk.add(name)
    desk.add(MACHINE, kind=PrincipalKind.AGENT)
    tokens = {name: desk.session(name) for name in (*REVIEWERS, REQUESTER)}
    tokens[MACHINE], _ = issue_api_key(desk.tools, TENANT, PrincipalId(MACHINE), by=ADMIN, at=desk.start)
    return replace(desk, tools=replace(desk.tools, desk=SETTINGS)), tokens


class AtTheDesk(RuleBasedStateMachine):
    """One ticket, with everybody and the clock at it; a test gives it a desk."""

    desk: ClassVar[Desk]
    tokens: ClassVar[dict[str, str]]
    ticket: Ticket

    def __init__(self) -> None:
        super().__init__()
        self.minutes = 0.0
        self.settled: Settlement | None = None

    @initialize(quorum=st.integers(1, 2), graceful=st.booleans())
    def open(self, quorum: int, graceful: bool) -> None:  # noqa: FBT001 - hypothesis gives it by name
        kind = TicketKind.APPROVAL if graceful else TicketKind.KNOWLEDGE_REVIEW
        self.ticket = self.desk.ticket(kind=kind, quorum=quorum, requested_by=PrincipalId(REQUESTER))

    @rule(minutes=st.sampled_from((3.0, 0.5, 1.0, 20.0)), sweeps=st.booleans())
    def wait(self, minutes: float, sweeps: bool) -> None:  # noqa: FBT001 - hypothesis gives it by name
        self.minutes = min(self.minutes + minutes, 90.0)
        if sweeps:
            settle_reviews(self.desk.tools, TENANT, at=self.desk.at(minutes=self.minutes))

    @rule(actor=ACTORS)
    def claim(self, actor: str) -> None:
        self._try(actor, lambda: self._act(actor, claim_wish(self.desk.tools, timedelta(minutes=5))))

    @rule(actor=ACTORS, holder=st.sampled_from((None, *REVIEWERS)))
    def release(self, actor: str, holder: str | None) -> None:
        whose = None if holder is None else PrincipalId(holder)
        self._try(actor, lambda: self._act(actor, release_wish(whose)))

    @rule(actor=ACTORS, accept=st.booleans())
    def answer(self, actor: str, accept: bool) -> None:  # noqa: FBT001 - hypothesis gives it by name
        choice = self.ticket.choices[0 if accept else 1]
        at = self.desk.at(minutes=self.minutes)
        self._try(actor, lambda: self.desk.answer(self.ticket, self.tokens[actor], choice, reason="so", at=at))

    @rule(actor=ACTORS)
    def undo(self, actor: str) -> None:
        self._try(actor, lambda: self._act(actor, undo_wish()))

    @rule(actor=ACTORS, accept=st.booleans())
    def answer_and_let_it_count(self, actor: str, accept: bool) -> None:  # noqa: FBT001 - hypothesis gives it by name
        self.answer(actor, accept)
        self.wait(3.0, True)

    @invariant()
    def holds(self) -> None:
        at, ticket = self.desk.at(minutes=self.minutes), self.ticket
        answers = self.desk.read(lambda unit: unit.review.answers(TENANT, ticket.id))
        by = [one.by for one in answers] + self._holders()
        assert set(by) <= set(REVIEWERS)
        assert len(by) == len(set(by))
        assert len(live_leases(self.desk.read(lambda unit: unit.desk.leases(TENANT, ticket.id)), at)) <= ticket.quorum
        self._is_decided_once([one.by for one in answers])

    def teardown(self) -> None:
        """The ledger has every step once, and never one after the decision but what lapsed."""
        steps = timeline_of(self.desk.tools, looking(None), self.ticket.id)
        kinds = [one.kind for one in steps]
        assert kinds.count("ticket.opened") == 1
        assert kinds.count("ticket.settled") <= 1
        assert kinds.count("ticket.escalated") <= 2
        assert not {one.by for one in steps} & {REQUESTER, MACHINE}
        if "ticket.settled" in kinds:
            after = set(kinds[kinds.index("ticket.settled") + 1 :])
            assert after <= {"ticket.answer_lapsed", "ticket.answer_undone"}
        self._answers_are_accounted_for(steps)

    def _is_decided_once(self, answered: list[str]) -> None:
        recorded = self.desk.read(lambda unit: unit.review.find_settlement(TENANT, self.ticket.id))
        if self.settled is not None:
            assert recorded == self.settled
        self.settled = recorded
        if recorded is not None and recorded.state == "settled":
            assert {name for tally in recorded.counted for name in tally.by} <= set(answered)

    def _answers_are_accounted_for(self, steps: tuple[TimelineEntry, ...]) -> None:
        """Each held answer counts, was undone, lapsed, or still waits; none comes twice."""
        kinds = [one.kind for one in steps]
        waiting = len(self._holders())
        ended = kinds.count("ticket.answer_undone") + kinds.count("ticket.answer_lapsed")
        counted = kinds.count("ticket.answered") if self.ticket.kind is TicketKind.APPROVAL else 0
        assert kinds.count("ticket.answer_held") == counted + ended + waiting

    def _holders(self) -> list[str]:
        """Whose answers do not count yet."""
        ticket = self.ticket
        names = [PrincipalId(name) for name in self.tokens]
        return self.desk.read(
            lambda unit: [name for name in names if unit.desk.find_held(TENANT, ticket.id, name) is not None]
        )

    def _act(self, actor: str, wish: Wish) -> object:
        at = self.desk.at(minutes=self.minutes)
        return act_review(self.desk.tools, caller_of(self.desk.tools, self.tokens[actor], at=at), self.ticket.id, wish)

    def _try(self, actor: str, work: Callable[[], object]) -> None:
        """Refusals are answers; to the requester and the machine there is no other."""
        try:
            work()
        except Error as error:
            if error.blame is Blame.OURS:
                raise
            return
        assert actor in REVIEWERS


def test_no_order_of_events_decides_twice_or_lets_a_machine_or_the_requester_in(tmp_path: Path) -> None:
    """On a real node; the whole ledger verifies at the end."""
    with opened_desk(tmp_path) as opened:
        desk, tokens = _ready(opened)
        run_state_machine_as_test(
            type("AtThisDesk", (AtTheDesk,), {"desk": desk, "tokens": tokens}),
            settings=settings(
                max_examples=scale(15, 300),
                stateful_step_count=scale(14, 40),
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
        assert audit_ledger(desk.tools, TENANT).holds
