"""A bundle is put to people: what an approval or a deferral shows, and whom it asks.

bundle + arguments + outcome -> text that says what is claimed, on what, how sure, what it costs to be wrong, with
what tools are called, what the gates found, and the hashes bound. It is whole, or nobody is asked.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta

from assay.claims.bundle import Claim, ClaimBundle, bundle_hash
from assay.claims.decide import Outcome
from assay.claims.edit import ClaimChange
from assay.claims.passage import Passage
from assay.claims.policy import ApprovalNeed, ApprovalPolicy
from assay.claims.risk import highest_tier
from assay.facts.claims import CLAIMS_SERVICE, BundleContext
from assay.flows.errors.claims import ClaimsFlowError
from assay.flows.review.open_review import draft_ticket
from assay.flows.review.shown_text import escape_unseen
from assay.flows.tools import Tools
from assay.identity.principal import BuiltInRole
from assay.identity.problem import NAME_FORM, shortened
from assay.kernel.canonical import canonical_json
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId, TenantId, parse_principal_id
from assay.kernel.instant import Instant, render_instant
from assay.ports.database import Unit
from assay.review.kind import TicketKind
from assay.review.ticket import LONGEST_SHOWN, Ticket, TicketDraft

_ABOUT = "bundle:"
_SAMPLE = "sample:"
_TITLE = 300
_SAID = 100
# What the line that says who is asked may add to the rest.
_ASKED = 1024

# What the pointers of each claim quote, by claim id.
Passages = Mapping[str, tuple[Passage, ...]]
_NO_PASSAGES: Passages = {}


def about_bundle(wanted: Digest) -> str:
    """What a bundle's tickets are about: the text by which they are found again."""
    return f"{_ABOUT}{wanted}"


def bundle_about(ticket: Ticket) -> Digest | None:
    """The bundle that a ticket is about; None where it is about something else."""
    if ticket.kind not in (TicketKind.APPROVAL, TicketKind.DEFERRAL) or ticket.opened_by != CLAIMS_SERVICE:
        return None
    return parse_digest((ticket.about or "").removeprefix(_ABOUT))


def about_sample(wanted: Digest) -> str:
    return f"{_SAMPLE}{wanted}"


def sample_about(ticket: Ticket) -> Digest | None:
    """The bundle that a blind review is about; None for every other ticket."""
    if ticket.kind is not TicketKind.SAMPLE or ticket.opened_by != CLAIMS_SERVICE:
        return None
    return parse_digest((ticket.about or "").removeprefix(_SAMPLE))


def approvers_of(unit: Unit, tenant_id: TenantId, name: str) -> tuple[str, ...]:
    """The roles that may answer for a name: itself, or those of the one principal that it names."""
    if NAME_FORM.fullmatch(name):
        return (name,)
    try:
        named = unit.identity.find_principal(tenant_id, parse_principal_id(name))
    except Error as error:
        told = f"expected required_approvals to be roles or principals, got `{shortened(name)}`"
        raise ClaimsFlowError.approver(told) from error
    # A person who is not known here, or holds no role, is asked all the same: then nobody can answer, and time denies.
    return named.roles if named is not None and named.roles else (BuiltInRole.REVIEWER,)


def draft_approval(
    tools: Tools,
    tenant_id: TenantId,
    bundle: ClaimBundle,
    arguments: tuple[str, ...],
    outcome: Outcome,
    need: ApprovalNeed,
    roles: tuple[str, ...],
    policy: ApprovalPolicy,
    *,
    passages: Passages = _NO_PASSAGES,
    edit: str = "",
    requested_by: PrincipalId,
    at: Instant,
) -> Ticket:
    """One ticket for each role: whoever asked does not answer it, and a time-out denies."""
    draft = TicketDraft(
        kind=TicketKind.APPROVAL,
        title=_title(f"approve as {need.role}: {highest_tier(bundle)} by {bundle.origin_agent}", bundle),
        shown=_with_edit(
            render_bundle_shown(
                bundle, arguments, outcome, passages, asked=f"approval by {need.people} of {need.role}"
            ),
            edit,
        ),
        eligible_roles=roles,
        quorum=need.people,
        opened_by=CLAIMS_SERVICE,
        requested_by=requested_by,
        about=about_bundle(bundle_hash(bundle)),
        due_at=Instant(at + timedelta(seconds=policy.valid_for_seconds)),
    )
    return draft_ticket(tools, tenant_id, draft, at=at)


def draft_deferral(
    tools: Tools,
    tenant_id: TenantId,
    bundle: ClaimBundle,
    arguments: tuple[str, ...],
    outcome: Outcome,
    *,
    passages: Passages = _NO_PASSAGES,
    edit: str = "",
    requested_by: PrincipalId,
    at: Instant,
) -> Ticket:
    """Any reviewer may let a deferred bundle go on past the gate that stopped it; until then it waits."""
    draft = TicketDraft(
        kind=TicketKind.DEFERRAL,
        title=_title(f"resume past {outcome.stopped_by}: {highest_tier(bundle)} by {bundle.origin_agent}", bundle),
        shown=_with_edit(
            render_bundle_shown(
                bundle, arguments, outcome, passages, asked=f"a reviewer to let it past {outcome.stopped_by}"
            ),
            edit,
        ),
        eligible_roles=(BuiltInRole.REVIEWER,),
        opened_by=CLAIMS_SERVICE,
        requested_by=requested_by,
        about=about_bundle(bundle_hash(bundle)),
    )
    return draft_ticket(tools, tenant_id, draft, at=at)


def draft_sample(
    tools: Tools,
    tenant_id: TenantId,
    bundle: ClaimBundle,
    context: BundleContext,
    *,
    requested_by: PrincipalId,
    at: Instant,
) -> Ticket:
    """A blind review of a published bundle: what it claims and on what, without what gates and people decided."""
    passages = context.passages or _NO_PASSAGES
    heads = (
        "Is what this bundle claims right? It was published; the answer changes nothing about it.",
        "Some of these reviews are of outputs whose answer is known: that is how reviewing is measured.",
    )
    lines = (*heads, *_bundle_lines(bundle), *_argument_lines(context.tool_arguments), *_claims_lines(bundle, passages))
    draft = TicketDraft(
        kind=TicketKind.SAMPLE,
        title=_title(f"is it right: {highest_tier(bundle)} by {bundle.origin_agent}", bundle),
        shown=_cut("\n".join(lines)),
        eligible_roles=(BuiltInRole.REVIEWER,),
        opened_by=CLAIMS_SERVICE,
        requested_by=requested_by,
        about=about_sample(bundle_hash(bundle)),
    )
    return draft_ticket(tools, tenant_id, draft, at=at)


def render_edit(edits: Digest, edited_by: PrincipalId, changes: tuple[ClaimChange, ...]) -> str:
    """What a reviewer changed of an earlier bundle, before and after."""
    lines = [f"edited by {_quoted(edited_by)} from bundle {edits}:"]
    for one in changes:
        where = one.field if one.claim_id is None else f"claim {_quoted(one.claim_id)}, {one.field}"
        lines.append(f"  {where}")
        lines += [f"    - {escape_unseen(one.before)}"] if one.before is not None else []
        lines += [f"    + {escape_unseen(one.after)}"] if one.after is not None else []
    return "\n".join(lines)


def _with_edit(shown: str, edit: str) -> str:
    """The bundle whole, and after it as much of the changes as there is room for: they repeat what it says."""
    room = LONGEST_SHOWN - len(shown.encode()) - _SAID
    if not edit or room < _SAID:
        return shown
    cut = edit.encode()[:room].decode(errors="ignore")
    return f"{shown}\n\n{cut}" if cut == edit else f"{shown}\n\n{cut}\n… more changes than fit here"


def is_showable(
    bundle: ClaimBundle, arguments: tuple[str, ...], outcome: Outcome, passages: Passages = _NO_PASSAGES
) -> bool:
    """Whether people can be shown all of it: a part is nothing that anybody can answer for."""
    return len(render_bundle_shown(bundle, arguments, outcome, passages, asked="").encode()) <= LONGEST_SHOWN - _ASKED


def render_bundle_shown(
    bundle: ClaimBundle,
    arguments: tuple[str, ...],
    outcome: Outcome,
    passages: Passages = _NO_PASSAGES,
    *,
    asked: str,
) -> str:
    """The same for the same bundle and outcome; texts of the agent are quoted, so that none passes for one of ours."""
    return "\n".join(_lines(bundle, arguments, outcome, passages, asked))


def _lines(
    bundle: ClaimBundle, arguments: tuple[str, ...], outcome: Outcome, passages: Passages, asked: str
) -> Iterator[str]:
    number = len(bundle.claims)
    yield f"A bundle of {number} {'claim' if number == 1 else 'claims'} waits for {asked}."
    yield from _bundle_lines(bundle)
    yield f"so far: {outcome.decision}: {_quoted(outcome.reason)}"
    yield f"policy: {outcome.policy_hash}"
    yield from _found_lines(outcome)
    if arguments:
        yield f"tool arguments: {len(arguments)}, hash {outcome.arguments_hash}"
    yield from _argument_lines(arguments)
    yield from _claims_lines(bundle, passages)


def _bundle_lines(bundle: ClaimBundle) -> Iterator[str]:
    yield f"bundle hash: {bundle_hash(bundle)}"
    yield f"bundle: {_quoted(bundle.id)} of {render_instant(bundle.timestamp)}"
    yield f"from: {_quoted(bundle.origin_agent)}"
    yield f"highest tier: {highest_tier(bundle)}"


def _argument_lines(arguments: tuple[str, ...]) -> Iterator[str]:
    for place, argument in enumerate(arguments):
        yield f"  tool argument {place}: {_quoted(argument)}"


def _claims_lines(bundle: ClaimBundle, passages: Passages) -> Iterator[str]:
    for claim in bundle.claims:
        yield from _claim_lines(claim, {one.place: one for one in passages.get(claim.id, ())})


def _found_lines(outcome: Outcome) -> Iterator[str]:
    """Every finding, not only those that a reason has room for: a reviewer's answer binds them all."""
    for caveat in outcome.caveats:
        yield f"caveat: {_quoted(caveat)}"
    for finding in outcome.findings:
        claim = "" if finding.claim_id is None else f" in claim {_quoted(finding.claim_id)}"
        yield f"found: {finding.code}{claim}: {_quoted(finding.message)}"


def _claim_lines(claim: Claim, passages: Mapping[int, Passage]) -> Iterator[str]:
    said = claim.uncertainty
    yield ""
    yield f"claim {_quoted(claim.id)}: {claim.claim_type}, {claim.risk_tier}"
    yield f"  says: {_quoted(claim.statement)}"
    yield f"  if wrong: {_quoted(claim.if_wrong_cost)}"
    yield f"  uncertainty: {said.method} {said.value:g}, the agent recommends {said.gate_recommendation}"
    yield f"  because: {_quoted(said.interpretation)}"
    for place, pointer in enumerate(claim.evidence_pointers):
        when = "an unknown time" if pointer.retrieved_at is None else render_instant(pointer.retrieved_at)
        told = f"confidence {pointer.source_confidence:g}, sha256 {pointer.evidence_hash}, retrieved at {when}"
        yield f"  evidence: {_quoted(pointer.source)}, {told}"
        if place in passages:
            yield f"    quoting: {_quoted(passages[place].quote)}"


def _cut(text: str) -> str:
    """As much as a ticket shows: nothing follows from a blind review, so a part of a very large bundle will do."""
    whole = text.encode()
    if len(whole) <= LONGEST_SHOWN:
        return text
    return f"{whole[: LONGEST_SHOWN - _ASKED].decode(errors='ignore')}\n… the rest is on the page of the bundle"


def _quoted(text: str) -> str:
    """The text as JSON; what could hide or turn around other text is an escape, which JSON reads back the same."""
    return escape_unseen(canonical_json(text))


def _title(text: str, bundle: ClaimBundle) -> str:
    """Ours, and the agent's own words for the gravest thing it claims: many of one agent are told apart in a queue.

    One line that can be read as it stands; the whole, which is answered for, is in what is shown.
    """
    gravest = next(claim for claim in bundle.claims if claim.risk_tier is highest_tier(bundle))
    words = " ".join(gravest.statement.split())
    said = words if len(words) <= _SAID else f"{words[:_SAID]}…"
    more = len(bundle.claims) - 1
    others = f" and {more} more" if more else ""
    whole = f"{ascii(text)[1:-1]}: {_quoted(said)}{others}"
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in whole)[:_TITLE]
