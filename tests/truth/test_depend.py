"""Who is not independent, and what a further report of such a group keeps."""

from decimal import Decimal
from typing import Any

import pytest

from assay.truth.competence import Competence
from assay.truth.contract import PosteriorDependence
from assay.truth.depend import Kept, find_groups, kept_shares
from assay.truth.evidence import Fingerprint, Resemblance, parse_fingerprint
from assay.truth.gather import gather_observations
from assay.truth.observation import HashedObservation
from tests.truth.believing import believing, experienced
from tests.truth.compiling import observed

_ALL = PosteriorDependence(evidence=Decimal("0.25"), kin=Decimal(0), moment=Decimal("0.5"))


def _piece(letter: str) -> dict[str, str]:
    return {"uri": f"gs://kaori-evidence/{letter}.jpg", "sha256": letter * 64, "mime_type": "image/jpeg"}


def _kept(said: list[HashedObservation], prints: tuple[Fingerprint | Resemblance, ...] = (), **kin: str) -> list[Kept]:
    law = believing()
    snapshot = experienced({name: Competence(kin=kin[name]) if name in kin else None for name in "abc"})
    rows = gather_observations(law, said).rows
    return list(kept_shares(find_groups(law, _ALL, rows, snapshot, prints), ["x"] * len(rows)))


def _apart(*names: str, **members: Any) -> list[HashedObservation]:  # noqa: ANN401
    return [observed(f"user:{name}", reported=f"12:{10 + place}", **members) for place, name in enumerate(names)]


def test_independent_reports_keep_everything() -> None:
    assert _kept(_apart("a", "b", "c")) == [Kept(1, 1)] * 3


def test_a_group_of_three_with_half_kept_counts_as_two() -> None:
    """1 + 0.5 x 2 of 3: two thirds each."""
    said = [observed(f"user:{name}") for name in "abc"]
    assert [Decimal(one.above) / one.below * 3 for one in _kept(said)] == [2, 2, 2]


def test_the_same_evidence_binds_across_several_pieces() -> None:
    said = _apart("a", "b")
    shared = [
        observed("user:a", evidence_refs=[_piece("a"), _piece("b")]),
        observed("user:b", reported="12:20", evidence_refs=[_piece("b"), _piece("c")]),
        observed("user:c", reported="12:30", evidence_refs=[_piece("c")]),
    ]
    assert {Decimal(one.above) / one.below for one in _kept(shared)} == {Decimal("0.5")}
    assert _kept(said) == [Kept(1, 1)] * 2


def test_nearly_the_same_evidence_binds_as_the_contract_says() -> None:
    """Within six bits by the contract's method, or alike by its model from its threshold on."""
    said = [
        observed("user:a", evidence_refs=[_piece("a")]),
        observed("user:b", reported="12:20", evidence_refs=[_piece("b")]),
    ]

    def mark(letter: str, bits: str, method: str = "phash") -> Any:  # noqa: ANN401
        return parse_fingerprint({"sha256": letter * 64, "method": method, "bits": bits})

    def alike(similarity: float, model: str = "clip-vit-b32") -> Any:  # noqa: ANN401
        pair = {"sha256": "a" * 64, "other": "b" * 64, "method": "embedding", "model": model}
        return parse_fingerprint({**pair, "similarity": similarity})

    near = (mark("a", "0" * 16), mark("b", "0" * 15 + "f"))
    far = (mark("a", "0" * 16), mark("b", "0" * 14 + "ff"))
    other = (mark("a", "0" * 16, "dhash"), mark("b", "0" * 16, "dhash"))
    bound = [_kept(said, prints)[0] != Kept(1, 1) for prints in (near, far, other, (alike(0.98),), (alike(0.5),))]
    assert bound == [True, False, False, True, False]
    assert _kept(said, (alike(0.98, "other"),))[0] == Kept(1, 1)


def test_of_several_kinds_the_one_counts_that_leaves_least() -> None:
    said = [observed(f"user:{name}") for name in "ab"]
    assert _kept(said, a="user:a", b="user:a") == [Kept(1_000_000, 2_000_000)] * 2


@pytest.mark.parametrize("said", [["x", "y"], ["x", None]])
def test_members_of_a_group_who_say_different_things_keep_everything(said: list[str | None]) -> None:
    law = believing()
    rows = gather_observations(law, [observed(f"user:{name}") for name in "ab"]).rows
    groups = find_groups(law, _ALL, rows, experienced({"a": None, "b": None}))
    assert kept_shares(groups, said) == (Kept(1, 1), Kept(1, 1))


def test_what_has_no_place_has_no_moment_in_common() -> None:
    rows = gather_observations(believing(), [observed(f"user:{name}", geo=None) for name in "ab"]).rows
    assert find_groups(believing(), _ALL, rows, experienced({})).is_empty
