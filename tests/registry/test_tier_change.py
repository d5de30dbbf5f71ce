"""A tier changes only by an authorised person, and every change is kept."""

import pytest

from assay.identity.principal import PrincipalKind
from assay.registry.errors import DeniedError, RegistryError
from assay.registry.tier_change import TierChange, TierOrder, change_tier, tier_at
from tests.identity.people import NOON, later, make_principal
from tests.raising import raises
from tests.registry.fleet import AGENT, admin

_ORDER = TierOrder(subject=AGENT, to_tier=3, reason="passed its trial")


@pytest.mark.clause("forja", "FRJ-015")
def test_an_admin_changes_a_tier_and_the_history_says_so() -> None:
    first = change_tier([], _ORDER, issued=1, by=admin(), at=NOON)
    second = change_tier(
        [first], TierOrder(subject=AGENT, to_tier=0, reason="misused"), issued=1, by=admin(), at=later(hours=1)
    )
    assert (first.version, first.from_tier, first.to_tier, first.changed_by) == (1, 1, 3, "user:root")
    assert (second.version, second.from_tier, second.to_tier) == (2, 3, 0)
    history = [second, first]
    assert [tier_at(history, AGENT, issued=1, at=later(hours=hour)) for hour in (-1, 0, 0.5, 1)] == [1, 3, 3, 0]
    assert tier_at(history, "ai:other", issued=2, at=later(hours=2)) == 2


@pytest.mark.clause("forja", "FRJ-015")
@pytest.mark.parametrize(
    "by",
    [
        admin("ai:planner", PrincipalKind.AGENT),
        admin("service:x", PrincipalKind.SERVICE),
        make_principal("user:clerk"),
        admin(disabled_at=NOON),
    ],
    ids=lambda who: who.id,
)
def test_nobody_else_changes_a_tier(by: object) -> None:
    """Neither a machine with the role, nor a person without it, nor one who was disabled."""
    with raises(DeniedError.tier_change) as caught:
        change_tier([], _ORDER, issued=1, by=by, at=NOON)  # type: ignore[arg-type]  # a principal
    assert caught.value.code == "FRJ-015"


@pytest.mark.clause("forja", "FRJ-015")
def test_nobody_changes_their_own_tier() -> None:
    with raises(DeniedError.tier_change, match="their own"):
        change_tier([], TierOrder(subject="user:root", to_tier=3, reason="why not"), issued=1, by=admin(), at=NOON)


def test_history_only_goes_on() -> None:
    history: list[TierChange] = [change_tier([], _ORDER, issued=1, by=admin(), at=NOON)]
    with raises(DeniedError.tier_change, match="expected a change after"):
        change_tier(history, _ORDER, issued=1, by=admin(), at=later(hours=-1))


@pytest.mark.parametrize(("tier", "reason"), [(4, "x"), (True, "x"), (-1, "x"), (1, " "), (1, "x" * 501)])
def test_an_order_says_a_tier_and_why(tier: int, reason: str) -> None:
    with raises(RegistryError.invalid_rule):
        TierOrder(subject=AGENT, to_tier=tier, reason=reason)
