"""A graph of another implementation, flat or typed, made one that can be reviewed and signed; every change is listed.

document -> our shape -> dates, tiers, types, ends of edges, citations -> versions -> valid, or what is left to people
Nothing is invented about the law: what was missing is filled with the reading that a verdict would have used, or left
to a person's judgement, and the result is a draft (SKI 2.1.2, 11.2).
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from msgspec import Struct

from assay.kernel.errors import TypeFormError
from assay.kernel.instant import parse_foreign_instant
from assay.kernel.json_text import JsonValue
from assay.verdicts.graph._shape import Changes, reshape
from assay.verdicts.graph.edge import ENDS, EdgeType
from assay.verdicts.graph.graph import DRAFT, GraphForm
from assay.verdicts.graph.hash import node_version, stamp_versions
from assay.verdicts.graph.issue import Issue, IssueCode, Severity
from assay.verdicts.graph.node import NodeType, RiskTier
from assay.verdicts.graph.obligation_type import ObligationType
from assay.verdicts.graph.parse import GraphFinding, check_value, parse_document
from assay.verdicts.graph.problem import Problem
from assay.verdicts.graph.upgrade import ChangeCode, UpgradeChange, UpgradeCode, suggest_upgrades, upgrade_graph
from assay.verdicts.graph.validate import validate_graph

# In force since before any record.
ALWAYS = "0001-01-01T00:00:00Z"
_TIERS = {tier.value: tier.value for tier in RiskTier} | {
    "critical": "high",
    "severe": "high",
    "moderate": "medium",
    "minor": "low",
}
_CITATION = "citation:not-stated"
_ADDED_ENDS = {EdgeType.APPLIES_TO: NodeType.SUBJECT, EdgeType.SCOPED_TO: NodeType.JURISDICTION}
# Obligations that no machine can judge as they stand, each DISCRETIONARY already.
_UNJUDGED = frozenset(
    {
        IssueCode.INVALID_OPERAND,
        IssueCode.MISPLACED_PREDICATE,
        IssueCode.MISSING_METRIC,
        IssueCode.UNKNOWN_OBLIGATION_TYPE,
        IssueCode.UNSATISFIABLE_OBLIGATION,
    }
)
_CITED = ("obligations", "definitions", "exemptions", "precedents")
_FLAT = {
    UpgradeCode.TYPE_OBLIGATION: "its predicate became the obligation type",
    UpgradeCode.WRITE_OBLIGATION: "it has no predicate that a type expresses: a person judges until one is written",
    UpgradeCode.ADD_RISK_TIER: "`risk_tier` was missing; it is now `medium`: check the risk",
    UpgradeCode.REMOVE_TRACK: "`track` was removed",
}
_Node = dict[str, JsonValue]


class UpgradedGraph(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`problems` and `issues` are what is left to people; without `problems` and severe issues it may be reviewed."""

    document: dict[str, JsonValue]
    form: GraphForm
    changes: tuple[UpgradeChange, ...]
    problems: tuple[Problem, ...] = ()
    issues: tuple[Issue, ...] = ()

    @property
    def is_valid(self) -> bool:
        severe = (Severity.CRITICAL, Severity.HIGH)
        return not self.problems and not any(issue.severity in severe for issue in self.issues)


def upgrade_document(document: bytes) -> UpgradedGraph:
    """Total for any JSON object; a text that is no JSON object is refused as by `parse_document`."""
    value, changes = parse_document(document), Changes()
    if "signature" in value:
        changes.note(ChangeCode.SIGNATURE_REMOVED, "the signature covered the original document, and was removed")
    form = GraphForm.FLAT if "rules" in value and "nodes" not in value else GraphForm.TYPED
    typed = _from_flat(value, changes) if form is GraphForm.FLAT else reshape(value, changes)
    if typed is None:
        finding = check_value(value)
        return UpgradedGraph(document=value, form=form, changes=tuple(changes.found), problems=finding.problems)
    draft = _Draft(typed, changes, has_versions=form is GraphForm.TYPED)
    draft.complete()
    return draft.finished(form)


def _from_flat(value: dict[str, JsonValue], changes: Changes) -> dict[str, JsonValue] | None:
    finding = check_value(value)
    if finding.graph is None:
        return None
    for step in suggest_upgrades(finding.graph):
        if step.code in _FLAT:
            kind = "" if step.node is None else f" `{step.node['obligation_type']}`"
            changes.note(ChangeCode[step.code.value], _FLAT[step.code] + kind, step.rule)
    named = sorted({node.name for node in finding.graph.subjects if node.name})
    told = "a typed graph finds a record's subject by id or name only: add every other subject that records use to"
    changes.note(ChangeCode.SUBJECTS_NAMED, f"{told} {', '.join(f'`{name}`' for name in named)[:400]}")
    return upgrade_graph(finding.graph)


class _Draft:
    """A typed document while it is completed."""

    def __init__(self, document: dict[str, JsonValue], changes: Changes, *, has_versions: bool) -> None:
        metadata, nodes, edges = document.get("metadata"), document.get("nodes"), document.get("edges")
        self._metadata: _Node = dict(metadata) if isinstance(metadata, dict) else {}
        arrays = nodes if isinstance(nodes, dict) else {}
        self._nodes: dict[str, list[_Node]] = {
            f"{kind.value}s": [dict(one) for one in _items(arrays.get(f"{kind.value}s")) if isinstance(one, dict)]
            for kind in NodeType
        }
        self._edges: list[_Node] = [dict(one) for one in _items(edges) if isinstance(one, dict)]
        self._changes = changes
        # The nodes of a flat graph are ours, and so are their versions.
        self._written = {node["id"] for array in self._nodes.values() for node in array if has_versions}

    def complete(self) -> None:
        self._complete_metadata()
        for node in self._nodes["obligations"]:
            self._complete_dates(node)
        for node in self._nodes["rules"]:
            self._complete_tier(node)
        self._remove_twins()
        self._mend_edges()
        self._give_obligations()
        self._leave_to_people()
        self._cite()

    def finished(self, form: GraphForm) -> UpgradedGraph:
        document = self._document()
        for array in self._nodes.values():
            for node in array:
                declared, computed = node.get("version"), node_version(node)
                if node["id"] not in self._written or declared == computed:
                    continue
                if declared is None:
                    self._note(ChangeCode.VERSION_ADDED, f"`version` was missing; it is now {computed}", node)
                else:
                    told = f"`version` was `{str(declared)[:80]}`; it is now {computed}"
                    self._note(ChangeCode.VERSION_REPLACED, told, node)
        stamped = stamp_versions(document)
        finding = check_value(stamped)
        issues = () if finding.graph is None else validate_graph(finding.graph)
        return UpgradedGraph(
            document=stamped,
            form=form,
            changes=tuple(self._changes.found),
            problems=finding.problems,
            issues=issues,
        )

    def _document(self) -> dict[str, JsonValue]:
        nodes: dict[str, JsonValue] = {name: list(array) for name, array in self._nodes.items()}
        return {"metadata": self._metadata, "nodes": nodes, "edges": list(self._edges)}

    def _note(self, code: ChangeCode, message: str, node: _Node | None = None) -> None:
        self._changes.note(code, message, None if node is None else str(node.get("id")))

    def _complete_metadata(self) -> None:
        version = self._metadata.get("schema_version")
        if not isinstance(version, str) or version.partition(".")[0] != "3":
            self._metadata["schema_version"] = "3.0"
            self._note(ChangeCode.FIELD_ADDED, "`schema_version` is now `3.0`")
        compiled = self._metadata.get("compiled_at")
        if compiled is not None and (_instant(compiled, is_end=False) is None):
            del self._metadata["compiled_at"]
            self._note(ChangeCode.FIELD_REMOVED, "`compiled_at` was not a date-time, and was removed")
        elif isinstance(compiled, str):
            self._metadata["compiled_at"] = _instant(compiled, is_end=False)
        self._metadata[DRAFT] = True

    def _complete_dates(self, node: _Node) -> None:
        for name in ("effective_date_start", "effective_date_end"):
            written = node.get(name)
            if written is None:
                continue
            instant = _instant(written, is_end=name.endswith("end"))
            if instant is None:
                del node[name]
                self._note(ChangeCode.FIELD_REMOVED, f"`{name}` was not a date, and was removed", node)
            elif instant != written:
                node[name] = instant
                self._note(ChangeCode.DATE_COMPLETED, f"`{name}` was `{written}`; it is now `{instant}`", node)
        if "effective_date_start" not in node:
            node["effective_date_start"] = ALWAYS
            told = f"`effective_date_start` was missing; it is now `{ALWAYS}` (always in force): write the date"
            self._note(ChangeCode.DATE_ADDED, told, node)

    def _complete_tier(self, node: _Node) -> None:
        written = node.get("risk_tier")
        tier = _TIERS.get(str(written).lower(), RiskTier.HIGH.value)
        if tier != written:
            node["risk_tier"] = tier
            was = "was missing" if written is None else f"was `{str(written)[:80]}`"
            self._note(ChangeCode.TIER_ADDED, f"`risk_tier` {was}; it is now `{tier}`: check the risk", node)

    def _remove_twins(self) -> None:
        """Nodes that are there twice with the same content; two with one id that differ are a person's to part."""
        seen: dict[JsonValue, str] = {}
        for name, array in self._nodes.items():
            kept = []
            for node in array:
                version = node_version({**node, "array": name})
                if seen.get(node["id"]) == version:
                    self._note(ChangeCode.NODE_REMOVED, "the same node was there twice; one was removed", node)
                    continue
                seen.setdefault(node["id"], version)
                kept.append(node)
            self._nodes[name] = kept

    def _mend_edges(self) -> None:
        kept = []
        known = {str(node["id"]): kind for kind in NodeType for node in self._nodes[f"{kind.value}s"]}
        for node in list(self._nodes["jurisdictions"]):
            if node.get("parent"):
                self._add_end(EdgeType.SCOPED_TO, str(node["parent"]), known)
        for edge in self._edges:
            kind = EdgeType(str(edge["type"]))
            self._add_end(kind, str(edge["to"]), known)
            if _is_sound(edge, kind, known):
                kept.append(edge)
            else:
                told = f"the edge `{edge['from']} {kind} {edge['to']}` has no valid ends, and was removed"
                self._note(ChangeCode.EDGE_REMOVED, told)
        self._edges = kept

    def _add_end(self, kind: EdgeType, target: str, known: dict[str, NodeType]) -> None:
        """A subject or a jurisdiction that edges lead to and nobody wrote."""
        added = _ADDED_ENDS.get(kind)
        if added is not None and target not in known:
            known[target] = added
            node: _Node = {"id": target, "type": added.value, "name": target}
            self._nodes[f"{added.value}s"].append(node)
            self._note(
                ChangeCode.NODE_ADDED, f"an edge refers to this {added.value}, which was missing; it was added", node
            )

    def _give_obligations(self) -> None:
        """SKI 11.2: a rule without a typed obligation is DISCRETIONARY, and says so."""
        has = {edge["from"] for edge in self._edges if edge["type"] == EdgeType.CONSISTS_OF}
        for rule in self._nodes["rules"]:
            if rule["id"] in has:
                continue
            words = rule.get("description") or rule.get("name") or "the rule has no typed obligation"
            node: _Node = {
                "id": f"{rule['id']}.judgement",
                "type": NodeType.OBLIGATION.value,
                "obligation_type": ObligationType.DISCRETIONARY.value,
                "effective_date_start": ALWAYS,
                "summary": words,
            }
            self._nodes["obligations"].append(node)
            self._edges.append({"type": EdgeType.CONSISTS_OF.value, "from": rule["id"], "to": node["id"]})
            self._note(
                ChangeCode.OBLIGATION_ADDED, "the rule had no obligation; one that a person judges was added", rule
            )

    def _leave_to_people(self) -> None:
        """Obligations that a machine cannot judge become `discretionary`, in their own words."""
        for node in self._nodes["obligations"]:
            if not isinstance(node.get("obligation_type"), str):
                node["obligation_type"] = ObligationType.DISCRETIONARY.value
                self._note(
                    ChangeCode.TYPE_REPLACED,
                    "`obligation_type` was missing; it is now `discretionary`: write the type",
                    node,
                )
        # A document that cannot be read is not validated: what is wrong with its form comes first.
        while self._replace_types():
            pass

    def _replace_types(self) -> bool:
        finding = check_value(stamp_versions(self._document()))
        named = {str(issue.node): issue for issue in _validated(finding) if issue.code in _UNJUDGED}
        broken = {_place(problem) for problem in finding.problems}
        replaced = [
            (node, named.get(str(node["id"])))
            for number, node in enumerate(self._nodes["obligations"])
            if (str(node["id"]) in named or number in broken) and not _is_bare(node)
        ]
        for node, issue in replaced:
            self._make_discretionary(node, "its operand cannot be read" if issue is None else issue.message)
        return bool(replaced)

    def _make_discretionary(self, node: _Node, why: str) -> None:
        said = [
            str(node[name]) for name in ("metric", "obligation_type", "value", "unit") if node.get(name) is not None
        ]
        node["summary"] = ". ".join([*([str(node["summary"])] if node.get("summary") else []), " ".join(said)])
        for name in ("value", "unit", "window_seconds", "predicate"):
            node.pop(name, None)
        node["obligation_type"] = ObligationType.DISCRETIONARY.value
        self._note(ChangeCode.TYPE_REPLACED, f"it is now `discretionary`, in the words of its `summary`: {why}", node)

    def _cite(self) -> None:
        cited = {edge["from"] for edge in self._edges if edge["type"] == EdgeType.CITED_BY}
        uncited = [node for name in _CITED for node in self._nodes[name] if node["id"] not in cited]
        if not uncited:
            return
        name = self._metadata.get("name")
        source = name if isinstance(name, str) and name else "not stated"
        self._nodes["citations"].append(
            {
                "id": _CITATION,
                "type": NodeType.CITATION.value,
                "source_document": source,
                "source_clause": "not stated",
            }
        )
        for node in uncited:
            self._edges.append({"type": EdgeType.CITED_BY.value, "from": node["id"], "to": _CITATION})
            self._note(
                ChangeCode.CITATION_ADDED, f"no citation was given; it now cites `{source}`: write the clause", node
            )


def _is_bare(node: _Node) -> bool:
    """Whether nothing more can be taken from it: it is a person's already, and has no operand."""
    has_operand = any(name in node for name in ("value", "unit", "window_seconds", "predicate"))
    return node["obligation_type"] == ObligationType.DISCRETIONARY and not has_operand


def _is_sound(edge: _Node, kind: EdgeType, known: Mapping[str, NodeType]) -> bool:
    source, target = ENDS[kind]
    found = known.get(str(edge["from"]))
    return found is not None and source in (None, found) and known.get(str(edge["to"])) is target


def _validated(finding: GraphFinding) -> Iterable[Issue]:
    return () if finding.graph is None else validate_graph(finding.graph)


def _place(problem: Problem) -> int | None:
    """The number of the obligation that a problem of form is about."""
    head, _, rest = problem.path.partition("nodes.obligations[")
    digits = rest.partition("]")[0]
    return int(digits) if not head and digits.isdigit() else None


def _items(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _instant(written: JsonValue, *, is_end: bool) -> str | None:
    """An RFC 3339 date-time; a date is its first or last moment, and one without an offset is in UTC."""
    if not isinstance(written, str):
        return None
    try:
        parse_foreign_instant(written)
    except TypeFormError:
        pass
    else:
        return written
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        return None
    if len(written) == len("2020-01-01"):
        return f"{written}T23:59:59.999999Z" if is_end else f"{written}T00:00:00Z"
    return found.replace(tzinfo=UTC).isoformat().replace("+00:00", "Z") if found.tzinfo is None else None
