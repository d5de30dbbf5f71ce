"""Claims as text for people: a gated bundle as a table, what is missing and what to do; policies and figures."""

from collections.abc import Iterator, Mapping

import msgspec

from assay.claims.bundle import ClaimBundle, Decision, GateName
from assay.claims.decide import Outcome
from assay.claims.estimate.conform import RiskControl
from assay.claims.estimate.estimate import Estimate
from assay.claims.finding import Finding, FindingCode
from assay.claims.oversight.reviewers import Interval, ReviewerFigures
from assay.claims.policy import ApprovalNeed
from assay.facts.claims import AskedTicket, ClaimsDecided
from assay.flows.claims.backtest_claims import BacktestResult
from assay.flows.claims.calibrate import Calibrated, ConformalSets
from assay.flows.claims.decide_claims import GatedClaims
from assay.flows.claims.evidence import AttachedEvidence, QuoteChecked
from assay.flows.claims.oversight import LabelledOutputs, Oversight
from assay.flows.claims.policies import ApproversView, GatePolicyView, PolicyCheck, PolicyRelease, TriedBundle
from assay.flows.claims.sampling import SampleChecked, SampleStanding
from assay.flows.claims.show_claims import ClaimsView, ListedClaims
from assay.flows.claims.watch_scores import ShiftStanding
from assay.flows.request import BulkLine
from assay.kernel.instant import render_instant
from assay.operations.shown.identity import waits
from assay.operations.shown.text import columns, plain

_SAYS = 72
_MOST = 20
_REASON = 80
LIST_COLUMNS = ("bundle", "received", "agent", "tier", "decision", "why")
_MEANING = {
    Decision.PUBLISH: "it may be acted on",
    Decision.DEFER: "it waits: more evidence or a reviewer is needed",
    Decision.ESCALATE: "it waits for approval by people",
    Decision.REFUSE: "it may not be acted on",
}
_SEND_AGAIN = "then send the changed bundle with `assay claims resume HASH FILE`"
_ADVICE = {
    FindingCode.NO_EVIDENCE: f"add an evidence pointer, {_SEND_AGAIN}",
    FindingCode.WEAK_EVIDENCE: f"find a source that is trusted more, {_SEND_AGAIN}; or a reviewer lets it pass",
    FindingCode.NO_HASH: f"hash the evidence with `assay claims attach FILE`, {_SEND_AGAIN}",
    FindingCode.LEGACY_HASH: f"hash the evidence anew with `assay claims attach FILE`, {_SEND_AGAIN}",
    FindingCode.NO_TIME: f"say when the evidence was retrieved, {_SEND_AGAIN}",
    FindingCode.STALE: f"retrieve the evidence again, {_SEND_AGAIN}; or a reviewer lets it pass",
    FindingCode.UNLISTED_SOURCE: "use a source of the policy's allow list, or a reviewer lets it pass",
    FindingCode.UNCERTAIN: "a reviewer lets it pass, or ask again for an answer that is more certain",
    FindingCode.NO_CONTENT: "keep the evidence with `assay claims attach FILE`, then `assay claims resume HASH`",
    FindingCode.ABSENT: "keep the evidence with `assay claims attach FILE` and resume it, or a reviewer lets it pass",
    FindingCode.NOT_FOUND: f"quote words that are in the source, {_SEND_AGAIN}",
    FindingCode.MISATTRIBUTED: f"point at the place where the words are, {_SEND_AGAIN}",
    FindingCode.STITCHED: f"quote one passage as it stands, {_SEND_AGAIN}",
    FindingCode.CONTRADICTED: f"claim what the passage says, {_SEND_AGAIN}; or a reviewer lets it pass",
    FindingCode.UNCLEAR: f"quote a passage that settles the claim, {_SEND_AGAIN}; or a reviewer lets it pass",
    FindingCode.NOT_SHOWABLE: "send its claims in several bundles, so that people can be shown each whole",
    FindingCode.NOT_COMPUTED: f"give the node a model under `[models.general]`, {_SEND_AGAIN}",
    FindingCode.RATE: "wait until the window has room, then `assay claims resume HASH`",
    FindingCode.TIER: "ask an admin for a higher risk ceiling, or claim no more than you may do",
    FindingCode.THREAT: "a reviewer looks at the signs and lets it pass, or not",
    FindingCode.NOT_RECORDED: "gate it on a node, where it is recorded first",
    FindingCode.APPROVAL_MISSING: "the people named below approve it with `assay review answer TICKET approve`",
    FindingCode.APPROVER_ABSENT: "an admin gives the role to people with `assay principal`; else time denies it",
    FindingCode.UNAVAILABLE: "what could not answer must be brought back, then `assay claims resume HASH`",
}
_FINAL_ADVICE = "nothing more can be done with this bundle: make another one"


def gated_text(gated: GatedClaims) -> str:
    head = f"{gated.decision}: {_MEANING[gated.decision]}"
    words = "" if gated.is_new else " (decided before)"
    told = [f"{head}{words}", f"bundle {gated.bundle_hash}, entry {gated.sequence_number}"]
    return "\n".join([*told, *_body(gated.bundle, gated.outcome), *_asked(gated.tickets)])


def tried_text(tried: TriedBundle) -> str:
    """The same where nothing was recorded."""
    outcome = tried.outcome
    head = f"{outcome.decision}: {_MEANING[outcome.decision]} (nothing is recorded)"
    return "\n".join([head, f"bundle {outcome.bundle_hash}", *_body(tried.bundle, outcome)])


def view_text(view: ClaimsView) -> str:
    lines = [gated_text(view.gated), "", f"received {render_instant(view.received_at)} from {view.submitted_by}"]
    if view.resumes is not None:
        lines.append(f"in the place of {view.resumes}")
    if view.edited_by is not None:
        lines.append(f"edited by {view.edited_by}:")
    for change in view.changes:
        where = change.field if change.claim_id is None else f"{_line(change.claim_id)} {change.field}"
        lines.append(
            f"  {where}: {_cut(_line(change.before or '-'), _SAYS)} -> {_cut(_line(change.after or '-'), _SAYS)}"
        )
    if view.successor is not None:
        lines.append(f"its place was taken by {view.successor}")
    lines += [_decision_line(one) for one in view.decisions]
    for name, found in view.passages.items():
        lines += [f"{_line(name)} quotes {_line(one.source)}: {one.result}: {_line(one.message)}" for one in found]
        lines += [f"| {_line(text)}" for one in found for text in one.sentences]
    lines += [
        f"approved by {one.approver} at {render_instant(one.timestamp)}: {plain(one.reason) or '-'}"
        for one in view.gated.bundle.audit_trail.human_approvals
        if view.gated.decision is Decision.PUBLISH
    ]
    return "\n".join(lines)


def list_row(one: ListedClaims) -> Mapping[str, str]:
    return {
        "bundle": one.bundle_hash,
        "received": render_instant(one.received_at),
        "agent": one.submitted_by,
        "tier": one.tier,
        "decision": one.decision or "none yet",
        "why": _line(one.reason or "")[:_REASON],
    }


def lines_text(lines: tuple[BulkLine, ...]) -> str:
    told = [
        f"{one.line}: {one.receipt['decision']} {one.receipt['bundle_hash']}"
        if one.receipt is not None
        else f"{one.line}: refused: {_line(one.problem or '')} [{one.code}]"
        for one in lines
    ]
    return "\n".join(told)


def json_text(value: object) -> str:
    """A document that other programs read: its JSON."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def attached_notes(_given: object, done: AttachedEvidence) -> str:
    return f"{done.size} bytes, {'stored' if done.is_new else 'were stored before'}, entry {done.sequence_number}"


def quote_text(found: QuoteChecked) -> str:
    return "\n".join([f"{found.result}: {plain(found.message)}", *(f"| {plain(one)}" for one in found.passage)])


def released_text(done: PolicyRelease) -> str:
    if done.waiting is not None:
        return f"asked for {done.policy.policy_id} {done.policy.version}; {waits(done.waiting)}"
    one, words = done.policy, "in force" if done.is_new else "was released before"
    return f"{words}: {one.policy_id} {one.version}, {one.policy_hash}, entry {one.sequence_number}"


def unheld_notes(_given: object, done: PolicyRelease | PolicyCheck) -> str | None:
    return "\n".join(map(_unheld_text, done.unheld)) or None


def _unheld_text(need: ApprovalNeed) -> str:
    return f"warning: {need.people} more must hold `{need.role}`: until then nobody can approve as that"


def policy_text(view: GatePolicyView) -> str:
    words = "in force" if view.in_force else "not in force"
    by = "the specification's own" if view.released is None else f"released by {view.released.released_by}"
    return f"{words}: {view.policy_id} {view.version}, {view.policy_hash}, {by}\n\n{view.document}".rstrip("\n")


def checked_text(found: PolicyCheck) -> str:
    lines = [f"{one.pointer or '/'}: {one.message} [{one.code}]" for one in found.problems]
    return "\n".join(lines) or f"no problems: {found.policy_hash}"


def approvers_text(view: ApproversView) -> str:
    rows = [
        (one.role, str(one.people), str(one.holders), f"{one.missing} missing" if one.missing else "enough")
        for one in view.roles
    ]
    return columns([("ROLE", "ASKED FOR", "COULD ANSWER", ""), *rows])


def backtest_text(result: BacktestResult) -> str:
    """First what a policy risks: the bundles that would newly be published."""
    found = result.backtest
    changes = found.decisions - found.unchanged
    lines = [f"policy {result.policy_hash}: {found.decisions} decisions, {changes} would change"]
    lines.append(f"{result.same_policy} of them were made under this very policy")
    for words, rows in (("newly published", found.newly_published), ("other changes", found.changed)):
        if rows:
            cells = [
                (
                    str(one.bundle_hash),
                    one.agent,
                    one.tier,
                    f"{one.before} -> {one.after}",
                    _cut(one.reason_after, _SAYS),
                )
                for one in rows[:_MOST]
            ]
            lines += ["", f"{words}: {len(rows)}", columns([("BUNDLE", "AGENT", "TIER", "DECISION", "WHY"), *cells])]
    if found.counts:
        counts = [(one.kind, one.name, f"{one.before} -> {one.after}", str(one.decisions)) for one in found.counts]
        lines += ["", columns([("BY", "NAME", "DECISION", "BUNDLES"), *counts])]
    lines += [f"missing for {number}: {_line(fact)}" for fact, number in found.missing.items()]
    lines += [
        f"alpha {one.alpha:g}: "
        + ("no threshold holds, all deferred" if one.threshold is None else f"defer above {one.threshold:g}")
        + f", {one.deferred:.1%} of the recorded claims deferred"
        for one in result.alphas
    ]
    return "\n".join(lines)


def estimate_text(found: Estimate) -> str:
    judge = "" if found.judge is None else f"\njudge: {found.judge}"
    cost = f"{found.cost.answers} answers, {found.cost.judge_calls} questions to the judge"
    return f"{found.value:.3f} by {found.method}: {found.recommendation}\n{found.interpretation}\n{cost}{judge}"


def calibrated_notes(_given: object, done: Calibrated) -> str:
    """What the fit says; the draft of the policy goes to standard output."""
    fitted, report = done.fitted, done.report
    lines = [f"{fitted.n} cases"]
    if report is not None:
        ranked = report.auroc
        lines.append(f"AUROC {ranked.value:.3f} ({ranked.low:.3f} to {ranked.high:.3f}), {report.wrong} wrong")
        lines.append(f"calibration error {report.calibration_error:.3f}, Brier {report.brier:.3f}")
    wanted = f"at most {fitted.alpha:g} of the published wrong, with confidence {1.0 - fitted.delta:g}"
    if fitted.threshold is None:
        return "\n".join([*lines, f"no threshold was shown to hold: {wanted}; everything would be deferred"])
    lines.append(f"defer above {fitted.threshold:g}: {wanted}")
    lines.append(
        f"{fitted.published} of {fitted.n} published, {fitted.wrong} of them wrong;"
        f" {fitted.defer_rate:.1%} deferred is what it costs"
    )
    return "\n".join(lines)


def sets_text(found: ConformalSets) -> str:
    lines = [one.promise if one.group is None else f"{plain(one.group)}: {one.promise}" for one in found.thresholds]
    told = [f"{', '.join(map(str, one.places)) or 'none'}: uncertainty {one.estimate.value:.3f}" for one in found.sets]
    return "\n".join([*lines, *told])


def risk_text(found: RiskControl) -> str:
    if found.place is None:
        return f"no setting was shown to hold: the last is bounded by {found.bound:.3f} in {found.n} cases"
    return f"setting {found.place}: an expected loss of at most {found.bound:.3f}, from {found.n} cases"


def oversight_text(found: Oversight) -> str:
    heads = ("REVIEWER", "KIND", "TICKETS", "KNOWN", "KAPPA", "APPROVED", "MEDIAN", "DRIFT")
    lines = [columns([heads, *map(_figures_row, found.figures)])] if found.figures else []
    lines += [] if lines else ["no answers about claims are settled yet"]
    lines += [
        f"ALARM {one.reviewer}: {alarm.kind}: {alarm.message} (e-value {alarm.evidence:.3g})"
        for one in found.figures
        for alarm in one.alarms
    ]
    lines.append("no plan for blind review is in force" if found.plan is None else plan_text(found.plan))
    if found.shift is not None:
        lines.append(_shift_line(found.shift))
    return "\n".join(lines)


def plan_text(found: SampleStanding) -> str:
    rates = ", ".join(f"{tier} {rate:g}" for tier, rate in sorted(found.plan.rates.items())) or "none"
    return (
        f"{found.plan.id}: blind review of {rates}; {found.plan.known_answers:g} known answers for each ticket;"
        f" {found.sampled} opened, {found.labels} bundles with a known answer; seed hash {found.plan.seed_hash}"
    )


def sample_text(found: SampleChecked) -> str:
    return f"{found.drawn} of {found.outputs} published outputs were drawn up to entry {found.last}, as the seed says"


def labels_text(found: LabelledOutputs) -> str:
    """Lines that `assay claims calibrate` reads."""
    return "\n".join(msgspec.json.encode(one).decode() for one in found.cases)


def _shift_line(one: ShiftStanding) -> str:
    state = "no alarm" if one.ticket_id is None else f"ALARM, ticket {one.ticket_id}"
    told = f"{one.scores} scores by {one.method} since the certificate in entry {one.certificate}"
    return f"{told}: wealth {one.wealth:.2g} of {one.line:g}, {state}"


def _figures_row(one: ReviewerFigures) -> tuple[str, ...]:
    return (
        one.reviewer,
        one.kind,
        str(one.tickets),
        str(one.known),
        _interval(one.kappa),
        _interval(one.approval),
        f"{one.seconds:.0f} s",
        _interval(one.drift),
    )


def _interval(one: Interval | None) -> str:
    return "-" if one is None else f"{one.value:.2f} ({one.low:.2f} to {one.high:.2f})"


def _decision_line(one: ClaimsDecided) -> str:
    why = _line(one.outcome.reason)[:_REASON]
    return f"{one.position}. {render_instant(one.outcome.decided_at)} {one.outcome.decision}: {why}"


def advice_for(finding: Finding) -> str:
    return _ADVICE.get(finding.code, _FINAL_ADVICE)


def _body(bundle: ClaimBundle, outcome: Outcome) -> Iterator[str]:
    yield ""
    yield columns([("CLAIM", "TYPE", "TIER", "UNCERTAINTY", "SAYS"), *_claim_rows(bundle)])
    yield ""
    yield columns([("GATE", "ANSWER", "WHY"), *_gate_rows(outcome)])
    if outcome.would_be is not None:
        yield f"\naudit only: it would have been {outcome.would_be}"
    yield from _told_findings(outcome)
    for caveat in outcome.caveats[:_MOST]:
        yield f"caveat: {_line(caveat)}"
    if outcome.required_approvals:
        yield f"required approvals: {', '.join(map(_line, outcome.required_approvals))}"


def _claim_rows(bundle: ClaimBundle) -> Iterator[tuple[str, ...]]:
    for claim in bundle.claims[:_MOST]:
        said = claim.uncertainty
        sure = f"{said.value:.2f} {said.method}"
        yield _cut(claim.id, 24), claim.claim_type.value, claim.risk_tier.value, sure, _cut(claim.statement, _SAYS)
    if len(bundle.claims) > _MOST:
        yield "…", "", "", "", f"and {len(bundle.claims) - _MOST} more"


def _gate_rows(outcome: Outcome) -> Iterator[tuple[str, ...]]:
    answers = {answer.gate: answer for answer in outcome.answers}
    for name in GateName:
        answer = answers.get(name)
        if answer is None:
            yield name.value, "not asked", ""
        else:
            yield name.value, "pass" if answer.passed else answer.decision.value, _cut(answer.reason, _SAYS)


def _told_findings(outcome: Outcome) -> Iterator[str]:
    stopping = [one for one in outcome.findings if outcome.decision is not Decision.PUBLISH]
    if stopping:
        yield "\nwhat is missing, and what to do:"
    for finding in stopping[:_MOST]:
        where = "" if finding.claim_id is None else f"{_line(finding.claim_id)}: "
        yield f"- {where}{_line(finding.message)} [{finding.code}]"
        yield f"  {advice_for(finding)}"
    if len(stopping) > _MOST:
        yield f"- and {len(stopping) - _MOST} more"


def _asked(tickets: tuple[AskedTicket, ...]) -> Iterator[str]:
    for one in tickets:
        what = "a reviewer to let it pass" if one.role is None else f"approval as {_line(one.role)}"
        yield f"waits for {what}: `assay review show {one.ticket_id}`"


def _line(text: str) -> str:
    return plain(" ".join(text.split()))


def _cut(text: str, most: int) -> str:
    line = _line(text)
    return line if len(line) <= most else f"{line[: most - 1]}…"
