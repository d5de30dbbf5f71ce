"""The blind sample: a signed plan that commits to its seed, tickets for what it draws, and the proof of the draw.

plan (seed hash, signed) … published bundles after it -> drawn by the seed -> tickets … next plan reveals the seed
The seed follows from a signature of the node's review key that nobody else can make, so it is stored nowhere.
Tickets with a known answer look like the others: both show a published bundle, without its decision.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, field

from assay.claims.bundle import Decision
from assay.claims.errors import ClaimsError
from assay.claims.finding import FindingCode
from assay.claims.oversight.reviewers import next_known_answer
from assay.claims.oversight.sample import (
    DrawnOutput,
    SamplePlan,
    commit_seed,
    is_drawn,
    is_known_answer,
    plan_message,
    verify_sample,
)
from assay.claims.parse_bundle import parse_bundle
from assay.facts.claims import (
    BundleContext,
    ClaimsDecided,
    OutputLabelled,
    OutputsSampled,
    SampledTicket,
    SamplePlanned,
    oversight_entry,
)
from assay.facts.review import TicketOpened
from assay.flows.claims.claims_facts import asked_of
from assay.flows.claims.claims_ticket import about_sample, draft_sample, sample_about
from assay.flows.claims.decide_claims import refuse_bundle
from assay.flows.claims.oversight_log import Label, bodies, find_newest, load_labels
from assay.flows.errors import NotFoundError
from assay.flows.errors.claims import ClaimsFlowError
from assay.flows.identity.authenticate import confirm
from assay.flows.request import Done, Option, Request, parse_or_not_found
from assay.flows.review.open_review import open_review_in
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.risk import RiskTier
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.ids import TenantId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.kernel.signature import SignedKind, signing_message
from assay.ports.claims_store import ReceivedBundle
from assay.ports.database import Unit
from assay.review.answer import Answer
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket

_ID_BYTES = 8
# So many decisions are read in one round.
_MOST_DECISIONS = 1000
# A round that drew nothing is recorded only after so many, so that an idle plan does not fill the ledger.
_QUIET_DECISIONS = 200
_CLAIMS_KINDS = frozenset({TicketKind.APPROVAL, TicketKind.DEFERRAL})


class PlanSample(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rates: Annotated[
        dict[RiskTier, float],
        Meta(description="The share of published outputs that is reviewed blindly, by tier; a tier left out is 0."),
        Option(metavar="JSON"),
    ] = field(default_factory=dict)
    known_answers: Annotated[
        float, Meta(ge=0.0, le=1.0, description="How many tickets with a known answer are opened for each other one.")
    ] = 0.0


class ShowSamplePlan(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The plan in force."""


class SampleStanding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The plan in force, for reviewers too: that they are sampled is no secret, which tickets are is one.

    `sampled` counts the tickets that it opened so far, `labels` the bundles with a known answer.
    """

    plan: SamplePlan
    planned_by: str
    sequence_number: int
    key_id: str
    signature: str
    sampled: int
    labels: int


class LabelOutput(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    bundle_hash: Annotated[str, Meta(description="The hash of the bundle."), Option(form="argument", metavar="HASH")]
    label: Annotated[
        Literal["right", "wrong"],
        Meta(description="Whether what it claims is right."),
        Option(form="argument", metavar="right|wrong"),
    ]
    reason: Annotated[str, Meta(min_length=1, max_length=2000, description="How that is known; it is recorded.")]


class CheckSample(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    plan_id: Annotated[
        str, Meta(description="A plan that another took the place of."), Option(form="argument", metavar="PLAN")
    ]


class SampleChecked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of `outputs` that were published under the plan, `drawn` went to review: exactly those that its seed draws.

    `last` is the last entry that was sampled under it.
    """

    plan_id: str
    outputs: int
    drawn: int
    last: int


def plan_sample(tools: Tools, caller: Caller, request: PlanSample) -> Done[SampleStanding]:
    """Put a plan for blind review into force, in an operator's own session; the plan before it ends.

    The hash of its seed is on record before the first output that it covers. The seed of the plan before is revealed,
    so that anybody can check what that one drew (`claims sample-check`).
    """
    plan_id = f"pln_{tools.entropy.token(_ID_BYTES).hex()}"
    plan = SamplePlan(
        id=plan_id,
        seed_hash=commit_seed(_derived(tools, plan_id)),
        rates=dict(request.rates),
        known_answers=request.known_answers,
    )
    signer = tools.review_signer
    signature = signer.sign(plan_message(plan)).hex()

    def work(unit: Unit) -> Done[SampleStanding]:
        person = confirm(unit, caller).principal
        before = find_newest(unit, caller.tenant_id, EntryKind.CLAIMS_SAMPLE_PLAN, SamplePlanned)
        known = None if before is None else _find_seed(tools, before[1].plan)
        body = SamplePlanned(
            plan=plan,
            key_id=signer.key_id,
            signature=signature,
            planned_by=person.id,
            revealed=UNSET if known is None else known.hex(),
        )
        receipt = unit.record(oversight_entry(caller.tenant_id, body, at=caller.at))
        labels = len(load_labels(unit, caller.tenant_id))
        return Done(value=_standing(receipt.sequence_number, body, 0, labels), receipt=receipt)

    return tools.database.write(work)


def sample_plan(tools: Tools, caller: Caller, request: ShowSamplePlan) -> SampleStanding:  # noqa: ARG001 - no fields
    """Show the plan for blind review that is in force: its rates, and how many tickets it opened."""
    found = tools.database.read(lambda unit: find_standing(unit, caller.tenant_id))
    if found is None:
        raise NotFoundError(f"`{caller.tenant_id}` has no plan for blind review: `assay claims sample-plan` makes one")
    return found


def find_standing(unit: Unit, tenant_id: TenantId) -> SampleStanding | None:
    found = find_newest(unit, tenant_id, EntryKind.CLAIMS_SAMPLE_PLAN, SamplePlanned)
    if found is None:
        return None
    number, body = found
    sampled = bodies(unit, tenant_id, EntryKind.CLAIMS_SAMPLED, OutputsSampled, first=number)
    return _standing(number, body, sum(len(one.tickets) for _, one in sampled), len(load_labels(unit, tenant_id)))


def label_output(tools: Tools, caller: Caller, request: LabelOutput) -> Done[OutputLabelled]:
    """Record whether a bundle is right, as somebody found out by other means; it then serves as a known answer.

    A bundle that still waits and is labelled wrong is refused in the same commit: people who are asked about it
    measure themselves, and never publish it.
    """
    wanted = parse_or_not_found(parse_digest, request.bundle_hash, "bundle")

    def work(unit: Unit) -> Done[OutputLabelled]:
        person, is_right = confirm(unit, caller).principal, request.label == "right"
        if unit.claims.find_bundle(caller.tenant_id, wanted) is None:
            raise NotFoundError(f"tenant `{caller.tenant_id}` has no bundle `{wanted}`")
        body = OutputLabelled(bundle_hash=wanted, is_right=is_right, reason=request.reason, labelled_by=person.id)
        receipt = unit.record(oversight_entry(caller.tenant_id, body, at=caller.at))
        if not is_right:
            told = "somebody knows that it is wrong"
            refuse_bundle(unit, caller.tenant_id, wanted, FindingCode.KNOWN_WRONG, told, at=caller.at)
        return Done(value=body, receipt=receipt)

    return tools.database.write(work)


def check_sample(tools: Tools, caller: Caller, request: CheckSample) -> SampleChecked:
    """Draw the sample of an ended plan again with its revealed seed, and compare it with the tickets on record.

    `claims.sample` where any output was left out or added.
    """

    def look(unit: Unit) -> SampleChecked:
        number, plan, seed = _ended(unit, caller.tenant_id, request.plan_id)
        rounds = [
            body
            for _, body in bodies(unit, caller.tenant_id, EntryKind.CLAIMS_SAMPLED, OutputsSampled, first=number)
            if body.plan_id == plan.id
        ]
        outputs = [
            DrawnOutput(
                bundle_hash=row.bundle_hash,
                tier=RiskTier(row.tier),
                was_drawn=any(one.bundle_hash == row.bundle_hash for one in body.tickets),
            )
            for body in rounds
            for row in _published(unit, caller.tenant_id, body.first, body.last).rows
        ]
        _require_whole(number, rounds)
        verify_sample(plan, seed, outputs)
        drawn = sum(one.was_drawn for one in outputs)
        last = rounds[-1].last if rounds else number
        return SampleChecked(plan_id=plan.id, outputs=len(outputs), drawn=drawn, last=last)

    return tools.database.read(look)


def open_samples(tools: Tools, tenant_id: TenantId, *, at: Instant) -> tuple[TicketId, ...]:
    """One round: open the tickets for what was published since the last one; return their ids.

    `claims.sample` where the review key changed, so that the committed seed is lost: then a new plan is needed.
    """
    found = tools.database.read(lambda unit: _draw(unit, tools, tenant_id))
    if found is None:
        return ()

    def work(unit: Unit) -> tuple[TicketId, ...]:
        newest = find_newest(unit, tenant_id, EntryKind.CLAIMS_SAMPLED, OutputsSampled)
        if (0 if newest is None else newest[0]) != found.after:
            # Another process was quicker.
            return ()
        opened: list[SampledTicket] = []
        # By hash, so that the order does not tell which answers are known.
        for row in sorted((*found.drawn, *found.known), key=lambda one: one.bundle_hash):
            context = msgspec.json.decode(row.context, type=BundleContext)
            asker = context.asked_by or row.submitted_by
            ticket = draft_sample(tools, tenant_id, parse_bundle(row.text), context, requested_by=asker, at=at)
            open_review_in(unit, ticket)
            opened.append(SampledTicket(bundle_hash=row.bundle_hash, ticket_id=ticket.id))
        body = OutputsSampled(plan_id=found.plan.id, first=found.first, last=found.last, tickets=tuple(opened))
        unit.record(oversight_entry(tenant_id, body, at=at))
        return tuple(one.ticket_id for one in opened)

    return tools.database.write(work)


def require_blind(unit: Unit, ticket: Ticket, answer: Answer, _at: Instant) -> None:
    """The follow-up of each blind answer: nobody who decided or labelled the output judges it blindly."""
    wanted = sample_about(ticket)
    if wanted is None:
        return
    label = load_labels(unit, ticket.tenant_id).get(wanted)
    asked = (one.ticket_id for told in asked_of(unit, ticket.tenant_id, wanted) for one in told.tickets)
    given = (one.by for ticket_id in asked for one in unit.review.answers(ticket.tenant_id, ticket_id))
    if answer.by in given or (label is not None and label.labelled_by == answer.by):
        raise ClaimsFlowError.not_blind(f"`{answer.by}` has judged `{wanted}` before, expected another person")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draw:
    """`after` is the entry of the round before; `first` and `last` the entries that this one covers."""

    plan: SamplePlan
    after: int
    first: int
    last: int
    drawn: tuple[ReceivedBundle, ...]
    known: tuple[ReceivedBundle, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Published:
    rows: tuple[ReceivedBundle, ...]
    decisions: int
    last: int


def _draw(unit: Unit, tools: Tools, tenant_id: TenantId) -> _Draw | None:
    planned = find_newest(unit, tenant_id, EntryKind.CLAIMS_SAMPLE_PLAN, SamplePlanned)
    if planned is None:
        return None
    number, body = planned
    seed = _find_seed(tools, body.plan)
    if seed is None:
        told = f"expected the review key that made plan `{body.plan.id}`, got another"
        raise ClaimsError.sample(f"{told}: make a new plan with `assay claims sample-plan`")
    before = find_newest(unit, tenant_id, EntryKind.CLAIMS_SAMPLED, OutputsSampled)
    first = max(number, 0 if before is None else before[1].last) + 1
    found = _published(unit, tenant_id, first, unit.ledger.head(tenant_id).sequence_number)
    plan = body.plan
    drawn = tuple(one for one in found.rows if is_drawn(plan, seed, one.bundle_hash, RiskTier(one.tier)))
    names = [*_asked(unit, tenant_id, first, found.last), *(one.bundle_hash for one in drawn)]
    wanted = sum(is_known_answer(plan, seed, name) for name in names)
    known = _known(unit, tenant_id, wanted, first)
    if not (drawn or known or found.decisions >= _QUIET_DECISIONS):
        return None
    after = 0 if before is None else before[0]
    return _Draw(plan=plan, after=after, first=first, last=found.last, drawn=drawn, known=known)


def _published(unit: Unit, tenant_id: TenantId, first: int, last: int) -> _Published:
    """The bundles that were published in these entries, in order, as far as one round goes."""
    hashes: list[Digest] = []
    decisions, end = 0, last
    for number, body in bodies(unit, tenant_id, EntryKind.CLAIMS_DECIDED, ClaimsDecided, first=first, last=last):
        decisions += 1
        if body.outcome.decision is Decision.PUBLISH:
            hashes.append(body.bundle_hash)
        if decisions == _MOST_DECISIONS:
            end = number
            break
    rows = {row.bundle_hash: row for row in unit.claims.find_bundles(tenant_id, hashes)}
    return _Published(rows=tuple(rows[one] for one in hashes), decisions=decisions, last=end)


def _asked(unit: Unit, tenant_id: TenantId, first: int, last: int) -> Iterable[str]:
    """The tickets about claims that were opened in these entries."""
    for _, opened in bodies(unit, tenant_id, EntryKind.TICKET_OPENED, TicketOpened, first=first, last=last):
        if opened.kind in _CLAIMS_KINDS:
            yield opened.ticket_id


def _known(unit: Unit, tenant_id: TenantId, wanted: int, before: int) -> tuple[ReceivedBundle, ...]:
    """Labelled bundles that were published before: so many, the agents and labels that were asked about least first.

    One with an open ticket is not asked about again.
    """
    if not wanted:
        return ()
    labels = load_labels(unit, tenant_id)
    rows = [one for one in unit.claims.find_bundles(tenant_id, labels) if _is_case(unit, tenant_id, one, before)]
    times = _times_asked(unit, tenant_id)
    asked = [_place(row, labels) for row in rows for _ in range(times[row.bundle_hash])]
    chosen: list[ReceivedBundle] = []
    while rows and len(chosen) < wanted:
        pick = next_known_answer(asked, {_place(row, labels) for row in rows})
        row = min((one for one in rows if _place(one, labels) == pick), key=lambda one: times[one.bundle_hash])
        rows.remove(row)
        asked.append(pick)
        chosen.append(row)
    return tuple(chosen)


def _place(row: ReceivedBundle, labels: dict[Digest, Label]) -> tuple[str, bool]:
    return row.submitted_by, labels[row.bundle_hash].is_right


def _is_case(unit: Unit, tenant_id: TenantId, row: ReceivedBundle, before: int) -> bool:
    last = unit.claims.decisions(tenant_id, row.bundle_hash)[-1:]
    is_published = bool(last) and last[0].decision == Decision.PUBLISH and last[0].sequence_number < before
    about = about_sample(row.bundle_hash)
    return is_published and not unit.review.open_tickets_about(tenant_id, TicketKind.SAMPLE, about)


def _times_asked(unit: Unit, tenant_id: TenantId) -> Counter[Digest]:
    return Counter(
        one.bundle_hash
        for _, body in bodies(unit, tenant_id, EntryKind.CLAIMS_SAMPLED, OutputsSampled)
        for one in body.tickets
    )


def _ended(unit: Unit, tenant_id: TenantId, plan_id: str) -> tuple[int, SamplePlan, bytes]:
    plans = list(bodies(unit, tenant_id, EntryKind.CLAIMS_SAMPLE_PLAN, SamplePlanned))
    place = next((place for place, (_, body) in enumerate(plans) if body.plan.id == plan_id), None)
    if place is None:
        raise NotFoundError(f"`{tenant_id}` has no plan for blind review `{plan_id[:80]}`")
    number, body = plans[place]
    successor = plans[place + 1][1] if place + 1 < len(plans) else None
    if successor is None or successor.revealed is UNSET:
        told = "it is in force" if successor is None else "the review key changed before it ended"
        raise ClaimsError.sample(f"expected a plan whose seed is revealed, got `{plan_id}`: {told}")
    return number, body.plan, bytes.fromhex(successor.revealed)


def _require_whole(number: int, rounds: Sequence[OutputsSampled]) -> None:
    """Raise where the rounds leave out entries between them: those may hold outputs that nobody drew from."""
    expected = number + 1
    for one in rounds:
        if one.first != expected:
            raise ClaimsError.sample(f"expected a round from entry {expected} on, got one from entry {one.first}")
        expected = one.last + 1


def _derived(tools: Tools, plan_id: str) -> bytes:
    """The seed of a plan: Ed25519 signs the same message the same way, and nobody else can make the signature."""
    message = signing_message(SignedKind.SAMPLE_PLAN, b"seed\0" + plan_id.encode())
    return sha256(tools.review_signer.sign(message)).digest()


def _find_seed(tools: Tools, plan: SamplePlan) -> bytes | None:
    """The seed that a plan committed to; None where the review key is another by now."""
    seed = _derived(tools, plan.id)
    return seed if commit_seed(seed) == plan.seed_hash else None


def _standing(number: int, body: SamplePlanned, sampled: int, labels: int) -> SampleStanding:
    return SampleStanding(
        plan=body.plan,
        planned_by=body.planned_by,
        sequence_number=number,
        key_id=body.key_id,
        signature=body.signature,
        sampled=sampled,
        labels=labels,
    )
