"""A knowledge graph while it is being written: nodes once each, edges once each, in the order of the text."""

from typing import TypeVar

from msgspec import Struct

from assay.kernel.instant import Instant
from assay.kernel.json_text import JsonValue
from assay.verdicts.graph.edge import Edge, EdgeType
from assay.verdicts.graph.extract_terms import Reference, clause_name, slug
from assay.verdicts.graph.graph import KnowledgeGraph, Node
from assay.verdicts.graph.node import (
    Citation,
    Definition,
    Exemption,
    Jurisdiction,
    NodeId,
    Precedent,
    RiskTier,
    Rule,
    Subject,
)
from assay.verdicts.graph.obligation import Obligation

_N = TypeVar("_N", bound=Node)


class ExtractSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the text may not say: its name and address, since when it holds, where, and about what."""

    document: str | None = None
    name: str | None = None
    url: str | None = None
    effective: Instant | None = None
    jurisdiction: str | None = None
    subject: str | None = None


class Drafting:
    """Collects; `graph` gives what was collected."""

    def __init__(self, document: str, settings: ExtractSettings) -> None:
        self.document = document
        self.settings = settings
        self.edges: dict[Edge, None] = {}
        self._nodes: dict[NodeId, Node] = {}

    def put(self, node: _N) -> _N:
        """The first node of an id counts."""
        self._nodes.setdefault(node.id, node)
        return node

    def link(self, kind: EdgeType, source: NodeId, target: NodeId) -> None:
        self.edges[Edge(type=kind, source=source, target=target)] = None

    def cite(self, source: NodeId, clause: str, document: str | None = None) -> None:
        """A citation of a clause of this text, or of another."""
        cited = document or self.document
        name = clause_name(document or "", clause)
        node = Citation(
            id=NodeId(f"cite:{name}"),
            source_document=cited,
            source_clause=clause,
            url=self.settings.url if document is None else None,
        )
        self.link(EdgeType.CITED_BY, source, self.put(node).id)

    def cite_all(self, source: NodeId, clause: str, references: tuple[Reference, ...]) -> None:
        """The clause it stands in, and those that it names: of other texts, and of this one by their own number."""
        self.cite(source, clause)
        for one in references:
            if one.document is not None or not one.clause.lower().startswith(("paragraph", "subparagraph")):
                self.cite(source, one.clause, one.document)

    def rule(self, clause: str, title: str) -> NodeId:
        """One for each clause; nobody has weighed its risk yet, so it is high."""
        name = NodeId(clause_name(clause) or "text")
        self.put(Rule(id=name, name=f"{clause}: {title}" if title else clause, risk_tier=RiskTier.HIGH.value))
        return name

    def subject(self, words: str) -> NodeId:
        name = NodeId(slug(words).replace("_", "-") or "subject")
        return self.put(Subject(id=name, name=words)).id

    def jurisdiction(self, words: str) -> NodeId:
        name = NodeId(f"in:{slug(words).replace('_', '-')}")
        return self.put(Jurisdiction(id=name, name=words)).id

    def graph(self, metadata: dict[str, JsonValue]) -> KnowledgeGraph:
        return KnowledgeGraph(
            metadata=metadata,
            subjects=self._of(Subject),
            rules=self._of(Rule),
            obligations=self._of(Obligation),
            definitions=self._of(Definition),
            exemptions=self._of(Exemption),
            precedents=self._of(Precedent),
            jurisdictions=self._of(Jurisdiction),
            citations=self._of(Citation),
            edges=tuple(self.edges),
        )

    def _of(self, kind: type[_N]) -> tuple[_N, ...]:
        return tuple(node for node in self._nodes.values() if isinstance(node, kind))
