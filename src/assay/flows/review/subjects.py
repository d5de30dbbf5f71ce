"""What tickets are about: the bundle of claims, and the answer that waits for people to let it through.

tickets -> their bundles, read at once -> the answer that the bundle's context names
"""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import UNSET

from assay.facts.claims import BundleContext
from assay.flows.claims.claims_ticket import bundle_about
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId, TicketId
from assay.ports.claims_store import ReceivedBundle
from assay.ports.database import Unit
from assay.review.ticket import Ticket, TicketSubject


def subjects_of(unit: Unit, tenant_id: TenantId, tickets: Iterable[Ticket]) -> dict[TicketId, TicketSubject]:
    """Name the bundle and the answer of each ticket about a bundle; other tickets are left out."""
    asked = {one.id: wanted for one in tickets if (wanted := bundle_about(one)) is not None}
    answers = _answers_of(unit, tenant_id, unit.claims.find_bundles(tenant_id, asked.values())) if asked else {}
    return {
        ticket_id: TicketSubject(bundle_hash=wanted, answer_id=answers.get(wanted))
        for ticket_id, wanted in asked.items()
    }


def _answers_of(unit: Unit, tenant_id: TenantId, bundles: Sequence[ReceivedBundle]) -> dict[Digest, str]:
    """Find the answers by what the bundles name; bundles of version 0.1.0 name theirs as a claim's id only."""
    contexts = {one.bundle_hash: _context(one) for one in bundles}
    found = {
        bundle_hash: context.answer_id for bundle_hash, context in contexts.items() if context.answer_id is not UNSET
    }
    older = {
        claim_id: one.bundle_hash
        for one in bundles
        if one.bundle_hash not in found and contexts[one.bundle_hash].asked_by is not UNSET
        for claim_id in _claim_ids(one)
    }
    for answer in unit.delivery.find_answers(tenant_id, older):
        found[older[answer.answer_id]] = answer.answer_id
    return {bundle_hash: str(answer_id) for bundle_hash, answer_id in found.items()}


class _Named(msgspec.Struct):
    id: str


class _Claims(msgspec.Struct):
    claims: tuple[_Named, ...]


# A bundle that cannot be read names no answer, and the queue goes on without it: the audit reports the damage.
def _context(row: ReceivedBundle) -> BundleContext:
    try:
        return msgspec.json.decode(row.context, type=BundleContext)
    except msgspec.MsgspecError:
        return BundleContext()


def _claim_ids(row: ReceivedBundle) -> tuple[str, ...]:
    try:
        return tuple(one.id for one in msgspec.json.decode(row.text, type=_Claims).claims)
    except msgspec.MsgspecError:
        return ()
