"""The ten requirements of PRAMANA 12."""

from collections.abc import Iterator, Sequence

from assay.delivery._conform_facts import (
    Members,
    as_list,
    as_members,
    fault_of,
    is_count,
    mandatory_problems,
    members_of,
    rows_of,
)
from assay.delivery._conform_minimum import annotation_of
from assay.delivery._read import read_object, shape
from assay.delivery.errors import DeliveryError
from assay.delivery.level import Level
from assay.delivery.plugin import Category, PluginRequest, parse_reply
from assay.delivery.sense import StandardEvent, parse_event
from assay.delivery.strand import CORE
from assay.kernel.conformance import Fetched, Finding, outcome

_SEVERAL = 2


def check_full(
    *,
    state: Fetched | None,
    answers: Sequence[Fetched],
    sense_emit: Fetched | None,
    provoked: Sequence[StandardEvent],
    events: Sequence[bytes],
    batched: Fetched | None,
    two_wrong: Fetched | None,
    plugin: tuple[bytes | None, bytes | None],
    pairs: Fetched | None,
    queue: Fetched | None,
    inferred: Fetched | None,
    queries: Fetched | None,
    session: Fetched | None,
) -> Iterator[Finding]:
    yield _strands(state, [annotation_of(one) for one in answers])
    received, strange = _received(events)
    yield _sense(sense_emit, provoked, received, strange)
    yield _shared(batched, "batch_id", "pramana.12.3")
    flagged = [one.get("two_wrong_flag") is True for one in rows_of(two_wrong)]
    told = fault_of(two_wrong) or "expected a signal with `two_wrong_flag` true"
    yield outcome(any(flagged), "pramana.12.4", "two wrong", told)
    yield _plugin(*plugin)
    yield _pairs(pairs, queue)
    yield _inferred(inferred)
    yield _queries(queries, state)
    yield _shared(session, "session_id", "pramana.12.9")
    told = "expected events by subscription, got none"
    yield outcome(bool(received) and not strange, "pramana.12.10", "subscription", strange or told)


def _strands(state: Fetched | None, annotations: Sequence[Members]) -> Finding:
    supported = as_list(members_of(state).get("strands_supported"))
    checked = [
        {*map(str, as_list(one.get("strands_present"))), *map(str, as_list(one.get("strands_missing")))}
        for one in annotations
    ]
    holds = set(CORE) <= set(map(str, supported)) and bool(checked) and all(set(CORE) <= one for one in checked)
    return outcome(
        holds, "pramana.12.1", "state", f"expected {', '.join(CORE)} supported, and checked for every answer"
    )


def _received(events: Sequence[bytes]) -> tuple[set[str], str]:
    """The types that were received, and what is wrong with the first event that is not well formed."""
    types: set[str] = set()
    for content in events:
        try:
            types.add(parse_event(content).event_type)
        except DeliveryError as error:
            return types, str(error)
    return types, ""


def _sense(emit: Fetched | None, provoked: Sequence[StandardEvent], received: set[str], strange: str) -> Finding:
    missing = [one for one in provoked if one not in received]
    fault = fault_of(emit) or strange or ("" if provoked else "expected events to be provoked, got none")
    told = fault or f"provoked and not received: {', '.join(missing)}"
    return outcome(not fault and not missing, "pramana.12.2", "sense", told)


def _shared(fetched: Fetched | None, name: str, rule: str) -> Finding:
    values = [one.get(name) for one in rows_of(fetched)]
    holds = len(values) >= _SEVERAL and bool(values[0]) and all(one == values[0] for one in values)
    return outcome(holds, rule, "phala", fault_of(fetched) or f"expected several signals that share one `{name}`")


def _plugin(request: bytes | None, reply: bytes | None) -> Finding:
    rule, where = "pramana.12.5", "plugin"
    if request is None or reply is None:
        return outcome(False, rule, where, "expected a request to a plugin and its reply, got none")
    try:
        asked = shape(read_object(request, DeliveryError.plugin_reply), PluginRequest, DeliveryError.plugin_reply)
        parse_reply(reply, asked)
    except DeliveryError as error:
        return outcome(False, rule, where, str(error)[:300])
    return outcome(True, rule, where, "")


def _pairs(pairs: Fetched | None, queue: Fetched | None) -> Finding:
    rows = rows_of(pairs)
    wrong = [number for number, row in enumerate(rows, 1) if not _is_pair(row)]
    waiting = members_of(queue)
    queued = is_count(waiting.get("waiting")) and is_count(waiting.get("batch_size"))
    told = fault_of(pairs) or fault_of(queue) or (f"not as specified: pair {wrong[0]}" if wrong else "expected pairs")
    return outcome(bool(rows) and not wrong and queued, "pramana.12.6", "pairs", told)


def _is_pair(row: Members) -> bool:
    label, learned = as_members(row.get("label")), as_members(row.get("input"))
    texts = ("training_pair_id", "rule_id", "captured_by", "captured_at")
    return (
        all(isinstance(row.get(name), str) and row.get(name) for name in texts)
        and label.get("failure_category") in list(Category)
        and bool(label.get("siddhanta"))
        and {"query", "original_response", "phala_signals"} <= set(learned)
    )


def _inferred(inferred: Fetched | None) -> Finding:
    annotation = {} if inferred is None else annotation_of(inferred)
    problems = mandatory_problems(annotation)
    holds = annotation.get("authenticity_level") == Level.INFERRED and not problems
    told = fault_of(inferred) or "; ".join(problems) or "expected an answer at PRAMANA-3+"
    return outcome(holds, "pramana.12.7", "answers", told)


def _queries(queries: Fetched | None, state: Fetched | None) -> Finding:
    expected = {str(row.get("slug")): row.get("expected_level") for row in rows_of(queries)}
    declared = set(map(str, as_list(members_of(state).get("can_answer"))))
    bare = sorted(slug for slug in declared if expected.get(slug) not in list(Level))
    told = fault_of(queries) or f"query types without an expected level: {', '.join(bare)[:200] or 'all'}"
    return outcome(bool(declared) and not bare, "pramana.12.8", "queries", told)
