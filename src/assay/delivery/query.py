"""The query registry: which kinds of question there are, who answers them, and how well founded an answer should be.

QueryType versions -> fold_queries -> QueryRegistry;   an answer's level -> check_expectation -> Shortfall or None
What falls short of its expected minimum is delivered all the same and seen: only a user's floor withholds an answer.
"""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct

from assay.delivery.errors import DeliveryError
from assay.delivery.level import Level, rank_of
from assay.delivery.rule import RuleId, parse_rule_id
from assay.identity.risk import RiskTier
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant

_SLUG = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*", re.ASCII)
_LONGEST_SLUG = 120
_LONGEST_TEXT = 500


class QueryType(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One version of one kind of question.

    `rules` are those on which its answers rest by declaration; an answer may name others besides. `risk_tier` is what
    acting on the answer amounts to.
    """

    slug: str
    version: int = 1
    description: str
    domain: str
    expected_level: Level
    owner: PrincipalId
    answerer: str
    rules: tuple[RuleId, ...] = ()
    risk_tier: RiskTier = RiskTier.READ_ONLY
    recorded_at: Instant
    recorded_by: PrincipalId

    def __post_init__(self) -> None:
        for name, text in (("slug", self.slug), ("domain", self.domain)):
            if len(text) > _LONGEST_SLUG or _SLUG.fullmatch(text) is None:
                raise DeliveryError.query_type(f"expected a {name} `{_SLUG.pattern}`, got `{text[:80]}`")
        for name, text in (("description", self.description), ("answerer", self.answerer)):
            if not text.strip() or len(text) > _LONGEST_TEXT or not text.isprintable():
                raise DeliveryError.query_type(f"expected `{name}` of 1 to {_LONGEST_TEXT} printable characters")
        if type(self.version) is not int or self.version < 1:
            raise DeliveryError.query_type(f"expected a version from 1, got `{str(self.version)[:80]}`")
        if len(set(map(parse_rule_id, self.rules))) != len(self.rules):
            raise DeliveryError.query_type(f"expected each rule of `{self.slug}` once")


class QueryRegistry(Struct, frozen=True, kw_only=True):
    """What the versions amount to; the highest of a slug is in force."""

    types: Mapping[str, QueryType] = MappingProxyType({})

    def get(self, slug: str) -> QueryType:
        found = self.types.get(slug)
        if found is None:
            raise DeliveryError.unknown_query_type(f"the registry knows no query type `{slug[:80]}`")
        return found

    def can_answer(self) -> tuple[str, ...]:
        """For STATE: each slug is a query type of this registry (PRAMANA 7.1)."""
        return tuple(sorted(self.types))


class Shortfall(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer below what its query type should have; visible, and no reason to withhold anything."""

    query_type: str
    expected_level: Level
    level: Level
    owner: PrincipalId


def fold_queries(versions: Iterable[QueryType]) -> QueryRegistry:
    """The registry after these versions, in the order they were stored; one that does not follow is an error."""
    types: dict[str, QueryType] = {}
    for one in versions:
        known = types.get(one.slug)
        expected = 1 if known is None else known.version + 1
        if one.version != expected:
            raise DeliveryError.query_type(f"expected version {expected} of `{one.slug}`, got {one.version}")
        types[one.slug] = one
    return QueryRegistry(types=MappingProxyType(types))


def check_expectation(query_type: QueryType, level: Level) -> Shortfall | None:
    if rank_of(level) >= rank_of(query_type.expected_level):
        return None
    return Shortfall(
        query_type=query_type.slug, expected_level=query_type.expected_level, level=level, owner=query_type.owner
    )


def rules_behind(query_type: QueryType, named: Iterable[RuleId]) -> tuple[RuleId, ...]:
    """The rules to record with an answer: those it names, else those its type declares; never none (PRAMANA 11)."""
    found = tuple(dict.fromkeys(named)) or query_type.rules
    if not found:
        raise DeliveryError.annotation(f"the answer to `{query_type.slug}` names no rule, and its type declares none")
    return found
