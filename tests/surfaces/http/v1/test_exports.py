"""What the node said is handed out as claims that any gate reads, to whoever may read the thing itself."""

from collections.abc import Iterator

import msgspec
import pytest

from assay.claims.bundle import ClaimBundle, ClaimType
from assay.claims.parse_bundle import Reading, check_bundle
from assay.flows.identity.amend_principal import amend_principal
from assay.identity.principal import PrincipalChange
from assay.kernel.ids import PrincipalId
from assay.surfaces.client import Client
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


def test_what_is_withheld_is_in_no_claim(picky: Whole) -> None:
    answer_id = _answered(picky)
    shown = picky.get(f"/api/v1/answers/{answer_id}", "amira").json()
    assert (shown["withheld"], shown["output"]) == (True, None)
    assert picky.get(f"/api/v1/answers/{answer_id}/claims", "amira").status_code == 404
