"""What was agreed with another organisation: an operator records it, and whoever speaks for that peer is held to it.

A peer is known by the name of its principal: `service:harbour` speaks for the peer `harbour`, and for no other.
"""

from typing import NamedTuple

from assay.delivery.federate import Agreement, registry_for_peer, report_for_peer
from assay.delivery.strand import StrandRegistry, StrandReport, is_private
from assay.flows.delivery.delivery_entry import delivery_entry, news, read_text, text_of
from assay.flows.errors import NotFoundError
from assay.flows.identity.admit_principal import admit_principal
from assay.flows.tools import Tools
from assay.identity.principal import BuiltInRole, Principal, PrincipalKind
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.peer_store import RecordedAgreement

__all__ = ["Marks", "agree_with_peer", "find_agreement", "marked_for", "peer_of", "show_agreement"]


class Marks(NamedTuple):
    """The strands that count for one reader, and what was found of them."""

    registry: StrandRegistry
    strands: StrandReport


def agree_with_peer(tools: Tools, agreement: Agreement, *, credential: str, at: Instant) -> Agreement:
    """It takes the place of what was agreed with that peer before; the rules on our side must be known here."""

    def work(unit: Unit) -> Agreement:
        by = admit_principal(unit, credential, any_of=[BuiltInRole.OPERATOR], at=at)
        for _, ours in agreement.rules:
            if unit.delivery.latest_version(by.tenant_id, ours) is None:
                raise NotFoundError(f"the registry knows no rule `{ours[:80]}`")
        event = news(EntryKind.PEER_AGREED, agreement.peer, {"peer": agreement.peer})
        draft = delivery_entry(by.tenant_id, EntryKind.PEER_AGREED, agreement, at=at, events=(event,))
        row = RecordedAgreement(
            peer=agreement.peer,
            text=text_of(agreement),
            by=by.id,
            sequence_number=unit.ledger.append(draft).sequence_number,
        )
        unit.peers.add_agreement(by.tenant_id, row)
        return agreement

    return tools.database.write(work)


def show_agreement(tools: Tools, tenant_id: TenantId, peer: str) -> Agreement:
    found = tools.database.read(lambda unit: find_agreement(unit, tenant_id, peer))
    if found is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no agreement with `{peer[:80]}`")
    return found


def find_agreement(unit: Unit, tenant_id: TenantId, peer: str) -> Agreement | None:
    row = unit.peers.find_agreement(tenant_id, peer)
    return None if row is None else read_text(row.text, Agreement)


def peer_of(principal: Principal) -> str | None:
    """The name under which this principal can be a peer; a person or an agent that is called so is none."""
    return principal.id.partition(":")[2] if principal.kind is PrincipalKind.SERVICE else None


def marked_for(tools: Tools, principal: Principal, report: StrandReport) -> Marks:
    """The strands that mark an answer for this reader: for a peer those that both know (PRAMANA 15), else all."""
    registry = tools.delivery.strands
    if not any(is_private(one) for one in registry.ids()):
        return Marks(registry, report)
    peer = peer_of(principal)
    if peer is None:
        return Marks(registry, report)
    agreement = tools.database.read(lambda unit: find_agreement(unit, principal.tenant_id, peer))
    if agreement is None:
        return Marks(registry, report)
    shared = registry_for_peer(registry, agreement)
    return Marks(shared, report_for_peer(report, shared))
