"""Sign a checkpoint of a tenant's tree: never a smaller one, never one that does not continue the last."""

from typing import NamedTuple

from assay.flows.ledger.cosign_checkpoint import cosign_checkpoint
from assay.flows.ledger.own_keys import own_key_ring
from assay.flows.tools import Tools
from assay.kernel.checkpoint import (
    Checkpoint,
    SignedCheckpoint,
    log_key,
    parse_checkpoint,
    render_checkpoint_body,
    seal_checkpoint,
    verify_growth,
)
from assay.kernel.digest import digest_from_raw
from assay.kernel.errors import KeyUseError
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import KeyPurpose
from assay.kernel.note import note_signature
from assay.kernel.tile import TileCache
from assay.ports.database import Unit
from assay.ports.ledger_store import KeptCheckpoint
from assay.ports.signer import Signer


class _Tree(NamedTuple):
    """The tree as it stands, with what connects it to the checkpoint signed before."""

    size: int
    root: bytes
    path: tuple[bytes, ...]


def sign_checkpoint(tools: Tools, tenant_id: TenantId, *, at: Instant) -> SignedCheckpoint:
    """Read the tree, check that it grew, sign, ask witnesses, remember outside the database, then inside it.

    One at a time for each tenant: of two, the later must continue what the earlier signed.
    """
    # A checkpoint of a key that was not valid then would be a fault for ever, so the key is checked before it signs.
    own_key_ring(tools).get(tools.ledger_signer.key_id, at, purpose=KeyPurpose.LEDGER)
    with tools.checkpointing.hold(tenant_id):
        return _sign_next(tools, tenant_id, at)


def _sign_next(tools: Tools, tenant_id: TenantId, at: Instant) -> SignedCheckpoint:
    previous = _previous(tools, tenant_id)
    tree = tools.database.read(lambda unit: _tree(unit, tenant_id, previous))
    following = Checkpoint(origin=tools.origin_of(tenant_id), size=tree.size, root=tree.root, signed_at=at)
    # Never sign a smaller or inconsistent tree: what was signed once binds us for ever.
    verify_growth(previous, following, tree.path)
    signed = _sign(tools.ledger_signer, following)
    signed = cosign_checkpoint(tools, tenant_id, signed)
    # Outside first: a crash in between leaves a memory that is stricter than the database, never a laxer one.
    tools.checkpoints.store(tenant_id, signed.note.received)
    tools.database.write(lambda unit: unit.ledger.add_checkpoint(_kept(tenant_id, signed, at)))
    return signed


def _previous(tools: Tools, tenant_id: TenantId) -> Checkpoint | None:
    """The larger of what is remembered outside and inside; normally they are the same."""
    outside = tools.checkpoints.load(tenant_id)
    inside = tools.database.read(lambda unit: unit.ledger.find_checkpoint(tenant_id))
    notes = [note for note in (outside, inside.note.encode() if inside else None) if note is not None]
    known = [parse_checkpoint(note).checkpoint for note in notes]
    return max(known, key=lambda checkpoint: checkpoint.size, default=None)


def _tree(unit: Unit, tenant_id: TenantId, previous: Checkpoint | None) -> _Tree:
    size = unit.ledger.head(tenant_id).sequence_number
    cache = TileCache(lambda *place: unit.ledger.tile(tenant_id, *place))
    old = previous.size if previous else 0
    path = cache.consistency_path(old, size) if old <= size else ()
    return _Tree(size, cache.root_hash(size), path)


def _sign(signer: Signer, checkpoint: Checkpoint) -> SignedCheckpoint:
    public_key = signer.public_key
    if public_key is None:
        raise KeyUseError("expected an Ed25519 key for the ledger, got one that only its holder can verify")
    signature = signer.sign(render_checkpoint_body(checkpoint))
    return seal_checkpoint(checkpoint, [note_signature(log_key(checkpoint.origin, public_key), signature)])


def _kept(tenant_id: TenantId, signed: SignedCheckpoint, at: Instant) -> KeptCheckpoint:
    return KeptCheckpoint(
        tenant_id=tenant_id,
        size=signed.checkpoint.size,
        root_hash=digest_from_raw(signed.checkpoint.root),
        signed_at=at,
        note=signed.note.received.decode(),
    )
