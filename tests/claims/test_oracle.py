"""No wrong PUBLISH: all subsets of tiers and thousands of mutated bundles, beside an oracle written from the text."""

import copy
import json
from collections.abc import Iterator
from hashlib import sha256
from itertools import combinations
from random import Random
from typing import Any

import pytest

from assay.claims.bundle import Decision, bundle_hash
from assay.claims.decide import Outcome, gate_document
from assay.claims.estimate.cluster import SampledAnswer
from assay.claims.estimate.entropy import estimate_entropy
from assay.claims.estimate.equivalence import RuleJudge
from assay.claims.gate import standard_gates
from assay.claims.guardian import BuiltInGuardian
from assay.claims.parse_bundle import check_bundle
from assay.claims.policy import DEFAULT_POLICY
from assay.identity.risk import RiskTier
from tests.claims.making import HASH, approval, claim, document, facts, pointer
from tests.claims.oracle import may_publish
from tests.scale import scale

_GATES = standard_gates([BuiltInGuardian()])
_TIERS = [str(one) for one in RiskTier]
_SUBSETS = [subset for size in range(1, 6) for subset in combinations(_TIERS, size)]
_ROLES = ("ops_team", "security_team")
_ODD: tuple[object, ...] = (
    None, True, False, 0, 1, -1, 0.59, 0.6, 0.61, 0.75, 0.7500001, 1.0000001, 1e308, float("nan"), float("inf"),
    "", " ", "0.9", "FACT", "fact", "DECISION", "INFERENCE", "EXECUTE", "DEFER", "REFUSE", "EXPLAIN", "PUBLISH",
    "ESCALATE", "READ_ONLY", "MODIFY", "DELETE", "PRIVILEGE", "read_only", "LOW", [], [[]], {}, {"x": 1}, HASH,
    HASH.upper(), HASH[:32], "ab" * 31, "2026-01-09T12:00:00Z", "2026-01-09", "yesterday", "ai:surveyor", "ai:other",
    "confidence_score", "guess",
)  # fmt: skip


def _gated(made: Any, ceiling: str, roles: tuple[str, ...]) -> Outcome:  # noqa: ANN401  whatever JSON can hold
    finding = check_bundle(made)
    given = () if finding.bundle is None else tuple(approval(bundle_hash(finding.bundle), role) for role in roles)
    return gate_document(finding, _GATES, facts(risk_ceiling=RiskTier(ceiling), approvals=given), DEFAULT_POLICY)


@pytest.mark.clause("claimbundle", "risk-tiers")
@pytest.mark.parametrize("roles", [(), ("ops_team",), ("security_team",), _ROLES], ids="+".join)
def test_every_subset_of_tiers_is_published_only_where_the_text_allows(roles: tuple[str, ...]) -> None:
    """With every ceiling and every set of approvals: PUBLISH exactly where the oracle says that it may be."""
    for subset in _SUBSETS:
        made = document(*(claim(id=f"c-{tier}", risk_tier=tier) for tier in subset))
        for ceiling in _TIERS:
            allowed = may_publish(made, submitter="ai:surveyor", ceiling=ceiling, approved=frozenset(roles))
            is_published = _gated(made, ceiling, roles).decision is Decision.PUBLISH
            assert is_published is allowed, (subset, ceiling, roles)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401  the same
    """Every member and item of a JSON value, by its path."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in pairs:
        yield (*path, name)
        yield from _places(inner, (*path, name))


def _mutated(chance: Random) -> tuple[Any, str, tuple[str, ...]]:
    """A sound bundle with one to three things changed, added or taken away."""
    kinds = chance.choices(("FACT", "INFERENCE", "DECISION"), k=chance.randint(1, 3))
    tiers = chance.choices(_TIERS, weights=(6, 3, 3, 1, 1), k=len(kinds))
    claims = [
        claim(id=f"c-{place}", claim_type=kind, risk_tier=tier, evidence_pointers=[pointer(), pointer(source="urn:x")])
        for place, (kind, tier) in enumerate(zip(kinds, tiers, strict=True))
    ]
    made: Any = copy.deepcopy(document(*claims))
    for _ in range(chance.randint(1, 3)):
        path = chance.choice(list(_places(made)))
        holder = made
        for step in path[:-1]:
            holder = holder[step]
        action = chance.random()
        if action < 0.25:
            del holder[path[-1]]
        elif action < 0.9 or not isinstance(holder, dict):
            holder[path[-1]] = copy.deepcopy(chance.choice(_ODD))
        else:
            holder[chance.choice(("decision", "required_approvals", "extra", "gate_recommendation"))] = copy.deepcopy(
                chance.choice(_ODD)
            )
    return made, chance.choice(_TIERS[1:]), tuple(chance.sample(_ROLES, chance.randint(0, 2)))


@pytest.mark.clause("claimbundle", "fact")
@pytest.mark.clause("claimbundle", "decision")
def test_no_mutated_bundle_is_published_that_the_text_forbids() -> None:
    """Whatever is changed: what is published, the oracle allows; and enough of them are published to mean something."""
    chance = Random(23)  # noqa: S311  the same bundles each time
    published = 0
    for _ in range(scale(2_500, 10_000)):
        made, ceiling, roles = _mutated(chance)
        outcome = _gated(made, ceiling, roles)
        if outcome.decision is Decision.PUBLISH:
            published += 1
            told = json.dumps(made, default=str)
            assert may_publish(made, submitter="ai:surveyor", ceiling=ceiling, approved=frozenset(roles)), told
    assert published > scale(100, 400)


_QUOTED = [
    f"The gauge reads {number} m at noon. The log of gauge {number} was kept by hand. It was calm."
    for number in (30, 41)
]
_HELD = {sha256(text.encode()).hexdigest(): text for text in _QUOTED}


def _quoting(chance: Random) -> tuple[dict[str, Any], dict[str, bytes], dict[str, list[str]]]:
    """A sound bundle with quotes: of its source, of the other one, stitched, invented, changed; and sampled answers."""
    claims, contents, answers = [], dict[str, bytes](), dict[str, list[str]]()
    held = [text for text in _QUOTED if chance.random() < 0.8]
    for place in range(chance.randint(1, 2)):
        own, other = chance.sample(_QUOTED, 2)
        first, second, _ = own.split(". ")
        quotes = [f"{first}.", f"{first}.", f"{first}.", f"{second}.", f"{other.split('. ')[0]}.", "It was calm.", None]
        quotes += [f"{first[:15]} {second[-17:]}", first.replace("noon", "six"), first.replace("reads", "never reads")]
        found = pointer(evidence_hash=sha256(own.encode()).hexdigest(), source=f"urn:log:{place}")
        quote = chance.choice(quotes)
        if quote is not None:
            found["quote"] = quote
        if own in held:
            contents[f"urn:log:{place}"] = own.encode()
        said = f"The gauge reads {chance.choice(('30', '41'))} m at noon."
        kind, tier = chance.choice(("FACT", "INFERENCE")), chance.choice(_TIERS[:3])
        claims.append(
            claim(id=f"c-{place}", statement=said, claim_type=kind, risk_tier=tier, evidence_pointers=[found])
        )
        if chance.random() < 0.4:
            answers[f"c-{place}"] = chance.choices(("30 m", "41 m", "no idea"), weights=(6, 2, 1), k=5)
    return document(*claims), contents, answers


@pytest.mark.clause("claimbundle", "fact")
def test_no_unsupported_quote_and_no_split_is_published() -> None:
    """Quotes of every wrong kind and answers of every split, at the tiers that nobody has to approve."""
    chance = Random(29)  # noqa: S311  the same bundles each time
    published, forbidden = 0, 0
    for _ in range(scale(1_000, 10_000)):
        made, contents, answers = _quoting(chance)
        estimates = {
            name: estimate_entropy("How deep is it?", [SampledAnswer(text=one) for one in given], RuleJudge())
            for name, given in answers.items()
        }
        given = facts(risk_ceiling=RiskTier.PRIVILEGE, contents=contents, estimates=estimates)
        outcome = gate_document(check_bundle(made), _GATES, given, DEFAULT_POLICY)
        held = {hashed: text for hashed, text in _HELD.items() if text.encode() in contents.values()}
        allowed = may_publish(made, submitter="ai:surveyor", ceiling="PRIVILEGE", held=held, answers=answers)
        published += outcome.decision is Decision.PUBLISH
        forbidden += not allowed
        assert allowed or outcome.decision is not Decision.PUBLISH, (json.dumps(made), answers, outcome.reason)
    assert min(published, forbidden) > scale(100, 1_000)


def test_a_declared_refusal_is_never_published() -> None:
    for tier in _TIERS:
        for changes in ({"decision": "REFUSE"}, {}):
            recommended = "EXECUTE" if changes else "REFUSE"
            said = {"method": "confidence_score", "value": 0.0, "gate_recommendation": recommended}
            made = document(claim(risk_tier=tier, uncertainty=said), **changes)
            assert _gated(made, "PRIVILEGE", _ROLES).decision is Decision.REFUSE
