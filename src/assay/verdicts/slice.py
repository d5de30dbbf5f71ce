"""The slice of a knowledge graph that one record is judged by (SKI 3.4, 5.1), and nothing else of the graph.

index + subject + instant + declared jurisdiction -> Slice, one part for each rule
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from enum import StrEnum
from itertools import chain
from typing import NamedTuple, TypeVar
from unicodedata import normalize

from msgspec import Struct
from msgspec.structs import replace

from assay.kernel.instant import Instant
from assay.verdicts.graph.edge import Edge
from assay.verdicts.graph.graph import Node
from assay.verdicts.graph.index import Cited, GraphIndex, IndexedObligation, IndexedRule, sort_nodes
from assay.verdicts.graph.node import (
    UNIVERSAL,
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
from assay.verdicts.graph.unit import Conversion, UnitTable
from assay.verdicts.rulings import Rulings

_MOST_KEPT = 4096


class PlaceDoubt(StrEnum):
    """Why nobody knows whether obligations that are scoped to a jurisdiction apply to a record."""

    UNDECLARED = "not declared"
    UNKNOWN = "unknown"


class RuleSlice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """What one rule asks of the record: only what survived the filter, nodes sorted by id.

    `edges` lead from these nodes to these nodes, the rule's own first, then obligation by obligation. `jurisdictions`
    are those through which an obligation applies. A rule none of whose obligations applies has no obligations here,
    and nothing that hangs on them. `doubt` is set where the rule has scoped obligations in force, and the record does
    not say, in words that the graph knows, whether it lies in their scope. `units` are conversions into the units of
    these obligations.
    """

    rule: Rule
    obligations: tuple[Obligation, ...] = ()
    definitions: tuple[Definition, ...] = ()
    exemptions: tuple[Exemption, ...] = ()
    precedents: tuple[Precedent, ...] = ()
    jurisdictions: tuple[Jurisdiction, ...] = ()
    citations: tuple[Citation, ...] = ()
    edges: tuple[Edge, ...] = ()
    doubt: PlaceDoubt | None = None
    units: tuple[Conversion, ...] = ()
    requires_units: bool = False

    @property
    def tier(self) -> RiskTier:
        return self.rule.tier


class Slice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`subject` is None where the graph does not have it (NULL_UNMAPPED).

    `jurisdiction` is the declared one as a node of the graph; None where none was declared, or one that the graph does
    not know: then only obligations without a scope apply. `is_by_metric`: a flat graph has the metric that the name
    ends with, and not the subject itself.
    """

    asked: str
    as_of: Instant
    declared: str | None = None
    subject: Subject | None = None
    jurisdiction: NodeId | None = None
    rules: tuple[RuleSlice, ...] = ()
    is_by_metric: bool = False

    @property
    def is_displaced(self) -> bool:
        """Whether a jurisdiction was declared that the graph does not know: nothing scoped was applied."""
        declared = self.declared
        return declared is not None and self.jurisdiction is None and declared.lower() not in UNIVERSAL

    @property
    def subject_id(self) -> str:
        """The id of the subject, however the record named it: records under its id and its name belong together.

        Those of two subjects that only share a metric do not.
        """
        return self.asked if self.subject is None or self.is_by_metric else self.subject.id


_N = TypeVar("_N", bound=Node)
_Scopes = tuple[tuple[Jurisdiction, Edge], ...]
_Surviving = tuple[IndexedObligation, Edge, _Scopes]


def slice_graph(index: GraphIndex, subject: str, *, as_of: Instant, jurisdiction: str | None = None) -> Slice:
    """What applies to this subject at that instant in that jurisdiction; an unknown subject has no rules."""
    asked, declared = _normal(subject), None if jurisdiction is None else _normal(jurisdiction)
    node, place = index.find_subject(asked), index.find_jurisdiction(declared)
    doubt = _place_doubt(index, declared, place)
    return Slice(
        asked=asked,
        as_of=as_of,
        declared=declared,
        subject=node,
        jurisdiction=place,
        rules=() if node is None else _rules(index, node.id, place, doubt, as_of),
        is_by_metric=index.find_measured(asked) is not None,
    )


class _Asked(NamedTuple):
    """What a record names, as the graph has it, and when obligations of that subject come into force and end."""

    asked: str
    declared: str | None
    subject: Subject | None
    place: NodeId | None
    doubt: PlaceDoubt | None
    is_by_metric: bool
    starts: list[Instant]
    ends: list[Instant]


class Slicer:
    """`slice_graph` for many records: the parts of a subject's rules are made once for each stretch of time.

    A stretch ends where one of the subject's obligations comes into force, or has been for the last time.
    INVARIANT: equal to what `slice_graph` returns; a property test holds it to that. Several threads may use it.
    """

    def __init__(self, index: GraphIndex) -> None:
        self._index = index
        self._asked: dict[tuple[str, str | None], _Asked] = {}
        self._rules: dict[tuple[object, ...], tuple[RuleSlice, ...]] = {}

    def slice(self, subject: str, *, as_of: Instant, jurisdiction: str | None = None) -> Slice:
        """What applies to this subject at that instant in that jurisdiction."""
        known = self._asked.get((subject, jurisdiction)) or self._look_up(subject, jurisdiction)
        asked, declared, node, place, doubt, is_by_metric, starts, ends = known
        if node is None:
            return Slice(asked=asked, as_of=as_of, declared=declared, jurisdiction=place)
        key = (node.id, place, doubt, bisect_right(starts, as_of), bisect_left(ends, as_of))
        rules = self._rules.get(key) or self._make(key, node.id, place, doubt, as_of)
        return Slice(
            asked=asked,
            as_of=as_of,
            declared=declared,
            subject=node,
            jurisdiction=place,
            rules=rules,
            is_by_metric=is_by_metric,
        )

    def _look_up(self, subject: str, jurisdiction: str | None) -> _Asked:
        """Anybody may name subjects that no graph has, so that not all that were asked for are kept."""
        asked, declared = _normal(subject), None if jurisdiction is None else _normal(jurisdiction)
        node, place = self._index.find_subject(asked), self._index.find_jurisdiction(declared)
        if len(self._asked) >= _MOST_KEPT:
            self._asked.clear()
        starts, ends = ([], []) if node is None else self._dates_of(node.id)
        doubt, is_by_metric = _place_doubt(self._index, declared, place), self._index.find_measured(asked) is not None
        known = _Asked(asked, declared, node, place, doubt, is_by_metric, starts, ends)
        self._asked[subject, jurisdiction] = known
        return known

    def _make(
        self,
        key: tuple[object, ...],
        subject: NodeId,
        place: NodeId | None,
        doubt: PlaceDoubt | None,
        as_of: Instant,
    ) -> tuple[RuleSlice, ...]:
        if len(self._rules) >= _MOST_KEPT:
            self._rules.clear()
        rules = self._rules[key] = _rules(self._index, subject, place, doubt, as_of)
        return rules

    def _dates_of(self, subject: NodeId) -> tuple[list[Instant], list[Instant]]:
        parts = [part.obligation for rule, _ in self._index.rules.get(subject, ()) for part in rule.obligations]
        starts = sorted({one.effective_date_start for one in parts if one.effective_date_start is not None})
        ends = sorted({one.effective_date_end for one in parts if one.effective_date_end is not None})
        return starts, ends


def _rules(
    index: GraphIndex, subject: NodeId, place: NodeId | None, doubt: PlaceDoubt | None, as_of: Instant
) -> tuple[RuleSlice, ...]:
    places = index.chain(place)
    # SKI 5.1: 1. the rules whose `applies_to` leads to the subject, each with the rest of the six steps.
    found = tuple(
        [
            _rule_slice(rule, applies, index, as_of=as_of, places=places)
            for rule, applies in index.rules.get(subject, ())
        ]
    )
    if index.units.by_target or index.units.is_required:
        found = tuple([_with_units(part, index.units) for part in found])
    if doubt is None or not index.has_scopes:
        return found
    applied = [rule for rule, _ in index.rules.get(subject, ())]
    return tuple(
        [
            replace(part, doubt=doubt) if _has_scoped(rule, as_of) else part
            for part, rule in zip(found, applied, strict=True)
        ]
    )


def _with_units(part: RuleSlice, units: UnitTable) -> RuleSlice:
    return replace(part, units=units.into(one.unit for one in part.obligations), requires_units=units.is_required)


def _place_doubt(index: GraphIndex, declared: str | None, place: NodeId | None) -> PlaceDoubt | None:
    """Whether a record leaves open where it belongs; a universal name declares no place in particular."""
    if place is not None or index.rulings is Rulings.FIRST:
        return None
    return PlaceDoubt.UNDECLARED if declared is None or declared.lower() in UNIVERSAL else PlaceDoubt.UNKNOWN


def _has_scoped(indexed: IndexedRule, as_of: Instant) -> bool:
    return any(part.scopes is not None and part.obligation.is_in_force(as_of) for part in indexed.obligations)


def _normal(text: str) -> str:
    return text if text.isascii() else normalize("NFC", text)


def _rule_slice(
    indexed: IndexedRule, applies: Edge, index: GraphIndex, *, as_of: Instant, places: frozenset[NodeId]
) -> RuleSlice:
    surviving = _surviving(indexed, as_of, places)
    # 5. What obligations use and 6. cite is in the index beside them; the other nodes' citations are their own.
    own = _own_citations(indexed, applies, surviving, index)
    if len(surviving) == 1:
        return _single(indexed.rule, applies, surviving[0], own)
    parts = [part for part, _, _ in surviving]
    return RuleSlice(
        rule=indexed.rule,
        obligations=tuple([part.obligation for part in parts]),
        definitions=_merged([part.definitions for part in parts]),
        exemptions=_merged([part.exemptions for part in parts]),
        precedents=_merged([part.precedents for part in parts]),
        jurisdictions=_merged([(place,) for _, _, scopes in surviving for place, _ in scopes]),
        citations=_merged([part.citations for part in parts] + [cited.citations for cited in own]),
        edges=_edges(applies, surviving, own),
    )


def _single(rule: Rule, applies: Edge, only: _Surviving, own: Sequence[Cited]) -> RuleSlice:
    """Most rules have one obligation in force: there is nothing to merge, and the index has it sorted."""
    part, _, scopes = only
    cited = [group.citations for group in own if group.citations]
    return RuleSlice(
        rule=rule,
        obligations=(part.obligation,),
        definitions=part.definitions,
        exemptions=part.exemptions,
        precedents=part.precedents,
        jurisdictions=tuple([place for place, _ in scopes]) if scopes else (),
        citations=_merged([part.citations, *cited]) if cited else part.citations,
        edges=_edges(applies, (only,), own),
    )


def _surviving(indexed: IndexedRule, as_of: Instant, places: frozenset[NodeId]) -> list[_Surviving]:
    """SKI 3.4: in force at that instant, and without a scope or scoped to the jurisdiction or one above it."""
    found: list[_Surviving] = []
    # 2. Every obligation that the rule consists of, 3. if it is in force, and 4. if it holds in this jurisdiction.
    for part, link in zip(indexed.obligations, indexed.links, strict=True):
        if not part.obligation.is_in_force(as_of):
            continue
        if part.scopes is None:
            found.append((part, link, ()))
        elif scopes := tuple([pair for pair in part.scopes if pair[0].id in places]):
            found.append((part, link, scopes))
    return found


def _own_citations(
    indexed: IndexedRule, applies: Edge, surviving: Sequence[_Surviving], index: GraphIndex
) -> list[Cited]:
    """Those of the rule, of the subject, and of the jurisdictions through which obligations apply."""
    nodes = [applies.target, *[place.id for _, _, scopes in surviving for place, _ in scopes]]
    return [indexed.cited, *[index.cited[node] for node in nodes if node in index.cited]]


def _merged(groups: Sequence[tuple[_N, ...]]) -> tuple[_N, ...]:
    """Groups that are each sorted become one that is; mostly there is but one, and nothing to do."""
    filled = [group for group in groups if group]
    if len(filled) > 1:
        return sort_nodes(chain.from_iterable(filled))
    return filled[0] if filled else ()


def _edges(applies: Edge, surviving: Sequence[_Surviving], own: Sequence[Cited]) -> tuple[Edge, ...]:
    edges = [applies]
    for cited in own:
        edges.extend(cited.edges)
    for part, link, scopes in surviving:
        edges.append(link)
        edges.extend([edge for _, edge in scopes])
        edges.extend(part.edges)
    # Two obligations may share a definition, and with it the edge to its citation.
    return tuple(edges) if len(surviving) <= 1 else tuple(dict.fromkeys(edges))
