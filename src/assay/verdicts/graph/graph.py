"""A knowledge graph as it was read: all that the document holds, duplicates included, in the document's order."""

from collections.abc import Iterator
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from assay.kernel.json_text import JsonValue
from assay.verdicts.graph.edge import Edge
from assay.verdicts.graph.node import (
    Citation,
    Definition,
    Exemption,
    Jurisdiction,
    NodeId,
    NodeType,
    Precedent,
    Rule,
    Subject,
)
from assay.verdicts.graph.obligation import Obligation
from assay.verdicts.graph.unit import UnitTable
from assay.verdicts.rulings import CURRENT, Rulings

Node: TypeAlias = Subject | Rule | Obligation | Definition | Exemption | Precedent | Jurisdiction | Citation

NODE_TYPES: dict[type[Struct], NodeType] = {
    Subject: NodeType.SUBJECT,
    Rule: NodeType.RULE,
    Obligation: NodeType.OBLIGATION,
    Definition: NodeType.DEFINITION,
    Exemption: NodeType.EXEMPTION,
    Precedent: NodeType.PRECEDENT,
    Jurisdiction: NodeType.JURISDICTION,
    Citation: NodeType.CITATION,
}


# In the metadata of a graph that nobody has read yet.
DRAFT = "draft"


class GraphForm(StrEnum):
    TYPED = "typed"
    FLAT = "flat"  # `rules` and `tag_registry`; converted when read


class NoticeCode(StrEnum):
    """What a reader of the graph should know although it was read; a log line each."""

    CONVERTED = "converted"
    DATE_ONLY = "date_only"
    DEFAULT_TIER = "default_tier"
    IGNORED_FIELD = "ignored_field"
    IN_FORCE_ALWAYS = "in_force_always"
    MISSING_VERSION = "missing_version"
    TRACK_DEPRECATED = "track_deprecated"
    UNSIGNED = "unsigned"
    UNTYPED_OBLIGATION = "untyped_obligation"
    VERSION_MISMATCH = "version_mismatch"


class Notice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    code: NoticeCode
    message: str
    node: NodeId | None = None


class KnowledgeGraph(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`rulings` are those that the document was read by: all that is made of the graph follows them.

    `units` are the conversions that its metadata declares.
    """

    form: GraphForm = GraphForm.TYPED
    metadata: dict[str, JsonValue] = {}
    subjects: tuple[Subject, ...] = ()
    rules: tuple[Rule, ...] = ()
    obligations: tuple[Obligation, ...] = ()
    definitions: tuple[Definition, ...] = ()
    exemptions: tuple[Exemption, ...] = ()
    precedents: tuple[Precedent, ...] = ()
    jurisdictions: tuple[Jurisdiction, ...] = ()
    citations: tuple[Citation, ...] = ()
    edges: tuple[Edge, ...] = ()
    notices: tuple[Notice, ...] = ()
    rulings: Rulings = CURRENT
    units: UnitTable = UnitTable()

    def nodes(self) -> Iterator[Node]:
        """Every node, kind by kind, in the order of SKI 3.1."""
        yield from self.subjects
        yield from self.rules
        yield from self.obligations
        yield from self.definitions
        yield from self.exemptions
        yield from self.precedents
        yield from self.jurisdictions
        yield from self.citations


def node_type(node: Node) -> NodeType:
    return NODE_TYPES[type(node)]
