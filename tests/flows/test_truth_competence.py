"""On a node: final states teach, the next snapshot carries what was learnt, and a replay works all of it out again."""

from pathlib import Path

from assay.flows.truth.compile_truth import CompiledTruth, compile_truth
from assay.flows.truth.replay_truth import replay_truth
from assay.truth.status import TruthStatus, VerificationBasis
from tests.flows._node import TENANT
from tests.flows._truth import TruthDesk, opened_truth

_POLICY = (Path(__file__).parents[2] / "examples" / "trust" / "flow_v2.yaml").read_text()
_NAMES = [f"user:r{number}" for number in range(6)]
_LIAR = "user:liar"


def _reported(desk: TruthDesk, hour: int) -> CompiledTruth:
    """Six say high, one says low; the key of that hour, compiled."""
    for place, name in enumerate([*_NAMES, _LIAR]):
        payload: dict[str, object] = {"severity": "low" if name == _LIAR else "high", "water_level_meters": 1.25}
        when = f"{hour}:{10 + place}"
        desk.observe(name, payload, at=f"{hour}:30", reported=when, claim_type="earth.flood.v2")
    key = desk.truthkey.replace("T12:00Z", f"T{hour}:00Z")
    return compile_truth(desk.tools, TENANT, key, at=desk.now(f"{hour}:40"))


def test_a_final_state_teaches_and_the_next_snapshot_carries_it(tmp_path: Path) -> None:
    with opened_truth(tmp_path, policy=_POLICY) as desk:
        desk.release("flood_v2")
        for name in (*_NAMES, _LIAR):
            desk.trust(name)
        first, second = _reported(desk, 12), _reported(desk, 13)
        for done in (first, second):
            assert done.state.status is TruthStatus.VERIFIED_TRUE
            assert done.state.verification_basis is VerificationBasis.IMPLICIT_CONSENSUS
        assert second.state.confidence > first.state.confidence
        frozen = desk.read(
            lambda unit: unit.truth.find_snapshot(TENANT, second.state.compile_inputs.trust_snapshot_hash)
        )
        assert frozen is not None
        assert '"competence"' in frozen.text
        for done in (first, second):
            finding = replay_truth(desk.tools, TENANT, truthkey=done.state.truthkey)
            assert finding.holds, finding.problems
