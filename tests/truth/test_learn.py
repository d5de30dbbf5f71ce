"""What a final state teaches: against the others, or against what people decided, and never against itself."""

from decimal import Decimal

import pytest
from msgspec.structs import replace

from assay.truth.contract import Contract
from assay.truth.learn import Lesson, lessons_of
from assay.truth.observation import HashedObservation
from assay.truth.state import TruthState
from assay.truth.status import TruthStatus, VerificationBasis
from tests.truth.believing import believing, experienced
from tests.truth.compiling import compiled, flood, observed

_NAMES = "abcd"
_SNAPSHOT = experienced(dict.fromkeys(_NAMES))


def _said(*levels: float) -> list[HashedObservation]:
    """The last of them says another severity."""
    return [
        observed(
            f"user:{name}",
            {"severity": "low" if name == "d" else "high", "water_level_meters": level},
            reported=f"12:{10 + place}",
        )
        for place, (name, level) in enumerate(zip(_NAMES, levels, strict=False))
    ]


def _lessons(
    status: TruthStatus,
    basis: VerificationBasis = VerificationBasis.IMPLICIT_CONSENSUS,
    *levels: float,
    law: Contract | None = None,
) -> dict[str, dict[str, Lesson]]:
    given = _said(*(levels or (1, 1, 1, 1)))
    contract = law or believing()
    state: TruthState = replace(compiled(contract, given, _SNAPSHOT), status=status, verification_basis=basis)
    found = lessons_of(contract, state, [one.observation for one in given], _SNAPSHOT)
    return {agent[-1]: {lesson.field: lesson for lesson in lessons} for agent, lessons in found.items()}


def test_a_reporter_is_compared_with_the_others_and_not_with_itself() -> None:
    lessons = _lessons(TruthStatus.VERIFIED_TRUE)
    mine, other = lessons["a"]["severity"], lessons["d"]["severity"]
    assert (mine.said, other.said) == ('"high"', '"low"')
    # Without its own word two others say high and one low; the one who says low faces three.
    assert Decimal("0.5") < mine.shares['"high"'] < other.shares['"high"']
    assert other.shares['"low"'] < Decimal("0.05")
    assert sum(mine.shares.values()) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("basis", [VerificationBasis.HUMAN_CONSENSUS, VerificationBasis.AUTHORITY_OVERRIDE])
def test_what_people_found_true_is_certain(basis: VerificationBasis) -> None:
    lessons = _lessons(TruthStatus.VERIFIED_TRUE, basis)
    assert {lesson["severity"].shares['"high"'] for lesson in lessons.values()} == {Decimal(1)}
    assert {lesson["severity"].weight for lesson in lessons.values()} == {Decimal(1)}
    assert lessons["a"]["water_level_meters"].distance == 0


def test_what_people_found_false_was_certainly_not_so() -> None:
    lessons = _lessons(TruthStatus.VERIFIED_FALSE, VerificationBasis.HUMAN_CONSENSUS)
    assert lessons["a"]["severity"].shares['"high"'] == 0
    assert lessons["a"]["severity"].weight == 1
    assert lessons["d"]["severity"].shares['"high"'] == 0
    assert "water_level_meters" not in lessons["a"]


def test_an_undecided_state_teaches_as_far_as_the_reports_agree() -> None:
    assert 0 < _lessons(TruthStatus.INCONCLUSIVE, VerificationBasis.TIMEOUT_DEFAULT)["a"]["severity"].weight < 1


def test_a_single_reporter_learns_nothing_from_itself() -> None:
    assert _lessons(TruthStatus.INCONCLUSIVE, VerificationBasis.TIMEOUT_DEFAULT, 1.0) == {}


@pytest.mark.parametrize(
    ("status", "basis"),
    [
        (TruthStatus.EXPIRED, VerificationBasis.TIMEOUT_DEFAULT),
        (TruthStatus.VERIFIED_FALSE, VerificationBasis.TIMEOUT_DEFAULT),
        (TruthStatus.LEANING_TRUE, VerificationBasis.NONE),
    ],
)
def test_what_nobody_judged_teaches_nothing(status: TruthStatus, basis: VerificationBasis) -> None:
    assert _lessons(status, basis) == {}


def test_a_contract_without_a_posterior_teaches_nothing() -> None:
    assert _lessons(TruthStatus.VERIFIED_TRUE, law=flood()) == {}


def test_a_number_is_measured_from_the_others_median_in_tolerances() -> None:
    """The others of d say 1, 1 and 1.3: d is three metres off, with a tolerance of one and a half."""
    lessons = _lessons(TruthStatus.VERIFIED_TRUE, VerificationBasis.IMPLICIT_CONSENSUS, 1, 1, 1.3, 4)
    assert lessons["d"]["water_level_meters"].distance == 2
    assert lessons["d"]["water_level_meters"].weight == Decimal("0.6")
    far = _lessons(TruthStatus.VERIFIED_TRUE, VerificationBasis.IMPLICIT_CONSENSUS, 1, 1, 1, 49)
    assert far["d"]["water_level_meters"].distance == 10


def test_of_two_values_of_which_one_is_false_nothing_is_left_but_the_other() -> None:
    """Everybody says high, people find it false, and the share of every other value was rounded away."""
    given = [observed(f"user:r{n}", reported=f"12:{10 + n}") for n in range(20)]
    snapshot = experienced({f"r{n}": None for n in range(20)})
    state = compiled(believing(), given, snapshot)
    false = replace(state, status=TruthStatus.VERIFIED_FALSE, verification_basis=VerificationBasis.HUMAN_CONSENSUS)
    lessons = lessons_of(believing(), false, [one.observation for one in given], snapshot)
    severity = next(lesson for lesson in lessons["user:r0"] if lesson.field == "severity")
    assert set(severity.shares.values()) == {Decimal(0)}


def test_long_texts_and_very_many_numbers_are_bounded() -> None:
    rules = {"name": {"strategy": "weighted_mode", "path": "name"}}
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    law = believing({"output_schema": schema, "output_schema_ref": ..., "claim_derivation": rules})
    given = [observed(f"user:{name}", {"name": "x" * 300}) for name in _NAMES]
    state = replace(compiled(law, given, _SNAPSHOT), status=TruthStatus.VERIFIED_TRUE)
    assert lessons_of(law, state, [one.observation for one in given], _SNAPSHOT) == {}
    many = [observed(f"user:m{n}", reported=f"12:{10 + n % 50}") for n in range(260)]
    snapshot = experienced({f"m{n}": None for n in range(260)})
    sure = replace(compiled(believing(), many, snapshot), status=TruthStatus.VERIFIED_TRUE)
    lessons = lessons_of(believing(), sure, [one.observation for one in many], snapshot)
    assert {one.distance for found in lessons.values() for one in found if one.distance is not None} == {Decimal(0)}
