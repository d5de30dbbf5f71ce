"""Append one record: its personal values are sealed first, so that they can be erased and the proof can stay."""

from collections.abc import Sequence

from assay.flows.ledger.seal_draft import seal_draft
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.json_text import JsonValue
from assay.kernel.ledger import EmptyBodyError, EntryKind, Receipt
from assay.ports.database import Pending


def append_record(
    tools: Tools,
    tenant_id: TenantId,
    body: JsonValue,
    *,
    personal: Sequence[str] = (),
    kind: EntryKind = EntryKind.NOTE,
    at: Instant,
) -> Pending[Receipt]:
    """Hand the record to the writer; `result` returns when it is on disk. `personal` are JSON pointers into the body.

    Every value at a pointer is replaced by a salted commitment; value and salt are kept where they can be deleted.
    """
    if not isinstance(body, dict):
        raise EmptyBodyError(f"expected a JSON object as the body of a `{kind}` entry, got `{str(body)[:40]}`")
    return tools.database.submit(seal_draft(tools, tenant_id, kind, body, personal, at=at))
