"""Guessing becomes slow: the wait doubles, never shrinks while guesses go on, and has an end."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from assay.identity.throttle import (
    ACCOUNT,
    Failures,
    account_subject,
    add_failure,
    address_subject,
    free_at,
)
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant

_AT = Instant(datetime(2026, 3, 1, 12, tzinfo=UTC))


def _wait(count: int) -> timedelta:
    end = free_at(Failures(count=count, failed_at=_AT), ACCOUNT)
    return timedelta() if end is None else end - _AT


def test_a_few_mistakes_cost_nothing_and_each_further_one_twice_as_much() -> None:
    assert [_wait(count).total_seconds() for count in range(1, 11)] == [0, 0, 0, 0, 0, 1, 2, 4, 8, 16]
    assert free_at(None, ACCOUNT) is None


@given(count=st.integers(1, 10**9))
def test_no_wait_is_shorter_than_the_one_before_or_longer_than_the_longest(count: int) -> None:
    assert _wait(count) <= _wait(count + 1) <= ACCOUNT.longest


@given(lengths=st.lists(st.integers(-3600, 3600), max_size=20))
def test_failures_count_one_by_one_and_a_clock_set_back_shortens_no_wait(lengths: list[int]) -> None:
    failures, at = None, _AT
    latest = _AT
    for number, seconds in enumerate(lengths, 1):
        at = Instant(at + timedelta(seconds=seconds))
        latest = at if number == 1 else max(latest, at)
        failures = add_failure(failures, ACCOUNT, at=at)
        assert failures == Failures(count=number, failed_at=latest)


def test_a_day_of_silence_begins_anew() -> None:
    old = Failures(count=50, failed_at=_AT)
    later = Instant(_AT + ACCOUNT.forgotten_after)
    assert add_failure(old, ACCOUNT, at=later) == Failures(count=1, failed_at=later)


def test_accounts_and_addresses_are_never_one_another() -> None:
    """Whatever they are called: what is counted for one is not counted for another."""
    first = account_subject(TenantId("a"), PrincipalId("b:c"))
    assert len({first, account_subject(TenantId("ab"), PrincipalId(":c")), address_subject("a\nb:c")}) == 3


def test_a_network_of_ipv6_is_one_sender_and_each_ipv4_address_is_one() -> None:
    """Whoever has one IPv6 address has 2^64 of them; an IPv4 address is the same however it is written."""
    assert address_subject("2001:db8:1:2::1") == address_subject("2001:db8:1:2:ffff::9%eth0")
    assert address_subject("2001:db8:1:2::1") != address_subject("2001:db8:1:3::1")
    assert address_subject("192.0.2.1") == address_subject("::ffff:192.0.2.1")
    assert address_subject("192.0.2.1") != address_subject("192.0.2.2")
    assert address_subject("local") != address_subject("")
