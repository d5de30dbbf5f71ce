"""The formulas of trust give what an independent calculator gives, to six places."""

import json
from decimal import Decimal, getcontext
from pathlib import Path
from typing import Any

import pytest

from assay.trust.fold_state import Endorsed
from assay.trust.freeze import effective_share
from assay.trust.network import network_bonus
from assay.trust.standing import AgentStanding, as_number, in_micro, learned, pace_of, rested
from tests.trust.signals import policy

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "trust" / "formulas.json").read_text())


@pytest.mark.parametrize("case", VECTORS["learned"], ids=lambda case: f"{case['factor']}-{case['quality']}")
def test_a_change_is_the_factor_times_the_logarithm(case: dict[str, str]) -> None:
    assert as_number(learned(Decimal(case["factor"]), Decimal(case["quality"]))) == Decimal(case["change"])


@pytest.mark.parametrize("case", VECTORS["rested"], ids=lambda case: f"{case['standing']}-{case['days']}")
def test_standing_decays_toward_the_floor_and_never_rises_to_it(case: dict[str, Any]) -> None:
    hours = int(Decimal(case["half_life_days"]) * 24)
    pace = pace_of(policy(decay={"half_life": f"PT{hours}H", "floor": int(case["floor"])}))
    standing = AgentStanding(in_micro(Decimal(case["standing"])), 1000)
    assert as_number(rested(standing, 1000 + case["days"], pace)) == Decimal(case["after"])


@pytest.mark.parametrize("case", VECTORS["effective_share"], ids=lambda case: f"{case['standing']}-{case['bonus']}")
def test_effective_trust_is_the_sigmoid_with_bonus_own_probe_and_phases(case: dict[str, Any]) -> None:
    share = effective_share(
        Decimal(case["standing"]), policy(), bonus=Decimal(case["bonus"]), in_own_probe=case["in_own_probe"]
    )
    assert share == Decimal(case["share"])


@pytest.mark.parametrize("case", VECTORS["network_bonus"], ids=lambda case: f"{case['weight']}-{case['days']}")
def test_an_endorsement_fades_by_a_share_each_day(case: dict[str, Any]) -> None:
    given = {"user:a": Endorsed(in_micro(Decimal(case["weight"])), 500)}
    bonus = network_bonus(given, policy().network, day=500 + case["days"], standing_of=lambda _: 1_000_000_000)
    assert bonus == Decimal(case["bonus"])


def test_an_endorsement_that_loses_everything_each_day_is_gone_the_next() -> None:
    network = policy(
        network={"bonus_per_weight": 0.05, "cap": 0.2, "decay_per_day": 1, "endorser_min_standing": 0}
    ).network
    given = {"user:a": Endorsed(1_000_000, 500)}
    bonuses = [network_bonus(given, network, day=day, standing_of=lambda _: 0) for day in (500, 501)]
    assert bonuses == [Decimal("0.05"), Decimal(0)]


def test_no_setting_of_the_thread_changes_a_number() -> None:
    """The context of whoever calls may be three digits wide."""
    before = effective_share(Decimal("612.345678"), policy())
    getcontext().prec = 3
    try:
        effective = effective_share(Decimal("612.345679"), policy()), effective_share(Decimal("612.345678"), policy())
        assert learned(Decimal(3), Decimal("0.777777")) == 1_726_091  # by GNU bc
    finally:
        getcontext().prec = 28
    assert effective[1] == before
