"""Guesses are counted before they are judged: at once, durably, and only when a password was really judged."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest

from assay.adapters.argon2_password import PasswordsBusyError
from assay.flows.errors.identity import NotSignedInError, ThrottledError
from assay.flows.identity.sessions import attempt_log_in
from assay.identity.throttle import ACCOUNT, account_subject, address_subject
from assay.kernel.ids import PrincipalId
from tests.flows._people import PASSWORD, TENANT, Desk, LostError, at_once, opened_desk

_AMIRA = PrincipalId("user:amira")
_WRONG = "a wrong one, long enough"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path) as opened:
        opened.add()
        yield opened


def _attempt(desk: Desk, password: str = _WRONG, *, address: str = "192.0.2.1") -> object:
    return attempt_log_in(desk.tools, TENANT, _AMIRA, password, address=address, at=desk.start)


def _counts(desk: Desk, address: str = "192.0.2.1") -> tuple[int, int]:
    subjects = (account_subject(TENANT, _AMIRA), address_subject(address))
    found = [desk.read(lambda unit, one=one: unit.access.find_failures(one)) for one in subjects]  # type: ignore[misc]  # bound
    return (found[0].count if found[0] else 0, found[1].count if found[1] else 0)


def test_many_guesses_at_once_are_many(desk: Desk) -> None:
    """Whoever sends twenty together has six judged, as whoever sends them one by one."""
    jobs = [partial(_attempt, desk, address=f"192.0.2.{number}") for number in range(20)]
    answers = at_once(list(jobs))
    judged = [one for one in answers if isinstance(one, NotSignedInError)]
    stopped = [one for one in answers if isinstance(one, ThrottledError)]
    assert (len(judged), len(stopped)) == (ACCOUNT.free + 1, 20 - ACCOUNT.free - 1)
    assert _counts(desk)[0] == ACCOUNT.free + 1


def test_the_right_password_leaves_the_address_as_it_was(desk: Desk) -> None:
    """Whoever shares it with a guesser neither pays for the guesses nor pays them off."""
    for _ in range(3):
        with pytest.raises(NotSignedInError):
            _attempt(desk)
    assert _counts(desk) == (3, 3)
    _attempt(desk, PASSWORD)
    assert _counts(desk) == (0, 3)


@dataclass
class _Scripted:
    """Passwords that are judged as the test wants; `asked` are those that were looked at."""

    judge: Callable[[], bool]
    asked: list[str] = field(default_factory=list)

    def encode(self, password: str, *, salt: bytes) -> str:
        raise NotImplementedError(f"nobody sets {len(password)} characters with {len(salt)} bytes here")

    def verify(self, encoded: str | None, password: str) -> bool:
        assert encoded is not None
        self.asked.append(password)
        return self.judge()


def _busy() -> bool:
    raise PasswordsBusyError("expected a free place, got none")


def test_whoever_was_not_judged_did_not_fail(desk: Desk) -> None:
    """Too many passwords at once is our fault, and costs nobody a wait."""
    busy = replace(desk, tools=replace(desk.tools, passwords=_Scripted(_busy)))
    with pytest.raises(PasswordsBusyError):
        _attempt(busy, PASSWORD)
    assert _counts(desk) == (0, 0)


def test_an_attempt_that_could_not_be_counted_is_not_judged(desk: Desk) -> None:
    """No count, no guess: a full disk must not open the door to guessing."""
    passwords, failing = _Scripted(lambda: True), desk.failing()
    with pytest.raises(LostError):
        _attempt(replace(failing, tools=replace(failing.tools, passwords=passwords)), PASSWORD)
    assert passwords.asked == []
