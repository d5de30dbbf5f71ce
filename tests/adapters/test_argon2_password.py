"""Passwords are hashed by argon2id, slowly on purpose, and only so many at once."""

import threading
from collections.abc import Callable

import pytest
from argon2 import PasswordHasher, extract_parameters

from assay.adapters.argon2_password import Argon2Passwords, PasswordsBusyError

SALT = bytes(range(16))


@pytest.fixture
def passwords() -> Argon2Passwords:
    return Argon2Passwords(memory_kib=64, time_cost=1)


def test_a_password_verifies_and_no_other_does(passwords: Argon2Passwords) -> None:
    encoded = passwords.encode("correct horse", salt=SALT)
    assert passwords.verify(encoded, "correct horse")
    assert not passwords.verify(encoded, "correct horse ")
    assert not passwords.verify(encoded, "")


def test_the_costs_are_those_of_rfc_9106(passwords: Argon2Passwords) -> None:
    """Section 4, second recommended option: t=3, p=4, 64 MiB, 128-bit salt, 256-bit tag."""
    found = extract_parameters(Argon2Passwords().encode("correct horse", salt=SALT))
    assert (found.time_cost, found.parallelism, found.memory_cost) == (3, 4, 65536)
    assert (found.salt_len, found.hash_len, found.version) == (16, 32, 19)
    assert passwords.encode("x", salt=SALT).startswith("$argon2id$")


def test_the_salt_is_the_one_given(passwords: Argon2Passwords) -> None:
    """Randomness comes in as an argument, so the same salt gives the same text and another one another."""
    assert passwords.encode("x", salt=SALT) == passwords.encode("x", salt=SALT)
    assert passwords.encode("x", salt=SALT) != passwords.encode("x", salt=bytes(16))


def test_two_spellings_of_one_text_are_one_password(passwords: Argon2Passwords) -> None:
    """One keyboard writes é as one character, another as two."""
    assert passwords.verify(passwords.encode("caf\u00e9", salt=SALT), "cafe\u0301")


@pytest.mark.parametrize("password", ["", "nobody", "\udcff"])
def test_nobody_has_no_password(passwords: Argon2Passwords, password: str) -> None:
    """Not even the one that the stand-in was made of."""
    assert not passwords.verify(None, password)


def test_a_damaged_record_is_no_password(passwords: Argon2Passwords) -> None:
    assert not passwords.verify("$argon2id$damaged", "x")


def test_nobody_costs_as_much_as_somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in is verified with the same parameters, so that time does not tell who exists."""
    passwords = Argon2Passwords(memory_kib=64, time_cost=2)
    encoded = passwords.encode("x", salt=SALT)
    costs = []
    real: Callable[..., bool] = PasswordHasher.verify

    def verify(self: PasswordHasher, known: str, password: bytes) -> bool:
        costs.append(extract_parameters(known))
        return real(self, known, password)

    monkeypatch.setattr(PasswordHasher, "verify", verify)
    passwords.verify(encoded, "y")
    passwords.verify(None, "y")
    assert costs[0] == costs[1]


def test_whoever_waits_too_long_is_told_so() -> None:
    """With one place and that one taken, the next is refused instead of piling up."""
    passwords = Argon2Passwords(at_once=1, patience=0.01, memory_kib=64, time_cost=1)
    with passwords._place(), pytest.raises(PasswordsBusyError):
        passwords.encode("x", salt=SALT)
    assert passwords.encode("x", salt=SALT)


def test_never_more_at_once_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each one takes much memory; the others wait their turn and all are served."""
    running, most, lock = 0, 0, threading.Lock()
    real: Callable[..., str] = PasswordHasher.hash

    def counted(self: PasswordHasher, password: bytes, *, salt: bytes) -> str:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        encoded = real(self, password, salt=salt)
        with lock:
            running -= 1
        return encoded

    monkeypatch.setattr(PasswordHasher, "hash", counted)
    passwords = Argon2Passwords(at_once=2, memory_kib=2048, time_cost=2)
    done: list[str] = []
    threads = [threading.Thread(target=lambda: done.append(passwords.encode("x", salt=SALT))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 8
    assert most <= 2
