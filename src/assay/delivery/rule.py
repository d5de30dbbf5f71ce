"""The rule registry: which rules there are, in which versions, and which of them a person certified.

graphs, contracts, code and texts -> RuleVersion;   a person -> Certification;   facts -> fold_rules -> RuleRegistry
One registry for all rooms: PROOF and outcomes read only it. A version is known by the hash of its content, and a
certification binds that hash, so a changed rule is certified anew or not at all.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import NewType

from msgspec import Struct

from assay.delivery.errors import DeliveryError, InvalidRuleVersionError
from assay.identity.authorise import has_role
from assay.identity.principal import BuiltInRole, Principal
from assay.identity.problem import shortened
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.errors import TypeFormError
from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.instant import Instant

RuleId = NewType("RuleId", str)
_FORM = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._:-]{0,126}[A-Za-z0-9])?", re.ASCII)
_MAY_CERTIFY = (BuiltInRole.REVIEWER,)
_MAY_RECORD = (BuiltInRole.OPERATOR,)


class RuleSource(StrEnum):
    """Where the content of a rule lives; a correction goes there, and comes back as a new version."""

    GRAPH = "graph"
    CONTRACT = "contract"
    CODE = "code"
    TEXT = "text"


class RuleRef(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One version of one rule, as an answer names it."""

    rule_id: RuleId
    version: int


class Citation(Struct, frozen=True, kw_only=True):
    """The rules that an answer rests on, in the versions in force, and names in it that nobody knows."""

    rules: tuple[RuleRef, ...]
    unknown: tuple[RuleId, ...] = ()


class RuleVersion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One version of a rule; `domains` are those for which it is authoritative.

    INVARIANT: versions of a rule count 1, 2, 3 …, and two in a row differ.
    """

    rule_id: RuleId
    version: int
    content_hash: Digest
    source: RuleSource
    source_ref: str
    capabilities: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    recorded_at: Instant
    recorded_by: PrincipalId

    def __post_init__(self) -> None:
        parse_rule_id(self.rule_id)
        if type(self.version) is not int or self.version < 1:
            raise InvalidRuleVersionError(f"expected a version from 1, got `{shortened(self.version)}`")
        if self.capabilities != tuple(sorted(set(self.capabilities))):
            raise InvalidRuleVersionError("expected capabilities sorted and each once")
        if self.domains != tuple(sorted(set(self.domains))):
            raise InvalidRuleVersionError("expected domains sorted and each once")
        try:
            parse_digest(self.content_hash)
        except TypeFormError as error:
            raise InvalidRuleVersionError(str(error)) from error


class Certification(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person stands by exactly this content."""

    rule_id: RuleId
    version: int
    content_hash: Digest
    certified_by: PrincipalId
    certified_at: Instant
    ticket_id: TicketId | None = None


class RegisteredRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All versions of one rule, oldest first, and what was certified of them."""

    versions: tuple[RuleVersion, ...]
    certifications: tuple[Certification, ...] = ()

    @property
    def latest(self) -> RuleVersion:
        return self.versions[-1]

    @property
    def ref(self) -> RuleRef:
        return RuleRef(rule_id=self.latest.rule_id, version=self.latest.version)

    @property
    def is_certified(self) -> bool:
        """Whether the version in force is; an older certification does not carry over."""
        return any(one.version == self.latest.version for one in self.certifications)


class RuleRegistry(Struct, frozen=True, kw_only=True):
    """What the facts amount to. It is never edited: `fold_rules` makes another one from more facts."""

    rules: Mapping[RuleId, RegisteredRule] = MappingProxyType({})

    def get(self, rule_id: RuleId) -> RegisteredRule:
        rule = self.rules.get(rule_id)
        if rule is None:
            raise DeliveryError.unknown_rule(f"the registry knows no rule `{rule_id[:80]}`")
        return rule

    def authority(self) -> dict[RuleId, tuple[str, ...]]:
        """For which domains each certified rule is authoritative: what the knowledge strand looks at."""
        return {name: rule.latest.domains for name, rule in self.rules.items() if rule.is_certified}

    def certified(self) -> tuple[RuleId, ...]:
        return tuple(sorted(name for name, rule in self.rules.items() if rule.is_certified))


# Rules are named again and again; what is no id is refused, and not remembered.
@lru_cache(maxsize=4096)
def parse_rule_id(text: str) -> RuleId:
    """The form that an annotation `@rule:ID` can carry."""
    if _FORM.fullmatch(text) is None:
        raise InvalidRuleVersionError(f"expected a rule id `{_FORM.pattern}`, got `{text[:80]}`")
    return RuleId(text)


def render_ref(ref: RuleRef) -> str:
    return f"{ref.rule_id}@{ref.version}"


def cite(registry: RuleRegistry, named: Iterable[RuleId], declared: Iterable[RuleId] = ()) -> Citation:
    """The named rules that are known, each once; where none is, those that were declared. An answer has at least one.

    A name that the registry does not know refuses no answer (PRAMANA 6.4): its knowledge is absent, by that name.
    """
    unique = tuple(dict.fromkeys(parse_rule_id(name) for name in named))
    known = [rule_id for rule_id in unique if rule_id in registry.rules]
    unknown = tuple(rule_id for rule_id in unique if rule_id not in registry.rules)
    behind = known or [rule_id for rule_id in dict.fromkeys(declared) if rule_id in registry.rules]
    if unknown and not behind:
        raise DeliveryError.unknown_rule(f"the registry knows no rule `{unknown[0][:80]}`")
    return Citation(rules=tuple(registry.rules[rule_id].ref for rule_id in behind), unknown=unknown)


def verify_author(by: Principal, *, at: Instant) -> None:
    """Raise unless this principal may add versions (PRAMANA 14.3); a plugin or an answerer never holds such a role."""
    if not by.is_active(at) or not has_role(by, _MAY_RECORD):
        raise DeliveryError.rule_author(f"expected a principal who may record rules, got {by.kind} `{by.id}`")


def next_version(
    registry: RuleRegistry,
    rule_id: RuleId,
    *,
    content_hash: Digest,
    source: RuleSource,
    source_ref: str,
    capabilities: Iterable[str] = (),
    domains: Iterable[str] = (),
    at: Instant,
    by: PrincipalId,
) -> RuleVersion | None:
    """The version to record; None where the latest says the same already, so that loading twice adds nothing."""
    known = registry.rules.get(rule_id)
    served, fields = tuple(sorted(set(capabilities))), tuple(sorted(set(domains)))
    if known is not None:
        latest = known.latest
        told = (latest.content_hash, latest.source, latest.source_ref, latest.capabilities, latest.domains)
        if told == (content_hash, source, source_ref, served, fields):
            return None
    return RuleVersion(
        rule_id=rule_id,
        version=1 if known is None else known.latest.version + 1,
        content_hash=content_hash,
        source=source,
        source_ref=source_ref,
        capabilities=served,
        domains=fields,
        recorded_at=at,
        recorded_by=by,
    )


def certify(
    registry: RuleRegistry,
    rule_id: RuleId,
    *,
    seen: Digest,
    by: Principal,
    at: Instant,
    ticket_id: TicketId | None = None,
) -> Certification:
    """A person certifies the version in force, of which they saw the hash; nobody certifies what they recorded."""
    latest = registry.get(rule_id).latest
    if not by.is_person() or not by.is_active(at) or not has_role(by, _MAY_CERTIFY):
        raise DeliveryError.certification(f"expected an active person who may certify, got {by.kind} `{by.id}`")
    if by.id == latest.recorded_by:
        raise DeliveryError.certification(f"`{by.id}` recorded version {latest.version} of `{rule_id}` themselves")
    if seen != latest.content_hash:
        raise DeliveryError.certification(
            f"`{rule_id}` changed after it was shown: expected {latest.content_hash}, got {seen}"
        )
    return Certification(
        rule_id=rule_id,
        version=latest.version,
        content_hash=latest.content_hash,
        certified_by=by.id,
        certified_at=at,
        ticket_id=ticket_id,
    )


def fold_rules(facts: Iterable[RuleVersion | Certification], start: RuleRegistry | None = None) -> RuleRegistry:
    """The registry after these facts, in the order they were stored; a fact that does not follow is an error."""
    rules = dict((start or RuleRegistry()).rules)
    for fact in facts:
        known = rules.get(fact.rule_id)
        rules[fact.rule_id] = _versioned(known, fact) if isinstance(fact, RuleVersion) else _certified(known, fact)
    return RuleRegistry(rules=MappingProxyType(rules))


def _versioned(known: RegisteredRule | None, fact: RuleVersion) -> RegisteredRule:
    versions = () if known is None else known.versions
    if fact.version != len(versions) + 1:
        raise DeliveryError.rule_order(f"expected version {len(versions) + 1} of `{fact.rule_id}`, got {fact.version}")
    return RegisteredRule(versions=(*versions, fact), certifications=() if known is None else known.certifications)


def _certified(known: RegisteredRule | None, fact: Certification) -> RegisteredRule:
    if known is None or not 1 <= fact.version <= len(known.versions):
        raise DeliveryError.unknown_rule(f"the registry knows no version {fact.version} of `{fact.rule_id}`")
    content = known.versions[fact.version - 1].content_hash
    if fact.content_hash != content:
        raise DeliveryError.certification(f"expected a certification of {content}, got one of {fact.content_hash}")
    return RegisteredRule(versions=known.versions, certifications=(*known.certifications, fact))
