"""One registry of rules: versions count upwards, and only a person certifies one."""

from typing import Any

import pytest

from assay.delivery.errors import DeliveryError, InvalidRuleVersionError
from assay.delivery.rule import (
    Certification,
    RuleId,
    RuleRegistry,
    RuleSource,
    RuleVersion,
    certify,
    fold_rules,
    next_version,
    parse_rule_id,
)
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.kernel.digest import Digest, digest_of
from assay.kernel.ids import PrincipalId
from tests.identity.people import NOON, later, make_principal
from tests.raising import raises

_RULE = RuleId("UKC-001")
_ONE, _TWO = digest_of(b"one"), digest_of(b"two")
_AUTHOR = PrincipalId("user:author")
_REVIEWER = make_principal("user:amira", change=PrincipalChange(roles=("reviewer",)))


def _version(registry: RuleRegistry, content: Digest = _ONE, **changes: Any) -> RuleVersion | None:  # noqa: ANN401  any argument
    arguments: dict[str, Any] = {"source": RuleSource.TEXT, "source_ref": "manual", "at": NOON, "by": _AUTHOR}
    return next_version(registry, _RULE, content_hash=content, **(arguments | changes))


def _registry(*contents: Digest) -> RuleRegistry:
    registry = RuleRegistry()
    for content in contents:
        version = _version(registry, content)
        assert version is not None
        registry = fold_rules([version], registry)
    return registry


@pytest.mark.clause("forja", "proof")
def test_a_certified_rule_is_the_version_in_force() -> None:
    registry = _registry(_ONE)
    assert registry.certified() == ()
    after = fold_rules([certify(registry, _RULE, seen=_ONE, by=_REVIEWER, at=NOON)], registry)
    assert after.certified() == (_RULE,)
    assert registry.certified() == ()


def test_a_changed_rule_is_not_certified_any_more() -> None:
    registry = _registry(_ONE)
    certified = fold_rules([certify(registry, _RULE, seen=_ONE, by=_REVIEWER, at=NOON)], registry)
    second = _version(certified, _TWO)
    assert second is not None
    changed = fold_rules([second], certified)
    assert (changed.get(_RULE).latest.version, changed.certified()) == (2, ())
    again = fold_rules([certify(changed, _RULE, seen=_TWO, by=_REVIEWER, at=NOON)], changed)
    assert again.certified() == (_RULE,)


def test_loading_the_same_again_adds_nothing() -> None:
    registry = _registry(_ONE)
    assert _version(registry) is None
    served = _version(registry, capabilities=["b", "a", "a"])
    assert served is not None
    assert (served.version, served.capabilities) == (2, ("a", "b"))


@pytest.mark.parametrize(
    "by",
    [
        make_principal("ai:judge", kind=PrincipalKind.AGENT, change=PrincipalChange(roles=("reviewer",))),
        make_principal("user:clerk"),
        make_principal("user:author", change=PrincipalChange(roles=("reviewer",))),
        make_principal("user:gone", change=PrincipalChange(roles=("reviewer",), disabled_at=NOON)),
    ],
    ids=lambda who: who.id,
)
def test_nobody_else_certifies(by: Any) -> None:  # noqa: ANN401  a principal
    """No machine, nobody without the role, not the author, not the disabled."""
    with raises(DeliveryError.certification):
        certify(_registry(_ONE), _RULE, seen=_ONE, by=by, at=later(seconds=1))


def test_a_certification_binds_what_was_seen() -> None:
    with raises(DeliveryError.certification, match="changed after it was shown"):
        certify(_registry(_ONE, _TWO), _RULE, seen=_ONE, by=_REVIEWER, at=NOON)


def test_facts_must_follow_one_another() -> None:
    registry = _registry(_ONE)
    version = registry.get(_RULE).latest
    good = certify(registry, _RULE, seen=_ONE, by=_REVIEWER, at=NOON)
    with raises(DeliveryError.rule_order):
        fold_rules([version], registry)
    forged = Certification(rule_id=_RULE, version=1, content_hash=_TWO, certified_by=_REVIEWER.id, certified_at=NOON)
    with raises(DeliveryError.certification):
        fold_rules([forged], registry)
    with raises(DeliveryError.unknown_rule):
        fold_rules([good])
    with raises(DeliveryError.unknown_rule):
        registry.get(RuleId("NOWHERE"))


@pytest.mark.parametrize("text", ["", "-x", "x.", "a b", "x" * 129, "é"])
def test_an_id_is_one_that_an_annotation_can_carry(text: str) -> None:
    with pytest.raises(InvalidRuleVersionError):
        parse_rule_id(text)


@pytest.mark.parametrize(
    "changes",
    [{"version": 0}, {"version": True}, {"content_hash": "x"}, {"capabilities": ("b", "a")}, {"domains": ("b", "a")}],
)
def test_a_version_is_well_formed_or_refused(changes: dict[str, Any]) -> None:
    fields: dict[str, Any] = {
        "rule_id": _RULE, "version": 1, "content_hash": _ONE, "source": RuleSource.CODE, "source_ref": "x",
        "recorded_at": NOON, "recorded_by": _AUTHOR,
    }  # fmt: skip
    with pytest.raises(InvalidRuleVersionError):
        RuleVersion(**(fields | changes))
