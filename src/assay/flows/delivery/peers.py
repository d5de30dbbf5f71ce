"""Peers: what was agreed with another organisation, and outcomes that are forwarded for it.

A peer is known by the name of its principal: `service:harbour` speaks for the peer `harbour`, and for no other.
"""

from hashlib import sha256
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from assay.delivery.errors import DeliveryError
from assay.delivery.federate import (
    Agreement,
    ManualReview,
    Translation,
    parse_agreement,
    registry_for_peer,
    report_for_peer,
    translate_signal,
)
from assay.delivery.outcome import Signal, parse_outcome, verify_same
from assay.delivery.strand import StrandRegistry, StrandReport, is_private
from assay.facts.delivery import PeerAgreed
from assay.flows.delivery.count_outcome import Reported
from assay.flows.delivery.delivery_entry import delivery_entry, news, read_text, text_of
from assay.flows.delivery.report_outcome import PhalaSignal, SignalKey, report_signal
from assay.flows.errors import NotFoundError
from assay.flows.identity.authenticate import confirm, require_credential
from assay.flows.request import Document, Page, Paged, Request, cut
from assay.flows.request import read_text as read_cursor
from assay.flows.review.open_review import open_review_in
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole, Principal, PrincipalKind
from assay.kernel.ids import TenantId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.peer_store import RecordedAgreement
from assay.review.kind import TicketKind
from assay.review.ticket import TICKET_ENTROPY_BYTES, Ticket, TicketDraft, open_ticket, ticket_id_from


class Marks(NamedTuple):
    """The strands that count for one reader, and what was found of them."""

    registry: StrandRegistry
    strands: StrandReport


class AgreeWithPeer(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    agreement: Annotated[
        bytes,
        Meta(description="`peer`, `rules` (pairs of theirs and ours), `strands`, and `keys` (public keys in hex)."),
        Document(kind=Agreement),
    ]


class ListPeers(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class ShowPeer(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    peer: Annotated[str, Meta(description="The name of the other organisation.")]


def agree_with_peer(tools: Tools, caller: Caller, request: AgreeWithPeer) -> Agreement:
    """Record what was agreed with another organisation, in place of what was agreed before.

    The rules on our side must be in the rule registry.
    """
    agreement, tenant_id = parse_agreement(request.agreement), caller.tenant_id

    def work(unit: Unit) -> Agreement:
        by = confirm(unit, caller).principal.id
        known = unit.delivery.latest_versions(tenant_id, [ours for _, ours in agreement.rules])
        for _, ours in agreement.rules:
            if ours not in known:
                raise NotFoundError(f"the registry knows no rule `{ours[:80]}`")
        event = news(EntryKind.PEER_AGREED, agreement.peer, {"peer": agreement.peer})
        body = PeerAgreed(**asdict(agreement), agreed_by=by)
        row = RecordedAgreement(peer=agreement.peer, text=text_of(agreement), by=by, sequence_number=0, bound=1)
        unit.record(delivery_entry(tenant_id, EntryKind.PEER_AGREED, body, at=caller.at, events=(event,)), row)
        return agreement

    return tools.database.write(work)


def peers(tools: Tools, caller: Caller, request: ListPeers) -> Page[Agreement]:
    """List the agreements in force with other organisations, by their names."""
    after = read_cursor("peers", request.cursor) or ""
    found = tools.database.read(
        lambda unit: unit.peers.agreements(caller.tenant_id, after=after, limit=request.limit + 1)
    )
    return cut("peers", [read_text(row.text, Agreement) for row in found], request.limit, lambda one: one.peer)


def peer(tools: Tools, caller: Caller, request: ShowPeer) -> Agreement:
    """Show the agreement in force with another organisation."""
    found = tools.database.read(lambda unit: find_agreement(unit, caller.tenant_id, request.peer))
    if found is None:
        raise NotFoundError(f"tenant `{caller.tenant_id}` has no agreement with `{request.peer[:80]}`")
    return found


def find_agreement(unit: Unit, tenant_id: TenantId, peer: str) -> Agreement | None:
    row = unit.peers.find_agreement(tenant_id, peer)
    return None if row is None else read_text(row.text, Agreement)


def peer_of(principal: Principal) -> str | None:
    """The name under which this principal can be a peer; a person or an agent that is called so is none."""
    return principal.id.partition(":")[2] if principal.kind is PrincipalKind.SERVICE else None


def agreement_for(unit: Unit, tools: Tools, principal: Principal) -> Agreement | None:
    """What was agreed with the peer that asks, where this node has strands that only an agreement makes known."""
    peer = peer_of(principal)
    if peer is None or not any(is_private(strand) for strand in tools.delivery.strands.ids()):
        return None
    return find_agreement(unit, principal.tenant_id, peer)


def marks_of(tools: Tools, report: StrandReport, agreement: Agreement | None) -> Marks:
    """The strands that mark an answer for this reader: for a peer those that both know (PRAMANA 15), else all."""
    registry = tools.delivery.strands
    if agreement is None:
        return Marks(registry, report)
    shared = registry_for_peer(registry, agreement)
    return Marks(shared, report_for_peer(report, shared))


_LONGEST_TITLE = 300


class Forwarded(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of a foreign signal: what was counted here, and the ticket about what nobody could translate."""

    peer: str
    reported: Reported | None
    untranslated: tuple[str, ...]
    ticket_id: str | None


class ForwardOutcome(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    signal: Annotated[
        bytes, Meta(description="The signal in the peer's own rule ids."), Document(kind=PhalaSignal, metavar="FILE|-")
    ]
    idempotency_key: SignalKey = None


def forward_outcome(tools: Tools, caller: Caller, request: ForwardOutcome) -> Forwarded:
    """Forward an outcome of a peer (PRAMANA 13.2); its rule ids are translated as agreed.

    What has no translation goes to a person. Only the principal of a peer with an agreement may forward. The same
    signal again changes nothing.
    """
    require_credential(caller)
    principal, content, key = caller.principal, request.signal, request.idempotency_key
    agreement = tools.database.read(lambda unit: _agreement(unit, principal))
    signal = parse_outcome(content, sender=principal.id, at=caller.at, idempotency_key=key)
    # Before anything of it counts: a key that people were asked about stands for that signal.
    tools.database.read(lambda unit: _verify_asked(unit, tools, principal.tenant_id, signal))
    translation = translate_signal(signal, agreement)
    reported = None
    if translation.signal is not None:
        # Grants are checked there as for any sender: an agreement translates, it does not authorise. What tells two of
        # their signals apart may be left out of ours: each is known here by what it was there.
        own_key = key or f"foreign:{signal.signal_id}"
        reported = report_signal(tools, caller, _in_our_words(content, translation), own_key)
    review = translation.review
    ticket_id = None if review is None else _to_people(tools, caller, review)
    left = () if review is None else review.rule_ids
    return Forwarded(peer=agreement.peer, reported=reported, untranslated=left, ticket_id=ticket_id)


def _agreement(unit: Unit, principal: Principal) -> Agreement:
    peer = peer_of(principal)
    agreement = None if peer is None else find_agreement(unit, principal.tenant_id, peer)
    if agreement is None:
        raise DeliveryError.outcome_source(f"there is no agreement with `{principal.id[:80]}`")
    return agreement


def _in_our_words(content: bytes, translation: Translation) -> bytes:
    """The signal as it came, with our rules in the place of theirs; their answer's id means nothing here."""
    fields: dict[str, Any] = msgspec.json.decode(content)
    kept = {name: value for name, value in fields.items() if name not in ("rule_id", "rule_ids", "answer_id")}
    rules = () if translation.signal is None else translation.signal.rule_ids
    return msgspec.json.encode({**kept, "rule_ids": list(rules)})


def _to_people(tools: Tools, caller: Caller, review: ManualReview) -> str:
    tenant_id, at = caller.tenant_id, caller.at
    ticket = _ticket(tools, tenant_id, review, at)

    def work(unit: Unit) -> None:
        confirm(unit, caller)
        if _verify_asked(unit, tools, tenant_id, review.signal):
            return
        open_review_in(unit, ticket)
        told = {"peer": review.peer, "signal_id": review.signal.signal_id, "rule_ids": list(review.rule_ids)}
        body = {**told, "content_hash": review.signal.content_hash, "ticket_id": ticket.id}
        unit.record(delivery_entry(tenant_id, EntryKind.PEER_UNTRANSLATED, body, at=at))

    tools.database.write(work)
    return ticket.id


def _verify_asked(unit: Unit, tools: Tools, tenant_id: TenantId, signal: Signal) -> bool:
    """Whether people were asked about this signal; raise where it was another one under the same key."""
    ticket = unit.review.find_ticket(tenant_id, _ticket_id(tools, tenant_id, signal))
    if ticket is None:
        return False
    verify_same(msgspec.json.decode(ticket.shown, type=ManualReview).signal, signal)
    return True


def _ticket(tools: Tools, tenant_id: TenantId, review: ManualReview, at: Instant) -> Ticket:
    named = ", ".join(review.rule_ids)
    draft = TicketDraft(
        kind=TicketKind.FOREIGN_OUTCOME,
        title=f"a {review.signal.outcome} of {review.peer} by rules that nobody translated: {named}"[:_LONGEST_TITLE],
        shown=msgspec.json.format(msgspec.json.encode(review), indent=2).decode(),
        eligible_roles=(BuiltInRole.REVIEWER,),
        opened_by=tools.delivery.principal_id,
        requested_by=review.signal.sender,
        about=review.signal.signal_id,
    )
    return open_ticket(draft, id=_ticket_id(tools, tenant_id, review.signal), tenant_id=tenant_id, at=at)


def _ticket_id(tools: Tools, tenant_id: TenantId, signal: Signal) -> TicketId:
    """An id that follows from the signal: asking twice about one signal is asking once."""
    chance = sha256(f"foreign\n{tools.founder}\n{tenant_id}\n{signal.signal_id}".encode()).digest()
    return ticket_id_from(chance[:TICKET_ENTROPY_BYTES])
