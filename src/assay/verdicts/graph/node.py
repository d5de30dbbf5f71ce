"""The nodes of a knowledge graph (SKI 3.1), all but the obligation, which has a module of its own.

A node's `version` is always the one we computed over its content as received; what the document declared instead is a
notice of the graph. Nodes that we make ourselves get theirs from `versioned`, and carry the zero digest until then.
"""

from enum import StrEnum
from typing import NewType

from msgspec import Struct

from assay.kernel.digest import ZERO_DIGEST, Digest
from assay.verdicts.graph.condition import Condition

NodeId = NewType("NodeId", str)

# How documents and records write "no jurisdiction in particular"; an absent one means the same.
UNIVERSAL = frozenset({"", "*", "global"})


class NodeType(StrEnum):
    SUBJECT = "subject"
    RULE = "rule"
    OBLIGATION = "obligation"
    DEFINITION = "definition"
    EXEMPTION = "exemption"
    PRECEDENT = "precedent"
    JURISDICTION = "jurisdiction"
    CITATION = "citation"


class RiskTier(StrEnum):
    """SKI 5.4."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class PrecedentRelation(StrEnum):
    AMENDS = "amends"
    SUPERSEDES = "supersedes"
    INTERPRETS = "interprets"


_TIERS = {tier.value: tier for tier in RiskTier}


# Nodes hold no cycles, so the collector need not look at the hundreds of thousands of them (`gc=False`).
class Subject(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """What telemetry is about: a stack, a transaction, a position."""

    id: NodeId
    name: str | None = None
    description: str | None = None
    version: Digest = ZERO_DIGEST


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A requirement composed of obligations; `risk_tier` is kept as written, `tier` says what it means."""

    id: NodeId
    name: str | None = None
    risk_tier: str | None = None
    description: str | None = None
    version: Digest = ZERO_DIGEST

    @property
    def tier(self) -> RiskTier:
        """An absent or unknown tier counts as high: the stricter answer."""
        return _TIERS.get(self.risk_tier or "", RiskTier.HIGH)


class Definition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A term; `scope` names the jurisdictions, rules, subjects or obligations it is meant for, none meaning all."""

    id: NodeId
    term: str
    definition_text: str
    scope: tuple[str, ...] = ()
    version: Digest = ZERO_DIGEST


class Exemption(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """When an obligation does not apply.

    `condition` is the text; `formal` is what a machine can evaluate, all of it together, and None where the text asks
    for a person's judgment.
    """

    id: NodeId
    condition: str
    formal: tuple[Condition, ...] | None = None
    description: str | None = None
    version: Digest = ZERO_DIGEST


class Precedent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A prior obligation, and what the present one does to it."""

    id: NodeId
    summary: str
    relation: PrecedentRelation
    version: Digest = ZERO_DIGEST


class Jurisdiction(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A scope; obligations of `parent` hold here too."""

    id: NodeId
    name: str | None = None
    parent: NodeId | None = None
    version: Digest = ZERO_DIGEST


class Citation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """Where the regulatory text stands."""

    id: NodeId
    source_document: str
    source_clause: str
    url: str | None = None
    version: Digest = ZERO_DIGEST
