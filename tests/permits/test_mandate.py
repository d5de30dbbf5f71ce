"""A mandate covers what it names and nothing else; budget and count are exact."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.identity.risk import RiskTier
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.permits.errors import PermitError
from assay.permits.mandate import (
    ArgumentLimit,
    Budget,
    MandateTerms,
    Used,
    check_call,
    number_of,
    terms_hash,
    verify_terms,
)
from assay.permits.permit import ToolCall
from tests.raising import raises

AT = Instant(datetime(2026, 1, 7, 12, tzinfo=UTC))
TERMS = MandateTerms(
    agent=PrincipalId("ai:buyer"),
    tool="pay",
    audience="bank",
    tier=RiskTier.MODIFY,
    purpose="small refunds",
    limits=(
        ArgumentLimit(argument="amount", minimum="0.01", maximum="50"),
        ArgumentLimit(argument="currency", one_of=("EUR", "USD")),
        ArgumentLimit(argument="memo", pattern="refund *", is_optional=True),
    ),
    budget=Budget(argument="amount", total="100"),
    count=10,
    starts_at=AT,
    expires_at=Instant(AT + timedelta(days=30)),
)
CALL = ToolCall(tool="pay", audience="bank", arguments={"amount": 20, "currency": "EUR", "memo": "refund 41"})
UNUSED = Used()


def _reasons(call: ToolCall = CALL, *, tier: RiskTier = RiskTier.MODIFY, used: Used = UNUSED, at: Instant = AT) -> str:
    return "; ".join(check_call(TERMS, call, tier, used, at=at).reasons)


def test_a_call_within_every_limit_is_covered_and_takes_its_amount() -> None:
    verify_terms(TERMS, at=AT)
    found = check_call(TERMS, CALL, RiskTier.WRITE_LIMITED, Used(), at=AT)
    assert (found.is_covered, found.amount) == (True, Decimal(20))
    assert _reasons(replace(CALL, arguments={"amount": "49.99", "currency": "USD"})) == ""


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"amount": 50.01}, "`amount` must be at most 50"),
        ({"amount": 0}, "`amount` must be at least 0.01"),
        ({"amount": -1}, "`amount` must be a number of at least 0"),
        ({"amount": "1e3"}, "`amount` must be at most 50"),
        ({"amount": "NaN"}, "`amount` must be a number"),
        ({"amount": True}, "`amount` must be a number"),
        ({"amount": None}, "`amount` must be a number"),
        ({"amount": [1]}, "`amount` must be a number"),
        ({"currency": "GBP"}, "`currency` must be one of EUR, USD"),
        ({"currency": 1}, "`currency` must be one of"),
        ({"memo": "gift"}, "`memo` must match"),
        ({"memo": 5}, "`memo` must match"),
        ({"memo": "refund ../../x"}, "`memo` must match"),
        ({"to": "somebody"}, "`to` has no limit"),
    ],
)
def test_an_argument_outside_its_limit_is_refused_with_the_reason(arguments: dict[str, object], reason: str) -> None:
    assert reason in _reasons(replace(CALL, arguments={**CALL.arguments, **arguments}))


def test_a_missing_argument_another_tool_tier_or_time_is_refused() -> None:
    assert "`currency` is missing" in _reasons(replace(CALL, arguments={"amount": 1}))
    assert "not `wire` at `bank`" in _reasons(replace(CALL, tool="wire"))
    assert "not `pay` at `shop`" in _reasons(replace(CALL, audience="shop"))
    assert "not DELETE" in _reasons(tier=RiskTier.DELETE)
    assert "not PRIVILEGE" in _reasons(tier=RiskTier.PRIVILEGE)
    assert "it starts at" in _reasons(at=Instant(AT - timedelta(seconds=1)))
    assert "it expired at" in _reasons(at=TERMS.expires_at)


def test_count_and_budget_are_used_up_exactly() -> None:
    assert _reasons(used=Used(count=9, total=Decimal(80))) == ""
    assert "19.99 of 100 is left" in _reasons(used=Used(count=9, total=Decimal("80.01")))
    assert "all 10 uses" in _reasons(used=Used(count=10))


@given(st.lists(st.decimals("0.01", "50", places=2), max_size=30))
def test_the_sum_of_covered_calls_never_exceeds_the_budget(amounts: list[Decimal]) -> None:
    used = Used()
    for amount in amounts:
        call = replace(CALL, arguments={"amount": str(amount), "currency": "EUR"})
        found = check_call(TERMS, call, RiskTier.MODIFY, used, at=AT)
        if found.is_covered:
            used = Used(count=used.count + 1, total=used.total + found.amount)
    assert used.total <= 100
    assert used.count <= TERMS.count


@pytest.mark.parametrize(
    "change",
    [
        {"tier": RiskTier.PRIVILEGE},
        {"purpose": " "},
        {"count": 0},
        {"expires_at": AT},
        {"budget": Budget(argument="other", total="1")},
        {"budget": Budget(argument="amount", total="0")},
        {"budget": Budget(argument="amount", total="many")},
        {"limits": (ArgumentLimit(argument="amount"),)},
        {"limits": (ArgumentLimit(argument="amount", minimum="2", maximum="1"),)},
        {"limits": (ArgumentLimit(argument="amount", minimum="x"),)},
        {"limits": (ArgumentLimit(argument="amount", minimum="1", pattern="*"),)},
        {"limits": (ArgumentLimit(argument="amount", one_of=()),)},
        {"limits": (ArgumentLimit(argument="amount", pattern=""),)},
        {"limits": (ArgumentLimit(argument="amount", minimum="1"),) * 2},
    ],
)
def test_terms_that_nobody_could_check_are_refused(change: dict[str, object]) -> None:
    with raises(PermitError.mandate_refused):
        verify_terms(replace(TERMS, **change), at=AT)


def test_the_hash_covers_every_term() -> None:
    assert terms_hash(TERMS) == terms_hash(replace(TERMS))
    assert terms_hash(TERMS) != terms_hash(replace(TERMS, count=11))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, "1"),
        (0.1, "0.1"),
        ("0.10", "0.10"),
        (1e22, "1E+22"),
        ("١", None),
        ("1_0", None),
        (" 1", None),
        ("--1", None),
    ],
)
def test_numbers_are_exact_or_none(value: object, expected: str | None) -> None:
    assert number_of(value) == (None if expected is None else Decimal(expected))
