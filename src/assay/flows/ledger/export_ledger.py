"""Give the ledger away in a form that others read: texts, or a proof for each entry.

one state of the database -> files by name -> whoever puts them somewhere
"""

from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct

from assay.flows.errors.ledger import NoCheckpointError
from assay.flows.ledger.prove_record import bundle_of
from assay.flows.tools import Tools
from assay.kernel.bundle import render_bundle
from assay.kernel.ids import TenantId
from assay.kernel.tile import TileCache
from assay.ports.database import Unit
from assay.ports.ledger_store import KeptCheckpoint

# Called with a file's name and more of its content; a name comes once, or for a growing file several times in a row.
Put = Callable[[str, bytes], None]


class ExportForm(StrEnum):
    """`ndjson`: entry texts, one per line. `bundle`: a proof bundle for each entry."""

    BUNDLE = "bundle"
    NDJSON = "ndjson"


class Exported(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was given away; `checkpoint_size` is None where no checkpoint goes with it."""

    tenant_id: TenantId
    form: ExportForm
    entries: int
    checkpoint_size: int | None


def export_ledger(
    tools: Tools,
    tenant_id: TenantId,
    form: ExportForm,
    put: Put,
    *,
    first: int = 1,
    last: int | None = None,
) -> Exported:
    """Read one state and hand it out piece by piece."""
    export = {ExportForm.NDJSON: _texts, ExportForm.BUNDLE: _bundles}[form]
    return tools.database.read(lambda unit: export(unit, tenant_id, put, first, last))


def _texts(unit: Unit, tenant_id: TenantId, put: Put, first: int, last: int | None) -> Exported:
    count = 0
    put("entries.ndjson", b"")
    for row in unit.ledger.entries(tenant_id, first=first, last=last):
        put("entries.ndjson", row.text + b"\n")
        count += 1
    return Exported(tenant_id=tenant_id, form=ExportForm.NDJSON, entries=count, checkpoint_size=None)


def _bundles(unit: Unit, tenant_id: TenantId, put: Put, first: int, last: int | None) -> Exported:
    kept = _checkpoint(unit, tenant_id)
    numbers = range(first, (kept.size if last is None else last) + 1)
    # One cache for all, so that neighbours share the tiles they have in common.
    cache = TileCache(lambda *place: unit.ledger.tile(tenant_id, *place))
    for number in numbers:
        put(f"entry-{number:09d}.json", render_bundle(bundle_of(unit, tenant_id, number, cache=cache)))
    return Exported(tenant_id=tenant_id, form=ExportForm.BUNDLE, entries=len(numbers), checkpoint_size=kept.size)


def _checkpoint(unit: Unit, tenant_id: TenantId) -> KeptCheckpoint:
    kept = unit.ledger.find_checkpoint(tenant_id)
    if kept is None:
        raise NoCheckpointError(f"`{tenant_id}` has no checkpoint yet: sign one with `assay ledger checkpoint`")
    return kept
