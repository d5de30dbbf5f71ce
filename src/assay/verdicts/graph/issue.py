"""One defect of a knowledge graph, with what to do about it (SKI 3.6)."""

from enum import StrEnum

from msgspec import Struct

from assay.verdicts.graph.edge import Edge
from assay.verdicts.graph.node import NodeId


class Severity(StrEnum):
    """`critical` and `high` reject a graph; the others are for its author."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class IssueCode(StrEnum):
    """Names that users of other validators know come first; those of our own passes follow."""

    DUPLICATE_NODE_ID = "DUPLICATE_NODE_ID"
    UNKNOWN_OBLIGATION_TYPE = "UNKNOWN_OBLIGATION_TYPE"
    MISSING_EFFECTIVE_DATE = "MISSING_EFFECTIVE_DATE"
    DANGLING_EDGE = "DANGLING_EDGE"
    INVALID_EDGE_TARGET_TYPE = "INVALID_EDGE_TARGET_TYPE"
    RULE_WITHOUT_OBLIGATION = "RULE_WITHOUT_OBLIGATION"
    OBLIGATION_WITHOUT_RULE = "OBLIGATION_WITHOUT_RULE"
    UNKNOWN_RISK_TIER = "UNKNOWN_RISK_TIER"
    CONTRADICTORY_OBLIGATIONS = "CONTRADICTORY_OBLIGATIONS"
    DATE_OVERLAP = "DATE_OVERLAP"
    PRECEDENT_CYCLE = "PRECEDENT_CYCLE"
    DEFINITION_OUT_OF_SCOPE = "DEFINITION_OUT_OF_SCOPE"
    UNDEFINED_SUBJECT = "UNDEFINED_SUBJECT"
    MISSING_CITATION = "MISSING_CITATION"
    INVALID_EDGE_SOURCE_TYPE = "INVALID_EDGE_SOURCE_TYPE"
    VERSION_MISMATCH = "VERSION_MISMATCH"
    # Ours.
    AMBIGUOUS_NAME = "AMBIGUOUS_NAME"
    CONVERTED_OBLIGATION = "CONVERTED_OBLIGATION"
    DATE_ONLY = "DATE_ONLY"
    DUPLICATE_EDGE = "DUPLICATE_EDGE"
    EMPTY_GRAPH = "EMPTY_GRAPH"
    EXTENSION_TYPE = "EXTENSION_TYPE"
    IGNORED_FIELD = "IGNORED_FIELD"
    INFORMAL_EXEMPTION = "INFORMAL_EXEMPTION"
    INVALID_OPERAND = "INVALID_OPERAND"
    INVERTED_DATES = "INVERTED_DATES"
    JURISDICTION_CYCLE = "JURISDICTION_CYCLE"
    MISPLACED_PREDICATE = "MISPLACED_PREDICATE"
    MISSING_METRIC = "MISSING_METRIC"
    MISSING_OPERAND = "MISSING_OPERAND"
    MISSING_VERSION = "MISSING_VERSION"
    RULE_WITHOUT_SUBJECT = "RULE_WITHOUT_SUBJECT"
    TRACK_DEPRECATED = "TRACK_DEPRECATED"
    UNIT_CONFLICT = "UNIT_CONFLICT"
    UNKNOWN_PARENT = "UNKNOWN_PARENT"
    UNRESOLVED_SCOPE = "UNRESOLVED_SCOPE"
    UNSATISFIABLE_OBLIGATION = "UNSATISFIABLE_OBLIGATION"
    UNTYPED_OBLIGATION = "UNTYPED_OBLIGATION"
    VACUOUS_OBLIGATION = "VACUOUS_OBLIGATION"


class Issue(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`node` or `edge` is where, `other` a second node that takes part, `proof` what a prover found."""

    code: IssueCode
    severity: Severity
    message: str
    action: str
    node: NodeId | None = None
    other: NodeId | None = None
    edge: Edge | None = None
    proof: str | None = None


# Every verdict on such an obligation is DISCRETIONARY (SKI 3.3): advisory mode may judge by it.
DISCRETIONARY_ANYWAY = frozenset({IssueCode.UNKNOWN_OBLIGATION_TYPE})


def is_rejected(issues: tuple[Issue, ...], *, tolerated: frozenset[IssueCode] = frozenset()) -> bool:
    """Whether the graph may not be signed; `tolerated` are codes that do not reject where it is only tried out."""
    severe = (Severity.CRITICAL, Severity.HIGH)
    return any(issue.severity in severe and issue.code not in tolerated for issue in issues)
