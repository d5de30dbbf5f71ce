"""Erase what a principal is called: every version's name, in the ledger's disclosures and in the principal's record."""

from msgspec import Struct

from assay.flows.errors.ledger import NothingToEraseError
from assay.flows.identity.identity_entry import NAME_POINTER
from assay.flows.known import get_principal
from assay.flows.ledger.erase_record import erase_entry_in
from assay.flows.tools import Tools
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit

__all__ = ["NameErasure", "erase_principal"]


class NameErasure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The entries whose names are gone; `scrubbed` says whether the bytes have left the database's files yet."""

    principal_id: PrincipalId
    sequence_numbers: tuple[int, ...]
    scrubbed: bool


def erase_principal(
    tools: Tools, tenant_id: TenantId, principal_id: PrincipalId, *, by: PrincipalId, reason: str, at: Instant
) -> NameErasure:
    """The principal stays, known by its id alone; whoever amends it may give it another name."""

    def work(unit: Unit) -> tuple[int, ...]:
        get_principal(unit, tenant_id, principal_id)
        numbers = unit.identity.named_in(tenant_id, principal_id)
        if not numbers:
            raise NothingToEraseError(f"principal `{principal_id}` of `{tenant_id}` has no name")
        for number in numbers:
            erase_entry_in(unit, tenant_id, number, (NAME_POINTER,), by=by, reason=reason, at=at)
        return numbers

    numbers = tools.database.write(work)
    return NameErasure(principal_id=principal_id, sequence_numbers=numbers, scrubbed=tools.database.scrub())
