"""The rules of the second edition, and that a state of the first is still compiled by the first."""

from decimal import Decimal

import pytest

from assay.truth.contract import Contract
from assay.truth.edition import Edition, edition_of
from assay.truth.parse_contract import check_contract
from assay.truth.state import TruthState
from assay.truth.status import TruthStatus, VerificationBasis
from tests.truth.compiling import compiled, flood, observed, scored, trusted, voted, window
from tests.truth.records import schema_bytes

_FIRST = "assay-0.1.0"
_TRUST = trusted(ann="silver", ben="silver", dot="expert", eve="expert", fay="silver", gus="silver", hal="silver")


def test_only_the_released_version_is_of_the_first_edition() -> None:
    assert edition_of(_FIRST) is Edition.FIRST
    assert {edition_of(name) for name in ("assay-0.1.0+2", "assay-0.2.0", "vectors")} == {Edition.SECOND}


def _only_form() -> Contract:
    return flood({"ai_validation_routing.bouncer.routes": {"pass": "accept", "fail": "reject", "uncertain": "human"}})


@pytest.mark.clause("kaori", "15.1")
def test_form_checks_alone_are_no_machine_confidence_and_verify_nothing() -> None:
    said = [observed(f"user:{name}") for name in ("ann", "ben", "dot")]
    scores = [scored(one, "bouncer", 0.95) for one in said]
    state = compiled(_only_form(), said, _TRUST, ai_scores=scores)
    assert (state.ai_confidence, state.verification_basis) == (Decimal(0), VerificationBasis.NONE)
    old = compiled(_only_form(), said, _TRUST, ai_scores=scores, compiler_version=_FIRST)
    assert old.ai_confidence == Decimal("0.95")


def test_lint_says_that_form_checks_verify_nothing() -> None:
    schema = schema_bytes("flood_v1")
    finding = check_contract(_only_form().document, schema_bytes=schema)
    assert "ai_validation_routing.bouncer.routes" in {problem.path for problem in finding.warnings}
    assert check_contract(flood().document, schema_bytes=schema).warnings == ()


def _critical() -> Contract:
    return flood(
        {
            "risk_profile": "critical",
            "validation_flow.mode": "human_peer",
            "state_verification_policy.critical_lane.min_confidence": 0,
            "confidence_model.thresholds": {"verify": 0, "review": 0},
        }
    )


def _split(vote: str, against: str, version: str) -> TruthState:
    votes = [voted("user:dot", vote), voted("user:eve", vote)]
    votes += [voted(f"user:{name}", against) for name in ("fay", "gus", "hal")]
    return compiled(
        _critical(), [observed("user:ann")], _TRUST, votes=votes, window_events=[window()], compiler_version=version
    )


@pytest.mark.clause("kaori", "15.2")
@pytest.mark.parametrize(
    ("vote", "against", "status"),
    [("RATIFY", "REJECT", TruthStatus.VERIFIED_TRUE), ("REJECT", "RATIFY", TruthStatus.VERIFIED_FALSE)],
)
def test_experts_who_agree_settle_what_others_split_in_the_critical_lane(
    vote: str, against: str, status: TruthStatus
) -> None:
    """Two experts weigh 14, three silver voters 9: 5 is between the thresholds, and the experts are of one mind."""
    assert _split(vote, against, "assay-0.1.0+2").status is status
    assert _split(vote, against, _FIRST).status not in (TruthStatus.VERIFIED_TRUE, TruthStatus.VERIFIED_FALSE)


def test_experts_who_differ_settle_nothing() -> None:
    votes = [voted("user:dot"), voted("user:eve", "REJECT"), voted("user:fay")]
    state = compiled(_critical(), [observed("user:ann")], _TRUST, votes=votes, window_events=[window()])
    assert state.status is TruthStatus.LEANING_TRUE
