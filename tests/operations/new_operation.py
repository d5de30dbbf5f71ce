"""One operation, declared: what somebody writes to add one to every door."""

from typing import Annotated

from msgspec import Meta, Struct

from assay.flows.request import Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.operations.kinds import Read, needs


class CountEntries(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    plus: Annotated[int, Meta(ge=0, description="Add this to the count.")] = 0


class EntryCount(Struct, frozen=True, kw_only=True):
    tenant_id: str
    entries: int


def count_entries(tools: Tools, caller: Caller, request: CountEntries) -> EntryCount:
    """Count the entries of the caller's ledger."""
    head = tools.database.read(lambda unit: unit.ledger.head(caller.tenant_id))
    return EntryCount(tenant_id=caller.tenant_id, entries=head.sequence_number + request.plus)


COUNT = Read("entries.count", count_entries, "GET /entry-count", needs=needs("log:read", "operator"),
             command="count", tool="count_entries", says="{entries} entries")  # fmt: skip
