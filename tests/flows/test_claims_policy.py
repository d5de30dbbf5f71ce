"""Policies of the gates come into force in person and signed; rows are believed as far as the ledger agrees."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.claims.bundle import Decision, GateName, render_bundle
from assay.claims.signed_policy import policy_message, render_signed_policy, split_signed_policy, verify_signed_policy
from assay.flows.claims.calibrate import CalibratePolicy, LabelledCase, calibrate_policy, parse_lines
from assay.flows.claims.policies import ListGatePolicies, ShowGatePolicy, gate_policies, gate_policy
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.registry.fire_switch import fire_switch
from assay.identity.caller import local_caller
from assay.identity.principal import PrincipalKind
from assay.identity.risk import RiskTier
from assay.kernel.key import TrustAnchors
from assay.kernel.ledger import EntryKind
from assay.registry.trip import Fired, FiringCause, SenseFigures
from tests.claims.making import claim, pointer
from tests.contract._kit import refused
from tests.flows._claims import ClaimsDesk, copied_claims, opened_claims
from tests.flows._node import TENANT, damage
from tests.flows._verdicts import KeyInHand

_KEY = KeyInHand(Ed25519PrivateKey.from_private_bytes(b"P" * 32))
_TEXT = 'id: papers\nversion: "1"\nevidence: {least_confidence: 0.95}\n'


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("claims")
    with opened_claims(folder):
        return folder


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> Path:
    return copied_claims(template, tmp_path)


@pytest.fixture
def desk(folder: Path) -> Iterator[ClaimsDesk]:
    with opened_claims(folder) as opened:
        yield opened


def _signed(text: str = _TEXT, key: KeyInHand = _KEY) -> str:
    return render_signed_policy(text, public_key=key.public_key, signature=key.sign(policy_message(text)))


def test_a_signature_by_an_anchor_is_kept_and_one_by_a_stranger_refused(desk: ClaimsDesk) -> None:
    with refused("claims.policy_signature"):
        desk.policy(_signed())
    desk.use(anchors=TrustAnchors(public_keys=frozenset({_KEY.public_key})))
    with refused("signature.invalid"):
        desk.policy(_signed().replace("0.95", "0.90"))
    released = desk.policy(_signed()).policy
    assert (released.key_id, released.document) == (_KEY.key_id, _TEXT)
    (entry,) = desk.entries(EntryKind.CLAIMS_POLICY)
    again = render_signed_policy(
        entry["document"], public_key=_KEY.public_key, signature=bytes.fromhex(entry["signature"])
    )
    verify_signed_policy(split_signed_policy(again))


def test_a_policy_without_a_signature_is_vouched_for_by_the_node(desk: ClaimsDesk) -> None:
    """And what the node signed it releases again, as the same."""
    signer = desk.tools.review_signer
    assert desk.policy(_TEXT).policy.key_id == signer.key_id
    assert signer.public_key is not None
    own = render_signed_policy(_TEXT, public_key=signer.public_key, signature=signer.sign(policy_message(_TEXT)))
    assert not desk.policy(own).is_new


@pytest.mark.parametrize(
    "text",
    [
        _signed().replace("# assay-policy-key", "# assay-policy-kay"),
        _signed() + "mode: audit_only\n",
        _signed() + _signed(),
        _TEXT + "# assay-policy-signature: 00\n",
    ],
    ids=["half a signature", "more after it", "two", "no key"],
)
def test_a_signature_is_whole_and_at_the_end(text: str) -> None:
    """Nothing can be put behind what was signed."""
    with refused("claims.policy_signature"):
        split_signed_policy(text)


def test_the_policy_in_force_is_the_specifications_until_one_is_released(desk: ClaimsDesk) -> None:
    local = local_caller(TENANT, at=desk.start)
    before = gate_policy(desk.tools, local, ShowGatePolicy())
    assert (before.policy_id, before.in_force, before.released) == ("default", True, None)
    assert gate_policies(desk.tools, local, ListGatePolicies()).items == ()
    assert desk.gate(desk.document()).decision is Decision.PUBLISH
    released = desk.policy(_TEXT).policy
    assert gate_policies(desk.tools, local, ListGatePolicies()).items == (released,)
    assert gate_policy(desk.tools, local, ShowGatePolicy(policy_hash=released.policy_hash)).in_force
    later = desk.gate(desk.document(id="3f0c7d52-8f0e-4a38-9a53-0d8f3ad5c119"))
    assert (later.decision, later.outcome.stopped_by) == (Decision.DEFER, GateName.EVIDENCE)


def test_fitted_thresholds_decide_once_they_are_released(desk: ClaimsDesk) -> None:
    """From labelled cases to a signed file to the gate."""
    lines = [f'{{"uncertainty": {n % 50 / 100:.2f}, "wrong": false}}' for n in range(200)]
    lines += ['{"uncertainty": 0.9, "wrong": true, "more": 1}', ""] * 100
    cases = msgspec.convert(parse_lines("\n".join(lines)), tuple[LabelledCase, ...])
    done = calibrate_policy(None, local_caller(TENANT, at=desk.start), CalibratePolicy(cases=cases, version="2"))
    assert done.policy is not None
    assert done.report is not None
    assert done.report.auroc.value == 1.0
    threshold = done.fitted.threshold
    assert threshold is not None
    desk.use(anchors=TrustAnchors(public_keys=frozenset({_KEY.public_key})))
    desk.policy(_signed(done.policy))
    unsure = {"method": "semantic_entropy", "value": 0.95, "gate_recommendation": "EXECUTE"}
    assert desk.gate(desk.document(desk.claim(uncertainty=unsure))).decision is Decision.DEFER


def test_a_service_whose_switch_is_latched_only_reads(desk: ClaimsDesk) -> None:
    """Whatever its ceiling says: the registry's facts hold here too."""
    key = desk.join("service:port", kind=PrincipalKind.SERVICE, risk_ceiling=RiskTier.PRIVILEGE)
    made = desk.document(desk.claim(RiskTier.MODIFY), origin_agent="service:port")
    assert desk.gate(made, credential=key).decision is Decision.PUBLISH
    fired = Fired(
        service_id="port",
        episode=1,
        cause=FiringCause.ERROR_RATE,
        reason="9 of 100 requests failed",
        snapshot=SenseFigures(requests=100, errors=9, active_tier=3),
        fired_at=desk.start,
    )
    fire_switch(desk.tools, TENANT, fired, at=desk.start)
    again = {**made, "id": "3f0c7d52-8f0e-4a38-9a53-0d8f3ad5c119"}
    stopped = desk.gate(again, credential=key)
    assert (stopped.decision, stopped.outcome.stopped_by) == (Decision.REFUSE, GateName.SECURITY)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE claims_decision SET decision = 'PUBLISH'",
        "UPDATE claims_decision SET text = replace(text, 'ESCALATE', 'PUBLISH'), decision = 'PUBLISH'",
        "UPDATE claims_bundle SET submitted_by = 'user:otto'",
        "UPDATE claims_bundle SET text = replace(text, '30 m', '31 m')",
        "UPDATE claims_policy SET document = replace(document, '0.6', '0.7')",
        "UPDATE claims_evidence_content SET content = x'00'",
        "DELETE FROM claims_policy",
        "DELETE FROM claims_policy WHERE version = '2'",
        "DELETE FROM claims_decision",
        "DELETE FROM claims_turn",
        "UPDATE claims_turn SET taken_at = '2000-01-01T00:00:00.000000Z'",
    ],
)
def test_a_row_that_was_changed_behind_the_ledger_decides_nothing(folder: Path, change: str) -> None:
    """Neither a decision nor who asked, what was claimed, by which law, nor on what evidence."""
    with opened_claims(folder) as desk:
        desk.policy('id: mine\nversion: "1"\nevidence: {least_confidence: 0.65}\n')
        desk.policy('id: mine\nversion: "2"\nevidence: {least_confidence: 0.6}\n')
        kept = desk.attach(b"river,30\n")
        made = claim(risk_tier="DELETE", evidence_pointers=[pointer(evidence_hash=kept.evidence_hash)])
        gated = desk.gate(desk.document(made))
        assert gated.decision is Decision.ESCALATE
    damage(folder / "node", change)
    with opened_claims(folder) as desk, refused("store.damaged_record"):
        desk.resume(gated.bundle_hash)


def test_what_was_refused_stays_so_where_its_last_decision_was_taken_away(folder: Path) -> None:
    """The row before it would let the bundle go on; the ledger says that there was a later one."""
    with opened_claims(folder) as desk:
        gated, _ = desk.waiting(RiskTier.DELETE)
        taken_back = desk.gate({**msgspec.json.decode(render_bundle(gated.bundle)), "decision": "REFUSE"})
        assert (taken_back.decision, taken_back.position) == (Decision.REFUSE, 2)
    damage(folder / "node", "DELETE FROM claims_decision WHERE position = 2")
    with opened_claims(folder) as desk, refused("store.damaged_record"):
        desk.resume(gated.bundle_hash)


def test_turns_that_were_taken_away_leave_an_agent_no_more_room(folder: Path) -> None:
    """From between, and the gate counts on from those before; the last one, and nothing is decided at all."""
    ids = [f"3f0c7d52-8f0e-4a38-9a53-0d8f3ad5c11{number}" for number in range(4)]
    with opened_claims(folder) as desk:
        desk.policy('id: calm\nversion: "1"\nrate: {bundles: 3, window_seconds: 60}\n')
        made = [desk.document(id=one) for one in ids]
        assert {desk.gate(one).decision for one in made[:3]} == {Decision.PUBLISH}
    damage(folder / "node", "DELETE FROM claims_turn WHERE position < 3")
    with opened_claims(folder) as desk:
        late = desk.gate(made[3])
        assert (late.decision, late.outcome.stopped_by) == (Decision.DEFER, GateName.SECURITY)
    damage(folder / "node", "DELETE FROM claims_turn WHERE position = 3")
    with opened_claims(folder) as desk, refused("store.damaged_record"):
        desk.resume(late.bundle_hash, at=desk.at(hours=1))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A node with two policies, evidence and a decision, whose audit holds."""
    folder = tmp_path_factory.mktemp("told")
    with opened_claims(folder) as desk:
        desk.policy('id: mine\nversion: "1"\n')
        desk.policy('id: mine\nversion: "2"\n')
        kept = desk.attach(b"river,30\n")
        desk.gate(desk.document(claim(evidence_pointers=[pointer(evidence_hash=kept.evidence_hash)])))
        assert audit_ledger(desk.tools, TENANT, full=True).holds
    return folder


@pytest.mark.clause("ski", "7.2")
@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("DELETE FROM claims_policy WHERE version = '2'", "ledger.row_missing"),
        ("UPDATE claims_policy SET signature = 'aa'", "ledger.row_differs"),
        ("UPDATE claims_bundle SET tier = 'PRIVILEGE'", "ledger.row_differs"),
        ("DELETE FROM claims_decision", "ledger.row_missing"),
        ("UPDATE claims_decision SET decision = 'REFUSE'", "ledger.row_differs"),
        ("UPDATE claims_decision SET sequence_number = 1", "ledger.row_unrecorded"),
        ("DELETE FROM claims_turn", "ledger.row_missing"),
        ("UPDATE claims_turn SET submitted_by = 'ai:nobody'", "ledger.row_differs"),
        ("UPDATE claims_turn SET sequence_number = 1", "ledger.row_unrecorded"),
        ("UPDATE claims_evidence SET size = 1", "ledger.row_differs"),
    ],
)
def test_an_audit_tells_what_was_done_to_the_tables_of_claims(
    told: Path, tmp_path: Path, change: str, code: str
) -> None:
    """Whoever can write to the database can take a row away; the entries are a signed chain, and say what was there."""
    folder = copied_claims(told, tmp_path)
    damage(folder / "node", change)
    with opened_claims(folder) as desk:
        found = audit_ledger(desk.tools, TENANT, full=True)
    assert (found.holds, found.code) == (False, code)
