"""Verdicts, knowledge graphs, coverage and sovereignty as text for people."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from assay.flows.verdicts.attest_verdict import AttestedVerdict
from assay.flows.verdicts.change_graphs import GraphInReview, LoadedGraph
from assay.flows.verdicts.examine_sovereignty import MeasurementReport
from assay.flows.verdicts.graph_impact import GraphImpact, RuleImpact, VerdictChange
from assay.flows.verdicts.inspect_graphs import GraphEvent, GraphEventKind, GraphItem
from assay.flows.verdicts.read_verdicts import HeldVerdict, ListedVerdict, RuleVerdict
from assay.kernel.errors import Blame
from assay.kernel.instant import render_instant
from assay.operations.shown.text import columns, plain
from assay.verdicts.agreement import Canary, CanaryStatus
from assay.verdicts.docket import UNRULED
from assay.verdicts.quote import WeightQuote

# In place of a verdict, where there is none to serve.
HELD = "HELD"
VERDICT_COLUMNS = ("entry", "verdict", "record", "subject", "rule", "tier", "verifier", "measured")
HELD_COLUMNS = ("ticket", "entry", "record", "subject", "rule", "due")
GRAPH_COLUMNS = ("name", "state", "signed", "accepted by", "added", "content")
HISTORY_COLUMNS = ("entry", "when", "what", "graph", "by", "detail")
BUFFER_COLUMNS = ("subject", "records", "oldest_at", "newest_at", "dropped_until", "keep_seconds")
COVERAGE_COLUMNS = ("subject", "records", "first_seen_at", "last_seen_at", "metrics", "jurisdictions", "mapped_by")
_MOST_AFFECTED = 10
_MOST_SENTENCES = 3
# Of a hash people read the beginning; `assay graph show` finds a graph by it.
_SHORT = len("sha256:") + 12
_AGREEMENT = {
    CanaryStatus.HEALTHY: "healthy: the rate is above the threshold",
    CanaryStatus.DEGRADED: "DEGRADED: the rate is not above the threshold; look at the verdicts that diverged",
    CanaryStatus.NO_DATA: "nothing was compared yet, so nothing is known to be healthy",
}


def standing_word(verdict: RuleVerdict) -> str:
    """The verdict, or HELD where there is none to serve."""
    return HELD if verdict.verdict is None else verdict.verdict.value


def verdict_row(one: ListedVerdict) -> Mapping[str, str]:
    outcome = one.outcome
    status = "-" if outcome.envelope is None else outcome.envelope.verifier_result.status.value
    return {
        "entry": str(outcome.sequence_number),
        "verdict": standing_word(outcome),
        "record": plain(one.telemetry_id),
        "subject": plain(one.subject),
        "rule": "-" if outcome.rule_id == UNRULED else plain(outcome.rule_id),
        "tier": outcome.tier,
        "verifier": status,
        "measured": render_instant(one.as_of),
    }


def held_row(one: HeldVerdict) -> Mapping[str, str]:
    due = "-" if one.ticket.due_at is None else render_instant(one.ticket.due_at)
    return {
        "ticket": one.ticket.id,
        "entry": str(one.sequence_number),
        "record": plain(one.telemetry_id),
        "subject": plain(one.subject),
        "rule": plain(one.rule_id),
        "due": f"{due}{', overdue' if one.is_overdue else ''}",
    }


def attested_text(done: AttestedVerdict) -> str:
    said, receipt, verdict = done.answered.answer, done.answered.receipt, done.verdict
    words = f"{said.by} chose `{said.choice}`, signed with the {said.signed_with}, entry {receipt.sequence_number}"
    return f"{words}\n{verdict_text(verdict)}"


def verdict_text(verdict: RuleVerdict) -> str:
    return f"{standing_word(verdict)}: {verdict.reason}, entry {verdict.sequence_number}"


def graph_row(one: GraphItem) -> Mapping[str, str]:
    return {
        "name": plain(one.name or "without a name"),
        "state": one.state.value,
        "signed": "no" if one.signed_by is None else "yes",
        "accepted by": ", ".join(one.accepted_by) or "nobody",
        "added": render_instant(one.added_at),
        "content": one.content_hash[:_SHORT],
    }


def history_row(one: GraphEvent) -> Mapping[str, str]:
    accepted = f"accepted by {', '.join(one.reviewers) or 'nobody'}" if one.kind is GraphEventKind.ACTIVATED else ""
    detail = "; ".join(part for part in (one.note, accepted, *one.changes[:_MOST_SENTENCES]) if part)
    more = len(one.changes) - _MOST_SENTENCES
    return {
        "entry": str(one.sequence_number),
        "when": render_instant(one.at),
        "what": one.kind.value,
        "graph": plain(one.name or one.content_hash[:_SHORT]),
        "by": one.by,
        "detail": plain(detail + (f"; and {more} more changes" if more > 0 else "")),
    }


def in_review_text(asked: GraphInReview) -> str:
    remarks = [plain(f"{one.severity} {one.code} {one.node or ''}: {one.message}") for one in asked.issues]
    facts = [
        ("content", str(asked.content_hash)),
        ("ticket", str(asked.ticket.id)),
        ("to answer", f"assay review answer {asked.ticket.id} accept --seen {asked.ticket.shown_hash}"),
    ]
    return "\n".join([*remarks, columns(facts)])


def loaded_text(loaded: LoadedGraph) -> str:
    one = loaded.activation
    facts = [
        ("in use", f"from entry {one.sequence_number} on, {one.mode}"),
        ("content", str(one.content_hash)),
        ("envelopes say", str(one.kg_version_hash)),
        ("accepted by", "1 person" if one.reviewers == 1 else f"{one.reviewers} people"),
        ("remarks", f"{len(loaded.issues)} of the validator"),
    ]
    return columns(facts)


def loaded_notes(_given: Any, loaded: LoadedGraph) -> str | None:  # noqa: ANN401 - what was given
    """An unsigned graph and deprecated members (SKI 3.5, 11.3)."""
    return "\n".join(plain(f"warning: {one.code}: {one.message}") for one in loaded.notices) or None


def impact_blame(found: GraphImpact) -> Blame | None:
    return Blame.ANSWER if found.changed else None


def impact_text(found: GraphImpact) -> str:
    counts = f"{found.records} records, {found.verdicts} verdicts, {found.changed} would change"
    head = f"{counts} under {found.content_hash}"
    moves = [f"  {count} x {move}" for move, count in found.moves.items()]
    rules = [line for one in found.rules[:_MOST_AFFECTED] for line in _rule_lines(one)]
    subjects = [f"  {one.changed} about {plain(one.subject)}" for one in found.subjects[:_MOST_AFFECTED]]
    rows = [_change_row(one) for one in found.changes]
    more = [] if len(rows) == found.changed else [f"and {found.changed - len(rows)} more"]
    return "\n".join([head, *moves, *rules, *subjects, *([columns(rows)] if rows else []), *more])


def _rule_lines(one: RuleImpact) -> Iterator[str]:
    moves = ", ".join(f"{count} x {move}" for move, count in one.moves.items())
    examples = ", ".join(plain(example.telemetry_id) for example in one.examples)
    yield f"  {one.changed} of rule {plain(one.rule_id or 'none')}: {moves}; such as {examples}"


def _change_row(one: VerdictChange) -> tuple[str, ...]:
    move = f"{one.before or 'no verdict'} -> {one.after or 'no verdict'}"
    return plain(one.telemetry_id), plain(one.subject), plain(one.rule_id or "no rule"), move


def agreement_text(canary: Canary) -> str:
    rate = "none" if canary.agreement_rate is None else f"{canary.agreement_rate * 100:.3f} %"
    return columns(
        [
            ("status", _AGREEMENT[canary.status]),
            ("rate", rate),
            ("threshold", f"{canary.threshold * 100:g} %"),
            ("window", f"the latest {canary.window_size}, of which {canary.observed} are there"),
            *((name, str(count)) for name, count in canary.counts.items()),
        ]
    )


def quote_text(quote: WeightQuote) -> str:
    """The document itself, which `assay sovereignty verify --quote` reads."""
    return msgspec.json.encode(quote).decode()


def audit_text(report: MeasurementReport) -> str:
    lines = [f"entry {one.sequence_number}: {one.message}" for one in report.problems]
    counts = f"{report.verdicts} verdicts, {report.measurements} measurements, {len(report.problems)} problems"
    return "\n".join([*lines, counts])
