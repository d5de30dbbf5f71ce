"""Write what is new in a chain to the lake: rows by table, kind and day, then the manifest that signs for them."""

from collections.abc import Iterator
from itertools import groupby

import msgspec
from msgspec import Struct

from assay.flows.errors.ledger import NoCheckpointError
from assay.flows.lake.manifest import (
    MANIFEST_TYPE,
    LakeFile,
    Manifest,
    manifest_folder,
    manifest_name,
    parse_lake_manifest,
)
from assay.flows.lake.table import (
    ENTRIES,
    ENTRIES_TABLE,
    TABLE_OF,
    columns_of,
    line_of,
    place_of,
    row_of,
)
from assay.flows.ledger.check_entry import verify_stored_entry
from assay.flows.tools import Tools
from assay.kernel.checkpoint import parse_checkpoint
from assay.kernel.digest import ZERO_DIGEST, Digest, digest_of
from assay.kernel.dsse import render_envelope, seal_envelope
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.tile import TileCache
from assay.ports.database import Unit
from assay.ports.ledger_store import KeptCheckpoint, StoredEntry
from assay.ports.object_store import ObjectStore
from assay.ports.table_format import LakeError, Row, TableFormat

# Entries of one round of files: rows of all tables and the texts below them are in memory together.
_ROUND = 50_000


class LakeExported(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The lake covers entries up to `last`; `entries` are new, in `rows` rows of `files` files."""

    tenant_id: TenantId
    last: int
    entries: int
    rows: int
    files: int


class _Before(Struct, frozen=True):
    """Where the lake ends: the newest manifest's number, hash and last entry."""

    number: int = 0
    hash: Digest = ZERO_DIGEST
    last: int = 0


def export_lake(
    tools: Tools, tenant_id: TenantId, store: ObjectStore, form: TableFormat, *, at: Instant
) -> LakeExported:
    """Export the entries between the newest manifest and the newest checkpoint; the manifest is written last.

    Each entry is verified as it is read. Refuses a place whose lake is not the beginning of this chain. Files that an
    export left behind when it was cut off are written again under the same names.
    """
    return tools.database.read(lambda unit: _export(tools, unit, tenant_id, store, form, at))


def _export(
    tools: Tools, unit: Unit, tenant_id: TenantId, store: ObjectStore, form: TableFormat, at: Instant
) -> LakeExported:
    kept = unit.ledger.find_checkpoint(tenant_id)
    if kept is None:
        raise NoCheckpointError(f"`{tenant_id}` has no checkpoint yet: sign one with `assay ledger checkpoint`")
    before = _before(unit, tenant_id, store, kept)
    if before.last == kept.size:
        return LakeExported(tenant_id=tenant_id, last=kept.size, entries=0, rows=0, files=0)
    files: list[LakeFile] = []
    for first in range(before.last + 1, kept.size + 1, _ROUND):
        last = min(first + _ROUND - 1, kept.size)
        for file, content in _files(unit, tenant_id, form, first, last):
            store.write(file.path, content)
            files.append(file)
    manifest = Manifest(
        tenant_id=tenant_id,
        number=before.number + 1,
        previous_hash=before.hash,
        first=before.last + 1,
        last=kept.size,
        exported_at=at,
        checkpoint=kept.note,
        files=tuple(files),
        keys=tuple(unit.keys.endorsements()),
        retirements=tuple(unit.keys.retirements()),
    )
    signer = tools.ledger_signer
    envelope = seal_envelope(MANIFEST_TYPE, msgspec.json.encode(manifest), [(signer.key_id, signer.sign)])
    store.write(manifest_name(tenant_id, manifest.number), render_envelope(envelope))
    rows = sum(file.rows for file in files if file.table != ENTRIES_TABLE)
    return LakeExported(
        tenant_id=tenant_id, last=kept.size, entries=kept.size - before.last, rows=rows, files=len(files)
    )


def _before(unit: Unit, tenant_id: TenantId, store: ObjectStore, kept: KeptCheckpoint) -> _Before:
    names = store.names(manifest_folder(tenant_id))
    if not names:
        return _Before()
    content = store.read(names[-1])
    if content is None:
        raise LakeError.manifest(f"`{names[-1]}` is listed and cannot be read")
    manifest = parse_lake_manifest(content)
    there, own = (parse_checkpoint(note.encode()).checkpoint for note in (manifest.checkpoint, kept.note))
    if manifest.tenant_id != tenant_id or there.origin != own.origin:
        raise LakeError.other_lake(f"expected a lake of `{own.origin}`, got one of `{there.origin}`")
    if manifest.last > kept.size:
        raise LakeError.other_lake(
            f"the lake covers {manifest.last} entries, the newest checkpoint {kept.size}: the node was rolled back, or "
            "the lake is another's"
        )
    cache = TileCache(lambda *place: unit.ledger.tile(tenant_id, *place))
    if cache.root_hash(there.size) != there.root:
        raise LakeError.other_lake(f"the lake's {there.size} entries are not the beginning of this chain")
    return _Before(manifest.number, digest_of(content), manifest.last)


def _files(
    unit: Unit, tenant_id: TenantId, form: TableFormat, first: int, last: int
) -> Iterator[tuple[LakeFile, bytes]]:
    lines: list[Row] = []
    found: list[tuple[str, str, str, Row]] = []
    for row in _verified(unit, tenant_id, first, last):
        lines.append(line_of(row.sequence_number, row.timestamp, row.kind, row.text))
        table = TABLE_OF.get(row.kind)
        if table is not None:
            found.append((table.name, row.kind, row.timestamp[:10], row_of(table, row.text)))
    content = form.write(ENTRIES, lines)
    yield _file(ENTRIES_TABLE, place_of(ENTRIES_TABLE, tenant_id, None, None), lines, content), content
    # Sorting keeps the order of the chain inside a file.
    for (name, kind, day), group in groupby(sorted(found, key=lambda one: one[:3]), key=lambda one: one[:3]):
        rows = [one[3] for one in group]
        content = form.write(columns_of(name), rows)
        yield _file(name, place_of(name, tenant_id, kind, day), rows, content), content


def _verified(unit: Unit, tenant_id: TenantId, first: int, last: int) -> Iterator[StoredEntry]:
    for number, row in enumerate(unit.ledger.entries(tenant_id, first=first, last=last), first):
        verify_stored_entry(row, tenant_id, number, previous_hash=None)
        yield row


def _file(table: str, place: str, rows: list[Row], content: bytes) -> LakeFile:
    first, last = (int(str(rows[at][0])) for at in (0, -1))
    return LakeFile(
        path=f"{place}/{first:012d}-{last:012d}.parquet",
        table=table,
        rows=len(rows),
        first=first,
        last=last,
        sha256=digest_of(content),
    )
