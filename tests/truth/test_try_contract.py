"""A contract tried on reports: what the compiler says, why a report is not heard, and what would change the state."""

from decimal import Decimal
from typing import Any

import pytest

from assay.truth.contract import Contract
from assay.truth.status import TruthStatus
from assay.truth.try_contract import TryRequest, TryResult, Unheard, find_hearing, try_contract
from tests.truth.believing import believing, experienced
from tests.truth.compiling import at, compiled, flood, observed, trusted


def _tried(*said: Any, law: Contract | None = None, **members: Any) -> TryResult:  # noqa: ANN401
    contract = law or flood(name="flood_v2")
    return try_contract(TryRequest(contract=contract, observations=said, compile_time=at("12:50"), **members))


def _report(name: str, place: int, severity: str = "high", **members: Any) -> Any:  # noqa: ANN401
    payload: dict[str, object] = {"severity": severity, "water_level_meters": 1.2}
    return observed(f"user:{name}", payload, reported=f"12:{10 + place}", **{"claim_type": "earth.flood.v2", **members})


def test_the_state_is_what_the_compiler_says() -> None:
    said = [_report(name, place) for place, name in enumerate("abc")]
    (key,) = _tried(*said, snapshot=experienced(dict.fromkeys("abc"))).keys
    state = compiled(
        flood(name="flood_v2"), said, experienced(dict.fromkeys("abc")), now="12:50", compiler_version="try"
    )
    assert key.state == state
    shares = next(one.shares for one in key.beliefs if one.field == "severity")
    assert shares['"high"'] > Decimal("0.97")


def test_without_a_snapshot_everybody_is_a_newcomer_and_it_is_said_how_many_more_are_needed() -> None:
    few = _tried(*[_report(name, place) for place, name in enumerate("abc")]).keys[0]
    assert few.state.status is not TruthStatus.VERIFIED_TRUE
    assert few.further is not None
    enough = _tried(*[_report(name, place) for place, name in enumerate("abcdefghij"[: 3 + few.further])]).keys[0]
    assert (enough.state.status, enough.further) == (TruthStatus.VERIFIED_TRUE, 0)


def test_it_is_said_which_report_changes_the_claim() -> None:
    (key,) = _tried(_report("a", 0), _report("b", 1, "low"), _report("c", 2)).keys
    assert all("severity" not in effect.changed for effect in key.effects)
    (even,) = _tried(_report("a", 0), _report("b", 1, "low")).keys
    changed = {effect.reporter_id: "severity" in effect.changed for effect in even.effects}
    assert changed == {"user:a": True, "user:b": False}


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({}, None),
        ({"claim_type": "earth.flood.v1"}, Unheard.FOREIGN_CLAIM_TYPE),
        ({"geo": None}, Unheard.NO_ADDRESS),
        ({"evidence_refs": []}, Unheard.EVIDENCE),
    ],
)
def test_a_report_that_is_not_heard_has_its_reason(members: dict[str, Any], reason: Unheard | None) -> None:
    (hearing,) = _tried(_report("a", 0, **members)).hearings
    assert (hearing.heard, hearing.reason) == (reason is None, reason)


def test_trust_time_and_weight_are_reasons_too() -> None:
    law, said = flood(name="flood_v2"), _report("ann", 0)
    for standing, now, reason in (
        ("silver", "12:50", None),
        ("silver", "12:05", Unheard.FUTURE),
        ("-silver", "12:50", Unheard.THETA_MIN),
    ):
        assert find_hearing(law, said, trusted(ann=standing), at(now)).reason is reason
    assert find_hearing(law, said, trusted(ben="silver"), at("12:50")).reason is Unheard.UNKNOWN_REPORTER
    weightless = believing({"consensus_model.weighted_roles.bronze": 0})
    old = observed("user:ann")
    assert find_hearing(weightless, old, trusted(ann="bronze"), at("13:30")).reason is Unheard.NO_WEIGHT


def test_a_contract_without_a_posterior_can_be_tried_too() -> None:
    (key,) = _tried(observed("user:a"), observed("user:b"), law=flood()).keys
    assert (key.beliefs, key.further) == ((), None)
    assert len(key.effects) == 2


def test_where_no_number_of_newcomers_is_enough_it_is_said() -> None:
    law = believing({"confidence_model.thresholds": {"verify": 1, "review": 0.4}})
    assert _tried(observed("user:a"), law=law).keys[0].further is None
