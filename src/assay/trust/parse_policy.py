"""A trust policy from its YAML text: everything wrong with it is told at once, line by line.

text -> values with lines -> put over what it extends -> blocks -> what must fit together -> TrustPolicy
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import Any

from assay.identity.problem import shortened
from assay.kernel.canonical import Profile, canonical_json
from assay.kernel.json_text import parse_json
from assay.trust.errors import PolicyError
from assay.trust.policy import PolicyFields, TrustPolicy
from assay.truth._read import Found, located, read_fields
from assay.truth._yaml_text import read_yaml
from assay.truth.contract import Standing
from assay.truth.number import plain_value
from assay.truth.problem import Problem, ProblemCode, render_problems

_DEEPEST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFinding:
    """The policy is there exactly when there are no errors."""

    policy: TrustPolicy | None
    errors: tuple[Problem, ...]


def parse_policy(text: str, *, parents: Mapping[str, str] | None = None) -> TrustPolicy:
    """The policy, or a `PolicyError` with every problem in it.

    `parents` are the texts of policies that `extends` may name, by id. Block by block, what a policy writes replaces
    what it inherits; profiles are inherited by name. What is hashed is the policy with all it inherits.
    """
    finding = check_policy(text, parents=parents)
    if finding.policy is None:
        raise PolicyError(finding.errors)
    return finding.policy


def check_policy(text: str, *, parents: Mapping[str, str] | None = None) -> PolicyFinding:
    """As `parse_policy`, but for an editor: errors as values."""
    return _check(text, parents or {}, ())


def _check(text: str, parents: Mapping[str, str], below: tuple[str, ...]) -> PolicyFinding:
    document = read_yaml(text)
    problems = document.problems
    if any(problem.code in (ProblemCode.SYNTAX, ProblemCode.SIZE) for problem in problems):
        return PolicyFinding(policy=None, errors=located(problems, document.lines))
    whole, is_whole = _inherited(document.value, parents, below, problems)
    values = read_fields(whole, PolicyFields, problems)
    problems.extend(_cross_problems(values))
    if not is_whole:
        # What the missing parent would have brought is not the author's mistake.
        problems = [found for found in problems if found.code is not ProblemCode.REQUIRED or len(found.path) > 1]
    policy = None if problems else _built(values, whole)
    return PolicyFinding(policy=policy, errors=located(problems, document.lines))


def _built(values: dict[str, Any], whole: object) -> TrustPolicy:
    document = canonical_json(plain_value(whole), Profile.KAORI)
    return TrustPolicy(**values, document=document, policy_hash=sha256(document.encode()).hexdigest())


def _inherited(
    value: object, parents: Mapping[str, str], below: tuple[str, ...], problems: list[Found]
) -> tuple[object, bool]:
    """The document put over the one that it extends, if any, and whether that could be done.

    `below` are the policies that extend this one.
    """
    if not isinstance(value, dict):
        return value, True
    own = {name: part for name, part in value.items() if name != "extends"}
    if type(own.get("version")) is int:  # `version: 1` is how most people write it
        own["version"] = str(own["version"])
    if "extends" not in value:
        return own, True
    parent = _parent_of(value, parents, below, problems)
    if parent is None:
        return own, False
    profiles = own.get("profiles", {})
    if isinstance(profiles, dict):
        own["profiles"] = {**parent.pop("profiles", {}), **profiles}
    return {**parent, **own}, True


def _parent_of(
    value: Mapping[str, Any], parents: Mapping[str, str], below: tuple[str, ...], problems: list[Found]
) -> dict[str, Any] | None:
    """The blocks of the policy that this one extends; a parent that is missing or unsound is one problem."""
    name, line = value["extends"], (*below, str(value.get("id")))
    if not isinstance(name, str) or name not in parents:
        told = f"expected one of {', '.join(sorted(parents)) or 'no policy at all'}, got `{shortened(name)}`"
    elif name in line:
        told = f"expected a policy that does not extend this one, got {' -> '.join((*line, name))}"
    elif len(line) > _DEEPEST:
        told = f"expected at most {_DEEPEST} policies above one another, got more"
    else:
        finding = _check(parents[name], parents, line)
        if finding.policy is not None and finding.policy.id == name:
            return _blocks_of(finding.policy)
        told = f"expected `{name}` to be a sound policy of that id, got {render_problems(finding.errors) or 'another'}"
    problems.append(Found(("extends",), ProblemCode.AGREEMENT, told))
    return None


def _blocks_of(policy: TrustPolicy) -> dict[str, Any]:
    """All but the name: a policy that inherits is another one."""
    document: Any = parse_json(policy.document)
    return {name: part for name, part in document.items() if name not in ("id", "version")}


def _cross_problems(values: Mapping[str, Any]) -> Iterator[Found]:
    yield from _standing_problems(values.get("standings"))
    theta_min = values.get("theta_min")
    for name, profile in values.get("profiles", {}).items():
        if theta_min is not None and profile.theta_min is not None and profile.theta_min < theta_min:
            message = f"expected at least the policy's {theta_min}, got {profile.theta_min}: it may only rise"
            yield Found(("profiles", name, "theta_min"), ProblemCode.ORDER, message)


def _standing_problems(standings: Mapping[Standing, Decimal] | None) -> Iterator[Found]:
    if standings is None:
        return
    bounds = [standings[standing] for standing in Standing if standing in standings]
    if len(bounds) < len(Standing) or bounds[0] != 0 or bounds != sorted(set(bounds)):
        message = f"expected {', '.join(Standing)} with rising standings, the first from 0, got {len(bounds)} of them"
        yield Found(("standings",), ProblemCode.ORDER, message)
