"""Results about answers, rules and outcomes as text for people."""

import msgspec

from assay.delivery.federate import Agreement
from assay.delivery.outcome import ReporterGrant
from assay.delivery.query import QueryType
from assay.delivery.render import render_text
from assay.delivery.rule import RuleRef, render_ref
from assay.delivery.suggestion import HeldOut
from assay.flows.delivery.answer_finding import Handled
from assay.flows.delivery.answers import AnswerDetail
from assay.flows.delivery.count_outcome import Reported
from assay.flows.delivery.deliver_answer import AnsweredQuestion
from assay.flows.delivery.peers import Forwarded
from assay.flows.delivery.recount_rules import Recount
from assay.flows.delivery.root_causes import ShownItem
from assay.flows.delivery.rules import ShownRuleRecord
from assay.flows.delivery.trace import ShownTrace
from assay.flows.delivery.training import TrainingJobs
from assay.flows.delivery.webhooks import AddedWebhook
from assay.flows.request import BulkLine
from assay.flows.review.answer_desk import DeskAnswer
from assay.kernel.instant import render_instant
from assay.operations.kinds import Column
from assay.operations.shown.text import columns, plain
from assay.ports.trainer import TrainingResult
from assay.registry.documents import ProofDocument
from assay.review.ticket import Ticket

RULE_COLUMNS: tuple[Column, ...] = (
    ("", lambda line: "!" if line.alert is not None or line.item_id is not None else ""),
    ("RULE", lambda line: f"{line.rule_id}@{line.version}"),
    ("SOURCE", lambda line: str(line.source)),
    ("STATE", lambda line: "certified" if line.is_certified else "not certified"),
    ("SUCCESS", lambda line: f"{line.tally.success}/{line.tally.total}"),
    ("ROOT CAUSE", lambda line: line.item_id or ""),
)
ALERT_COLUMNS: tuple[Column, ...] = (
    ("RULE", lambda one: str(one.alert.rule_id)),
    ("CONFIDENCE", lambda one: f"{one.alert.confidence:.3f}"),
    ("SUCCESS", lambda one: f"{one.alert.tally.success}/{one.alert.tally.total}"),
    ("ROOT CAUSE", lambda one: one.item_id or ""),
)
PEER_COLUMNS: tuple[Column, ...] = (
    ("PEER", lambda one: plain(one.peer)),
    ("RULES", lambda one: str(len(one.rules))),
    ("STRANDS", lambda one: ", ".join(one.strands)),
    ("KEYS", lambda one: ", ".join(one.key_ids)),
)
QUERY_COLUMNS: tuple[Column, ...] = (
    ("QUERY TYPE", lambda kind: str(kind.slug)),
    ("DOMAIN", lambda kind: str(kind.domain)),
    ("LEVEL", lambda kind: str(kind.expected_level)),
    ("RISK", lambda kind: str(kind.risk_tier)),
    ("ANSWERER", lambda kind: str(kind.answerer)),
    ("RULES", lambda kind: ", ".join(kind.rules)),
)
SHORTFALL_COLUMNS: tuple[Column, ...] = (
    ("ANSWER", lambda one: str(one.answer_id)),
    ("QUERY TYPE", lambda one: str(one.query_type)),
    ("LEVEL", lambda one: f"{one.level} of {one.expected_level}"),
    ("MISSING", lambda one: ", ".join(one.strands_missing)),
    ("OWNER", lambda one: str(one.owner or "")),
)
SIGNAL_COLUMNS: tuple[Column, ...] = (
    ("RECEIVED", lambda signal: render_instant(signal.received_at)),
    ("OUTCOME", lambda signal: str(signal.outcome)),
    ("RULES", lambda signal: ", ".join(signal.rule_ids)),
    ("ANSWER", lambda signal: signal.answer_id or ""),
)
ROOT_CAUSE_COLUMNS: tuple[Column, ...] = (
    ("ITEM", lambda one: str(one.item.item_id)),
    ("RULE", lambda one: f"{one.item.rule.rule_id}@{one.item.rule.version}"),
    ("REASON", lambda one: str(one.item.reason)),
    ("SIGNALS", lambda one: str(one.item.signals)),
    ("STATE", lambda one: "open" if one.conclusion is None else f"category {one.conclusion.failure_category}"),
)
WEBHOOK_COLUMNS: tuple[Column, ...] = (
    ("WEBHOOK", lambda one: str(one.webhook.webhook_id)),
    ("URL", lambda one: str(one.webhook.url)),
    ("TYPES", lambda one: ",".join(one.webhook.types) or "all"),
    ("POSITION", lambda one: f"{one.position} of {one.newest}"),
    ("DEAD", lambda one: str(one.dead)),
)


def answer_text(done: AnsweredQuestion) -> str:
    """The mark, the output, the tickets that the answer waits for, and last its id."""
    output = "(withheld)" if done.body.withheld else _json(done.body.output)
    waiting = [f"waits for ticket {one.ticket_id}{f' of {one.role}' if one.role else ''}" for one in done.tickets]
    return "\n".join([plain(render_text(done.body.annotation)), plain(output), *waiting, done.answer_id])


def handled_text(done: Handled) -> str:
    return answer_text(done.delivered)


def jobs_text(found: TrainingJobs) -> str:
    """Each job in a line, with what came of it."""
    rows = [(one.job.job_id, f"{len(one.job.pair_ids)} pairs", *_came_of(one.result)) for one in found.jobs]
    return columns(rows) if rows else "no whole batch waits"


def _came_of(result: TrainingResult | None) -> tuple[str, str, str]:
    if result is None:
        return "waits", "", ""
    return str(result.state), result.model_version or "", result.reason


def detail_text(shown: AnswerDetail) -> str:
    """An answer that was given, under its mark."""
    output = "(withheld)" if shown.withheld else _json(shown.output)
    head = f"{shown.answer_id} {shown.query_type}, asked by {shown.asked_by}, entry {shown.sequence_number}"
    return "\n".join([head, plain(render_text(shown.annotation)), plain(output)])


def reported_text(done: Reported) -> str:
    """Whether a signal was counted, and the root causes that it opened."""
    opened = [f"  {rule.rule_id}: root cause {rule.item_id}" for rule in done.rules if rule.rca_triggered]
    return "\n".join([f"{done.signal_id} {'counted' if done.is_new else 'was counted before'}", *opened])


def lines_text(done: tuple[BulkLine, ...]) -> str:
    """One line for each line that came in."""
    return "\n".join(_line_text(one) for one in done)


def forwarded_text(done: Forwarded) -> str:
    """What was counted, and the ticket about what was not translated."""
    counted = [] if done.reported is None else [reported_text(done.reported)]
    left = ", ".join(done.untranslated)
    waiting = [] if done.ticket_id is None else [f"not translated: {left}; ticket {done.ticket_id}"]
    return "\n".join([*counted, *waiting])


def rule_text(shown: ShownRuleRecord) -> str:
    """A rule with its counters and its text."""
    tally = shown.tally
    return "\n".join(
        [
            f"{shown.rule_id}@{shown.versions[-1].version} {'certified' if shown.is_certified else 'not certified'}",
            f"outcomes {tally.total}: {tally.success} success, {tally.failure} failure, {tally.partial} partial",
            f"indeterminate {tally.indeterminate}, failure streak {tally.consecutive_failures}",
            f"confidence {shown.confidence}, adjusted {shown.adjusted_confidence}",
            plain(shown.content),
        ]
    )


def ref_text(ref: RuleRef) -> str:
    return render_ref(ref)


def grant_text(grant: ReporterGrant) -> str:
    return f"{grant.principal_id}: {', '.join(grant.rules) or 'nothing'}"


def recount_text(found: Recount) -> str:
    return "\n".join([f"{found.signals} signals of {found.rules} rules counted again", *found.problems])


def proof_text(found: ProofDocument) -> str:
    return f"{found.rules_with_code} of {found.rules_certified} certified rules have code: {found.coverage_pct} %"


def query_text(kind: QueryType) -> str:
    return f"{kind.slug}@{kind.version}"


def root_cause_text(shown: ShownItem) -> str:
    """A root cause as its ticket shows it, with the hash to conclude it by, and what followed from it."""
    lines = [] if shown.ticket is None else [plain(shown.ticket.shown), f"--seen {shown.ticket.shown_hash}"]
    if shown.conclusion is not None:
        told = shown.conclusion
        lines.append(f"category {told.failure_category} by {told.concluded_by}: {plain(told.siddhanta)}")
        lines.append(f"training pair {shown.pair_id}")
    if shown.proposal is not None:
        lines.append(f"proposed by {shown.proposal.route}, ticket {shown.proposal_ticket_id}")
    return "\n".join(lines) or "nobody has been asked yet"


def concluded_text(shown: ShownItem) -> str:
    """That a root cause is closed, its training pair, and the ticket of the corrected rule."""
    words = [f"{shown.item.item_id} is closed", f"training pair {shown.pair_id}"]
    if shown.proposal_ticket_id is not None:
        words.append(f"the corrected rule waits for a second person: ticket {shown.proposal_ticket_id}")
    return "\n".join(words)


def certification_text(ticket: Ticket) -> str:
    """What a certification shows, with the hash to certify it by."""
    return f"{plain(ticket.shown)}\n--seen {ticket.shown_hash}"


def certified_text(done: DeskAnswer) -> str:
    return done.answered.settlement.reason


def measure_text(found: HeldOut) -> str:
    words = f"{found.right} of {found.pairs} guessed right; always the commonest: {found.commonest_right}"
    return words if found.pairs else "too few pairs to guess from"


def agreement_text(found: Agreement) -> str:
    """The rules on both sides, the strands, and the fingerprints of the keys to compare."""
    return "\n".join([*(f"{theirs} -> {ours}" for theirs, ours in found.rules), *found.strands, *found.key_ids])


def agreed_text(agreement: Agreement) -> str:
    return f"agreed with {plain(agreement.peer)}: {len(agreement.rules)} rules, {len(agreement.keys)} keys"


def webhook_text(added: AddedWebhook) -> str:
    return f"{added.webhook.webhook_id}\n{added.public_key}"


def trace_text(shown: ShownTrace) -> str:
    """Who asked, each step in order, and what each stage of the answer read, routed and recorded."""
    lines = [] if shown.answer_id is None else [f"{shown.answer_id} {shown.query_type} {shown.level}"]
    if shown.permission is not None:
        who = shown.permission
        roles = ", ".join(who.roles) or "no role"
        lines.append(
            f"permission: {who.principal_id} (version {who.version}), {roles}, tier {who.action_tier},"
            f" ceiling {who.risk_ceiling}, floor {who.authenticity_level_floor}"
        )
    for step in shown.steps:
        by = "" if step.by is None else f" by {step.by}"
        place = "" if step.sequence_number is None else f" (entry {step.sequence_number})"
        name = "" if step.id is None else f" [{step.id}]"
        lines.append(f"{render_instant(step.at)}  {step.stage:<13}{step.text}{by}{name}{place}")
    for loop in () if shown.trace is None else shown.trace.loops:
        lines.append(str(loop.stage))
        parts = (("READ", loop.read), ("ROUTE", loop.route), ("RECORD", loop.record))
        lines += [f"  {name:<6} {part}" for name, told in parts for part in told]
    lines += [f"MISSING  {one}" for one in shown.problems]
    return plain("\n".join(lines))


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _line_text(one: BulkLine) -> str:
    if one.receipt is None:
        return f"{one.line}: refused, {one.problem} [{one.code}]"
    return f"{one.line}: {one.status} {one.receipt['signal_id']}"
