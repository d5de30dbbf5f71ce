"""The slice of a knowledge graph that one record is judged by (SKI 3.4, 5.1), and nothing else of the graph.

index + subject + instant + declared jurisdiction -> Slice, one part for each rule
"""

from msgspec import Struct

from assay.kernel.instant import Instant
from assay.verdicts.graph.edge import Edge
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

__all__ = ["RuleSlice", "Slice"]


class RuleSlice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one rule asks of the record: only what survived the filter, everything sorted by id.

    `edges` lead from these nodes to these nodes. `jurisdictions` are those through which an obligation applies. A rule
    none of whose obligations applies has no obligations here, and nothing that hangs on them.
    """

    rule: Rule
    obligations: tuple[Obligation, ...] = ()
    definitions: tuple[Definition, ...] = ()
    exemptions: tuple[Exemption, ...] = ()
    precedents: tuple[Precedent, ...] = ()
    jurisdictions: tuple[Jurisdiction, ...] = ()
    citations: tuple[Citation, ...] = ()
    edges: tuple[Edge, ...] = ()

    @property
    def tier(self) -> RiskTier:
        return self.rule.tier


class Slice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`subject` is None where the graph does not have it (NULL_UNMAPPED).

    `jurisdiction` is the declared one as a node of the graph; None where none was declared, or one that the graph does
    not know: then only obligations without a scope apply.
    """

    asked: str
    as_of: Instant
    declared: str | None = None
    subject: Subject | None = None
    jurisdiction: NodeId | None = None
    rules: tuple[RuleSlice, ...] = ()
