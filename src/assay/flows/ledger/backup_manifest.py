"""What an archive says about itself, signed: its members by hash, the chains it holds, the keys that vouch for it.

`manifest.json` is signed as it is written; `manifest.sig` names the key and holds the signature over those bytes.
"""

import re
from typing import Final, Literal

import msgspec
from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.errors import Blame, Code
from assay.kernel.ids import KeyId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import Endorsement, Retirement
from assay.kernel.signature import SignedKind, signing_message
from assay.ports.archive import BackupError

BACKUP_FORMAT: Final = "assay-backup/1"
MANIFEST = "manifest.json"
SIGNATURE = "manifest.sig"
# The whole list of names a member may have: none leads out of the folder, and none hides in it.
_NAME = re.compile(
    r"assay\.toml|tables/[a-z_]{1,40}\.ndjson|(?:checkpoints|keys)/[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
    r"|models/[0-9a-f]{64}\.bin",
    re.ASCII,
)


class UnusableBackupError(BackupError):
    """A backup cannot be restored, or not here."""

    manifest = Code("backup.manifest", "An archive does not say what it holds in a form we read.")
    member_name = Code(
        "backup.member_name", "A member has a name that no backup of ours has, as one that leads out of the folder."
    )
    unlisted_member = Code(
        "backup.unlisted_member", "The archive does not hold exactly the members that its manifest lists."
    )
    altered_member = Code("backup.altered_member", "A member is not the one that was signed for.")
    untrusted = Code("backup.untrusted", "The archive was signed, but not by a key that an anchor leads to.")
    target_in_use = Code("backup.target_in_use", "A backup is restored into an empty database only.", Blame.USAGE)
    schema = Code("backup.schema", "The backup was made by a program with another schema.", Blame.USAGE)
    does_not_hold = Code(
        "backup.does_not_hold", "What the archive holds is no ledger that holds; nothing of it was kept."
    )


class Member(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One member; `rows` counts the lines of a table and is None elsewhere."""

    name: str
    size: int
    sha256: Digest
    rows: int | None = None


class ChainHead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a tenant's chain ended in the state that was backed up."""

    tenant_id: TenantId
    sequence_number: int
    entry_hash: Digest


class Manifest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything in the archive but itself; the keys show how the signer follows from an older key."""

    format: Literal["assay-backup/1"]
    created_at: Instant
    origin: str
    engine: str
    schema_version: int
    heads: tuple[ChainHead, ...]
    members: tuple[Member, ...]
    keys: tuple[Endorsement, ...]
    retirements: tuple[Retirement, ...]

    def __post_init__(self) -> None:
        names = [member.name for member in self.members]
        for name in names:
            if _NAME.fullmatch(name) is None:
                raise UnusableBackupError.member_name(
                    f"expected a name that a backup has, got `{ascii(name)[1:-1][:80]}`"
                )
        if len(set(names)) != len(names):
            raise UnusableBackupError.member_name("expected each member once")


class ManifestSignature(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    key_id: KeyId
    signature: str


def manifest_message(content: bytes) -> bytes:
    return signing_message(SignedKind.BACKUP, content)


def table_member(table: str) -> str:
    return f"tables/{table}.ndjson"


def parse_manifest(content: bytes) -> Manifest:
    try:
        return msgspec.json.decode(content, type=Manifest)
    except msgspec.MsgspecError as error:
        raise UnusableBackupError.manifest(f"expected a manifest of `{BACKUP_FORMAT}`: {error}") from error


def parse_manifest_signature(content: bytes) -> ManifestSignature:
    try:
        return msgspec.json.decode(content, type=ManifestSignature)
    except msgspec.MsgspecError as error:
        raise UnusableBackupError.manifest(f"expected a key id and a signature: {error}") from error
