"""What the node said is handed out as claims and as proofs, to whoever may read the thing itself."""

import base64
import json
from collections.abc import Iterator

import msgspec
import pytest

from assay.claims.bundle import ClaimBundle, ClaimType
from assay.claims.parse_bundle import Reading, check_bundle
from assay.flows.ledger.check_attached import check_attached
from assay.identity.principal import PrincipalChange
from assay.kernel.bundle import parse_bundle
from assay.kernel.check_bundle import Outcome
from assay.kernel.check_bundle import check_bundle as check_proof
from assay.kernel.digest import digest_of
from assay.kernel.ids import PrincipalId
from assay.kernel.key import TrustAnchors
from assay.surfaces.client import Client
from tests.acting import amend_principal
from tests.flows._node import TENANT
from tests.flows._people import ADMIN
from tests.surfaces.http.v1._whole import Whole

_NUMBER = 9_201


def _client(whole: Whole, by: str) -> Client:
    return Client("http://testserver.local", key=whole.keys[by], http=whole.client)


def _is_strict(exported: ClaimBundle) -> bool:
    return check_bundle(msgspec.json.encode(exported), reading=Reading.STRICT).problems == ()


def test_a_state_and_the_verdicts_of_a_record_are_claims(whole: Whole) -> None:
    operator, sensor = _client(whole, "operator"), _client(whole, "sensor")
    observed = sensor.observe(whole.observation(_NUMBER))
    operator.compile_state(observed.truthkey)
    sensor.evaluate(whole.record("t-exported"))
    state, verdicts = operator.state_claims(observed.truthkey), operator.verdict_claims("t-exported")
    assert [one.claim_type for one in state.claims] == [ClaimType.FACT]
    assert {one.claim_type for one in verdicts.claims} == {ClaimType.INFERENCE}
    assert _is_strict(state)
    assert _is_strict(verdicts)
    assert whole.get("/api/v1/telemetry/t-exported/claims", "amira").status_code == 403
    for path in ("states/earth:nothing", "telemetry/t-nothing", "answers/nothing"):
        assert whole.get(f"/api/v1/{path}/claims").status_code in (400, 404), path


@pytest.fixture
def picky(whole: Whole) -> Iterator[Whole]:
    """The asker takes nothing below the highest level, which nothing here reaches."""
    _take(whole, 3)
    yield whole
    _take(whole, 0)


def _take(whole: Whole, floor: int) -> None:
    change = PrincipalChange(authenticity_level_floor=floor)
    amend_principal(whole.tools, TENANT, PrincipalId("user:amira"), change, by=ADMIN, at=whole.tools.clock.now())


def _answered(whole: Whole) -> str:
    answer: str = whole.post("/api/v1/answers", whole.question(), "amira").json()["answer_id"]
    return answer


def test_the_claims_of_an_answer_are_its_askers(whole: Whole) -> None:
    answer_id = _answered(whole)
    exported = _client(whole, "amira").answer_claims(answer_id)
    assert (exported.claims[0].id, _is_strict(exported)) == (answer_id, True)
    assert whole.get(f"/api/v1/answers/{answer_id}", "operator").status_code == 200
    assert whole.get(f"/api/v1/answers/{answer_id}/claims", "operator").status_code == 404
    assert whole.get(f"/api/v1/answers/{answer_id}/claims", "sensor").status_code == 403


def _problems(whole: Whole, proof: dict[str, object]) -> list[str]:
    """By the verifier of `assay verify`, which trusts the node's key and has nothing else."""
    bundle = parse_bundle(msgspec.json.encode(proof))
    anchors = TrustAnchors(key_ids=frozenset({whole.tools.ledger_signer.key_id}))
    finding = check_attached(bundle, check_proof(bundle, anchors), anchors, None)
    return [f"{check.name}: {check.message}" for check in finding.checks if check.outcome is Outcome.FAILED]


def test_the_proof_of_an_answer_is_its_askers_and_binds_the_output(whole: Whole) -> None:
    answer_id = _answered(whole)
    assert whole.get(f"/api/v1/answers/{answer_id}/proof", "amira").status_code == 409
    _client(whole, "operator").sign_checkpoint()
    proof = msgspec.json.decode(_client(whole, "amira").prove_answer(answer_id))
    assert _problems(whole, proof) == []
    [attached] = proof["attachments"]
    forged = {**proof, "attachments": [{**attached, **_attachment(b'"otherwise"')}]}
    assert len(_problems(whole, forged)) == 1
    assert whole.get(f"/api/v1/answers/{answer_id}/proof", "operator").status_code == 404
    assert whole.get("/api/v1/answers/nothing/proof", "amira").status_code == 404


def _attachment(content: bytes) -> dict[str, str]:
    return {"content_base64": base64.b64encode(content).decode(), "sha256": digest_of(content)}


def test_the_proof_of_a_state_has_all_that_it_was_compiled_from(whole: Whole) -> None:
    operator, sensor = _client(whole, "operator"), _client(whole, "sensor")
    observed = sensor.observe(whole.observation(_NUMBER + 1))
    operator.compile_state(observed.truthkey)
    operator.sign_checkpoint()
    proof = json.loads(operator.prove_state(observed.truthkey))
    assert _problems(whole, proof) == []
    assert any(f"obs-{_NUMBER + 1}" in base64.b64decode(one["content_base64"]).decode() for one in proof["attachments"])
    assert whole.get(f"/api/v1/states/{observed.truthkey}/proof", "sensor").status_code == 403
    assert whole.get("/api/v1/states/earth:nothing/proof").status_code in (400, 404)


def test_what_is_withheld_is_in_no_claim_and_no_proof(picky: Whole) -> None:
    answer_id = _answered(picky)
    shown = picky.get(f"/api/v1/answers/{answer_id}", "amira").json()
    assert (shown["withheld"], shown["output"]) == (True, None)
    assert picky.get(f"/api/v1/answers/{answer_id}/claims", "amira").status_code == 404
    assert picky.get(f"/api/v1/answers/{answer_id}/proof", "amira").status_code == 404
