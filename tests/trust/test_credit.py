"""Credits follow from a contract and a final state; they are no trust."""

from decimal import Decimal

import pytest

from assay.trust.credit import credits_of
from assay.trust.signal import Outcome, OutcomeRole, TruthstateEmitted
from assay.truth.parse_contract import check_contract
from assay.truth.status import TruthStatus
from tests.truth.compiling import flood
from tests.truth.records import contract_text, schema_bytes

PROMISED = {"observation": Decimal(5), "verified_observation": Decimal(15), "vote": Decimal(2)}
REPORTER, VOTER = OutcomeRole.REPORTER, OutcomeRole.VOTER
KEY_ID = "sha256:" + "0" * 64


def _emitted(
    *outcomes: tuple[str, OutcomeRole, bool | None],
    status: TruthStatus = TruthStatus.VERIFIED_TRUE,
    signed: bool = True,
) -> TruthstateEmitted:
    return TruthstateEmitted(
        truthkey="earth:flood:h3:886142a8e7fffff:surface:2026-01-07T12:00Z",
        claim_type="earth.flood.v1",
        state_hash="a" * 64,
        status=status,
        signed_by=KEY_ID if signed else None,  # type: ignore[arg-type]  # the text of a key id
        outcomes=tuple(
            Outcome(agent_id=agent, role=role, correct=correct, quality=Decimal(1)) for agent, role, correct in outcomes
        ),
    )


@pytest.mark.clause("kaori", "6.1")
def test_taking_part_and_being_right_are_paid_and_being_wrong_is_not() -> None:
    """Five for an observation, fifteen more where it was right, two for a vote; both roles add up."""
    emitted = _emitted(
        ("user:ann", REPORTER, True),
        ("user:ben", REPORTER, None),
        ("user:cem", REPORTER, False),
        ("user:dan", VOTER, True),
        ("user:eve", VOTER, False),
        ("user:ann", VOTER, True),
    )
    assert credits_of(PROMISED, emitted) == {"user:ann": 22, "user:ben": 5, "user:dan": 2}


def test_only_a_signed_state_that_judges_pays() -> None:
    """One that only says that a claim grew old pays nobody."""
    right = ("user:ann", REPORTER, True)
    assert credits_of(PROMISED, _emitted(right, status=TruthStatus.EXPIRED)) == {}
    assert credits_of(PROMISED, _emitted(right, status=TruthStatus.PENDING)) == {}
    assert credits_of(PROMISED, _emitted(right, signed=False)) == {}
    assert credits_of({}, _emitted(right)) == {}


def test_a_name_that_nobody_can_earn_is_warned_of() -> None:
    """It promises what nothing keeps."""
    text = contract_text().replace("vote: 2}", "vote: 2, applause: 1}")
    warnings = check_contract(text, schema_bytes=schema_bytes()).warnings
    assert [(one.path, one.code) for one in warnings if one.path.startswith("credits")] == [
        ("credits.applause", "unused")
    ]
    assert flood().credits.keys() <= {"observation", "verified_observation", "vote", "verified_vote"}
