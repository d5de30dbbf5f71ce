"""Verify a tenant's ledger and every table that follows from it, in one pass over the entries.

mark -> entries in ranges (hash, link, columns, leaf, projected rows) -> tiles -> checkpoints -> the checkpoint outside
     -> head -> mark | where everything is read: stored rows against projected ones, folds, transcripts, indexes

The first bad entry is named, and so is the last checkpoint that still holds. What an earlier run verified is not read
again: its signed mark names the tree as it was, and the stored tree must still begin with it. When it does not,
everything is read again, and if nothing else is found the mark itself is the evidence that entries were replaced.
A run that goes on from a mark compares no rows; the report says so, and when they were last compared.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from assay.facts.table import TABLES
from assay.flows.errors.ledger import OtherDatabaseError
from assay.flows.ledger.audit_mark import AuditReport, Mark, load_mark, store_mark
from assay.flows.ledger.audit_parts import (
    Done,
    Fault,
    Part,
    Reader,
    Sum,
    check_sample,
    check_transcript,
    find_stray,
    find_wrong_row,
    folded_tables,
    run_part,
    summed_tables,
)
from assay.flows.ledger.check_entry import NEXT_STEPS, EntryFaultError
from assay.flows.ledger.check_index import check_index
from assay.flows.ledger.check_key_facts import verify_key_facts
from assay.flows.ledger.compare_rows import RowProblem
from assay.flows.ledger.own_keys import own_key_ring, verify_own_database
from assay.flows.tools import Tools
from assay.kernel.checkpoint import Checkpoint, parse_checkpoint, verify_checkpoint
from assay.kernel.digest import Digest, digest_from_raw
from assay.kernel.errors import Error, KeyUseError
from assay.kernel.growth import EMPTY_GROWTH, Grown, Growth, grow, growth_of
from assay.kernel.ids import TenantId
from assay.kernel.key import KeyPurpose, KeyRing
from assay.kernel.ledger import Head, genesis
from assay.kernel.tile import TILE_WIDTH, root_hash
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.ledger_store import KeptCheckpoint
from assay.ports.pool import Pool

T = TypeVar("T")
# Entries of a part; a worker is handed the next one when it is done.
_RANGE = 4096
_KEY_BYTES = 16
Progress = Callable[[int, int], None]


class Workers(NamedTuple):
    """Processes that share the work, each with a reader of its own."""

    pool: Pool
    reader: Reader


class _Walk(NamedTuple):
    """How far the verification has come: the growth holds the tree, the rest is for the report."""

    tenant_id: TenantId
    growth: Growth
    head_hash: Digest
    checkpoints: int
    last_good_checkpoint: int | None
    transcripts: int = 0
    rows: int = 0


class _SameUnit:
    """Implements `audit_parts.Reader` for this process: every part sees one state."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit

    def read(self, work: Callable[[Unit], T]) -> T:
        return work(self._unit)


def audit_ledger(
    tools: Tools,
    tenant_id: TenantId,
    *,
    full: bool = False,
    leave_mark: bool = True,
    progress: Progress | None = None,
    workers: Workers | None = None,
    sample: int = 0,
) -> AuditReport:
    """Verify everything new since the last mark, or everything; leave a new mark when it all holds.

    A run that goes on from a mark compares `sample` rows of each table with their entries.
    """
    ring = own_key_ring(tools)
    mark = load_mark(tools, tenant_id)
    report, growth = tools.database.read(
        lambda unit: _audit(unit, tools, tenant_id, ring, mark, progress, workers, sample, full=full)
    )
    if not report.holds:
        tools.damage.add(EntryFaultError(report.code or EntryFaultError.code, "", report.first_bad_entry))
    elif report.verified_from == 1:
        tools.damage.clear()
    if report.holds and leave_mark:
        try:
            store_mark(tools, report, growth)
        except (OSError, Error) as error:
            # A full disk keeps nobody from verifying.
            words = f"no mark was left, so the next run reads the same again: {error}"
            return replace(report, skipped=(*report.skipped, words))
    return report


def compare_sample(tools: Tools, tenant_id: TenantId, count: int) -> int:
    """Compare some rows of every table with their entries; return how many. A row that differs is raised."""
    seed = tools.entropy.token(_KEY_BYTES)
    return tools.database.read(lambda unit: check_sample(unit, tenant_id, count, seed))


def _audit(
    unit: Unit,
    tools: Tools,
    tenant_id: TenantId,
    ring: KeyRing,
    mark: Mark | None,
    progress: Progress | None,
    workers: Workers | None,
    sample: int,
    *,
    full: bool,
) -> tuple[AuditReport, Growth]:
    size = unit.ledger.head(tenant_id).sequence_number
    walk = _begin(unit, tenant_id, None if full else mark, size)
    started = walk.growth.size
    fault: EntryFaultError | None = None
    seen: list[Done] = []
    told = -1
    try:
        parts = _parts(tools, walk, size)
        for walk in _steps(unit, tools.origin_of(tenant_id), ring, walk, size, _run(unit, parts, workers, seen)):  # noqa: B020 - each continues the last
            if progress is not None and walk.growth.size != told:
                told = walk.growth.size
                progress(told, size)
        _check_stored_tree(unit, walk)
        _check_outside(tools, tenant_id, unit, walk)
        _check_head(unit, walk)
        verify_key_facts(unit)
        _check_mark(unit, walk, mark)
        walk = walk._replace(transcripts=sum(len(one.transcripts) for one in seen))
        if started and sample:
            walk = walk._replace(rows=check_sample(unit, tenant_id, sample, tools.entropy.token(_KEY_BYTES)))
        if started == 0:
            walk = walk._replace(rows=_check_tables(unit, seen))
            _check_extent(unit, walk)
            walk = walk._replace(transcripts=walk.transcripts + _check_transcripts(unit, tenant_id, ring, seen))
            _check_rows(unit, tenant_id)
        # An empty ledger holds, and so does another node's; neither is the one that was asked about.
        verify_own_database(unit, tools, ring)
    except EntryFaultError as found:
        fault = found
    except (DamagedRecordError, OtherDatabaseError) as error:
        fault = EntryFaultError(error.code, str(error), None)
    everything_at = tools.clock.now() if started == 0 else None if mark is None else mark.everything_at
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
        rows_checked=walk.rows,
        skipped=_skipped(started, sample),
        everything_at=everything_at if fault is None else None if mark is None else mark.everything_at,
        first_bad_entry=fault.entry if fault else None,
        code=fault.fault_code if fault else None,
        message=str(fault) if fault else None,
        last_good_checkpoint=walk.last_good_checkpoint,
        next_steps=NEXT_STEPS if fault else (),
    )
    return report, walk.growth


def _skipped(started: int, sample: int) -> tuple[str, ...]:
    """What this run did not read, in words."""
    pending = sum(table.pending for table in TABLES)
    if started == 0:
        return (f"rows of {pending} tables that are not declared as projections yet",) if pending else ()
    rows = f"all but {sample} rows of each table" if sample else "rows of all tables"
    return (f"entries 1 to {started}", rows, "transcripts of these entries", "indexes")


def _parts(tools: Tools, walk: _Walk, size: int) -> Iterator[Part]:
    key, started = tools.entropy.token(_KEY_BYTES), walk.growth.size
    for first in range(started + 1, size + 1, _RANGE):
        yield Part(walk.tenant_id, tools.founder, key, first, min(first + _RANGE - 1, size))
    if started == 0:
        for table in summed_tables():
            yield Part(walk.tenant_id, tools.founder, key, 1, size, (table.name,))
        folded = tuple(table.name for table in folded_tables())
        if folded:
            yield Part(walk.tenant_id, tools.founder, key, 1, size, folded)


def _run(unit: Unit, parts: Iterator[Part], workers: Workers | None, seen: list[Done]) -> Iterator[Done]:
    reader: Reader = _SameUnit(unit) if workers is None else workers.reader
    jobs = ((reader, part) for part in parts)
    for done in map(run_part, jobs) if workers is None else workers.pool.run(run_part, jobs):
        seen.append(done._replace(leaves=()))
        yield done


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


def _steps(unit: Unit, origin: str, ring: KeyRing, walk: _Walk, size: int, parts: Iterator[Done]) -> Iterator[_Walk]:
    """Range by range, with a stop at each checkpoint, so that its root can be compared; then the parts about tables."""
    # A checkpoint over exactly what the mark covers may be younger than the mark, so it is read again.
    kept = unit.ledger.checkpoints(walk.tenant_id, after=walk.growth.size - 1)
    due = next(kept, None)
    done: Done | None = None
    leaves: Iterator[bytes] = iter(())
    while True:
        while due is not None and due.size == walk.growth.size:
            _check_checkpoint(origin, ring, walk, due)
            walk = walk._replace(checkpoints=walk.checkpoints + 1, last_good_checkpoint=due.size)
            due = next(kept, None)
        # Also before something is found, so that the report says how far all holds.
        yield walk
        some = list(islice(leaves, size if due is None else due.size - walk.growth.size))
        if some:
            walk = _grown(unit, walk, some)
            continue
        if done is not None:
            _require_sound(done)
            walk = walk._replace(head_hash=done.head_hash or walk.head_hash)
        if walk.growth.size >= size:
            yield walk
            break
        done = next(parts)
        leaves = iter(_linked(walk, done))
    if due is not None:
        raise EntryFaultError(
            "ledger.rolled_back", f"a checkpoint over {due.size} entries is kept, but there are {size}", size + 1
        )
    for done in parts:
        _require_sound(done)
        yield walk


def _linked(walk: _Walk, done: Done) -> tuple[bytes, ...]:
    """The leaves of a range, if its first entry follows the last one of the range before."""
    if done.previous_hash not in (None, walk.head_hash):
        first = done.part.first
        message = f"entry {first}: expected it to follow {walk.head_hash}, got {done.previous_hash}"
        raise EntryFaultError("ledger.broken_link", message, first)
    return done.leaves


def _require_sound(done: Done) -> None:
    if done.fault is not None:
        raise EntryFaultError(*done.fault)


def _grown(unit: Unit, walk: _Walk, leaves: list[bytes]) -> _Walk:
    grown = grow(walk.growth, leaves)
    _check_tree(unit, walk, grown)
    return walk._replace(growth=grown.growth)


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


def _check_extent(unit: Unit, walk: _Walk) -> None:
    """Tables of the ledger hold exactly what a tree of this size has, of tenants that there are.

    The newest checkpoint may be missing: it is stored outside the database first, and a crash can come in between. It
    still binds the node from there.
    """
    tenant_id, size = walk.tenant_id, walk.growth.size
    for name in ("ledger", "subtree", "tile", "checkpoint", "transcript", "index_page"):
        fault = find_stray(unit, name)
        if fault is not None:
            raise EntryFaultError(*fault)
    for other in unit.ledger.tenants():
        kept = unit.ledger.find_kept_head(other)
        if kept is not None and kept.sequence_number != unit.ledger.head(other).sequence_number:
            raise EntryFaultError("ledger.damaged_head", f"the head of `{other}` is not that of its entries", None)
    levels = [size >> 8 * level for level in range(1, 8)]
    due = {
        "ledger": size,
        "tile": sum(levels),
        "subtree": sum(levels),
        "checkpoint": unit.ledger.last_checkpoint_number(tenant_id),
        "index_page": sum(len(unit.index.page_roots(tenant_id, one)) for one in _indexes(unit, tenant_id)),
    }
    for name, expected in due.items():
        found = unit.tables.count(name, tenant_id)
        if found != expected:
            code = "ledger.row_missing" if found < expected else "ledger.row_unrecorded"
            raise EntryFaultError(code, f"expected {expected} rows in `{name}`, got {found}", None)


def _indexes(unit: Unit, tenant_id: TenantId) -> Iterator[int]:
    return (segment.sequence_number for segment in unit.index.segments(tenant_id))


def _check_tables(unit: Unit, seen: Iterable[Done]) -> int:
    """The sum of the stored rows of each table must be that of the rows that entries project."""
    projected: dict[str, Sum] = {}
    tables: list[Done] = []
    for done in seen:
        if done.part.tables:
            tables.append(done)
            continue
        for name, some in done.sums.items():
            projected[name] = projected.get(name, Sum()).plus(some)
    for done in tables:
        for name, stored in done.sums.items():
            if stored != projected.get(name, Sum()):
                fault = find_wrong_row(unit, done.part) or Fault(
                    "ledger.row_differs", f"the rows of `{name}` are not those that the ledger gives", None
                )
                raise EntryFaultError(*fault)
    return sum(done.rows for done in tables)


def _check_rows(unit: Unit, tenant_id: TenantId) -> None:
    """Tables of rooms whose rows are not declared as projections yet, and the indexes."""
    checks = (_check_seals, check_index)
    for problem in chain.from_iterable(check(unit, tenant_id) for check in checks):
        raise EntryFaultError(problem.code, problem.message, problem.entry)


def _check_seals(unit: Unit, tenant_id: TenantId) -> Iterator[RowProblem]:
    """Credentials whose MAC does not hold: their hash was exchanged, or nobody issued them. None without the key."""
    try:
        for credential_id in unit.identity.broken_credentials(tenant_id):
            message = f"expected the MAC of the credential `{credential_id}` to hold, got a row that was changed"
            yield RowProblem(code="identity.row_differs", message=message, entry=None)
    except KeyUseError:
        # A folder without its keys; everything else is checked.
        return


def _check_transcripts(unit: Unit, tenant_id: TenantId, ring: KeyRing, seen: Iterable[Done]) -> int:
    """Those that no entry names; the others were verified with their entries."""
    verified = {name for done in seen for name in done.transcripts}
    count = 0
    for transcript in unit.transcripts.all(tenant_id):
        if transcript.transcript_id in verified:
            continue
        try:
            check_transcript(transcript, ring)
        except Error as error:
            raise EntryFaultError(error.code, f"transcript `{transcript.transcript_id}`: {error}", None) from error
        count += 1
    return count
