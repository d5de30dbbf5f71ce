"""What reviewers did is measured from their recorded answers; each sees their own figures."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.claims.oversight.reviewers import AlarmKind
from assay.flows.claims.oversight import MeasureOversight, oversight
from assay.identity.caller import local_caller
from assay.kernel.instant import render_instant
from tests.acting import caller_of
from tests.flows._claims import ClaimsDesk, copied_claims, opened_claims
from tests.flows._node import TENANT


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
