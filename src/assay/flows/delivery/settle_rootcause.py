"""What follows people's decisions about rules, in the commit of their answer (PRAMANA 10).

conclusion of a root cause -> pair, closed episode;   category C: proposal, and earlier successes examined again
accepted proposal -> next version of the rule;   answer `certify` -> Certification of the version shown
"""

from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from assay.delivery.conclude import Conclusion, conclude, parse_conclusion
from assay.delivery.outcome import Signal
from assay.delivery.pair import TrainingPair, capture_pair
from assay.delivery.plugin import Category
from assay.delivery.propose import Proposal, ProposalRoute, accept_proposal, propose_correction
from assay.delivery.rule import RuleVersion, certify, render_ref
from assay.delivery.sense import StandardEvent
from assay.delivery.trigger import conclude_watch
from assay.delivery.workitem import WorkItem
from assay.facts.delivery import RootCauseClosed, RuleProposed, logged_pair
from assay.flows.delivery.delivery_entry import delivery_entry, news, read_text, sense, text_of
from assay.flows.delivery.judge_success import remark_answers
from assay.flows.delivery.outcome_batch import counters_of, load_counters, record_counters, tally_of, watch_of
from assay.flows.delivery.rule_rows import add_certification, add_version, load_rules
from assay.flows.errors import NotFoundError
from assay.flows.known import get_principal
from assay.flows.review.open_review import open_review_in
from assay.identity.principal import BuiltInRole
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.delivery_store import AskedPeople, ConcludedItem, ProposedRule, StoredPair
from assay.review.answer import Answer
from assay.review.errors import ReviewError
from assay.review.kind import TicketKind
from assay.review.settle import Settlement
from assay.review.ticket import TICKET_ENTROPY_BYTES, Ticket, TicketDraft, open_ticket, ticket_id_from


def read_conclusion(unit: Unit, ticket: Ticket, answer: Answer, _at: Instant) -> None:
    """The follow-up of each answer: one that is no conclusion, or of another category than was chosen, is refused.

    So is one by somebody who reported an outcome that it is about: nobody judges what they told themselves.
    """
    if ticket.about is None:
        parse_conclusion(answer.body, choice=answer.choice)
    else:
        item = read_text(_asked(unit, ticket.tenant_id, ticket.about).text, WorkItem)
        parse_conclusion(answer.body, choice=answer.choice, sub_categories=item.sub_categories)
        told = unit.delivery.find_signals(ticket.tenant_id, [one.signal_id for one in item.contexts])
        if any(read_text(row.text, Signal).sender == answer.by for row in told):
            raise ReviewError.own_request(f"`{answer.by}` reported outcomes that `{ticket.id}` is about")


def settle_rootcause(
    unit: Unit, ticket: Ticket, settlement: Settlement, answers: tuple[Answer, ...], at: Instant
) -> None:
    """The follow-up of the decision, in its commit: whatever is refused here, nothing was concluded."""
    answer = next((one for one in answers if one.choice == settlement.choice), None)
    if answer is None or ticket.about is None:
        return
    tenant_id = ticket.tenant_id
    asked = _asked(unit, tenant_id, ticket.about)
    item = read_text(asked.text, WorkItem)
    person = get_principal(unit, tenant_id, answer.by)
    found = parse_conclusion(answer.body, choice=answer.choice, sub_categories=item.sub_categories)
    conclusion = conclude(item, found, by=person, at=at, ticket_id=ticket.id)
    pair = capture_pair(item, conclusion)
    service = ticket.opened_by.partition(":")[2]
    _close(unit, tenant_id, conclusion, pair, service)
    _capture(unit, tenant_id, item, pair, service)
    _end_episode(unit, tenant_id, item, at=at)
    if conclusion.failure_category is Category.RULE:
        _propose(unit, ticket, conclusion)
        remark_answers(unit, tenant_id, conclusion, service=service)


def _asked(unit: Unit, tenant_id: TenantId, item_id: str) -> AskedPeople:
    found = unit.delivery.find_asked(tenant_id, item_id)
    if found is None:
        raise NotFoundError(f"tenant `{tenant_id}` asks nobody about `{item_id[:80]}`")
    return found


def _close(unit: Unit, tenant_id: TenantId, conclusion: Conclusion, pair: TrainingPair, service: str) -> None:
    rule = conclusion.rule
    told = {
        "item_id": conclusion.item_id,
        "rule_id": rule.rule_id,
        "version": rule.version,
        "failure_category": str(conclusion.failure_category),
        "concluded_by": conclusion.concluded_by,
    }
    event = sense(StandardEvent.RCA_CLOSED, conclusion.item_id, told, service=service, at=conclusion.concluded_at)
    body = RootCauseClosed(**asdict(conclusion), pair_id=pair.training_pair_id)
    draft = delivery_entry(tenant_id, EntryKind.ROOT_CAUSE_CLOSED, body, at=conclusion.concluded_at, events=(event,))
    row = ConcludedItem(
        item_id=conclusion.item_id,
        rule_id=rule.rule_id,
        rule_version=rule.version,
        failure_category=conclusion.failure_category,
        text=text_of(conclusion),
        pair_id=pair.training_pair_id,
        sequence_number=0,
        bound=1,
    )
    unit.record(draft, row)


def _capture(unit: Unit, tenant_id: TenantId, item: WorkItem, pair: TrainingPair, service: str) -> None:
    """Durable with the conclusion; a lesson that is known already stays the one it is."""
    if unit.delivery.find_pair(tenant_id, pair.training_pair_id) is not None:
        return
    told = {"training_pair_id": pair.training_pair_id, "rule_id": pair.rule_id, "captured_by": pair.captured_by}
    event = sense(
        StandardEvent.TRAINING_PAIR_CAPTURED, pair.training_pair_id, told, service=service, at=pair.captured_at
    )
    text = text_of(pair)
    body = {**logged_pair(text), "item_id": item.item_id}
    draft = delivery_entry(tenant_id, EntryKind.TRAINING_PAIR, body, at=pair.captured_at, events=(event,))
    row = StoredPair(
        pair_id=pair.training_pair_id,
        rule_id=pair.rule_id,
        item_id=item.item_id,
        text=text,
        sequence_number=0,
        bound=1,
    )
    unit.record(draft, row)


def _end_episode(unit: Unit, tenant_id: TenantId, item: WorkItem, *, at: Instant) -> None:
    row = load_counters(unit, tenant_id, item.rule.rule_id)
    if row.item_id != item.item_id:
        return
    watch = conclude_watch(watch_of(row), at=at)
    counters = counters_of(item.rule.rule_id, tally_of(row), watch, item_id=None)
    record_counters(unit, tenant_id, counters, f"root cause {item.item_id} was concluded", at=at)


def _propose(unit: Unit, concluded: Ticket, conclusion: Conclusion) -> None:
    """A proposal changes nothing; it goes to somebody other than the person who concluded."""
    tenant_id, rule = concluded.tenant_id, conclusion.rule
    proposal = propose_correction(conclusion, load_rules(unit, tenant_id, [rule.rule_id]))
    if proposal is None:
        return
    draft = TicketDraft(
        kind=TicketKind.RULE_PROPOSAL,
        title=f"corrected text of rule {render_ref(rule)}",
        shown=msgspec.json.format(msgspec.json.encode(proposal), indent=2).decode(),
        eligible_roles=(BuiltInRole.REVIEWER,),
        opened_by=concluded.opened_by,
        requested_by=conclusion.concluded_by,
        about=conclusion.item_id,
    )
    # Nobody can guess it who does not know the first ticket's; a follow-up has no other source of chance.
    chance = sha256(f"proposal\n{concluded.id}".encode()).digest()[:TICKET_ENTROPY_BYTES]
    at = conclusion.concluded_at
    ticket = open_ticket(draft, id=ticket_id_from(chance), tenant_id=tenant_id, at=at)
    open_review_in(unit, ticket)
    told = {"item_id": proposal.item_id, "rule_id": proposal.rule_id, "route": str(proposal.route)}
    event = news(EntryKind.RULE_PROPOSED, proposal.rule_id, told)
    body = RuleProposed(**asdict(proposal), ticket_id=ticket.id)
    row = ProposedRule(
        item_id=proposal.item_id,
        rule_id=proposal.rule_id,
        ticket_id=ticket.id,
        text=text_of(proposal),
        sequence_number=0,
        bound=1,
    )
    unit.record(delivery_entry(tenant_id, EntryKind.RULE_PROPOSED, body, at=at, events=(event,)), row)


_ACCEPT = "accept"


def settle_proposal(
    unit: Unit, ticket: Ticket, settlement: Settlement, answers: tuple[Answer, ...], at: Instant
) -> None:
    """The follow-up of a RULE_PROPOSAL ticket.

    Only a text rule gets its version here. One of a graph, a contract or code is accepted in principle: its source is
    changed, reviewed and signed in its own way, and comes back as a new version from there.
    """
    if settlement.denied or settlement.choice != _ACCEPT:
        return
    proposal = msgspec.json.decode(ticket.shown, type=Proposal)
    if proposal.route is not ProposalRoute.REGISTRY_VERSION:
        return
    tenant_id = ticket.tenant_id
    by = get_principal(unit, tenant_id, next(one.by for one in answers if one.choice == _ACCEPT))
    registry = load_rules(unit, tenant_id, [proposal.rule_id])
    version, certification = accept_proposal(
        proposal, registry, seen=proposal.content_hash, by=by, at=at, ticket_id=ticket.id
    )
    add_version(unit, tenant_id, version, proposal.content)
    add_certification(unit, tenant_id, certification, at=at)


CERTIFY = "certify"


class ShownRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person is shown: the version and its whole content."""

    rule: RuleVersion
    content: str


def settle_certification(
    unit: Unit, ticket: Ticket, settlement: Settlement, answers: tuple[Answer, ...], at: Instant
) -> None:
    """The follow-up: the room refuses who recorded the version themselves, and a version that is in force no more."""
    if settlement.denied or settlement.choice != CERTIFY:
        return
    shown = msgspec.json.decode(ticket.shown, type=ShownRule)
    rule_id, tenant_id = shown.rule.rule_id, ticket.tenant_id
    by = get_principal(unit, tenant_id, next(one.by for one in answers if one.choice == CERTIFY))
    certification = certify(
        load_rules(unit, tenant_id, [rule_id]),
        rule_id,
        seen=shown.rule.content_hash,
        by=by,
        at=at,
        ticket_id=ticket.id,
    )
    add_certification(unit, tenant_id, certification, at=at)
