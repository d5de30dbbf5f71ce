"""What one export to the lake wrote, signed: its files by hash, the entries that they cover, and the checkpoint.

The envelope is DSSE. Manifests of a tenant are numbered, and each names the hash of the one before it.
"""

from typing import Final, Literal

import msgspec
from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.dsse import parse_envelope, payload_of
from assay.kernel.errors import JsonError, SignatureError
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import Endorsement, Retirement
from assay.ports.table_format import LakeError

MANIFEST_TYPE: Final = "application/vnd.assay.lake-manifest+json"


class LakeFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file: its table, its rows, and the numbers of its first and last entry."""

    path: str
    table: str
    rows: int
    first: int
    last: int
    sha256: Digest


class Manifest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Entries `first` to `last` of a chain, all of them below the checkpoint; keys show how its signer is trusted."""

    format: Literal["assay-lake/1"] = "assay-lake/1"
    tenant_id: TenantId
    number: int
    previous_hash: Digest
    first: int
    last: int
    exported_at: Instant
    checkpoint: str
    files: tuple[LakeFile, ...]
    keys: tuple[Endorsement, ...]
    retirements: tuple[Retirement, ...]


def manifest_name(tenant_id: TenantId, number: int) -> str:
    return f"{manifest_folder(tenant_id)}{number:08d}.json"


def manifest_folder(tenant_id: TenantId) -> str:
    return f"manifests/tenant={tenant_id}/"


def parse_lake_manifest(content: bytes) -> Manifest:
    """Read an envelope's manifest; who signed it is for the caller to verify."""
    try:
        return msgspec.json.decode(payload_of(parse_envelope(content), payload_type=MANIFEST_TYPE), type=Manifest)
    except (msgspec.MsgspecError, SignatureError, JsonError, UnicodeDecodeError) as error:
        raise LakeError.manifest(f"expected a signed manifest of `assay-lake/1`: {error}") from error
