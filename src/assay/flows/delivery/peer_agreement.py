"""What was agreed with another organisation: an operator records it, and whoever speaks for that peer is held to it.

A peer is known by the name of its principal: `service:harbour` speaks for the peer `harbour`, and for no other.
"""

from typing import Annotated, NamedTuple

from msgspec import Meta

from assay.delivery.federate import Agreement, parse_agreement, registry_for_peer, report_for_peer
from assay.delivery.strand import StrandRegistry, StrandReport, is_private
from assay.flows.delivery.delivery_entry import delivery_entry, news, read_text, text_of
from assay.flows.errors import NotFoundError
from assay.flows.identity.authenticate import confirm
from assay.flows.request import Document, Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import Principal, PrincipalKind
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.peer_store import RecordedAgreement


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


class ShowPeer(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    peer: Annotated[str, Meta(description="The name of the other organisation.")]


def agree_with_peer(tools: Tools, caller: Caller, request: AgreeWithPeer) -> Agreement:
    """Record what was agreed with another organisation, in place of what was agreed before.

    The rules on our side must be in the rule registry.
    """
    agreement, tenant_id = parse_agreement(request.agreement), caller.tenant_id

    def work(unit: Unit) -> Agreement:
        by = confirm(unit, caller).principal.id
        for _, ours in agreement.rules:
            if unit.delivery.latest_version(tenant_id, ours) is None:
                raise NotFoundError(f"the registry knows no rule `{ours[:80]}`")
        event = news(EntryKind.PEER_AGREED, agreement.peer, {"peer": agreement.peer})
        draft = delivery_entry(tenant_id, EntryKind.PEER_AGREED, agreement, at=caller.at, events=(event,))
        row = RecordedAgreement(
            peer=agreement.peer,
            text=text_of(agreement),
            by=by,
            sequence_number=unit.ledger.append(draft).sequence_number,
        )
        unit.peers.add_agreement(tenant_id, row)
        return agreement

    return tools.database.write(work)


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
