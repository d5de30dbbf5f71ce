"""What reviewers did is measured from their recorded answers; each sees their own figures."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from assay.claims.bundle import Decision, UncertaintyMethod
from assay.claims.errors import ClaimsError
from assay.claims.oversight.exchange import KeptWatches
from assay.claims.oversight.reviewers import AlarmKind
from assay.flows.claims import sampling
from assay.flows.claims.calibrate import CalibratePolicy, LabelledCase, calibrate_policy, parse_lines
from assay.flows.claims.claims_facts import active_policy
from assay.flows.claims.claims_ticket import sample_about
from assay.flows.claims.oversight import ListLabels, MeasureOversight, labels, oversight
from assay.flows.claims.sampling import (
    CheckSample,
    LabelOutput,
    PlanSample,
    SampleStanding,
    check_sample,
    label_output,
    plan_sample,
)
from assay.flows.claims.watch_scores import CertifyThresholds, certify_thresholds
from assay.flows.errors.claims import ClaimsFlowError
from assay.flows.review.answer_desk import answer_desk
from assay.flows.review.settle_reviews import settle_reviews
from assay.identity.caller import Caller, local_caller
from assay.identity.risk import RiskTier
from assay.kernel.digest import Digest
from assay.kernel.instant import render_instant
from assay.operations.shown.claims import labels_text, oversight_text
from assay.review.draft import Reply
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket
from tests.acting import caller_of
from tests.flows._claims import ClaimsDesk, copied_claims, opened_claims
from tests.flows._node import TENANT
from tests.raising import raises


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("claims")
    with opened_claims(folder):
        return folder


@pytest.fixture
def desk(template: Path, tmp_path: Path) -> Iterator[ClaimsDesk]:
    with opened_claims(copied_claims(template, tmp_path)) as opened:
        yield opened


def test_figures_come_from_recorded_answers(desk: ClaimsDesk) -> None:
    for number, (by, choice) in enumerate((("user:otto", "approve"), ("user:otto", "reject"), ("user:oda", "approve"))):
        _, (ticket,) = desk.waiting(id=f"3f0c7d52-8f0e-4a38-9a53-0d8f3ad5c{number:03}")
        desk.decide(ticket, by, choice)
    everybody = oversight(desk.tools, local_caller(TENANT, at=desk.at(hours=1)), MeasureOversight())
    assert [(one.reviewer, one.kind, one.tickets) for one in everybody.figures] == [
        ("user:oda", "approval", 1),
        ("user:otto", "approval", 2),
    ]
    otto = everybody.figures[1]
    assert otto.approval.value == 0.5
    assert otto.approval.low < 0.5 < otto.approval.high
    assert (otto.known, otto.kappa, otto.drift, otto.alarms) == (0, None, None, ())
    assert otto.seconds == 120
    own = caller_of(desk.tools, desk.session("user:otto", seconds=600), at=desk.at(minutes=11))
    assert [one.reviewer for one in oversight(desk.tools, own, MeasureOversight()).figures] == ["user:otto"]
    later = MeasureOversight(since=render_instant(desk.at(hours=2)))
    assert oversight(desk.tools, local_caller(TENANT, at=desk.at(hours=3)), later).figures == ()


def test_answers_faster_than_reading_sound_an_alarm(desk: ClaimsDesk) -> None:
    for number in range(8):
        _, (ticket,) = desk.waiting(id=f"3f0c7d52-8f0e-4a38-9a53-0d8f3ad5c{number:03}")
        desk.decide(ticket, "user:otto", at=desk.at(minutes=1, seconds=1))
    (found,) = oversight(desk.tools, local_caller(TENANT, at=desk.at(hours=1)), MeasureOversight()).figures
    assert [one.kind for one in found.alarms] == [AlarmKind.FASTER_THAN_READING]


def _published(desk: ClaimsDesk, number: int) -> Digest:
    given = desk.document(id=f"3f0c7d52-8f0e-4a38-9a53-0d8f3ad5d{number:03}")
    gated = desk.gate(given)
    assert gated.decision is Decision.PUBLISH
    return gated.bundle_hash


def _operator(desk: ClaimsDesk, **when: int) -> Caller:
    return local_caller(TENANT, at=desk.at(**(when or {"hours": 1})))


def _plan(desk: ClaimsDesk, known: float = 0.0, **rates: float) -> SampleStanding:
    asked = PlanSample(rates={RiskTier[name]: rate for name, rate in rates.items()}, known_answers=known)
    return plan_sample(desk.tools, _operator(desk, seconds=30), asked).value


def _sweep(desk: ClaimsDesk, **when: int) -> list[Ticket]:
    sweep = settle_reviews(desk.tools, TENANT, at=desk.at(**(when or {"hours": 1})))
    assert sweep.problem is None
    return [desk.find(one) for one in sweep.opened]


def _answer(desk: ClaimsDesk, ticket: Ticket, by: str, choice: str, **when: int) -> None:
    at = desk.at(**(when or {"hours": 2}))
    token = desk.session(by, seconds=(at - desk.start).total_seconds())
    reply = Reply(choice=choice, seen=ticket.shown_hash, reason="compared it with the log")
    answer_desk(desk.tools, desk.calling(token, at), ticket.id, reply)


def _label(desk: ClaimsDesk, wanted: Digest, label: Literal["right", "wrong"]) -> None:
    label_output(desk.tools, _operator(desk), LabelOutput(bundle_hash=wanted, label=label, reason="seen on site"))


def test_published_outputs_are_drawn_for_blind_review_by_a_seed_committed_before(desk: ClaimsDesk) -> None:
    """Each once; the ticket tells no decision; the seed is revealed by the next plan, and then the draw is checked."""
    before = _published(desk, 0)
    plan = _plan(desk, READ_ONLY=0.5)
    hashes = [_published(desk, number) for number in range(1, 17)]
    tickets = _sweep(desk)
    drawn = {sample_about(one) for one in tickets}
    assert before not in drawn
    assert 1 <= len(drawn) < len(hashes)
    assert drawn < {*hashes}
    assert _sweep(desk) == []
    assert not any(word in ticket.shown for ticket in tickets for word in ("PUBLISH", "so far", "policy:"))
    assert all("known" in ticket.shown for ticket in tickets)
    with raises(ClaimsError.sample, match="in force"):
        check_sample(desk.tools, _operator(desk), CheckSample(plan_id=plan.plan.id))
    _plan(desk)
    found = check_sample(desk.tools, _operator(desk), CheckSample(plan_id=plan.plan.id))
    assert (found.outputs, found.drawn) == (16, len(drawn))


def test_a_draw_that_left_something_out_is_found(desk: ClaimsDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _plan(desk, READ_ONLY=1.0)
    left_out = [_published(desk, number) for number in range(4)][2]
    with monkeypatch.context() as patch:
        patch.setattr(sampling, "is_drawn", lambda _plan, _seed, wanted, _tier: wanted != left_out)
        patch.setattr(sampling, "_QUIET_DECISIONS", 1)
        _sweep(desk)
    _plan(desk)
    with raises(ClaimsError.sample, match="another for"):
        check_sample(desk.tools, _operator(desk), CheckSample(plan_id=plan.plan.id))


def test_known_answers_are_asked_like_the_others_and_give_kappa(desk: ClaimsDesk) -> None:
    """Of every reviewer who answered ten of them."""
    right = [_published(desk, number) for number in range(6)]
    wrong = [_published(desk, number) for number in range(10, 16)]
    for one in right:
        _label(desk, one, "right")
    for one in wrong:
        _label(desk, one, "wrong")
    _plan(desk, known=1.0, READ_ONLY=1.0)
    fresh = [_published(desk, number) for number in range(20, 32)]
    tickets = _sweep(desk)
    asked = {sample_about(one): one for one in tickets}
    assert {*asked} == {*fresh, *right, *wrong}
    assert [one.about for one in tickets] == sorted(one.about or "" for one in tickets)
    for hashed, ticket in asked.items():
        _answer(desk, ticket, "user:rita", "wrong" if hashed in wrong[:5] else "right")
    (rita,) = oversight(desk.tools, _operator(desk, hours=3), MeasureOversight()).figures
    assert (rita.kind, rita.tickets, rita.known) == ("sample", 24, 12)
    assert rita.kappa is not None
    assert rita.kappa.low < rita.kappa.value < 1.0
    cases = labels(desk.tools, _operator(desk, hours=3), ListLabels()).cases
    assert sum(one.wrong for one in cases) == 6
    assert {one.source for one in cases} == {"blind", "label"}
    assert len(cases) == 24
    lines = parse_lines(labels_text(labels(desk.tools, _operator(desk), ListLabels())))
    calibrate_policy(None, _operator(desk), CalibratePolicy(cases=msgspec.convert(lines, tuple[LabelledCase, ...])))


def test_an_approval_is_known_wrong_by_a_blind_review_of_somebody_else(desk: ClaimsDesk) -> None:
    desk.add("user:ole", roles=("ops_team", "reviewer"))
    _plan(desk, DELETE=1.0)
    _, (ticket,) = desk.waiting()
    desk.decide(ticket, "user:ole")
    (blind,) = _sweep(desk)
    with raises(ClaimsFlowError.not_blind):
        _answer(desk, blind, "user:ole", "right")
    _answer(desk, blind, "user:rita", "wrong")
    figures = oversight(desk.tools, _operator(desk, hours=3), MeasureOversight()).figures
    assert [(one.reviewer, one.kind, one.known) for one in figures] == [
        ("user:ole", "approval", 1),
        ("user:rita", "sample", 0),
    ]


def test_a_waiting_bundle_that_is_labelled_wrong_is_never_published(desk: ClaimsDesk) -> None:
    gated, (ticket,) = desk.waiting()
    _label(desk, gated.bundle_hash, "wrong")
    assert desk.decide(ticket, "user:otto", at=desk.at(hours=2)).gated is not None
    view = desk.shown(gated.bundle_hash, at=desk.at(hours=3))
    assert view.gated.decision is Decision.REFUSE
    (otto,) = oversight(desk.tools, _operator(desk, hours=3), MeasureOversight()).figures
    assert otto.known == 1


def test_a_reviewer_sees_that_they_are_sampled(desk: ClaimsDesk) -> None:
    _plan(desk, known=0.25, READ_ONLY=0.1)
    own = caller_of(desk.tools, desk.session("user:rita", seconds=600), at=desk.at(minutes=11))
    found = oversight(desk.tools, own, MeasureOversight())
    assert found.plan is not None
    assert found.plan.plan.known_answers == 0.25
    assert "0.25 known answers" in oversight_text(found)


def test_without_the_key_of_the_plan_nothing_is_drawn_and_the_sweep_says_so(desk: ClaimsDesk) -> None:
    _plan(desk, READ_ONLY=1.0)
    _published(desk, 1)
    desk.use(review_signer=desk.tools.ledger_signer)
    sweep = settle_reviews(desk.tools, TENANT, at=desk.at(hours=1))
    assert sweep.opened == ()
    assert "make a new plan" in (sweep.problem or "")


_CASES = tuple(LabelledCase(uncertainty=(place % 40) / 100, wrong=place % 40 > 36) for place in range(400))
_LOOSE = """id: gates
version: "2"
uncertainty: {by_method: {semantic_entropy: {explain_above: 0.5, defer_above: 0.7}}}
"""
_STRICT = _LOOSE.replace('"2"', '"1"').replace("0.5,", "0.3,").replace("0.7", "0.3")


def _uncertain(desk: ClaimsDesk, number: int, value: float) -> None:
    said = {"method": "semantic_entropy", "value": value, "gate_recommendation": "EXECUTE", "interpretation": ""}
    desk.gate(
        desk.document(
            desk.claim(uncertainty=said, statement=f"Gauge {number} reads {value:g}."),
            id=f"3f0c7d52-8f0e-4a38-9a53-0d8f3ad5e{number:03}",
        )
    )


def test_shifted_scores_restore_the_certified_thresholds_and_open_a_ticket(desk: ClaimsDesk) -> None:
    with raises(ClaimsFlowError.not_certified):
        certify_thresholds(desk.tools, _operator(desk, seconds=20), CertifyThresholds(cases=_CASES))
    desk.policy(_STRICT, at=desk.at(seconds=30))
    certify_thresholds(desk.tools, _operator(desk, seconds=40), CertifyThresholds(cases=_CASES))
    desk.policy(_LOOSE, at=desk.at(seconds=45))
    for number in range(40):
        _uncertain(desk, number, (number * 17 % 40) / 100)
    assert _sweep(desk, minutes=30) == []
    for number in range(40, 80):
        _uncertain(desk, number, 0.45)
    (ticket,) = _sweep(desk)
    assert ticket.kind is TicketKind.SHIFT
    assert "the certified 0.3 is in force" in ticket.shown
    in_force = desk.read(lambda unit: active_policy(unit, TENANT)).uncertainty
    assert in_force.for_method(UncertaintyMethod.SEMANTIC_ENTROPY).defer_above == 0.3
    assert _sweep(desk) == []
    found = oversight(desk.tools, _operator(desk), MeasureOversight()).shift
    assert found is not None
    assert found.ticket_id == ticket.id
    desk.use(watches=KeptWatches())
    assert _sweep(desk) == []
