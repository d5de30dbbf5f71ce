"""Before anything of an archive is believed: its signature, its list of members, and every member's hash."""

from collections.abc import Callable
from contextlib import closing
from hashlib import sha256

from msgspec import Struct

from assay.flows.ledger.backup_manifest import (
    MANIFEST,
    SIGNATURE,
    Manifest,
    ManifestSignature,
    Member,
    UnusableBackupError,
    manifest_message,
    parse_manifest,
    parse_manifest_signature,
)
from assay.kernel.digest import digest_from_raw
from assay.kernel.ids import KeyId
from assay.kernel.key import KeyPurpose, TrustAnchors, UnknownKeyError, trusted_keys
from assay.kernel.signature import parse_signature_hex, verify_ed25519
from assay.ports.archive import ArchiveReader

_LARGEST_MANIFEST = 64 * 1024 * 1024


class CheckedBackup(Struct, frozen=True, kw_only=True):
    """An archive whose every byte is the one its signer signed for; `is_trusted` says whether an anchor leads there."""

    manifest: Manifest
    signer: KeyId
    is_trusted: bool


def check_backup(
    archive: ArchiveReader,
    anchors: TrustAnchors,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> CheckedBackup:
    """Raise unless the archive is whole. With anchors, the signer must follow from them; without, nobody is trusted."""
    content = _small(archive, MANIFEST)
    signature = parse_manifest_signature(_small(archive, SIGNATURE))
    manifest = parse_manifest(content)
    verify_ed25519(_public_key(manifest, anchors, signature), manifest_message(content), _raw(signature))
    is_trusted = bool(anchors.all_key_ids)
    if is_trusted:
        _require_trusted(manifest, anchors, signature.key_id)
    _require_listed(archive, manifest)
    total, done = sum(member.size for member in manifest.members), 0
    for member in manifest.members:
        _require_hash(archive, member)
        done += member.size
        if progress is not None:
            progress(done, total)
    return CheckedBackup(manifest=manifest, signer=signature.key_id, is_trusted=is_trusted)


def _raw(signature: ManifestSignature) -> bytes:
    return parse_signature_hex(signature.signature)


def _public_key(manifest: Manifest, anchors: TrustAnchors, signature: ManifestSignature) -> bytes:
    """A key id fixes the key's bytes, so they may come from the manifest itself; trust does not."""
    offered = [endorsement.record for endorsement in manifest.keys]
    ring = trusted_keys(anchors, manifest.keys, manifest.retirements)
    known = [*offered, *(record for records in ring.records.values() for record in records)]
    for record in known:
        if record.key_id == signature.key_id and record.raw_public_key is not None:
            return record.raw_public_key
    raise UnusableBackupError.untrusted(
        f"expected a key of the node or of yours, got a signature by `{signature.key_id}`"
    )


def _require_trusted(manifest: Manifest, anchors: TrustAnchors, signer: KeyId) -> None:
    ring = trusted_keys(anchors, manifest.keys, manifest.retirements)
    try:
        ring.get(signer, manifest.created_at, purpose=KeyPurpose.LEDGER)
    except UnknownKeyError as error:
        raise UnusableBackupError.untrusted(f"expected a signer that a trusted key leads to, got `{signer}`") from error


def _require_listed(archive: ArchiveReader, manifest: Manifest) -> None:
    listed = sorted([MANIFEST, SIGNATURE, *(member.name for member in manifest.members)])
    found = sorted(archive.names())
    if found != listed:
        odd = sorted(set(found) ^ set(listed)) or ["a name twice"]
        raise UnusableBackupError.unlisted_member(
            f"expected exactly the members that were signed for, got a difference in `{odd[0]}`"
        )


def _require_hash(archive: ArchiveReader, member: Member) -> None:
    digest, size = sha256(), 0
    with closing(archive.chunks(member.name)) as chunks:
        for chunk in chunks:
            digest.update(chunk)
            size += len(chunk)
            if size > member.size:
                raise UnusableBackupError.altered_member(f"expected {member.size} bytes in `{member.name}`, got more")
    if (size, digest_from_raw(digest.digest())) != (member.size, member.sha256):
        raise UnusableBackupError.altered_member(f"expected {member.sha256} for `{member.name}`, got other content")


def _small(archive: ArchiveReader, name: str) -> bytes:
    content = b""
    with closing(archive.chunks(name)) as chunks:
        for chunk in chunks:
            content += chunk
            if len(content) > _LARGEST_MANIFEST:
                raise UnusableBackupError.altered_member(
                    f"expected at most {_LARGEST_MANIFEST} bytes in `{name}`, got more"
                )
    return content
