"""What a ticket is about, as people read it: a question, facts, a text that changes, and the failures behind it.

Taken from the very text that an answer binds; that text with its hash is one click away.
"""

from collections.abc import Callable, Iterator, Mapping
from difflib import SequenceMatcher
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from assay.flows.delivery.root_causes import ShowRootCause
from assay.flows.delivery.rules import ShowRule
from assay.kernel.errors import Error
from assay.operations.shown.permits import mandate_facts
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket
from assay.surfaces.console.gist import gist_of
from assay.surfaces.console.session import Visit

_WORD_LIMIT = 4000
_SHORT, _NAME = 400, 40


class Change(NamedTuple):
    """A text before and after, in runs of words: each is kept, removed or added."""

    title: str
    before: str
    after: str
    runs: tuple[tuple[str, str], ...]


class Body(NamedTuple):
    """The readable body of a ticket; empty where the plain text says it best."""

    question: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    change: Change | None = None
    failures: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


def body_of(visit: Visit, ticket: Ticket) -> Body:
    """Read what is shown by its kind; odd text falls back to names and values."""
    try:
        shown = msgspec.json.decode(ticket.shown)
    except (msgspec.MsgspecError, RecursionError):
        return Body(facts=tuple(_plain_facts(ticket.shown)), lines=tuple(_plain_lines(ticket.shown)))
    if not isinstance(shown, dict):
        return Body()
    make = _BODIES.get(ticket.kind)
    try:
        found = None if make is None else make(visit, ticket, shown)
    except (KeyError, TypeError, AttributeError, IndexError, Error):
        found = None
    return found or Body(facts=tuple(gist_of(ticket.shown, ticket.kind)) or tuple(_named(shown)))


def word_diff(title: str, before: str, after: str) -> Change:
    """Compare two texts word by word; long texts by line."""
    by_line = max(len(before), len(after)) > _WORD_LIMIT
    old, new = (text.splitlines(keepends=True) if by_line else text.split(" ") for text in (before, after))
    joined = "" if by_line else " "
    runs: list[tuple[str, str]] = []
    for tag, a, b, c, d in SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if tag == "equal":
            runs.append(("same", joined.join(old[a:b])))
            continue
        if b > a:
            runs.append(("removed", joined.join(old[a:b])))
        if d > c:
            runs.append(("added", joined.join(new[c:d])))
    return Change(title, before, after, tuple(runs))


def _plain_facts(text: str) -> Iterator[tuple[str, str]]:
    """Lines of `name: value`, and a line `name:` with the indented lines below it; hashes are left out."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("  ") and name:
            found[name].append(line.strip())
            continue
        name, mark, value = line.partition(":")
        if not mark or len(name) > _NAME or "sha256:" in value:
            name = ""
            continue
        found.setdefault(name, []).extend([value.strip()] if value.strip() else [])
    for name, values in found.items():
        if values:
            yield name, "\n".join(values)


def _plain_lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.strip() and not line.startswith(" ") and ":" not in line:
            yield line.strip()


def _named(shown: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in shown.items():
        if isinstance(value, str | int | float | bool) and len(str(value)) <= _SHORT and "sha256:" not in str(value):
            yield name.replace("_", " "), str(value)


def _effect(_visit: Visit, _ticket: Ticket, shown: dict[str, Any]) -> Body:
    permit, call = shown["permit"], msgspec.json.decode(shown["call"])
    reports = [f"{one['at']}: {one['effect']}{' (late)' if one['late'] else ''}" for one in shown["reports"]]
    facts = [
        ("agent", permit["agent"]),
        ("call", f"{permit['tool']} at {permit['audience']}"),
        *((f"argument {name}", str(value)) for name, value in call.get("arguments", {}).items()),
        ("claimed", f"{shown['claimed_at']} by {shown['claimed_by']}"),
        ("permit", permit["permit_id"]),
    ]
    question = "The call was permitted and claimed, and its effect is unknown. Look at the system itself, then answer."
    return Body(question=question, facts=tuple(facts), failures=tuple(reports))


def _mandate(_visit: Visit, ticket: Ticket, shown: dict[str, Any]) -> Body:
    preview = shown["preview"]
    allowed = f"Of {preview['calls']} calls in the last 30 days it would have allowed {preview['allowed']}"
    lines = (
        f"{allowed}; people refused {preview['refused_then']} of those.",
        *(f"Why two people: {reason}" for reason in shown["why_two"]),
    )
    terms = shown["terms"]
    question = f"{terms['agent']} could call {terms['tool']} without asking again, within these limits."
    return Body(question=question, facts=tuple(mandate_facts(ticket.shown)), lines=lines)


def _power(_visit: Visit, _ticket: Ticket, shown: dict[str, Any]) -> Body:
    facts = [("asked by", shown["asked_by"]), ("for", shown["subject"]), ("new powers", ", ".join(shown["powers"]))]
    facts += [(f"{name} would be", _value(value)) for name, value in (shown.get("details") or {}).items()]
    return Body(question="A second administrator must agree before this takes effect.", facts=tuple(facts))


def _tier(_visit: Visit, _ticket: Ticket, shown: dict[str, Any]) -> Body:
    tiers = f"{shown['from_tier']} to {shown['to_tier']}"
    facts = (("for", shown["subject"]), ("tier", tiers), ("reason", shown["reason"]))
    return Body(facts=facts)


def _restore(_visit: Visit, _ticket: Ticket, shown: dict[str, Any]) -> Body:
    seen = shown["snapshot"]
    facts = (
        ("service", shown["service_id"]),
        ("fired", f"{shown['fired_at']} by {shown['fired_by'] or 'its own limits'}"),
        ("cause", str(shown["cause"]).replace("_", " ")),
        ("errors", f"{seen['errors']} of {seen['requests']} requests"),
        ("tier at the time", str(seen["active_tier"])),
        ("attempts to raise its own tier", str(seen["self_escalation_attempts"])),
    )
    return Body(question=f"The service may only read until it is restored: {shown['reason']}.", facts=facts)


def _root_cause(_visit: Visit, _ticket: Ticket, shown: dict[str, Any]) -> Body:
    rule = shown["rule"]
    failures = tuple(
        f"{one['query_context'] or one['outcome']} ({one['occurred_at'][:16]}Z)" for one in shown["contexts"]
    )
    facts = [
        ("rule", f"{rule['rule_id']}, version {rule['version']}"),
        ("text of the rule", shown["rule_content"]),
        ("question", shown["original_query"]),
        ("answer given", shown["original_response"]),
    ]
    tally = shown.get("tally") or {}
    if tally:
        facts.append(("outcomes so far", f"{tally['success']} success, {tally['failure']} failure of {tally['total']}"))
    return Body(question="Why did the rule fail?", facts=tuple(facts), failures=failures)


def _proposal(visit: Visit, _ticket: Ticket, shown: dict[str, Any]) -> Body:
    known = visit.perform("rule.show", ShowRule(rule_id=shown["rule_id"]))
    item = visit.perform("rootcause.show", ShowRootCause(item_id=shown["item_id"])).item
    failures = tuple(str(one.query_context or one.outcome) for one in item.contexts)
    change = word_diff(f"Rule {shown['rule_id']}", item.rule_content, shown["content"])
    facts = (("proposed by", shown["proposed_by"]), ("rule in use", f"version {known.versions[-1].version}"))
    return Body(question="Accept the corrected text?", facts=facts, change=change, failures=failures)


def _certification(_visit: Visit, _ticket: Ticket, shown: dict[str, Any]) -> Body:
    rule = shown["rule"]
    facts = (
        ("rule", f"{rule['rule_id']}, version {rule['version']}"),
        ("recorded by", rule["recorded_by"]),
        ("text", shown["content"]),
    )
    return Body(question="Do you certify that this text is right?", facts=facts)


def _penalty(_visit: Visit, _ticket: Ticket, shown: dict[str, Any]) -> Body:
    facts = (
        ("reporter", shown["agent_id"]),
        ("points", str(shown["points"])),
        ("standing now", f"{float(shown['standing']):.0f}"),
        ("reason", shown["reason"]),
    )
    return Body(facts=facts)


def _value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


_BODIES: Mapping[TicketKind, Callable[[Visit, Ticket, dict[str, Any]], Body]] = MappingProxyType(
    {
        TicketKind.EFFECT: _effect,
        TicketKind.MANDATE: _mandate,
        TicketKind.POWER_CHANGE: _power,
        TicketKind.TIER_CHANGE: _tier,
        TicketKind.RESTORE: _restore,
        TicketKind.ROOT_CAUSE: _root_cause,
        TicketKind.RULE_PROPOSAL: _proposal,
        TicketKind.RULE_CERTIFICATION: _certification,
        TicketKind.PENALTY: _penalty,
    }
)
