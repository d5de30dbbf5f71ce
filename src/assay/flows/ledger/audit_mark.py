"""What an audit found, and the signed mark it leaves so that the next one costs only what is new."""

from base64 import b64decode, b64encode

import msgspec
from msgspec import Struct

from assay.flows.tools import Tools
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest, raw_digest
from assay.kernel.errors import Error
from assay.kernel.growth import Growth
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.signature import SignedKind, signing_message, verify_ed25519


class AuditReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was verified; `holds` is the answer, the rest says why and where.

    `skipped` lists what this run did not read, `everything_at` is when all of it was last read and held. Where it does
    not hold, `next_steps` says what to do.
    """

    tenant_id: TenantId
    holds: bool
    size: int
    head_hash: Digest
    root_hash: Digest
    verified_from: int
    entries_checked: int
    checkpoints_checked: int
    transcripts_checked: int
    rows_checked: int = 0
    skipped: tuple[str, ...] = ()
    everything_at: Instant | None = None
    first_bad_entry: int | None = None
    code: str | None = None
    message: str | None = None
    last_good_checkpoint: int | None = None
    next_steps: tuple[str, ...] = ()


class Mark(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Up to here everything was read and verified; `root_hash` is the tree as it was then.

    `everything_at` is when a run last read everything, tables too.
    """

    tenant_id: TenantId
    size: int
    root_hash: Digest
    head_hash: Digest
    last_good_checkpoint: int | None
    everything_at: Instant | None = None

    @property
    def raw_root(self) -> bytes:
        return raw_digest(self.root_hash)


class _SignedMark(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    mark: Mark
    signature: str


def load_mark(tools: Tools, tenant_id: TenantId) -> Mark | None:
    """The mark this node made and signed, or None: whatever else lies there only costs a full verification."""
    text = tools.marks.load(tenant_id)
    public_key = tools.ledger_signer.public_key
    if text is None or public_key is None:
        return None
    try:
        signed = msgspec.json.decode(text, type=_SignedMark)
        verify_ed25519(public_key, _message(signed.mark), b64decode(signed.signature, validate=True))
    except (msgspec.MsgspecError, ValueError, Error):
        return None
    return signed.mark if signed.mark.tenant_id == tenant_id else None


def store_mark(tools: Tools, report: AuditReport, growth: Growth) -> None:
    mark = Mark(
        tenant_id=report.tenant_id,
        size=growth.size,
        root_hash=report.root_hash,
        head_hash=report.head_hash,
        last_good_checkpoint=report.last_good_checkpoint,
        everything_at=report.everything_at,
    )
    if tools.ledger_signer.public_key is None:
        # A folder without its keys, such as a restored backup: it is verified, and remembers nothing of it.
        return
    signature = b64encode(tools.ledger_signer.sign(_message(mark))).decode()
    tools.marks.store(report.tenant_id, msgspec.json.encode(_SignedMark(mark=mark, signature=signature)))


def _message(mark: Mark) -> bytes:
    return signing_message(SignedKind.MARK, canonicalize(mark))
