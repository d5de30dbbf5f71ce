"""Verify a tenant's ledger from what lies in the database: chain, values, tree and checkpoints.

mark -> entries in order (hash, link, columns, leaf) -> tiles -> checkpoints -> the checkpoint outside -> head -> mark
     -> where everything is read: transcripts, and the tables beside the entries that they index

The first bad entry is named, and so is the last checkpoint that still holds. What an earlier run verified is not read
again: its signed mark names the tree as it was, and the stored tree must still begin with it. When it does not,
everything is read again, and if nothing else is found the mark itself is the evidence that entries were replaced.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

from assay.flows.claims.check_claims import check_claims
from assay.flows.errors.ledger import OtherDatabaseError
from assay.flows.identity.check_credentials import check_credentials
from assay.flows.identity.check_principals import check_principals
from assay.flows.ledger.audit_mark import AuditReport, Mark, load_mark, store_mark
from assay.flows.ledger.check_entry import EntryFaultError, verify_stored_entry
from assay.flows.ledger.check_index import check_index
from assay.flows.ledger.check_key_facts import verify_key_facts
from assay.flows.ledger.own_keys import own_key_ring, verify_own_database
from assay.flows.tools import Tools
from assay.flows.truth.check_bronze import check_bronze
from assay.flows.truth.check_vote import verify_vote
from assay.flows.truth.replay_entry import read_bronze
from assay.flows.truth.replay_truth import ledger_entries
from assay.flows.verdicts.check_rows import check_graphs, check_verdicts
from assay.kernel.checkpoint import Checkpoint, parse_checkpoint, verify_checkpoint
from assay.kernel.digest import Digest, digest_from_raw
from assay.kernel.errors import Error
from assay.kernel.growth import EMPTY_GROWTH, Grown, Growth, grow, growth_of
from assay.kernel.ids import TenantId, parse_principal_id
from assay.kernel.key import KeyPurpose, KeyRing
from assay.kernel.ledger import EntryKind, Head, genesis, transcript_ref_of
from assay.kernel.tile import TILE_WIDTH, root_hash
from assay.kernel.transcript import Transcript, verify_transcript
from assay.ports.damage import DamagedFileError, DamagedRecordError
from assay.ports.database import Unit
from assay.ports.ledger_store import KeptCheckpoint, StoredEntry

_CHUNK = 1024
Progress = Callable[[int, int], None]


class _Walk(NamedTuple):
    """Where the verification stands: the growth holds the tree, the rest is for the report."""

    tenant_id: TenantId
    growth: Growth
    head_hash: Digest
    checkpoints: int
    last_good_checkpoint: int | None
    transcripts: int = 0


def audit_ledger(
    tools: Tools,
    tenant_id: TenantId,
    *,
    full: bool = False,
    leave_mark: bool = True,
    progress: Progress | None = None,
) -> AuditReport:
    """Verify everything new since the last mark, or everything; leave a new mark when it all holds."""
    ring = own_key_ring(tools)
    mark = load_mark(tools, tenant_id)
    report, growth = tools.database.read(lambda unit: _audit(unit, tools, tenant_id, ring, mark, progress, full=full))
    if report.holds and leave_mark:
        store_mark(tools, report, growth)
    return report


def _audit(
    unit: Unit,
    tools: Tools,
    tenant_id: TenantId,
    ring: KeyRing,
    mark: Mark | None,
    progress: Progress | None,
    *,
    full: bool,
) -> tuple[AuditReport, Growth]:
    size = unit.ledger.head(tenant_id).sequence_number
    walk = _begin(unit, tenant_id, None if full else mark, size)
    started = walk.growth.size
    fault: EntryFaultError | None = None
    try:
        for walk in _steps(unit, tools.origin_of(tenant_id), ring, walk, size):  # noqa: B020 - each continues the last
            if progress is not None:
                progress(walk.growth.size, size)
        _check_stored_tree(unit, walk)
        _check_outside(tools, tenant_id, unit, walk)
        _check_head(unit, walk)
        verify_key_facts(unit)
        _check_mark(unit, walk, mark)
        if started == 0:
            walk = walk._replace(transcripts=_check_transcripts(unit, tenant_id, ring))
            _check_rows(unit, tenant_id)
        # An empty ledger holds, and so does another node's; neither is the one that was asked about.
        verify_own_database(unit, tools, ring)
    except EntryFaultError as found:
        fault = found
    except (DamagedRecordError, OtherDatabaseError) as error:
        fault = EntryFaultError(error.code, str(error), None)
    report = AuditReport(
        tenant_id=tenant_id,
        holds=fault is None,
        size=size,
        head_hash=walk.head_hash,
        root_hash=digest_from_raw(walk.growth.root()),
        verified_from=started + 1,
        entries_checked=walk.growth.size - started,
        checkpoints_checked=walk.checkpoints,
        transcripts_checked=walk.transcripts,
        first_bad_entry=fault.entry if fault else None,
        code=fault.fault_code if fault else None,
        message=str(fault) if fault else None,
        last_good_checkpoint=walk.last_good_checkpoint,
    )
    return report, walk.growth


def _begin(unit: Unit, tenant_id: TenantId, mark: Mark | None, size: int) -> _Walk:
    """Go on from the mark, if the stored tree still begins with what was verified then; else from the start."""
    start = _Walk(tenant_id, EMPTY_GROWTH, genesis(tenant_id).entry_hash, 0, None)
    if mark is None or mark.size > size:
        return start
    try:
        growth = growth_of(mark.size, lambda *place: unit.ledger.tile(tenant_id, *place))
    except Error:
        return start
    if growth.root() != mark.raw_root:
        return start
    return _Walk(tenant_id, growth, mark.head_hash, 0, mark.last_good_checkpoint)


def _steps(unit: Unit, origin: str, ring: KeyRing, walk: _Walk, size: int) -> Iterator[_Walk]:
    """Chunk by chunk, each ending at the next checkpoint at the latest, so that its root can be compared."""
    # A checkpoint over exactly what the mark covers may be younger than the mark, so it is read again.
    kept = unit.ledger.checkpoints(walk.tenant_id, after=walk.growth.size - 1)
    rows = unit.ledger.entries(walk.tenant_id, first=walk.growth.size + 1)
    due = next(kept, None)
    while True:
        while due is not None and due.size == walk.growth.size:
            _check_checkpoint(origin, ring, walk, due)
            walk = walk._replace(checkpoints=walk.checkpoints + 1, last_good_checkpoint=due.size)
            due = next(kept, None)
        yield walk
        if walk.growth.size >= size:
            break
        goal = min(walk.growth.size + _CHUNK, size, *([due.size] if due else []))
        walk = _take(unit, ring, walk, rows, goal)
    if due is not None:
        raise EntryFaultError(
            "ledger.rolled_back", f"a checkpoint over {due.size} entries is kept, but there are {size}", size + 1
        )


def _take(unit: Unit, ring: KeyRing, walk: _Walk, rows: Iterator[StoredEntry], goal: int) -> _Walk:
    head_hash, leaves, transcripts = walk.head_hash, [], walk.transcripts
    for expected in range(walk.growth.size + 1, goal + 1):
        row = _next_entry(unit, walk.tenant_id, rows, expected)
        head_hash = verify_stored_entry(row, walk.tenant_id, expected, previous_hash=head_hash)
        leaves.append(row.leaf_hash)
        if row.llm_transcript is not None:
            _check_reference(unit, ring, walk.tenant_id, row)
            transcripts += 1
        if row.kind == EntryKind.VOTE_CAST:
            _check_vote(unit, ring, walk.tenant_id, row)
    grown = grow(walk.growth, leaves)
    _check_tree(unit, walk, grown)
    return walk._replace(growth=grown.growth, head_hash=head_hash, transcripts=transcripts)


def _next_entry(unit: Unit, tenant_id: TenantId, rows: Iterator[StoredEntry], expected: int) -> StoredEntry:
    try:
        # Where a stream broke off is not certain to the entry, so from there on each is asked for by its number.
        row = _next_streamed(rows) or unit.ledger.find_entry(tenant_id, expected)
    except DamagedRecordError as error:
        raise EntryFaultError(error.code, f"entry {expected} cannot be read: {error}", expected) from error
    if row is None:
        raise EntryFaultError("ledger.entry_missing", f"entry {expected} is missing", expected)
    return row


def _next_streamed(rows: Iterator[StoredEntry]) -> StoredEntry | None:
    try:
        return next(rows, None)
    except DamagedFileError:
        return None


def _check_reference(unit: Unit, ring: KeyRing, tenant_id: TenantId, row: StoredEntry) -> None:
    """A verdict rests on a transcript: it must be in its store, be the one that is named, and hold (SKI 7.4)."""
    number = row.sequence_number
    try:
        name = transcript_ref_of((row.llm_transcript or "").encode())
        transcript = unit.transcripts.find(tenant_id, name)
        if transcript is not None and transcript.transcript_id == name:
            _verify_transcript(transcript, ring)
            return
    except Error as error:
        raise EntryFaultError(error.code, f"entry {number}: its transcript: {error}", number) from error
    raise EntryFaultError("ledger.transcript_missing", f"entry {number}: transcript `{name}` is not kept", number)


def _check_vote(unit: Unit, ring: KeyRing, tenant_id: TenantId, row: StoredEntry) -> None:
    """A vote is a person's decision: signed by the key that had to, about what that person was shown (Kaori law 6)."""
    number, get_entry = row.sequence_number, ledger_entries(unit, tenant_id)
    try:
        _, body = read_bronze(get_entry, number)
        about = unit.identity.recorded_in(tenant_id, parse_principal_id(body.submitted_by))
        in_force = max((one for one in about if one < number), default=None)
        verify_vote(body, get_entry, ring, in_force=in_force)
    except Error as error:
        raise EntryFaultError(error.code, f"entry {number}: its vote: {error}", number) from error


def _check_tree(unit: Unit, walk: _Walk, grown: Grown) -> None:
    """The stored tiles must be the ones the entries give: proofs are made from them."""
    for tile in grown.tiles:
        place = f"tile {tile.level}/{tile.index}"
        entry = tile.index * TILE_WIDTH + 1 if tile.level == 0 else None
        try:
            stored = unit.ledger.tile(walk.tenant_id, tile.level, tile.index, TILE_WIDTH)
        except Error as error:
            raise EntryFaultError(error.code, f"{place}: {error}", entry) from error
        if stored != tile.hashes:
            raise EntryFaultError("ledger.tile_altered", f"{place} does not hold the hashes of its entries", entry)


def _check_checkpoint(origin: str, ring: KeyRing, walk: _Walk, kept: KeptCheckpoint) -> None:
    """A kept checkpoint must be signed by a key of ours valid then, and name the tree as it was."""
    try:
        signed = parse_checkpoint(kept.note.encode())
        signer = verify_checkpoint(signed, origin, _public_keys(ring))
        ring.get(signer, signed.checkpoint.signed_at or kept.signed_at, purpose=KeyPurpose.LEDGER)
    except Error as error:
        raise EntryFaultError(error.code, f"the checkpoint over {kept.size} entries: {error}", None) from error
    _check_checkpoint_columns(signed.checkpoint, kept)
    if signed.checkpoint.root != walk.growth.root():
        raise EntryFaultError(
            "ledger.forked", f"the checkpoint over {kept.size} entries names another tree than they give", kept.size
        )


def _check_checkpoint_columns(signed: Checkpoint, kept: KeptCheckpoint) -> None:
    proven = (signed.size, digest_from_raw(signed.root), signed.signed_at or kept.signed_at)
    if (kept.size, kept.root_hash, kept.signed_at) != proven:
        raise EntryFaultError(
            "ledger.column_altered",
            f"the checkpoint over {kept.size} entries: a column is not what its note says",
            None,
        )


def _public_keys(ring: KeyRing) -> list[bytes]:
    records = (record for known in ring.records.values() for record in known)
    return list(dict.fromkeys(key for record in records if (key := record.raw_public_key) is not None))


def _check_stored_tree(unit: Unit, walk: _Walk) -> None:
    """Hashes that are in no full tile yet are used for proofs too."""
    if _stored_root(unit, walk.tenant_id, walk.growth.size) != walk.growth.root():
        raise EntryFaultError("ledger.tile_altered", "the stored tree does not hold the hashes of its entries", None)


def _stored_root(unit: Unit, tenant_id: TenantId, size: int) -> bytes:
    try:
        return root_hash(size, lambda *place: unit.ledger.tile(tenant_id, *place))
    except Error as error:
        raise EntryFaultError(error.code, f"the stored tree of {size} entries: {error}", None) from error


def _check_head(unit: Unit, walk: _Walk) -> None:
    """The chain's own row must name the last entry: whoever cuts or adds rows by hand must think of it as well."""
    size, kept = walk.growth.size, unit.ledger.find_kept_head(walk.tenant_id)
    found = Head(walk.tenant_id, size, walk.head_hash)
    if kept == found or (kept is None and size == 0):
        return
    first = None if kept is None or kept.sequence_number == size else min(kept.sequence_number, size) + 1
    raise EntryFaultError(
        "ledger.damaged_head", f"the chain ends at entry {size}, but its head is kept as {kept and kept[1:]}", first
    )


def _check_mark(unit: Unit, walk: _Walk, mark: Mark | None) -> None:
    """What this node verified and signed before must still be the beginning: also when everything was read anew."""
    size = walk.growth.size
    if mark is None:
        return
    if mark.size > size:
        raise EntryFaultError(
            "ledger.rolled_back", f"{mark.size} entries were verified earlier, but there are {size}", size + 1
        )
    if _stored_root(unit, walk.tenant_id, mark.size) != mark.raw_root:
        raise EntryFaultError(
            "ledger.forked", f"the first {mark.size} entries are not those that were verified earlier", None
        )


def _check_outside(tools: Tools, tenant_id: TenantId, unit: Unit, walk: _Walk) -> None:
    """The checkpoint remembered outside the database must still be a beginning of what is in it."""
    note = tools.checkpoints.load(tenant_id)
    if note is None:
        return
    outside: Checkpoint = parse_checkpoint(note).checkpoint
    if outside.size > walk.growth.size:
        raise EntryFaultError(
            "ledger.rolled_back",
            f"a checkpoint over {outside.size} entries was signed, but there are {walk.growth.size}",
            walk.growth.size + 1,
        )
    if _stored_root(unit, tenant_id, outside.size) != outside.root:
        raise EntryFaultError("ledger.forked", f"the remembered checkpoint over {outside.size} entries differs", None)


def _verify_transcript(transcript: Transcript, ring: KeyRing) -> None:
    record = ring.get(transcript.signing_key_id, transcript.completed_at, purpose=KeyPurpose.TRANSCRIPT)
    verify_transcript(transcript, record.raw_public_key or b"")


def _check_rows(unit: Unit, tenant_id: TenantId) -> None:
    """Truth is compiled, records are judged, bundles gated and people let in by rows beside the ledger."""
    people = (check_principals, check_credentials)
    checks = (*people, check_bronze, check_graphs, check_verdicts, check_claims, check_index)
    for problem in chain.from_iterable(check(unit, tenant_id) for check in checks):
        raise EntryFaultError(problem.code, problem.message, problem.entry)


def _check_transcripts(unit: Unit, tenant_id: TenantId, ring: KeyRing) -> int:
    """All of them, also those that no entry names; a run that goes on from a mark looks at those of new entries."""
    count = 0
    for transcript in unit.transcripts.all(tenant_id):
        try:
            _verify_transcript(transcript, ring)
        except Error as error:
            raise EntryFaultError(error.code, f"transcript `{transcript.transcript_id}`: {error}", None) from error
        count += 1
    return count
