"""The ten requirements of PRAMANA 11, one function for each or for two that look at the same."""

from collections.abc import Iterator, Sequence
from functools import reduce

from assay.delivery._conform_facts import (
    Members,
    as_list,
    as_members,
    fault_of,
    is_count,
    mandatory_problems,
    members_of,
)
from assay.delivery.conclude import CHOICES
from assay.delivery.consume import ProducerState, check_claim, open_annotation
from assay.delivery.level import Level
from assay.delivery.outcome import Outcome
from assay.delivery.strand import StrandId
from assay.delivery.tally import Tally, count
from assay.identity.mask import is_mask
from assay.kernel.conformance import Fetched, Finding, outcome

_STATUSES = ("online", "degraded", "offline")
_TEXTS = ("service", "version")
_COUNTERS = ("total", "success", "failure", "consecutive_failures")
# By the third or, where a service reads "exceeds", by the fourth failure in a row a work item must be there.
_SURELY_CROSSED = 4


def check_minimum(
    *,
    state: Fetched | None,
    trust: Fetched | None,
    answers: Sequence[Fetched],
    rule_before: Fetched | None,
    rule_after: Fetched | None,
    reported: Sequence[Outcome],
    receipts: Sequence[Fetched],
    root_cause: Fetched | None,
) -> Iterator[Finding]:
    yield _state(state)
    yield _trust(trust)
    yield from _answers(state, answers)
    yield _routed(rule_before, rule_after, reported, receipts)
    yield _counters(rule_before, rule_after, reported)
    yield from _root_cause(rule_after, reported, root_cause)


def annotation_of(answer: Fetched) -> Members:
    """The annotation of an answer: its member `annotation`, or the members of the answer itself."""
    members = members_of(answer)
    return as_members(members.get("annotation")) or members


def _state(fetched: Fetched | None) -> Finding:
    state = members_of(fetched)
    wrong = [name for name in _TEXTS if not isinstance(state.get(name), str)]
    wrong += [] if state.get("status") in _STATUSES else ["status"]
    wrong += [name for name in ("can_answer", "strands_supported") if not isinstance(state.get(name), list)]
    wrong += [] if str(state.get("pramana_version")).startswith("1.") else ["pramana_version"]
    told = fault_of(fetched) or f"not as required: {', '.join(wrong)}"
    return outcome(not wrong, "pramana.11.1", "state", told)


def _trust(fetched: Fetched | None) -> Finding:
    trust = members_of(fetched)
    wrong = [name for name in ("user_id", "role") if not isinstance(trust.get(name), str)]
    wrong += [] if is_mask(trust.get("trust_mask")) else ["trust_mask"]
    told = fault_of(fetched) or f"not as required: {', '.join(wrong)}"
    return outcome(not wrong, "pramana.11.2", "trust", told)


def _answers(state: Fetched | None, answers: Sequence[Fetched]) -> Iterator[Finding]:
    """Requirements 3 to 6, each over every answer; a problem names the query type of its answer."""
    annotations = [annotation_of(answer) for answer in answers]
    named = [str(one.get("query_type") or f"answer {number}") for number, one in enumerate(annotations, 1)]
    supported = tuple(StrandId(str(one)) for one in as_list(members_of(state).get("strands_supported")))
    checks = (
        ("pramana.11.3", [_strand_problem(one, supported) for one in annotations]),
        ("pramana.11.4", [_level_problem(one, supported) for one in annotations]),
        ("pramana.11.5", ["; ".join(mandatory_problems(one)) for one in annotations]),
        ("pramana.11.6", [_rule_problem(one) for one in annotations]),
    )
    for rule, problems in checks:
        found = next((f"{name[:80]}: {one}" for name, one in zip(named, problems, strict=True) if one), "")
        yield outcome(bool(problems) and not found, rule, "answers", found or "expected answers to look at, got none")


def _strand_problem(annotation: Members, supported: Sequence[str]) -> str:
    """Arrays or the single strands of PRAMANA 8.2 and 8.3; at PRAMANA-0 the text names none, and STATE says which."""
    claim = open_annotation(annotation)
    checked = claim.strands_present or claim.strands_missing
    if not checked and not (claim.level_given and claim.level is Level.UNVERIFIED and supported):
        return "expected at least one strand checked, got none"
    foreign = [one for one in claim.strands_present if one not in supported]
    return f"strands that STATE does not support: {', '.join(foreign)[:200]}" if foreign else ""


def _level_problem(annotation: Members, supported: Sequence[StrandId]) -> str:
    if annotation.get("authenticity_level") not in list(Level):
        return "expected an authenticity level, got none of the five"
    found = check_claim(
        open_annotation(annotation), ProducerState(service="checked", strands_supported=tuple(supported))
    )
    return found.reason if found.is_downgraded else ""


def _rule_problem(annotation: Members) -> str:
    """Ids are what the text asks for (PRAMANA 11.6), under the names that it has for them, or as we write them."""
    told = [as_members(one).get("rule_id") for one in as_list(annotation.get("rules"))]
    told = told or as_list(annotation.get("rule_ids")) or [annotation.get("rule_id")]
    return "" if all(isinstance(one, str) and one for one in told) else "expected rule ids, got none"


def _routed(
    before: Fetched | None, after: Fetched | None, reported: Sequence[Outcome], receipts: Sequence[Fetched]
) -> Finding:
    faults = [one for one in map(fault_of, receipts) if one is not None]
    old, new = members_of(before), members_of(after)
    keyed = bool(new.get("rule_id")) and old.get("rule_id") == new.get("rule_id")
    holds = bool(reported) and len(receipts) == len(reported) and not faults and keyed
    told = "expected every reported outcome acknowledged, and counters keyed by rule id"
    return outcome(holds, "pramana.11.7", "phala", faults[0] if faults else told)


def _counters(before: Fetched | None, after: Fetched | None, reported: Sequence[Outcome]) -> Finding:
    rule, where = "pramana.11.8", "rule counters"
    old, new = _tally(before), _tally(after)
    if old is None or new is None or not reported:
        return outcome(False, rule, where, f"expected {', '.join(_COUNTERS)} before and after reported outcomes")
    expected = reduce(count, reported, old)
    wrong = [name for name in _COUNTERS if getattr(expected, name) != getattr(new, name)]
    return outcome(not wrong, rule, where, f"another count than of what was reported: {', '.join(wrong)}")


def _tally(fetched: Fetched | None) -> Tally | None:
    members = members_of(fetched)
    found = {name: members.get(name) for name in _COUNTERS}
    return Tally(**found) if all(map(is_count, found.values())) else None  # type: ignore[arg-type]  # counts


def _root_cause(after: Fetched | None, reported: Sequence[Outcome], root_cause: Fetched | None) -> Iterator[Finding]:
    item = members_of(root_cause)
    crossed = list(reported[-_SURELY_CROSSED:]) == [Outcome.FAILURE] * _SURELY_CROSSED
    about = item.get("rule_id") or as_members(item.get("rule")).get("rule_id")
    same = bool(about) and about == members_of(after).get("rule_id")
    told = fault_of(root_cause) or "expected a work item of the rule after four failures in a row"
    yield outcome(crossed and same, "pramana.11.9", "root cause", told)
    offered = set(map(str, as_list(item.get("choices"))))
    reviewable = offered in (set(CHOICES.values()), set(map(str, CHOICES))) and bool(as_list(item.get("contexts")))
    told = fault_of(root_cause) or "expected the three categories as choices, and the failing contexts"
    yield outcome(reviewable, "pramana.11.10", "root cause", told)
