"""A knowledge graph as people read it: by subject, with limits, dates, places, exceptions and clauses."""

from collections import defaultdict
from collections.abc import Iterator

from assay.flows.verdicts.inspect_graphs import KeptGraph
from assay.kernel.instant import Instant, render_instant
from assay.surfaces.cli.acting import plain
from assay.verdicts.graph.edge import EdgeType
from assay.verdicts.graph.graph import DRAFT, KnowledgeGraph, Node, node_type
from assay.verdicts.graph.hash import render_node
from assay.verdicts.graph.node import Citation, Definition, Exemption, Jurisdiction, NodeId, Precedent, Rule, Subject
from assay.verdicts.graph.obligation import Obligation

_MIDNIGHT, _LAST = "T00:00:00Z", "T23:59:59.999999Z"


class _Ways:
    """The edges of a graph by type and source, and its nodes by id; the first of several nodes counts."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.nodes: dict[NodeId, Node] = {}
        for node in graph.nodes():
            self.nodes.setdefault(node.id, node)
        self._out: defaultdict[tuple[EdgeType, NodeId], list[NodeId]] = defaultdict(list)
        for edge in graph.edges:
            self._out[edge.type, edge.source].append(edge.target)

    def follow(self, kind: EdgeType, source: NodeId) -> list[Node]:
        return [self.nodes[target] for target in self._out[kind, source] if target in self.nodes]


def graph_picture(graph: KnowledgeGraph, kept: KeptGraph | None) -> str:
    """Every rule below each subject it applies to; rules without a subject come last."""
    ways = _Ways(graph)
    rules: defaultdict[NodeId, list[Rule]] = defaultdict(list)
    loose = []
    for rule in graph.rules:
        subjects = ways.follow(EdgeType.APPLIES_TO, rule.id)
        for subject in subjects:
            rules[subject.id].append(rule)
        if not subjects:
            loose.append(rule)
    lines = list(_head_lines(graph, kept))
    for one in graph.subjects:
        lines += ["", _subject_line(one), *(line for rule in rules[one.id] for line in _rule_lines(ways, rule))]
    if loose:
        lines += ["", "without a subject", *(line for rule in loose for line in _rule_lines(ways, rule))]
    return plain("\n".join(lines))


def node_picture(graph: KnowledgeGraph, node: Node) -> str:
    """One node, field by field, and every edge from and to it."""
    fields = [f"  {name}: {value}" for name, value in render_node(node).items() if name not in ("id", "type")]
    out = [f"  {edge.type} {edge.target}" for edge in graph.edges if edge.source == node.id]
    into = [f"  from {edge.source} by {edge.type}" for edge in graph.edges if edge.target == node.id]
    return plain("\n".join([f"{node_type(node)} {node.id}", *fields, *out, *into]))


def demand_text(node: Obligation) -> str:
    """What an obligation asks, as near to a sentence as its type and operand are."""
    asked = node.obligation_type.replace("_", " ")
    value = "" if node.value is None else f" {_operand(node.value)}"
    unit = "" if node.unit is None else f" {node.unit}"
    window = "" if node.window_seconds is None else f" over {node.window_seconds} s"
    named = "" if node.predicate is None else f" ({node.predicate.name})"
    return f"{node.metric or 'a person judges'}: {asked}{named}{value}{unit}{window}"


def _head_lines(graph: KnowledgeGraph, kept: KeptGraph | None) -> Iterator[str]:
    yield f"{graph.metadata.get('name', 'without a name')} ({graph.form} form)"
    counts = [(graph.subjects, "subjects"), (graph.rules, "rules"), (graph.obligations, "obligations")]
    yield ", ".join(f"{len(nodes)} {word}" for nodes, word in counts)
    if graph.metadata.get(DRAFT) is True:
        yield "a draft: it is used only once people accepted it and an anchor signed it"
    if kept is None:
        return
    yield f"content   {kept.head.content_hash}"
    yield f"signed by {kept.head.signed_by or 'nobody'}"
    yield f"reviewed  {', '.join(f'{one.by} {one.choice}' for one in kept.reviews) or 'by nobody'}"
    if kept.is_in_use and kept.activation is not None:
        since = render_instant(kept.activation.activated_at)
        yield f"in use    since {since}, entry {kept.activation.sequence_number}, {kept.activation.mode}"
    else:
        yield "in use    no"


def _subject_line(subject: Subject) -> str:
    return f"subject {subject.id}" + ("" if subject.name is None else f": {subject.name}")


def _rule_lines(ways: _Ways, rule: Rule) -> Iterator[str]:
    yield f"  rule {rule.id} [{rule.risk_tier or 'no tier, so high'}]" + ("" if rule.name is None else f": {rule.name}")
    obligations = ways.follow(EdgeType.CONSISTS_OF, rule.id)
    if not obligations:
        yield "    no obligation"
    for one in obligations:
        if isinstance(one, Obligation):
            yield from _obligation_lines(ways, one)


def _obligation_lines(ways: _Ways, node: Obligation) -> Iterator[str]:
    places = [one.name or one.id for one in ways.follow(EdgeType.SCOPED_TO, node.id) if isinstance(one, Jurisdiction)]
    yield f"    {demand_text(node)}"
    yield f"      {_force(node)}, {', '.join(places) or 'everywhere'}"
    if node.summary is not None:
        yield f"      “{' '.join(node.summary.split())}”"
    for clause in _clauses(ways, node.id):
        yield f"      {clause}"
    for one in ways.follow(EdgeType.EXEMPTED_BY, node.id):
        if isinstance(one, Exemption):
            judged = "" if one.formal is not None else " (a person judges)"
            yield f"      except: {one.condition}{judged}"
    for one in ways.follow(EdgeType.DEFINED_BY, node.id):
        if isinstance(one, Definition):
            yield f"      {one.term} means {one.definition_text}"
    for one in ways.follow(EdgeType.INTERPRETED_BY, node.id):
        if isinstance(one, Precedent):
            yield f"      {one.relation}: {one.summary}"


def _clauses(ways: _Ways, source: NodeId) -> Iterator[str]:
    for one in ways.follow(EdgeType.CITED_BY, source):
        if isinstance(one, Citation):
            yield f"{one.source_document}, {one.source_clause}"


def _force(node: Obligation) -> str:
    start, end = node.effective_date_start, node.effective_date_end
    since = "no date of beginning" if start is None else f"from {_day(start)}"
    return since if end is None else f"{since} to {_day(end)}"


def _day(at: Instant) -> str:
    return render_instant(at).removesuffix(_MIDNIGHT).removesuffix(_LAST)


def _operand(value: object) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)
