"""The flat form of a knowledge graph, `rules` with predicates, converted into nodes and edges.

Each rule becomes a rule with one obligation. Its subjects are those of the rule itself, else those that `tag_registry`
gives it, and its metric, unless the registry has a subject of that name. The new nodes have ids of their own kind, so
that none meets an id of the document. A missing date means always, a missing tier medium, each with a notice; under the
first rulings a missing tier was high, an unknown predicate was `discretionary`, and a rule of the registry had no
subject by its metric.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal

from msgspec import Struct

from assay.kernel.json_text import JsonValue
from assay.verdicts.graph._read import Fields, Reader
from assay.verdicts.graph._typed import read_predicate, track_notice
from assay.verdicts.graph.condition import Operand
from assay.verdicts.graph.edge import Edge, EdgeType
from assay.verdicts.graph.graph import GraphForm, KnowledgeGraph, NoticeCode
from assay.verdicts.graph.hash import versioned
from assay.verdicts.graph.node import UNIVERSAL, Jurisdiction, NodeId, RiskTier, Rule, Subject
from assay.verdicts.graph.obligation import Basis, FlatPredicate, Obligation, PredicateName
from assay.verdicts.graph.obligation_type import ObligationType
from assay.verdicts.graph.problem import Path
from assay.verdicts.rulings import Rulings

_TOP = frozenset({"metadata", "rules", "tag_registry", "signature"})
_RULE = frozenset(
    {
        "id",
        "name",
        "metric",
        "predicate",
        "value",
        "unit",
        "jurisdiction",
        "effective_date",
        "sunset_date",
        "risk_tier",
        "track",
        "description",
        "subject",
        "min",
        "max",
        "seconds",
        "op",
        "value_seconds",
        "window_seconds",
    }
)
_SIGNS = {"<=": "lte", ">=": "gte", "<": "lt", ">": "gt", "==": "eq", "=": "eq"}
_PREDICATES = {name.value: name for name in PredicateName}
_TYPES = {kind.value: kind for kind in ObligationType}
_COMPARED = {
    PredicateName.LTE: ObligationType.MUST_NOT_EXCEED,
    PredicateName.GTE: ObligationType.MUST_BE_AT_LEAST,
    PredicateName.LT: ObligationType.MUST_BE_BELOW,
    PredicateName.GT: ObligationType.MUST_BE_ABOVE,
    PredicateName.EQ: ObligationType.MUST_EQUAL,
}
_CHOSEN = {
    PredicateName.IN_SET: ObligationType.MUST_BE_ONE_OF,
    PredicateName.NOT_IN_SET: ObligationType.MUST_NOT_BE_ONE_OF,
}
_RANGES = frozenset({PredicateName.RANGE, PredicateName.BETWEEN})
_ENDS = 2


class _Demand(Struct, frozen=True, kw_only=True):
    """What a flat rule's predicate comes to."""

    kind: str = ObligationType.DISCRETIONARY.value
    value: Operand = None
    basis: Basis = Basis.UNTYPED
    predicate: FlatPredicate | None = None


def read_flat(document: Fields, metadata: dict[str, JsonValue], reader: Reader) -> KnowledgeGraph:
    reader.notice(NoticeCode.CONVERTED, "a flat graph was converted: each rule has one obligation")
    _notice_ignored(reader, document, _TOP, None)
    tags = _subjects_by_rule(reader, document.get("tag_registry"))
    tagged = frozenset(name for names in tags.values() for name in names)
    rules, obligations = [], []
    edges: list[Edge] = []
    subjects: dict[NodeId, Subject] = {}
    jurisdictions: dict[NodeId, Jurisdiction] = {}
    for index, value in enumerate(reader.items(document.get("rules"), ("rules",))):
        path: Path = ("rules", index)
        fields = reader.members(value, path)
        rule, obligation = _rule(reader, fields, path), _obligation(reader, fields, path)
        its_subjects = [_subject(name) for name in _subject_names(reader, fields, rule.id, tags, tagged, path)]
        its_scopes = [_jurisdiction(code) for code in _scopes(reader, fields, path)]
        rules.append(rule)
        obligations.append(obligation)
        subjects.update((node.id, node) for node in its_subjects)
        jurisdictions.update((node.id, node) for node in its_scopes)
        edges.extend(_edges(rule, obligation, its_subjects, its_scopes))
    return KnowledgeGraph(
        form=GraphForm.FLAT,
        metadata=metadata,
        subjects=tuple(versioned(node) for node in subjects.values()),
        rules=tuple(versioned(node) for node in rules),
        obligations=tuple(versioned(node) for node in obligations),
        jurisdictions=tuple(versioned(node) for node in jurisdictions.values()),
        edges=tuple(edges),
        notices=tuple(reader.notices),
        rulings=reader.rulings,
    )


def _notice_ignored(reader: Reader, fields: Fields, known: frozenset[str], node: NodeId | None) -> None:
    for name in sorted(set(fields) - known):
        reader.notice(NoticeCode.IGNORED_FIELD, f"`{name[:80]}` is no field of a flat graph, and ignored", node)


def _subjects_by_rule(reader: Reader, value: JsonValue) -> Mapping[str, list[str]]:
    """`tag_registry` the other way round; a subject may name one rule or several."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    registry = {} if value is None else reader.members(value, ("tag_registry",))
    for subject in registry:
        for rule in reader.texts(registry, subject, ("tag_registry",)):
            found[rule].append(subject)
    return found


def _rule(reader: Reader, fields: Fields, path: Path) -> Rule:
    node = reader.id(fields, path)
    track_notice(reader, fields, node)
    _notice_ignored(reader, fields, _RULE, node)
    return Rule(
        id=node,
        name=reader.text(fields, "name", path),
        risk_tier=_tier(reader, fields, node, path),
        description=reader.text(fields, "description", path),
    )


def _tier(reader: Reader, fields: Fields, node: NodeId, path: Path) -> str | None:
    written = reader.text(fields, "risk_tier", path)
    if written is not None or reader.rulings is Rulings.FIRST:
        return written
    reader.notice(NoticeCode.DEFAULT_TIER, "the rule has no `risk_tier`, and counts as medium", node)
    return RiskTier.MEDIUM.value


def _obligation(reader: Reader, fields: Fields, path: Path) -> Obligation:
    name = fields.get("id")
    node = NodeId(f"obligation:{name}")
    demand = _demand(reader, fields, path)
    if demand.basis is Basis.UNTYPED:
        message = "the rule has no predicate that can be typed: DISCRETIONARY only"
        reader.notice(NoticeCode.UNTYPED_OBLIGATION, message, node)
    start = reader.instant(fields, "effective_date", path)[0]
    if start is None and fields.get("effective_date") is None:
        reader.notice(NoticeCode.IN_FORCE_ALWAYS, "the rule has no `effective_date`, and is always in force", node)
    return Obligation(
        id=node,
        obligation_type=demand.kind,
        metric=reader.text(fields, "metric", path),
        value=demand.value,
        unit=reader.text(fields, "unit", path),
        effective_date_start=start,
        effective_date_end=reader.instant(fields, "sunset_date", path, is_end=True)[0],
        window_seconds=reader.positive(fields, "window_seconds", path),
        basis=demand.basis,
        predicate=demand.predicate,
    )


def _demand(reader: Reader, fields: Fields, path: Path) -> _Demand:
    """The predicate is a name of INTEROP's list, a sign, an obligation type, or an object with such a name in it."""
    value = fields.get("predicate")
    if isinstance(value, dict):
        return _demand(reader, {**value, "predicate": value.get("name", value.get("type"))}, (*path, "predicate"))
    written = reader.text(fields, "predicate", path)
    if written in _TYPES:
        return _Demand(kind=_TYPES[written].value, value=reader.operand(fields, "value", path), basis=Basis.TYPED)
    name = _PREDICATES.get(_SIGNS.get(written or "", written or ""))
    if name is None:
        is_told = bool(written) and reader.rulings is not Rulings.FIRST
        return _Demand(kind=(written or "")[:80]) if is_told else _Demand()
    predicate = read_predicate(reader, fields, name, path)
    kind, operand = _typed(predicate)
    if kind is None:
        return _Demand()
    return _Demand(kind=kind.value, value=operand, basis=Basis.CONVERTED, predicate=predicate)


def _typed(predicate: FlatPredicate) -> tuple[ObligationType | None, Operand]:
    """The obligation type that says the same, and its operand; None where the predicate lacks what it needs."""
    name, value = predicate.name, predicate.value
    if name in _COMPARED:
        usable = value is not None and not isinstance(value, tuple)
        return (_COMPARED[name], value) if usable else (None, None)
    if name in _CHOSEN:
        return (_CHOSEN[name], value) if isinstance(value, tuple) else (None, None)
    if name in _RANGES:
        return _typed_range(predicate)
    if name is PredicateName.REQUIRES_RECENT_WITHIN_SECONDS:
        seconds = predicate.seconds or predicate.value_seconds or (value if isinstance(value, Decimal) else None)
        return (ObligationType.MUST_BE_RECORDED_WITHIN, seconds) if seconds else (None, None)
    # Everything else is demanded as the predicate says it.
    return (ObligationType.MUST if _is_complete(predicate) else None), None


def _typed_range(predicate: FlatPredicate) -> tuple[ObligationType | None, Operand]:
    if isinstance(predicate.value, tuple):
        whole = len(predicate.value) == _ENDS
        return (ObligationType.MUST_BE_WITHIN, predicate.value) if whole else (None, None)
    low, high = predicate.min, predicate.max
    if low is not None and high is not None:
        return ObligationType.MUST_BE_WITHIN, (low, high)
    if low is not None:
        return ObligationType.MUST_BE_AT_LEAST, low
    return (ObligationType.MUST_NOT_EXCEED, high) if high is not None else (None, None)


def _is_complete(predicate: FlatPredicate) -> bool:
    """Whether a predicate over time says all that is needed to judge it: a window, and what to compare with."""
    if predicate.name is PredicateName.EXISTS:
        return True
    if predicate.name is PredicateName.SINCE_LAST:
        return predicate.op is not None and (predicate.value_seconds or predicate.seconds) is not None
    compared = predicate.op is not None and isinstance(predicate.value, Decimal)
    return predicate.seconds is not None and (compared or predicate.min is not None or predicate.max is not None)


def _subject_names(
    reader: Reader, fields: Fields, rule: NodeId, tags: Mapping[str, list[str]], tagged: frozenset[str], path: Path
) -> tuple[str, ...]:
    """Those of the rule, else those of the registry and its metric, of which the registry may say otherwise."""
    own, named = reader.texts(fields, "subject", path), tuple(tags.get(rule, ()))
    metric = fields.get("metric")
    measured = (metric,) if isinstance(metric, str) and metric else ()
    if reader.rulings is Rulings.FIRST:
        return own or named or measured
    return own or tuple(dict.fromkeys((*named, *(name for name in measured if name not in tagged))))


def _subject(name: str) -> Subject:
    return Subject(id=NodeId(f"subject:{name}"), name=name)


def _scopes(reader: Reader, fields: Fields, path: Path) -> tuple[str, ...]:
    """Empty where the rule is universal, which one universal name among several makes it too."""
    codes = reader.texts(fields, "jurisdiction", path)
    return () if any(code.lower() in UNIVERSAL for code in codes) else codes


def _jurisdiction(code: str) -> Jurisdiction:
    return Jurisdiction(id=NodeId(f"jurisdiction:{code}"), name=code)


def _edges(
    rule: Rule, obligation: Obligation, subjects: Iterable[Subject], scopes: Iterable[Jurisdiction]
) -> Iterable[Edge]:
    yield Edge(type=EdgeType.CONSISTS_OF, source=rule.id, target=obligation.id)
    for subject in subjects:
        yield Edge(type=EdgeType.APPLIES_TO, source=rule.id, target=subject.id)
    for scope in scopes:
        yield Edge(type=EdgeType.SCOPED_TO, source=obligation.id, target=scope.id)
