"""Everything that is wrong with a knowledge graph, each with what to do about it (SKI 3.6).

KnowledgeGraph -> nodes -> edges -> obligations together -> issues
"""

from assay.verdicts.graph._check_demands import Prover, check_demands
from assay.verdicts.graph._check_edges import check_edges
from assay.verdicts.graph._check_nodes import check_nodes
from assay.verdicts.graph._links import Links
from assay.verdicts.graph.graph import KnowledgeGraph
from assay.verdicts.graph.issue import Issue, Severity

__all__ = ["Prover", "validate_graph"]

_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def validate_graph(graph: KnowledgeGraph, *, prover: Prover | None = None) -> tuple[Issue, ...]:
    """The worst first, then by code and node; with a prover, contradictions carry its proof.

    A graph without `critical` and `high` issues may be signed.
    """
    links = Links(graph)
    found = [*check_nodes(graph, links), *check_edges(graph, links), *check_demands(graph, links, prover)]
    return tuple(sorted(found, key=_order))


def _order(issue: Issue) -> tuple[int, str, str, str, str]:
    return _RANK[issue.severity], issue.code, issue.node or "", issue.other or "", issue.message
