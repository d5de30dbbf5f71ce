"""What is wrong with single nodes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from assay.verdicts.graph._check_predicate import check_predicate
from assay.verdicts.graph._cycle import find_cycles
from assay.verdicts.graph._links import Links
from assay.verdicts.graph.constraint import Constraint, breaches_of, constraint_of, is_empty, is_within
from assay.verdicts.graph.edge import Edge, EdgeType
from assay.verdicts.graph.graph import GraphForm, KnowledgeGraph, Node, NoticeCode, node_type
from assay.verdicts.graph.issue import Issue, IssueCode, Severity
from assay.verdicts.graph.node import Exemption, Jurisdiction, NodeId, RiskTier, Rule, Subject
from assay.verdicts.graph.obligation import MAX_WINDOW_SECONDS, Basis, Obligation, window_of
from assay.verdicts.graph.obligation_type import EXTENSIONS, WINDOWED, ObligationType

_NOTICED = {
    NoticeCode.DEFAULT_TIER: (IssueCode.UNKNOWN_RISK_TIER, Severity.MEDIUM, "write the risk tier"),
    NoticeCode.DATE_ONLY: (IssueCode.DATE_ONLY, Severity.LOW, "write an RFC 3339 date-time with an offset"),
    NoticeCode.IGNORED_FIELD: (IssueCode.IGNORED_FIELD, Severity.LOW, "remove the field, or correct its name"),
    NoticeCode.MISSING_VERSION: (IssueCode.MISSING_VERSION, Severity.HIGH, "write the version that is expected"),
    NoticeCode.TRACK_DEPRECATED: (IssueCode.TRACK_DEPRECATED, Severity.LOW, "remove `track`"),
    NoticeCode.VERSION_MISMATCH: (
        IssueCode.VERSION_MISMATCH,
        Severity.HIGH,
        "review the node, then correct its version",
    ),
    NoticeCode.UNTYPED_OBLIGATION: (
        IssueCode.UNTYPED_OBLIGATION,
        Severity.MEDIUM,
        "add a typed obligation; until then every verdict of the rule is DISCRETIONARY",
    ),
}
_ANYTHING = Constraint()
_TIERS = frozenset(tier.value for tier in RiskTier)
# Those that are judged by nothing but a person, or recommend.
_WITHOUT_OPERAND = frozenset({ObligationType.DISCRETIONARY, ObligationType.SHOULD})


def check_nodes(graph: KnowledgeGraph, links: Links) -> Iterator[Issue]:
    if not graph.rules:
        yield _empty()
    yield from _noticed(graph)
    yield from _duplicates(graph, links)
    rule_edges = {edge.target: edge for edge in links.all(EdgeType.CONSISTS_OF)}
    for obligation in graph.obligations:
        yield from _check_obligation(obligation, rule_edges.get(obligation.id), links, graph.form)
    for rule in graph.rules:
        yield from _check_rule(rule, graph.form, links)
    yield from _uncited(graph, links)
    yield from _check_jurisdictions(graph)
    yield from _ambiguous(graph.subjects)
    yield from _ambiguous(graph.jurisdictions)


def _empty() -> Issue:
    """Every record would be unmapped, or clear for want of anything to breach (SKI 2.1.2)."""
    return Issue(
        code=IssueCode.EMPTY_GRAPH,
        severity=Severity.HIGH,
        message="expected at least one rule, got none: no record could ever be flagged",
        action="add the rules and obligations of the regulation",
    )


def _noticed(graph: KnowledgeGraph) -> Iterator[Issue]:
    for notice in graph.notices:
        known = _NOTICED.get(notice.code)
        if known is not None:
            code, severity, action = known
            yield Issue(code=code, severity=severity, message=notice.message, action=action, node=notice.node)


def _duplicates(graph: KnowledgeGraph, links: Links) -> Iterator[Issue]:
    for node in graph.nodes():
        first = links.nodes[node.id]
        if first is node:
            continue
        is_same = first.version == node.version and node_type(first) is node_type(node)
        how = "the same content" if is_same else "different content"
        yield Issue(
            code=IssueCode.DUPLICATE_NODE_ID,
            severity=Severity.LOW if is_same else Severity.CRITICAL,
            message=f"expected each id once, got `{node.id}` again with {how}",
            action="remove the second node" if is_same else "give the second node an id of its own",
            node=node.id,
        )


def _check_obligation(node: Obligation, edge: Edge | None, links: Links, form: GraphForm) -> Iterator[Issue]:
    if edge is None:
        yield _issue(
            IssueCode.OBLIGATION_WITHOUT_RULE,
            Severity.MEDIUM,
            node,
            "expected a rule that consists of it, got none",
            "add a `consists_of` edge, or remove the obligation",
        )
    kind, start, end = node.kind, node.effective_date_start, node.effective_date_end
    # Most obligations are sound, and there are many: what is plainly right is not looked at twice.
    if kind is None or kind in EXTENSIONS or node.basis is Basis.CONVERTED:
        yield from _check_type(node, edge)
    if start is None or end is not None:
        yield from _check_dates(node, form)
    if not node.metric and kind is not None and kind is not ObligationType.DISCRETIONARY:
        yield _issue(
            IssueCode.MISSING_METRIC,
            Severity.HIGH,
            node,
            f"expected a metric for `{kind}`, got none",
            "name the metric by its dotted path in the measurement",
        )
    if node.predicate is not None:
        yield from check_predicate(node)
    elif kind is not None and kind not in _WITHOUT_OPERAND:
        yield from _check_operand(node, kind, links)


def _check_type(node: Obligation, edge: Edge | None) -> Iterator[Issue]:
    kind = node.kind
    if kind is None:
        yield Issue(
            code=IssueCode.UNKNOWN_OBLIGATION_TYPE,
            # A flat graph may be of a version that had no types (SKI 11.2): it is told, and DISCRETIONARY.
            severity=Severity.HIGH if node.basis is Basis.TYPED else Severity.MEDIUM,
            message=f"expected an obligation type of SKI 3.3, got `{node.obligation_type[:80]}`",
            action="use one of the types, or `discretionary`",
            node=node.id,
            edge=edge,
        )
    elif kind.is_extension and node.basis is not Basis.CONVERTED:
        yield _issue(
            IssueCode.EXTENSION_TYPE,
            Severity.LOW,
            node,
            f"`{kind}` is an extension: another implementation treats it as DISCRETIONARY",
            "use a type of SKI 3.3 if the graph is to be used elsewhere",
        )
    if node.basis is Basis.CONVERTED:
        yield _issue(
            IssueCode.CONVERTED_OBLIGATION,
            Severity.LOW,
            node,
            f"expected a typed obligation, got a flat predicate, read as `{node.obligation_type}`",
            "write the graph in the typed form",
        )


def _check_dates(node: Obligation, form: GraphForm) -> Iterator[Issue]:
    start, end = node.effective_date_start, node.effective_date_end
    if start is None:
        yield _issue(
            IssueCode.MISSING_EFFECTIVE_DATE,
            Severity.HIGH if form is GraphForm.TYPED else Severity.MEDIUM,  # a flat rule without one is always in force
            node,
            "expected `effective_date_start`, got nothing",
            "write since when the obligation is in force",
        )
    elif end is not None and end < start:
        yield _issue(
            IssueCode.INVERTED_DATES,
            Severity.HIGH,
            node,
            "expected an end after the start, got one before it: never in force",
            "correct the dates",
        )


def _check_operand(node: Obligation, kind: ObligationType, links: Links) -> Iterator[Issue]:
    if kind in WINDOWED and window_of(node) is None:
        yield _invalid(node, "a window in seconds", "write `window_seconds`")
    if kind not in WINDOWED and node.window_seconds is not None:
        yield _invalid(node, f"no window with `{kind}`", "remove `window_seconds`, or use a type that has a window")
    if (window_of(node) or 0) > MAX_WINDOW_SECONDS:
        yield _invalid(node, f"a window of at most {MAX_WINDOW_SECONDS} s", "write a shorter window")
    if kind is ObligationType.MUST_BE_RECORDED_WITHIN:
        return
    if kind is ObligationType.MUST and node.value is None:
        yield _issue(
            IssueCode.MISSING_OPERAND,
            Severity.MEDIUM,
            node,
            "expected the value that is demanded, got none: whatever is there and not false satisfies it, also 0",
            "write `value: true` where the metric is a yes or no, else the value or a type that compares",
        )
    constraint = links.constraint(node)
    if constraint is None:
        yield _invalid(
            node, f"an operand that fits `{kind}`", "write a number, two ends, a list or a value, as the type asks"
        )
    elif is_empty(constraint):
        yield _issue(
            IssueCode.UNSATISFIABLE_OBLIGATION,
            Severity.HIGH,
            node,
            "expected that some value satisfies it, got none that does",
            "correct the operand",
        )
    elif constraint == _ANYTHING or links.has(EdgeType.EXEMPTED_BY, node.id):
        yield from _check_vacuous(node, constraint, links)


def _check_vacuous(node: Obligation, constraint: Constraint, links: Links) -> Iterator[Issue]:
    if constraint == _ANYTHING:
        yield _vacuous(node, "every value satisfies it", None)
        return
    for exemption in links.targets(links.out(EdgeType.EXEMPTED_BY, node.id), Exemption):
        if _swallows(exemption, node, constraint):
            yield _vacuous(node, "the exemption holds whenever the obligation is breached", exemption.id)


def _swallows(exemption: Exemption, node: Obligation, constraint: Constraint) -> bool:
    if exemption.formal is None or any(condition.metric != node.metric for condition in exemption.formal):
        return False
    exempt = [constraint_of(condition) for condition in exemption.formal]
    return all(outer is not None and is_within(breach, outer) for breach in breaches_of(constraint) for outer in exempt)


def _check_rule(rule: Rule, form: GraphForm, links: Links) -> Iterator[Issue]:
    if rule.risk_tier not in _TIERS:
        got = "nothing" if rule.risk_tier is None else f"`{rule.risk_tier[:80]}`"
        message, action = f"expected low, medium or high, got {got}: treated as high", "write the risk tier"
        # The flat form may leave it out.
        is_lax = rule.risk_tier is None and form is GraphForm.FLAT
        yield _issue(IssueCode.UNKNOWN_RISK_TIER, Severity.MEDIUM if is_lax else Severity.HIGH, rule, message, action)
    if not links.has(EdgeType.CONSISTS_OF, rule.id):
        message, action = "expected at least one obligation, got none", "add an obligation and a `consists_of` edge"
        yield _issue(IssueCode.RULE_WITHOUT_OBLIGATION, Severity.HIGH, rule, message, action)
    if not links.has(EdgeType.APPLIES_TO, rule.id):
        message, action = "expected a subject that it applies to, got none", "add an `applies_to` edge"
        yield _issue(IssueCode.RULE_WITHOUT_SUBJECT, Severity.MEDIUM, rule, message, action)


def _uncited(graph: KnowledgeGraph, links: Links) -> Iterator[Issue]:
    """SKI 3.1; a flat graph has no place to write citations, so there it does not reject."""
    severity = Severity.HIGH if graph.form is GraphForm.TYPED else Severity.LOW
    for group in (graph.obligations, graph.definitions, graph.exemptions, graph.precedents):
        for node in group:
            if not links.has(EdgeType.CITED_BY, node.id):
                message = "expected a citation of the regulatory text, got none"
                yield _issue(IssueCode.MISSING_CITATION, severity, node, message, "add a `cited_by` edge to a citation")
    for exemption in graph.exemptions:
        if exemption.formal is None:
            message = f"`{exemption.condition[:80]}` asks for a person's judgment: DISCRETIONARY where it may hold"
            action = "write it as `metric operator value`, joined by `and`, if it can be"
            yield _issue(IssueCode.INFORMAL_EXEMPTION, Severity.LOW, exemption, message, action)


def _check_jurisdictions(graph: KnowledgeGraph) -> Iterator[Issue]:
    known = {node.id: node for node in graph.jurisdictions}
    for node in graph.jurisdictions:
        if node.parent is not None and node.parent not in known:
            message, action = f"expected a jurisdiction as parent, got `{node.parent}`", "add it, or correct the id"
            yield _issue(IssueCode.UNKNOWN_PARENT, Severity.HIGH, node, message, action)
    parents = {node.id: [node.parent] for node in known.values() if node.parent in known and node.parent is not None}
    for cycle in find_cycles(parents):
        message = f"expected a tree of jurisdictions, got the loop {' > '.join(cycle)}"
        action = "remove one `parent`"
        yield _issue(IssueCode.JURISDICTION_CYCLE, Severity.HIGH, known[cycle[0]], message, action)


def _ambiguous(nodes: Iterable[Subject | Jurisdiction]) -> Iterator[Issue]:
    """Records may use a name instead of an id; one that several nodes have finds none of them.

    Jurisdictions are found without case, so that `DE` and `de` are one name.
    """
    named: defaultdict[str, set[NodeId]] = defaultdict(set)
    for node in nodes:
        if node.name:
            named[node.name.casefold() if isinstance(node, Jurisdiction) else node.name].add(node.id)
    for name, ids in named.items():
        if len(ids) > 1:
            first, second, *_ = sorted(ids)
            yield Issue(
                code=IssueCode.AMBIGUOUS_NAME,
                severity=Severity.LOW,
                message=f"`{name[:80]}` names {len(ids)} nodes, so that a record can name none of them by it",
                action="give each a name of its own, or let records use ids",
                node=first,
                other=second,
            )


def _issue(code: IssueCode, severity: Severity, node: Node, message: str, action: str) -> Issue:
    return Issue(code=code, severity=severity, message=message, action=action, node=node.id)


def _invalid(node: Obligation, expected: str, action: str) -> Issue:
    message = f"expected {expected}, got {'nothing' if node.value is None else 'something else'}"
    return _issue(IssueCode.INVALID_OPERAND, Severity.HIGH, node, message, action)


def _vacuous(node: Obligation, why: str, other: NodeId | None) -> Issue:
    return Issue(
        code=IssueCode.VACUOUS_OBLIGATION,
        severity=Severity.MEDIUM,
        message=f"expected an obligation that can be breached, got one that cannot: {why}",
        action="correct the operand or the exemption, or remove the obligation",
        node=node.id,
        other=other,
    )
