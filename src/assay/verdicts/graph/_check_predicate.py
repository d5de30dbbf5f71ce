"""What is wrong with a predicate that no obligation type says by itself: its type, its operand, its window."""

from collections.abc import Iterator
from decimal import Decimal

from assay.verdicts.graph.issue import Issue, IssueCode, Severity
from assay.verdicts.graph.obligation import (
    MAX_WINDOW_SECONDS,
    PLAIN_PREDICATES,
    FlatPredicate,
    Obligation,
    PredicateName,
    has_fitting_type,
    window_of,
)
from assay.verdicts.graph.obligation_type import ObligationType

_RECENT = PredicateName.REQUIRES_RECENT_WITHIN_SECONDS
_INSTEAD = {
    _RECENT: "use the type `must_be_recorded_within`, with the seconds as its `value`",
    PredicateName.EXISTS: "to forbid a metric, demand `window_count` with `lte` 0 over one second under `must`; "
    "else use the type that compares its value",
}
_NEGATED = "write the negated comparison under `must` (`lt` 3 where `gte` 3 is forbidden), or use the type that says it"


def check_predicate(node: Obligation) -> Iterator[Issue]:
    """Nothing for comparisons, which types say; nothing where a person judges whatever the predicate is."""
    predicate, kind = node.predicate, node.kind
    if predicate is None or predicate.name in PLAIN_PREDICATES or kind in (None, ObligationType.DISCRETIONARY):
        return
    if not has_fitting_type(node):
        yield _misplaced(node, predicate)
    elif predicate.name is _RECENT:
        yield from _check_recent(node, predicate)
    elif predicate.name is not PredicateName.EXISTS:
        yield from _check_parts(node, predicate)


def _misplaced(node: Obligation, predicate: FlatPredicate) -> Issue:
    expected = "`must_be_recorded_within`" if predicate.name is _RECENT else "`must` or `should`"
    return Issue(
        code=IssueCode.MISPLACED_PREDICATE,
        severity=Severity.HIGH,
        message=f"expected {expected} to demand `{predicate.name}`, got `{node.obligation_type}`: never determined",
        action=_INSTEAD.get(predicate.name, _NEGATED),
        node=node.id,
    )


def _check_recent(node: Obligation, predicate: FlatPredicate) -> Iterator[Issue]:
    told, window = predicate.seconds or predicate.value_seconds or predicate.value, window_of(node)
    if window is None or window > MAX_WINDOW_SECONDS or (told is not None and told != window):
        message = f"expected the window of its predicate, at most {MAX_WINDOW_SECONDS} s, got `{told}` and `{window}`"
        yield _invalid(node, message, "write the window once, as `value` or `window_seconds`")


def _check_parts(node: Obligation, predicate: FlatPredicate) -> Iterator[Issue]:
    """A window, and a number to compare what it comes to with: texts are neither counted nor added up."""
    is_age = predicate.name is PredicateName.SINCE_LAST
    window = (predicate.value_seconds or predicate.seconds) if is_age else predicate.seconds
    if window is None:
        yield _invalid(node, f"expected `{predicate.name}` with seconds, got none", "write how many seconds it covers")
    elif window > MAX_WINDOW_SECONDS:
        message = f"expected a window of at most {MAX_WINDOW_SECONDS} s, got `{window}`"
        yield _invalid(node, message, "write a shorter window")
    if not (predicate.op is not None if is_age else _is_numeric(predicate)):
        message = f"expected `{predicate.name}` to compare with a number, got none or something else: never determined"
        yield _invalid(node, message, "write `op` and a number as `value`, or `min` and `max`")


def _is_numeric(predicate: FlatPredicate) -> bool:
    if predicate.op is not None and predicate.value is not None:
        return isinstance(predicate.value, Decimal)
    ends = [end for end in (predicate.min, predicate.max) if end is not None]
    return bool(ends) and all(isinstance(end, Decimal) for end in ends)


def _invalid(node: Obligation, message: str, action: str) -> Issue:
    return Issue(code=IssueCode.INVALID_OPERAND, severity=Severity.HIGH, message=message, action=action, node=node.id)
