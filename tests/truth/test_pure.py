"""The compiler is pure and total (Kaori law 2): it opens nothing, asks nobody, and answers whatever it is given."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.kernel.errors import CanonicalError, Error
from assay.truth.compile import compile_truth_state
from assay.truth.contract import Standing
from assay.truth.errors import TruthError
from assay.truth.gather import gather_observations
from assay.truth.observation import HashedObservation, hash_observation
from assay.truth.ready import prepare_observation
from assay.truth.snapshot import AgentTrust, freeze_snapshot
from assay.truth.state import parse_truth_state, render_truth_state
from assay.truth.weigh import hear_observations
from tests.raising import raises
from tests.truth.compiling import KEY, at, compiled, flood, observed, scored, trusted, voted, window
from tests.truth.records import HASH_A

_ROOT = Path(__file__).parents[2]
CONTRACT = flood()
AMIRA = observed("user:amira")
TRUST = trusted(amira="silver", ben="expert")
# Everything that is loaded late is loaded first; what happens after that would be an effect.
_WATCHED = """
import sys
from tests.truth import vectors
first = vectors.digests()
loaded = {name.split(".")[1] for name in sys.modules if name.startswith("assay.")}
contracts, events = [vectors._contract(case["given"].get("changes", {})) for case in vectors.CASES], []
vectors._contract = lambda changes: contracts.pop(0)
sys.addaudithook(lambda event, arguments: events.append(event))
again = vectors.digests()
events = list(events)
assert again == first
print(sorted(loaded), sorted(set(events) - {"object.__getattr__", "object.__setattr__"}))
"""


@pytest.mark.clause("kaori", "2.2")
@pytest.mark.clause("kaori", "2.3")
@pytest.mark.clause("kaori", "law 2")
@pytest.mark.clause("kaori", "16.2")
def test_compiling_opens_nothing_and_needs_no_other_room() -> None:
    """Python tells of every file, socket, process and import: while states are compiled there is none."""
    done = subprocess.run(
        [sys.executable, "-c", _WATCHED],
        capture_output=True,
        text=True,
        check=True,
        cwd=_ROOT,
        env={"PYTHONPATH": f"{_ROOT / 'src'}:{_ROOT}"},
    )
    loaded, _, events = done.stdout.strip().partition("] ")
    assert set(loaded.strip("[]'").split("', '")) <= {"truth", "kernel", "identity", "review"}
    assert events == "[]"


def test_the_source_names_no_clock_no_chance_and_no_outside() -> None:
    """Also where no test happens to go."""
    words = ("datetime.now", "utcnow", "time.time", "import time\n", "import os\n", "random", "socket", " open(")
    for path in sorted((_ROOT / "src" / "assay" / "truth").glob("*.py")):
        found = [word for word in words if word in path.read_text()]
        assert found == [], path.name


_ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
_INSTANTS = st.datetimes(
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))])
)
_NUMBERS = st.decimals() | st.decimals(-2, 2, places=6)
_WIDE = flood(
    {
        "output_schema_ref": ...,
        "output_schema": {"type": "object", "properties": {name: {} for name in ("mode", "mean", "middle", "top")}},
        "claim_derivation": {
            "mode": {"strategy": "weighted_mode", "path": "x"},
            "mean": {"strategy": "weighted_mean", "path": "x", "places": 6},
            "middle": {"strategy": "median", "path": "x", "places": 0},
            "top": {"strategy": "max", "path": "x"},
        },
        "contradiction_rules": [
            {"id": "spread", "path": "x", "compare": "spread", "tolerance": 0, "min_share": 0, "action": "flag"}
        ],
    }
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_ANYTHING, min_size=1, max_size=3), _INSTANTS, _NUMBERS, _NUMBERS, st.sampled_from([HASH_A, None]))
def test_hostile_values_give_a_state_or_a_code(
    values: list[Any], now: datetime, score: Decimal, trust: Decimal, seen: str | None
) -> None:
    """Numbers of any size, times of any year, scores and trusts that are no shares: never another kind of error."""
    try:
        observations = [observed(f"user:n{place}", {"x": value}) for place, value in enumerate(values)]
        trusts = {
            f"user:n{place}": AgentTrust(standing=Standing.SILVER, trust_score=trust, admissible=True)
            for place in range(len(values))
        }
        state = compile_truth_state(
            _WIDE,
            KEY,
            observations,
            freeze_snapshot("s-1", at("11:00"), trusts),
            ai_scores=[replace(scored(observations[0], "bouncer", 0.9), score=score)],
            votes=[voted("user:n0", seen_hash=seen)],
            window_events=[window()],
            policy_version=_WIDE.policy_version,
            compiler_version="assay-test",
            compile_time=now,
        )
    except Error as error:
        answer = error.code
    else:
        answer = state.status.value
        assert parse_truth_state(render_truth_state(state)) == state
    assert answer


@pytest.mark.parametrize("level", [5e-324, 2**53 - 1, 1 - 2**53, 0.0000004, 0.0000005])
def test_numbers_at_the_edge_of_what_canonical_bytes_hold_are_compiled(level: float) -> None:
    state = compiled(_WIDE, [observed("user:amira", {"x": level}), observed("user:ben", {"x": 0})], TRUST)
    assert parse_truth_state(render_truth_state(state)) == state


@pytest.mark.parametrize("level", [1e300, -1e300, float("nan"), float("inf")])
def test_numbers_beyond_that_are_refused_before_they_are_observed(level: float) -> None:
    with pytest.raises(CanonicalError) as refused:
        observed("user:amira", {"x": level})
    assert refused.value.code.startswith("canonical.")


def test_what_is_forged_is_refused_when_it_is_made() -> None:
    """A hash that is not its own never reaches the compiler."""
    with raises(TruthError.observation_hash):
        HashedObservation(observation=AMIRA.observation, observation_hash=HASH_A)
    with raises(TruthError.snapshot_hash):
        replace(TRUST, snapshot_hash=HASH_A)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(list(Standing)), min_size=1), st.data())
def test_removing_an_agent_from_the_snapshot_raises_nobody_s_weight(
    standings: dict[str, Standing], data: st.DataObject
) -> None:
    """Nobody gains a voice or weight by another's removal, and the removed one has none."""
    gathered = gather_observations(CONTRACT, [observed(f"user:{name}") for name in "abcdef"])
    gone = data.draw(st.sampled_from(sorted(standings)))

    def weights(names: dict[str, Standing]) -> dict[str, int]:
        snapshot = trusted(**{name: standing.value for name, standing in names.items()})
        heard, _ = hear_observations(CONTRACT, snapshot, gathered)
        return dict(zip(heard.said.reporters, heard.weights, strict=True))

    before, after = weights(standings), weights({name: one for name, one in standings.items() if name != gone})
    assert f"user:{gone}" not in after
    assert after == {reporter: weight for reporter, weight in before.items() if reporter != f"user:{gone}"}


def test_an_observation_built_by_hand_is_read_as_it_is_hashed() -> None:
    """Seven places in memory are six in the hash, and six in the claim."""
    raw = replace(AMIRA.observation, payload={"severity": "high", "water_level_meters": 1.0000004})
    state = compiled(CONTRACT, [hash_observation(raw)], TRUST)
    assert state.claim["peak_level_meters"] == 1


@pytest.mark.clause("kaori", "law 1")
def test_what_was_made_ready_cannot_be_altered_into_another_claim() -> None:
    """Rows and columns follow from observations alone: nobody writes them."""
    ready = prepare_observation(CONTRACT, AMIRA)
    gathered = gather_observations(CONTRACT, [ready])
    for one in (ready, gathered):
        with pytest.raises(TypeError, match="expected `"):
            one._replace(claim_type_hash="")
        with pytest.raises(TypeError, match="expected `"):
            type(one)(*one)
    with pytest.raises(TypeError):
        gathered.texts["severity"] = next(iter(gathered.texts.values()))  # type: ignore[index]  # what is refused here


def test_the_trusts_of_a_snapshot_are_those_that_were_hashed() -> None:
    trusts = dict(TRUST.agent_trusts)
    snapshot = replace(TRUST, agent_trusts=trusts)
    name = next(iter(trusts))
    trusts[name] = replace(trusts[name], admissible=not trusts[name].admissible)
    assert snapshot == TRUST
    with pytest.raises(TypeError):
        snapshot.agent_trusts[name] = trusts[name]  # type: ignore[index]  # what is refused here
