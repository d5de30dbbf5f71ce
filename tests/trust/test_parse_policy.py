"""A policy is read whole or refused whole; what it inherits is part of it, and part of its hash."""

import json
from decimal import Decimal
from hashlib import sha256

import pytest
import yaml  # type: ignore[import-untyped]  # ships no types

from assay.trust.errors import PolicyError
from assay.trust.parse_policy import check_policy, parse_policy
from assay.truth.contract import Standing
from tests.trust.signals import policy, policy_document, policy_text
from tests.truth.records import changed

# From the shipped file by another YAML reader and another JSON writer.
PINNED = "16d8c4e420ec7e5f6853df8adb39202f72d075c5558f96e6b627279e6b35c7c7"


def coastal(text: str | None = None) -> str:
    return policy_text("flow_coastal_v1") if text is None else text


def test_the_shipped_policy_has_the_hash_an_independent_method_gives() -> None:
    value = {**policy_document(), "version": "1"}
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    assert parse_policy(policy_text()).policy_hash == sha256(text.encode()).hexdigest() == PINNED


def test_a_policy_that_inherits_is_hashed_with_what_it_inherits() -> None:
    """The hash is that of the resolved document, which can be read again without the parent."""
    read = parse_policy(coastal(), parents={"flow_v1": policy_text()})
    expected = {**policy_document(), **policy_document("flow_coastal_v1"), "version": "1"}
    del expected["extends"]
    text = json.dumps(expected, sort_keys=True, separators=(",", ":"))
    assert read.policy_hash == sha256(text.encode()).hexdigest()
    assert parse_policy(read.document) == read
    assert read.limits.per_day == 60
    assert read.decay.half_life == "P180D"


def test_a_changed_parent_makes_another_policy() -> None:
    parent = policy_text().replace("theta_min: 0.1", "theta_min: 0.05")
    one = parse_policy(coastal(), parents={"flow_v1": policy_text()})
    other = parse_policy(coastal(), parents={"flow_v1": parent})
    assert one.policy_hash != other.policy_hash
    assert other.theta_min == Decimal("0.05")


def test_profiles_are_inherited_by_name() -> None:
    """A grandchild keeps the parents' profiles, and replaces one of the same name whole."""
    child = "id: third\nversion: 1\nextends: flow_coastal_v1\nprofiles: {floods: {claim_type: earth, theta_min: 0.3}}\n"
    parents = {"flow_v1": policy_text(), "flow_coastal_v1": coastal()}
    read = parse_policy(child, parents=parents)
    assert set(read.profiles) == {"sensors", "floods"}
    assert read.profiles["floods"].updates is None
    assert parse_policy("id: fourth\nversion: 1\nextends: flow_v1\n", parents=parents).profiles == {}


@pytest.mark.parametrize(
    ("extends", "parents", "says"),
    [
        ("nobody", {"flow_v1": policy_text()}, "expected one of flow_v1"),
        ("nobody", {}, "no policy at all"),
        ("[flow_v1]", {"flow_v1": policy_text()}, "expected one of flow_v1"),
        ("child", {"child": "id: child\nversion: 1\nextends: child\n"}, "child -> child"),
        ("a", {"a": "id: a\nversion: 1\nextends: child\n", "child": "id: child\nextends: a\n"}, "child -> a -> child"),
        ("a", {"a": policy_text()}, "expected `a` to be a sound policy of that id"),
        ("a", {"a": "id: a\nversion: 1\n"}, "expected `a` to be a sound policy of that id"),
    ],
)
def test_a_parent_that_is_missing_unsound_or_in_a_circle_is_one_problem(
    extends: str, parents: dict[str, str], says: str
) -> None:
    """At the line that names it; what the parent would have brought is not complained about."""
    with pytest.raises(PolicyError, match="extends") as refused:
        parse_policy(f"id: child\nversion: 1\nextends: {extends}\n", parents=parents)
    [problem] = refused.value.problems
    assert (problem.line, problem.path) == (3, "extends")
    assert says in problem.message


def test_policies_above_one_another_are_at_most_eight() -> None:
    parents = {f"p{n}": f"id: p{n}\nversion: 1\nextends: p{n + 1}\n" for n in range(9)}
    parents["p7"] = policy_text().replace("id: flow_v1", "id: p7")
    assert parse_policy("id: child\nversion: 1\nextends: p0\n", parents=parents).theta_min == Decimal("0.1")
    parents["p7"] = "id: p7\nversion: 1\nextends: p8\n"
    parents["p8"] = policy_text().replace("id: flow_v1", "id: p8")
    with pytest.raises(PolicyError, match="at most 8 policies"):
        parse_policy("id: child\nversion: 1\nextends: p0\n", parents=parents)


@pytest.mark.parametrize("name", sorted(set(policy_document()) - {"id", "version"}))
def test_nothing_that_decides_has_a_default(name: str) -> None:
    """A policy without any one of its blocks is refused, and says which."""
    finding = check_policy(yaml.safe_dump(changed(policy_document(), name, ...)))
    assert [(problem.path, problem.code) for problem in finding.errors] == [(name, "required")]


@pytest.mark.parametrize(
    ("path", "to", "where"),
    [
        ("initial_standing", 1001, "initial_standing"),
        ("theta_min", 1.5, "theta_min"),
        ("sigmoid.k", 0, "sigmoid.k"),
        ("decay.half_life", "P1M", "decay.half_life"),
        ("limits.per_day", 0, "limits.per_day"),
        ("phases.low.below", 900, "phases.low"),
        ("standings.silver", 700, "standings"),
        ("standings.bronze", 10, "standings"),
        ("standings.expert", ..., "standings"),
        ("roles.steward", "gold", "roles.steward"),
        ("profiles", {"p": {"theta_min": 0.2}}, "profiles.p.claim_type"),
        ("profiles", {"p": {"claim_type": "earth", "initial_standing": 9}}, "profiles.p.initial_standing"),
        ("profiles", {"p": {"claim_type": "earth", "theta_min": 0.05}}, "profiles.p.theta_min"),
        ("profiles", ["p"], "profiles"),
        ("network.mystery", 1, "network.mystery"),
    ],
)
def test_what_cannot_be_meant_is_refused_where_it_stands(path: str, to: object, where: str) -> None:
    finding = check_policy(yaml.safe_dump(changed(policy_document(), path, to)))
    assert finding.policy is None
    assert where in [problem.path for problem in finding.errors]


def test_every_problem_is_told_at_once_with_its_line() -> None:
    text = policy_text().replace("theta_min: 0.1", "theta_min: 7\ntheta_min: 8").replace("k: 0.01", "k: fast")
    lines = {problem.path: problem.line for problem in check_policy(text).errors}
    rows = text.splitlines()
    assert lines["sigmoid.k"] == rows.index("sigmoid: {k: fast, midpoint: 500, max: 1000}") + 1
    assert lines["theta_min"] == rows.index("theta_min: 8") + 1
    assert {problem.code for problem in check_policy(text).errors} == {"type", "duplicate", "range"}


@pytest.mark.parametrize("text", ["", "[]", "a: [", "x" * 600_000, "hello"])
def test_a_text_that_is_no_policy_is_refused_and_never_crashes(text: str) -> None:
    with pytest.raises(PolicyError) as refused:
        parse_policy(text)
    assert refused.value.problems


def test_profiles_may_be_unreadable_beside_a_parent() -> None:
    """Inheritance does not hide that the child's own block is no mapping."""
    finding = check_policy("id: c\nversion: 1\nextends: flow_v1\nprofiles: 7\n", parents={"flow_v1": policy_text()})
    assert [problem.path for problem in finding.errors] == ["profiles"]


def test_profiles_apply_by_claim_type_and_prefix_the_more_specific_last() -> None:
    read = policy(
        profiles={
            "zz_floods": {"claim_type": "earth.flood", "updates": {"correct": 9, "incorrect": 9}},
            "sensors": {"agent_prefix": "sensor", "updates": {"correct": 1, "incorrect": 1}, "theta_min": 0.3},
            "aa_both": {"claim_type": "earth.flood.v2", "agent_prefix": "sensor", "theta_min": 0.2},
        }
    )
    updates = [
        read.parameters_for(claim_type, agent_id).updates.correct
        for claim_type, agent_id in (
            ("earth.flood.v1", "user:a"),
            ("earth.floodgate.v1", "user:a"),
            ("earth.flood.v1", "sensor:1"),
            (None, "sensor:1"),
            (None, "sensor"),
        )
    ]
    assert updates == [9, 3, 1, 1, 3]
    # The most specific profile asks for less than a wider one: a threshold may only rise.
    assert read.parameters_for("earth.flood.v2", "sensor:1").theta_min == Decimal("0.3")


def test_a_class_begins_where_the_policy_says() -> None:
    read = policy()
    bounds = [("0", "bronze"), ("399.999999", "bronze"), ("400", "silver"), ("650", "expert"), ("1000", "authority")]
    assert [read.class_of(Decimal(number)) for number, _ in bounds] == [Standing(name) for _, name in bounds]
