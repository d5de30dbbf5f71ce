"""A gated bundle as a table that a person understands: claims, gates, the decision, what is missing and what to do."""

from collections.abc import Iterator

from assay.claims.bundle import ClaimBundle, Decision, GateName
from assay.claims.decide import Outcome
from assay.claims.finding import Finding, FindingCode
from assay.flows.claims.claims_entry import AskedTicket
from assay.flows.claims.decide_claims import GatedClaims
from assay.surfaces.cli.acting import columns, plain

_SAYS = 72
_MOST = 20
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
    FindingCode.APPROVAL_MISSING: "the people named below approve it with `assay claims approve TICKET`",
    FindingCode.APPROVER_ABSENT: "an admin gives the role to people with `assay principal`; else time denies it",
    FindingCode.UNAVAILABLE: "what could not answer must be brought back, then `assay claims resume HASH`",
}
_FINAL_ADVICE = "nothing more can be done with this bundle: make another one"


def gated_text(gated: GatedClaims) -> str:
    head = f"{gated.decision}: {_MEANING[gated.decision]}"
    words = "" if gated.is_new else " (decided before)"
    told = [f"{head}{words}", f"bundle {gated.bundle_hash}, entry {gated.sequence_number}"]
    return "\n".join([*told, *_body(gated.bundle, gated.outcome), *_asked(gated.tickets)])


def outcome_text(bundle: ClaimBundle, outcome: Outcome) -> str:
    """The same where nothing was recorded."""
    head = f"{outcome.decision}: {_MEANING[outcome.decision]} (nothing is recorded)"
    return "\n".join([head, f"bundle {outcome.bundle_hash}", *_body(bundle, outcome)])


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
        yield f"waits for {what}: `assay claims approve {one.ticket_id}`"


def _line(text: str) -> str:
    return plain(" ".join(text.split()))


def _cut(text: str, most: int) -> str:
    line = _line(text)
    return line if len(line) <= most else f"{line[: most - 1]}…"
