"""Write everything a node is made of into one signed archive, from one state of its database.

checkpoints outside -> files -> every table in one read -> manifest -> signature
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256

import msgspec

from assay.flows.ledger.backup_manifest import (
    BACKUP_FORMAT,
    MANIFEST,
    SIGNATURE,
    ChainHead,
    Manifest,
    ManifestSignature,
    Member,
    manifest_message,
    table_member,
)
from assay.flows.tools import Tools
from assay.kernel.digest import digest_from_raw
from assay.kernel.instant import Instant
from assay.ports.archive import ArchiveWriter
from assay.ports.database import Unit


def backup_node(tools: Tools, archive: ArchiveWriter, *, files: Mapping[str, bytes], at: Instant) -> Manifest:
    """Works beside a running writer. `files` are members besides the tables: configuration, and keys if wished."""
    # Before the database is read: a checkpoint signed in between would speak of entries that the backup lacks.
    notes = {f"checkpoints/{tenant}": tools.checkpoints.load(tenant) for tenant in tools.checkpoints.tenants()}
    loose = {**files, **{name: note for name, note in notes.items() if note is not None}}
    members = [_add(archive, name, (content,)) for name, content in sorted(loose.items())]
    facts = tools.database.facts()

    def work(unit: Unit) -> Manifest:
        tables = [_add_table(archive, unit, table) for table in unit.tables.names()]
        heads = [unit.ledger.head(tenant_id) for tenant_id in unit.ledger.tenants()]
        return Manifest(
            format=BACKUP_FORMAT,
            created_at=at,
            origin=tools.origin,
            engine=facts.engine,
            schema_version=facts.schema_version,
            heads=tuple(
                ChainHead(tenant_id=h.tenant_id, sequence_number=h.sequence_number, entry_hash=h.entry_hash)
                for h in heads
            ),
            members=(*members, *tables),
            keys=unit.keys.endorsements(),
            retirements=unit.keys.retirements(),
        )

    manifest = tools.database.read(work)
    _sign(tools, archive, manifest)
    return manifest


def _add_table(archive: ArchiveWriter, unit: Unit, table: str) -> Member:
    count = 0

    def lines() -> Iterable[bytes]:
        nonlocal count
        for line in unit.tables.dump(table):
            count += 1
            yield line

    member = _add(archive, table_member(table), lines())
    return msgspec.structs.replace(member, rows=count)


def _add(archive: ArchiveWriter, name: str, pieces: Iterable[bytes]) -> Member:
    digest, size = sha256(), 0
    with archive.member(name) as write:
        for piece in pieces:
            write(piece)
            digest.update(piece)
            size += len(piece)
    return Member(name=name, size=size, sha256=digest_from_raw(digest.digest()))


def _sign(tools: Tools, archive: ArchiveWriter, manifest: Manifest) -> None:
    content = msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"
    signer = tools.ledger_signer
    signature = ManifestSignature(key_id=signer.key_id, signature=signer.sign(manifest_message(content)).hex())
    _add(archive, MANIFEST, (content,))
    _add(archive, SIGNATURE, (msgspec.json.encode(signature) + b"\n",))
