"""Weight comes from the snapshot alone, once for each reporter."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.truth.contract import Standing
from assay.truth.flag import Flag
from assay.truth.snapshot import AgentTrust
from assay.truth.weigh import trusted_weight
from tests.truth.compiling import compiled, flood, observed, trusted

CONTRACT = flood()
TRUSTS = st.builds(
    AgentTrust,
    standing=st.sampled_from(Standing),
    trust_score=st.decimals(0, 1, places=6),
    admissible=st.booleans(),
)


@pytest.mark.clause("kaori", "law 5")
def test_standing_weighs_as_the_snapshot_says_whatever_the_reporter_says() -> None:
    """Amira calls herself an authority and is bronze (1), ben is an expert (7): (1 x 0 + 7 x 8) / 8 = 7."""
    boast = {"standing": "authority", "trust_score": 1, "source_type": "human"}
    amira = observed("user:amira", {"severity": "low", "water_level_meters": 0}, reporter_context=boast)
    ben = observed("user:ben", {"severity": "high", "water_level_meters": 8})
    state = compiled(CONTRACT, [amira, ben], trusted(amira="bronze", ben="expert"))
    assert state.claim["water_level_meters"] == 7


@pytest.mark.parametrize("agents", [{}, {"zoe": "-authority"}])
def test_unknown_and_inadmissible_agents_are_recorded_and_not_heard(agents: dict[str, str]) -> None:
    zoe = observed("user:zoe", {"severity": "low", "water_level_meters": 40})
    amira = observed("user:amira")
    state = compiled(CONTRACT, [zoe, amira], trusted(amira="silver", **agents))
    assert state.claim == compiled(CONTRACT, [amira], trusted(amira="silver")).claim
    assert state.observation_ids == (amira.observation.observation_id,)
    assert zoe.observation_hash in state.compile_inputs.observation_hashes
    assert Flag.REPORTER_NOT_HEARD in state.transparency_flags


def test_a_standing_that_the_contract_gives_no_weight_is_not_heard() -> None:
    silent = flood({"consensus_model.weighted_roles.bronze": 0})
    assert compiled(silent, [observed("user:amira")], trusted(amira="bronze")).status == "UNVERIFIED"


def test_a_reporter_speaks_once_with_the_latest_observation() -> None:
    """Saying it three times weighs as saying it once; the last word is the one that stands."""
    early = [observed("user:amira", {"severity": "low", "water_level_meters": 0}, reported=f"12:0{n}") for n in (1, 2)]
    late = observed("user:amira", {"severity": "high", "water_level_meters": 2}, reported="12:40")
    ben = observed("user:ben", {"severity": "high", "water_level_meters": 4})
    state = compiled(CONTRACT, [late, *early, ben], trusted(amira="silver", ben="silver"))
    assert state.claim["water_level_meters"] == 3
    assert Flag.REPORTER_REPEATED in state.transparency_flags
    assert len(state.observation_ids) == 2


@settings(max_examples=60, deadline=None)
@given(TRUSTS)
def test_removing_trust_never_raises_a_weight(trust: AgentTrust) -> None:
    """Unknown, inadmissible, or one standing lower: never more than before."""
    model = CONTRACT.consensus_model
    before = trusted_weight(model, trust)
    shunned = AgentTrust(standing=trust.standing, trust_score=trust.trust_score, admissible=False)
    assert trusted_weight(model, None) == trusted_weight(model, shunned) == Decimal(0) <= before
    standings = list(Standing)
    lower = standings[max(standings.index(trust.standing) - 1, 0)]
    demoted = AgentTrust(standing=lower, trust_score=trust.trust_score, admissible=trust.admissible)
    assert trusted_weight(model, demoted) <= before
