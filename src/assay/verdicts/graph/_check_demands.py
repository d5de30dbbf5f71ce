"""What is wrong with obligations together: contradictions, dates that overlap, units that differ.

subjects with the same rules -> their obligations by metric and unit -> by jurisdiction -> conflicts over time
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from itertools import islice
from typing import Protocol, cast

from msgspec import Struct

from assay.verdicts.graph._links import Links, chain_of
from assay.verdicts.graph.conflict import NAMED, Conflict, Demand, find_conflicts
from assay.verdicts.graph.constraint import Constraint, Span, is_empty, meet
from assay.verdicts.graph.edge import EdgeType
from assay.verdicts.graph.graph import KnowledgeGraph
from assay.verdicts.graph.issue import Issue, IssueCode, Severity
from assay.verdicts.graph.node import Jurisdiction, NodeId, Precedent, PrecedentRelation
from assay.verdicts.graph.obligation import Obligation
from assay.verdicts.graph.obligation_type import NUMERIC, WINDOWED, ObligationType
from assay.verdicts.graph.unit import Conversion

_EXCLUSIVE = (
    frozenset({ObligationType.MUST, ObligationType.MUST_NOT}),
    frozenset({ObligationType.MUST_EQUAL, ObligationType.MUST_NOT_EQUAL}),
    frozenset({ObligationType.MUST_BE_ONE_OF, ObligationType.MUST_NOT_BE_ONE_OF}),
)
_NO_CONSTRAINT = frozenset({ObligationType.MUST_BE_RECORDED_WITHIN})
# Of these a rule states one operand at a time.
_SINGLE = NUMERIC | {ObligationType.MUST_BE_WITHIN, ObligationType.MUST_EQUAL, ObligationType.MUST_AVERAGE_WITHIN}
# Pairs that an issue names already.
_Told = set[tuple[NodeId | None, NodeId]]
# What a demand is about: metric, unit, and for windows the type and the length.
_About = tuple[str, str | None, str | None, str | None]
_Ways = Mapping[str, Conversion | None]


class Prover(Protocol):
    """Something that can prove that demands contradict, independently of our own arithmetic."""

    def explain(self, demands: tuple[Demand, ...]) -> str | None:
        """One line: an instant at which all are in force and why no value satisfies them; None if there is none."""
        ...


class _Scoped(Struct, frozen=True):
    demand: Demand
    scopes: frozenset[NodeId] | None


def check_demands(graph: KnowledgeGraph, links: Links, prover: Prover | None) -> Iterator[Issue]:
    places = {node.id: node for node in graph.jurisdictions}
    told: _Told = set()
    ways = _ways(graph)
    for obligations in _obligations_together(links):
        groups = _by_metric(obligations, links, ways)
        yield from _unit_conflicts(groups, ways)
        for group in groups.values():
            yield from _contradictions(group, places, told, prover)
    yield from _revisions(graph, links, told)
    yield from _superseded(links)


def _contradictions(
    group: list[_Scoped], places: Mapping[NodeId, Jurisdiction], told: _Told, prover: Prover | None
) -> Iterator[Issue]:
    if len(group) == 1 or not _may_conflict(each.demand for each in group):
        return
    for conflict in islice(_conflicts(group, places), NAMED):
        pair = (_id(conflict.first), conflict.second.obligation.id)
        if pair not in told:
            told.add(pair)
            yield _contradiction(conflict, prover)


def _obligations_together(links: Links) -> Iterator[list[Obligation]]:
    """The obligations of each subject; subjects with the same rules are looked at once."""
    rules: defaultdict[NodeId, list[NodeId]] = defaultdict(list)
    for edge in links.all(EdgeType.APPLIES_TO):
        rules[edge.target].append(edge.source)
    for together in dict.fromkeys(tuple(sorted(set(found))) for found in rules.values()):
        found = {e.target: e for rule in together for e in links.out(EdgeType.CONSISTS_OF, rule)}
        if len(found) > 1:
            yield list(links.targets(found.values(), Obligation))


def _ways(graph: KnowledgeGraph) -> _Ways:
    """For each declared unit the conversion into the one that most others convert with: there limits are compared."""
    out: defaultdict[str, dict[str, Conversion]] = defaultdict(dict)
    for group in graph.units.by_target.values():
        for one in group:
            out[one.source][one.target] = one
    found: dict[str, Conversion | None] = {}
    for unit, targets in out.items():
        common = max((unit, *targets), key=lambda name: (len(out[name]), name))
        found[unit] = targets.get(common)
    return found


def _in_common_unit(node: Obligation, constraint: Constraint, ways: _Ways) -> tuple[str | None, Constraint]:
    """The unit to compare in, and what the obligation allows there; a list of numbers stays in its own."""
    unit = node.unit
    if unit not in ways or unit is None:
        # A unit in another letter case is most likely the same: it must not hide a contradiction.
        return None if unit is None else unit.casefold(), constraint
    way, span = ways[unit], constraint.span
    if way is None or constraint.allowed is not None or constraint.excluded:
        return unit, constraint
    low, high = (None if end is None else way.convert_exactly(end) for end in (span.low, span.high))
    return way.target, Constraint(span=Span(low, span.low_open, high, span.high_open))


def _by_metric(obligations: Iterable[Obligation], links: Links, ways: _Ways) -> Mapping[_About, list[_Scoped]]:
    groups: defaultdict[_About, list[_Scoped]] = defaultdict(list)
    for node in obligations:
        kind, constraint = node.kind, links.constraint(node)
        if kind is None or constraint is None or kind in _NO_CONSTRAINT or node.metric is None:
            continue
        if is_empty(constraint):
            continue  # Nothing satisfies it alone, which is told of it alone.
        window = (kind.value, str(node.window_seconds)) if kind in WINDOWED else (None, None)
        scopes = _scopes(node, links) if node.id in links.scoped else None
        unit, common = _in_common_unit(node, constraint, ways)
        groups[node.metric, unit, *window].append(_Scoped(Demand(node, common), scopes))
    return groups


def _folded(unit: str | None) -> str | None:
    return None if unit is None else unit.casefold()


def _unit_conflicts(groups: Mapping[_About, list[_Scoped]], ways: _Ways) -> Iterator[Issue]:
    first: dict[str, tuple[str | None, NodeId]] = {}
    told: set[tuple[str, str | None]] = set()
    for (metric, *_), group in groups.items():
        for each in group:
            unit, node = each.demand.obligation.unit, each.demand.obligation.id
            known_unit, known = first.setdefault(metric, (unit, node))
            if known_unit == unit or (metric, unit) in told or (known_unit in ways and unit in ways):
                continue
            told.add((metric, unit))
            yield Issue(
                code=IssueCode.UNIT_CONFLICT,
                severity=Severity.MEDIUM,
                message=f"expected one unit for `{metric}`, got `{known_unit or ''}` and `{unit or ''}`",
                action="write all limits of a metric in one unit: a limit in another is compared with none of them",
                node=known,
                other=node,
            )


def _may_conflict(demands: Iterable[Demand]) -> bool:
    """What can be met together at any time needs no look at the dates, and mostly it can."""
    return is_empty(_together(demands))


def _together(demands: Iterable[Demand]) -> Constraint:
    return reduce(meet, (demand.constraint for demand in demands), Constraint())


def _conflicts(group: list[_Scoped], places: Mapping[NodeId, Jurisdiction]) -> Iterator[Conflict]:
    """In each jurisdiction that the group names, what holds there and above; else what holds everywhere."""
    everywhere = [each.demand for each in group if each.scopes is None]
    scoped: defaultdict[NodeId, list[Demand]] = defaultdict(list)
    for each in group:
        for place in each.scopes or ():
            scoped[place].append(each.demand)
    yield from find_conflicts(everywhere)
    common = _together(everywhere)
    for place in sorted(scoped):
        here = [demand for above in chain_of(place, places) for demand in scoped.get(above, ())]
        if is_empty(meet(common, _together(here))):
            first, last = min(demand.start for demand in here), max(demand.end for demand in here)
            meanwhile = [demand for demand in everywhere if demand.start <= last and demand.end >= first]
            yield from find_conflicts(meanwhile + here)


def _contradiction(conflict: Conflict, prover: Prover | None) -> Issue:
    first, second = conflict.first, conflict.second
    node, metric = second.obligation, second.obligation.metric
    is_exclusive = first is not None and {first.obligation.kind, node.kind} in _EXCLUSIVE
    how = "in force at the same time" if is_exclusive else "no value satisfies both"
    others = "others together" if first is None else f"`{first.obligation.id}` ({_said(first.obligation)})"
    return Issue(
        code=IssueCode.DATE_OVERLAP if is_exclusive else IssueCode.CONTRADICTORY_OBLIGATIONS,
        severity=Severity.HIGH,
        message=f"`{metric}`: {_said(node)} contradicts {others}: {how}",
        action="correct an operand, end the earlier one before the later begins, or scope them apart",
        node=node.id,
        other=_id(first),
        proof=None if prover is None else prover.explain((*conflict.others, second)),
    )


def _id(demand: Demand | None) -> NodeId | None:
    return None if demand is None else demand.obligation.id


def _said(node: Obligation) -> str:
    value = node.value
    text = "" if value is None else f" {value}" if not isinstance(value, tuple) else f" [{', '.join(map(str, value))}]"
    return f"{node.obligation_type}{text}{f' {node.unit}' if node.unit else ''}"[:120]


def _revisions(graph: KnowledgeGraph, links: Links, told: _Told) -> Iterator[Issue]:
    """Within a rule, two operands of one type for one metric and scope: the earlier should have ended."""
    for rule in graph.rules:
        edges = links.out(EdgeType.CONSISTS_OF, rule.id)
        if len(edges) > 1:
            yield from _rule_revisions(links.targets(edges, Obligation), links, told)


def _rule_revisions(obligations: Iterable[Obligation], links: Links, told: _Told) -> Iterator[Issue]:
    message = "two operands of one rule are in force at the same time; the stricter decides"
    for group in _same_subject_matter(obligations, links):
        for earlier, later in _overlapping(group):
            pair = (earlier.obligation.id, later.obligation.id)
            if later.constraint != earlier.constraint and pair not in told:
                yield _overlap(*pair, message, Severity.MEDIUM)


def _same_subject_matter(obligations: Iterable[Obligation], links: Links) -> Iterable[list[Demand]]:
    """Demands of one type on one metric, under the same scopes and exemptions: of these, one should be in force."""
    groups: defaultdict[tuple[object, ...], list[Demand]] = defaultdict(list)
    for node in obligations:
        constraint = links.constraint(node)
        if constraint is not None and node.kind in _SINGLE:
            exempt = frozenset(edge.target for edge in links.out(EdgeType.EXEMPTED_BY, node.id))
            key = (node.kind, node.metric, _folded(node.unit), node.window_seconds, _scopes(node, links), exempt)
            groups[key].append(Demand(node, constraint))
    return groups.values()


def _overlapping(group: Iterable[Demand]) -> Iterator[tuple[Demand, Demand]]:
    """Each demand that begins while an earlier one is in force, with the earlier one that lasts longest."""
    latest: Demand | None = None
    for demand in sorted(group, key=lambda each: (each.start, each.end, each.obligation.id)):
        if latest is not None and demand.start <= latest.end:
            yield latest, demand
        if latest is None or demand.end >= latest.end:
            latest = demand


def _superseded(links: Links) -> Iterator[Issue]:
    """What is read in the light of a superseded precedent is over when the superseding obligation begins."""
    readers: defaultdict[NodeId, list[Obligation]] = defaultdict(list)
    for edge in links.all(EdgeType.INTERPRETED_BY):
        readers[edge.target].append(cast("Obligation", links.nodes[edge.source]))
    for edge in links.all(EdgeType.AMENDED_BY):
        precedent = cast("Precedent", links.nodes[edge.source])
        if precedent.relation is not PrecedentRelation.SUPERSEDES:
            continue
        (new,) = links.targets([edge], Obligation)
        message = f"expected it to end when `{new.id}` supersedes it, got both in force"
        over = [old for old in readers[edge.source] if _is_still_in_force(old, new, links)]
        yield from (_overlap(old.id, new.id, message, Severity.HIGH) for old in over)


def _is_still_in_force(old: Obligation, new: Obligation, links: Links) -> bool:
    """Another obligation on the same metric and scope, whose dates meet those of the new one."""
    if old.id == new.id or (old.metric, _folded(old.unit)) != (new.metric, _folded(new.unit)):
        return False
    if _scopes(old, links) != _scopes(new, links):
        return False
    one, other = Demand(old, Constraint()), Demand(new, Constraint())
    return one.start <= other.end and other.start <= one.end


def _scopes(node: Obligation, links: Links) -> frozenset[NodeId]:
    return frozenset([edge.target for edge in links.out(EdgeType.SCOPED_TO, node.id)])


def _overlap(node: NodeId, other: NodeId, message: str, severity: Severity) -> Issue:
    return Issue(
        code=IssueCode.DATE_OVERLAP,
        severity=severity,
        message=message,
        action="end the earlier one before the later begins",
        node=node,
        other=other,
    )
