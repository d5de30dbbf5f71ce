"""Erase what lies behind an entry: personal values with their salts, the content of evidence; the proof stays."""

from typing import NamedTuple

from assay.facts.identity import NAME_POINTER
from assay.facts.ledger import Erasure
from assay.flows.errors.ledger import LedgerFlowError
from assay.flows.tools import Tools
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind, Receipt, draft_entry
from assay.ports.claims_store import CONTENT_POINTER
from assay.ports.database import Unit


class Erased(NamedTuple):
    """The erasure and its place in the ledger; `scrubbed` says whether the bytes have left the database's files yet."""

    erasure: Erasure
    receipt: Receipt
    scrubbed: bool


def erase_record(
    tools: Tools,
    tenant_id: TenantId,
    sequence_number: int,
    *,
    pointers: tuple[str, ...] | None = None,
    by: PrincipalId,
    reason: str,
    at: Instant,
) -> Erased:
    """Delete and record in one commit, then have the deleted bytes leave the files, or say that they have not."""
    erasure, receipt = tools.database.write(
        lambda unit: erase_entry_in(unit, tenant_id, sequence_number, pointers, by=by, reason=reason, at=at)
    )
    return Erased(erasure, receipt, tools.database.scrub())


def erase_entry_in(
    unit: Unit,
    tenant_id: TenantId,
    sequence_number: int,
    pointers: tuple[str, ...] | None,
    *,
    by: PrincipalId,
    reason: str,
    at: Instant,
) -> tuple[Erasure, Receipt]:
    """The same inside a unit of work; whoever commits it has the files scrubbed afterwards."""
    erased = (
        *unit.ledger.erase(tenant_id, sequence_number, pointers),
        *_content(unit, tenant_id, sequence_number, pointers),
    )
    missing = sorted(set(pointers or ()) - set(erased))
    if not erased or missing:
        what = ", ".join(missing) or "any"
        raise LedgerFlowError.nothing_to_erase(
            f"entry {sequence_number} of `{tenant_id}` has no erasable value at `{what}`"
        )
    if NAME_POINTER in erased:
        unit.identity.forget_names()
    # An answer that is kept under a request's key may quote the value; without it a repeat is `request.answer_lost`.
    unit.requests.clear_answers(tenant_id)
    erasure = Erasure(sequence_number=sequence_number, pointers=erased, erased_by=by, reason=reason)
    return erasure, unit.record(draft_entry(tenant_id, EntryKind.ERASURE, erasure, at=at))


def _content(
    unit: Unit, tenant_id: TenantId, sequence_number: int, pointers: tuple[str, ...] | None
) -> tuple[str, ...]:
    is_asked = pointers is None or CONTENT_POINTER in pointers
    return (CONTENT_POINTER,) if is_asked and unit.claims.erase_content(tenant_id, sequence_number) else ()
