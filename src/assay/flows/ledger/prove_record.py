"""Make the file that proves one entry to somebody who has nothing but a key they trust."""

from assay.flows.errors import NotFoundError
from assay.flows.errors.ledger import NoCheckpointError
from assay.flows.ledger.check_entry import sound_checkpoint
from assay.flows.ledger.check_key_facts import verify_key_facts
from assay.flows.tools import Tools
from assay.kernel.bundle import Attachment, Bundle
from assay.kernel.checkpoint import parse_checkpoint
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.kernel.proof import TlogProof
from assay.kernel.tile import TileCache
from assay.ports.database import Unit


def prove_record(
    tools: Tools,
    tenant_id: TenantId,
    sequence_number: int,
    *,
    disclose: bool = False,
    attachments: tuple[Attachment, ...] = (),
) -> Bundle:
    """Entry, path, newest checkpoint, keys; the erasable values only when the caller asks for them to be shown."""

    def work(unit: Unit) -> Bundle:
        with tools.tiles.borrow(unit, tenant_id) as cache:
            return bundle_of(unit, tenant_id, sequence_number, disclose=disclose, attachments=attachments, cache=cache)

    return tools.database.read(work)


def tlog_proof_of(bundle: Bundle) -> TlogProof:
    """The same proof in the C2SP text form; what is proven is the entry's text."""
    return TlogProof(
        index=bundle.leaf_index,
        path=bundle.inclusion_path,
        checkpoint=parse_checkpoint(bundle.checkpoint.encode()),
    )


def bundle_of(
    unit: Unit,
    tenant_id: TenantId,
    sequence_number: int,
    *,
    disclose: bool = False,
    attachments: tuple[Attachment, ...] = (),
    cache: TileCache | None = None,
) -> Bundle:
    """The bundle within one unit of work; whoever makes many passes the tenant's tile cache."""
    row = unit.ledger.find_entry(tenant_id, sequence_number)
    if row is None:
        raise NotFoundError(f"`{tenant_id}` has no entry {sequence_number}")
    kept = unit.ledger.find_checkpoint(tenant_id)
    if kept is None or kept.size < sequence_number:
        covered = kept.size if kept else 0
        raise NoCheckpointError(
            f"entry {sequence_number} of `{tenant_id}` is not covered yet: the newest checkpoint has {covered} entries"
        )
    if cache is None:
        cache = TileCache(lambda *place: unit.ledger.tile(tenant_id, *place))
    sound_checkpoint(kept)
    verify_key_facts(unit)
    return Bundle(
        entry=row.text.decode(),
        entry_hash=Digest(row.entry_hash),
        leaf_index=sequence_number - 1,
        tree_size=kept.size,
        inclusion_path=cache.inclusion_path(sequence_number - 1, kept.size),
        checkpoint=kept.note,
        keys=unit.keys.endorsements(),
        retirements=unit.keys.retirements(),
        disclosures=unit.ledger.disclosures(tenant_id, sequence_number) if disclose else (),
        attachments=attachments,
    )
