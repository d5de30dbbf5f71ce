"""What is wrong with edges, and with what they connect."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from assay.verdicts.graph._cycle import find_cycles
from assay.verdicts.graph._links import Links, chain_of
from assay.verdicts.graph.edge import ENDS, Edge, EdgeType
from assay.verdicts.graph.graph import KnowledgeGraph, node_type
from assay.verdicts.graph.issue import Issue, IssueCode, Severity
from assay.verdicts.graph.node import UNIVERSAL, Definition, Jurisdiction, NodeId, Rule, Subject
from assay.verdicts.graph.obligation import Obligation


def check_edges(graph: KnowledgeGraph, links: Links) -> Iterator[Issue]:
    for edge in links.unsound:
        yield from _check_ends(edge, links)
    yield from _repeated(graph)
    yield from _precedent_cycles(links)
    yield from _Scopes(graph, links).issues()


def _check_ends(edge: Edge, links: Links) -> Iterator[Issue]:
    wanted_source, wanted_target = ENDS[edge.type]
    source, target = links.nodes.get(edge.source), links.nodes.get(edge.target)
    if target is None and edge.type is EdgeType.APPLIES_TO:
        message = f"expected a subject that is defined, got `{edge.target}`"
        yield _issue(IssueCode.UNDEFINED_SUBJECT, edge, message, "define the subject, or correct the id")
    for end, node in ((edge.source, source), (edge.target, target)):
        if node is None and not (end == edge.target and edge.type is EdgeType.APPLIES_TO):
            message = f"expected a node that is defined, got `{end}`"
            yield _issue(IssueCode.DANGLING_EDGE, edge, message, "define the node, or remove the edge")
    if source is not None and wanted_source is not None and node_type(source) is not wanted_source:
        message = f"expected `{edge.type}` from a {wanted_source}, got it from a {node_type(source)}"
        yield _issue(IssueCode.INVALID_EDGE_SOURCE_TYPE, edge, message, "correct the edge's type or its `from`")
    if target is not None and node_type(target) is not wanted_target:
        message = f"expected `{edge.type}` to a {wanted_target}, got it to a {node_type(target)}"
        yield _issue(IssueCode.INVALID_EDGE_TARGET_TYPE, edge, message, "correct the edge's type or its `to`")


def _issue(code: IssueCode, edge: Edge, message: str, action: str) -> Issue:
    return Issue(code=code, severity=Severity.HIGH, message=message, action=action, node=edge.source, edge=edge)


def _repeated(graph: KnowledgeGraph) -> Iterator[Issue]:
    if len(set(graph.edges)) == len(graph.edges):
        return
    for edge, count in Counter(graph.edges).items():
        if count > 1:
            yield Issue(
                code=IssueCode.DUPLICATE_EDGE,
                severity=Severity.LOW,
                message=f"expected each edge once, got it {count} times",
                action="remove the others",
                node=edge.source,
                edge=edge,
            )


def _precedent_cycles(links: Links) -> Iterator[Issue]:
    successors: defaultdict[NodeId, list[NodeId]] = defaultdict(list)
    for kind in (EdgeType.INTERPRETED_BY, EdgeType.AMENDED_BY):
        for edge in links.all(kind):
            successors[edge.source].append(edge.target)
    for cycle in find_cycles(successors):
        yield Issue(
            code=IssueCode.PRECEDENT_CYCLE,
            severity=Severity.HIGH,
            message=f"expected precedents that lead back in time, got the loop {' > '.join((*cycle, cycle[0]))}",
            action="remove one of the `interpreted_by` and `amended_by` edges of the loop",
            node=cycle[0],
            other=cycle[1] if len(cycle) > 1 else None,
        )


class _Scopes:
    """Whether definitions cover the obligations that use them; scopes name nodes, by id or by name."""

    def __init__(self, graph: KnowledgeGraph, links: Links) -> None:
        self._links = links
        self._graph = graph
        self._names = {node.name: node.id for node in graph.jurisdictions if node.name}
        self._places = {node.id: node for node in graph.jurisdictions}
        self._rules: defaultdict[NodeId, set[NodeId]] = defaultdict(set)
        if any(definition.scope for definition in graph.definitions):
            for edge in links.all(EdgeType.CONSISTS_OF):
                self._rules[edge.target].add(edge.source)

    def issues(self) -> Iterator[Issue]:
        unresolved: dict[NodeId, str] = {}
        for edge in self._links.all(EdgeType.DEFINED_BY):
            (definition,) = self._links.targets([edge], Definition)
            answers = [self._covers(entry, edge.source) for entry in definition.scope]
            if None in answers:
                unresolved[definition.id] = definition.scope[answers.index(None)]
            elif answers and True not in answers:
                message = f"expected a definition whose scope covers the obligation, got {', '.join(definition.scope)}"
                action = "use another definition, or widen its scope"
                yield _issue(IssueCode.DEFINITION_OUT_OF_SCOPE, edge, message[:200], action)
        for node, scope in unresolved.items():
            yield Issue(
                code=IssueCode.UNRESOLVED_SCOPE,
                severity=Severity.LOW,
                message=f"expected the id of a node, got `{scope[:80]}`: whether the scope covers is not known",
                action="name a jurisdiction, a rule, a subject or an obligation",
                node=node,
            )

    def _covers(self, entry: str, obligation: NodeId) -> bool | None:
        """None where the entry names nothing that we know."""
        if entry.lower() in UNIVERSAL or entry in (self._graph.metadata.get("sector"), obligation):
            return True
        node = self._links.nodes.get(NodeId(entry)) or self._links.nodes.get(self._names.get(entry, NodeId("")))
        if isinstance(node, Jurisdiction):
            scopes = self._links.out(EdgeType.SCOPED_TO, obligation)
            return bool(scopes) and all(node.id in chain_of(edge.target, self._places) for edge in scopes)
        if isinstance(node, Rule):
            return node.id in self._rules[obligation]
        if isinstance(node, Subject):
            return any(self._applies(rule, node.id) for rule in self._rules[obligation])
        return False if isinstance(node, Obligation) else None

    def _applies(self, rule: NodeId, subject: NodeId) -> bool:
        return any(edge.target == subject for edge in self._links.out(EdgeType.APPLIES_TO, rule))
