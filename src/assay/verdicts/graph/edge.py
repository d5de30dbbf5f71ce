"""The edges of a knowledge graph (SKI 3.2): directional and typed."""

from enum import StrEnum

from msgspec import Struct

from assay.verdicts.graph.node import NodeId, NodeType


class EdgeType(StrEnum):
    APPLIES_TO = "applies_to"
    CONSISTS_OF = "consists_of"
    DEFINED_BY = "defined_by"
    EXEMPTED_BY = "exempted_by"
    AMENDED_BY = "amended_by"
    INTERPRETED_BY = "interpreted_by"
    SCOPED_TO = "scoped_to"
    CITED_BY = "cited_by"


# From which kind of node to which; None is any.
ENDS: dict[EdgeType, tuple[NodeType | None, NodeType]] = {
    EdgeType.APPLIES_TO: (NodeType.RULE, NodeType.SUBJECT),
    EdgeType.CONSISTS_OF: (NodeType.RULE, NodeType.OBLIGATION),
    EdgeType.DEFINED_BY: (NodeType.OBLIGATION, NodeType.DEFINITION),
    EdgeType.EXEMPTED_BY: (NodeType.OBLIGATION, NodeType.EXEMPTION),
    EdgeType.AMENDED_BY: (NodeType.PRECEDENT, NodeType.OBLIGATION),
    EdgeType.INTERPRETED_BY: (NodeType.OBLIGATION, NodeType.PRECEDENT),
    EdgeType.SCOPED_TO: (NodeType.OBLIGATION, NodeType.JURISDICTION),
    EdgeType.CITED_BY: (None, NodeType.CITATION),
}


class Edge(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False, rename={"source": "from", "target": "to"}
):
    """`source` and `target` are written `from` and `to`."""

    type: EdgeType
    source: NodeId
    target: NodeId
