"""An approval counts for one bundle, from one person of the role, once, while it is valid."""

from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest

from assay.claims.approve import Approval, ApprovalCheck, ApprovalState, Discount, check_approvals
from assay.claims.bundle import HumanDecision, bundle_hash
from assay.claims.policy import ApprovalNeed
from assay.kernel.instant import Instant
from tests.claims.making import NOW, approval, bundle, claim

_BUNDLE = bundle(claim(risk_tier="DELETE"))
_HASH = bundle_hash(_BUNDLE)
_OPS = ApprovalNeed(role="ops_team")
_SECURITY = ApprovalNeed(role="security_team")
_HOUR = timedelta(hours=1)


def _check(*needs: ApprovalNeed, **changes: Any) -> ApprovalCheck:  # noqa: ANN401  any of the fields
    sound: dict[str, Any] = {"bundle_hash": _HASH, "needs": needs or (_OPS,), "parties": ("ai:surveyor",), "now": NOW}
    return ApprovalCheck(**{**sound, **changes})


def _by(name: str, *roles: str, **changes: Any) -> Approval:  # noqa: ANN401  any of the fields
    own: dict[str, Any] = {"id": f"answer-{name}", "approver": f"user:{name}", "roles": roles or ("ops_team",)}
    return approval(_HASH, "ops_team", **{**own, **changes})


def test_one_person_of_the_role_satisfies_it() -> None:
    found = check_approvals(_check(), [_by("amira")])
    assert found.state is ApprovalState.SATISFIED
    assert found.missing == ()
    assert [one.approver for one in found.counted] == ["user:amira"]


def test_without_approvals_everything_is_still_needed() -> None:
    found = check_approvals(_check(_OPS, _SECURITY), [])
    assert found.state is ApprovalState.WAITING
    assert found.missing == (_OPS, _SECURITY)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"bundle_hash": bundle_hash(bundle(claim(risk_tier="DELETE", statement="Something else.")))},
            Discount.OTHER_BUNDLE,
        ),
        ({"is_person": False}, Discount.MACHINE),
        ({"approver": "ai:surveyor"}, Discount.OWN_REQUEST),
        ({"given_at": Instant(NOW + _HOUR)}, Discount.NOT_YET),
        ({"expires_at": NOW}, Discount.EXPIRED),
        ({"roles": ("cooks",)}, Discount.NO_ROLE),
    ],
)
def test_an_approval_that_binds_something_else_does_not_count(changes: dict[str, Any], why: Discount) -> None:
    """Another bundle, a machine, the one who asked, the future, the past, another role."""
    found = check_approvals(_check(), [approval(_HASH, "ops_team", **changes)])
    assert found.state is ApprovalState.WAITING
    assert found.discounted == (("answer-ops_team", why),)


def test_nobody_approves_twice() -> None:
    """Two of a role are two people."""
    two = ApprovalNeed(role="ops_team", people=2)
    twice = [_by("amira"), _by("amira", id="answer-again")]
    found = check_approvals(_check(two), twice)
    assert found.missing == (_OPS,)
    assert [why for _, why in found.discounted] == [Discount.GIVEN_TWICE]
    assert check_approvals(_check(two), [_by("amira"), _by("bo")]).state is ApprovalState.SATISFIED


def test_one_rejection_is_enough_whoever_else_approves() -> None:
    """Also when the same person approves later, and when the rejection is older than an approval would be valid."""
    no = _by("bo", decision=HumanDecision.REJECTED, expires_at=NOW)
    found = check_approvals(_check(), [_by("amira"), no])
    assert (found.state, found.rejected_by) == (ApprovalState.REJECTED, ("user:bo",))
    assert check_approvals(_check(), [no, _by("bo", id="answer-yes")]).state is ApprovalState.REJECTED


def test_a_rejection_by_a_stranger_does_not_count() -> None:
    found = check_approvals(_check(), [_by("eve", "cooks", decision=HumanDecision.REJECTED), _by("amira")])
    assert found.state is ApprovalState.SATISFIED


def test_what_is_not_approved_in_time_is_denied() -> None:
    """An approval that came when the question had closed comes too late."""
    due = Instant(NOW - _HOUR)
    late = check_approvals(_check(due_at=due), [_by("amira")])
    assert late.state is ApprovalState.EXPIRED
    assert late.discounted == (("answer-amira", Discount.EXPIRED),)
    in_time = check_approvals(_check(due_at=due), [_by("amira", given_at=Instant(NOW - 2 * _HOUR))])
    assert in_time.state is ApprovalState.SATISFIED
    assert check_approvals(_check(due_at=Instant(NOW + _HOUR)), []).state is ApprovalState.WAITING
    assert check_approvals(_check(due_at=NOW), []).state is ApprovalState.EXPIRED


def test_an_approval_runs_out_when_the_policy_says_so() -> None:
    """However long its own date would let it stand."""
    old = _by("amira", given_at=Instant(NOW - _HOUR), expires_at=Instant(NOW + _HOUR))
    assert check_approvals(_check(valid_for_seconds=3601), [old]).state is ApprovalState.SATISFIED
    assert check_approvals(_check(valid_for_seconds=3600), [old]).state is ApprovalState.WAITING


def test_nobody_stands_for_two_roles_unless_the_policy_says_so() -> None:
    """Four eyes: one person with both roles fills one place."""
    both = _by("amira", "ops_team", "security_team")
    assert check_approvals(_check(_OPS, _SECURITY), [both]).missing == (_SECURITY,)
    alone = check_approvals(_check(_OPS, _SECURITY, distinct_people=False), [both])
    assert alone.state is ApprovalState.SATISFIED


def test_people_are_placed_so_that_all_places_are_filled_in_every_order() -> None:
    """Who can stand for either role makes room for who can stand for one only."""
    people = [_by("amira", "ops_team", "security_team"), _by("bo", "ops_team"), _by("cy", "board", "security_team")]
    needs = (_OPS, ApprovalNeed(role="board"), _SECURITY)
    for order in permutations(people):
        assert check_approvals(_check(*needs), order).state is ApprovalState.SATISFIED
    [missing] = check_approvals(_check(*needs), people[:2]).missing
    assert missing.role == "board"


def test_a_place_that_is_taken_is_not_given_twice() -> None:
    """Two people who can only stand for one role fill one place, whoever comes first."""
    people = [_by("amira", "ops_team"), _by("bo", "ops_team")]
    for order in permutations(people):
        found = check_approvals(_check(_OPS, _SECURITY), order)
        assert found.missing == (_SECURITY,)
        assert len(found.counted) == 2


def test_a_person_named_by_a_bundle_approves_as_that_person() -> None:
    """`required_approvals` may name somebody instead of a role."""
    named = ApprovalNeed(role="user:amira")
    assert check_approvals(_check(named), [_by("amira", "cooks")]).state is ApprovalState.SATISFIED
    assert check_approvals(_check(named), [_by("bo", "cooks")]).state is ApprovalState.WAITING


def test_the_order_of_approvals_does_not_matter() -> None:
    given = [_by("amira"), _by("bo", decision=HumanDecision.REJECTED), _by("cy", is_person=False)]
    found = {check_approvals(_check(), order).state for order in permutations(given)}
    assert found == {ApprovalState.REJECTED}


def test_an_approval_falls_with_whoever_gave_it_and_a_rejection_stands() -> None:
    gone = check_approvals(_check(), [_by("amira", is_active=False)])
    assert gone.state is ApprovalState.WAITING
    assert [why for _, why in gone.discounted] == [Discount.DISABLED]
    no = _by("amira", is_active=False, decision=HumanDecision.REJECTED)
    assert check_approvals(_check(), [no]).state is ApprovalState.REJECTED
