"""The writer's memory of each chain's end, and what the open transaction has appended but not yet stored.

append (in memory) -> flush (the head by compare-and-swap, then rows, subtrees, tiles, disclosures, events)

INVARIANT: after a commit the memory equals the database; after anything else the memory is forgotten.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from assay.adapters.sql.session import Row, SqlSession
from assay.kernel.digest import Digest
from assay.kernel.errors import Blame, LedgerError
from assay.kernel.growth import Grown, Growth, grow, growth_of
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind, Head, Link, Prepared, Receipt, genesis, link_to, schema_of
from assay.kernel.merkle import MAX_SIZE
from assay.ports.ledger_store import StoredEntry

ENTRY_COLUMNS = StoredEntry.__struct_fields__
_TILE_WIDTH = 256
_HASH_SIZE = 32


class FencedError(LedgerError):
    """Another writer took this chain over; nothing was written, and this writer must not go on."""

    code = "ledger.fenced"
    blame = Blame.ANSWER


class DamagedHeadError(LedgerError):
    """The chain's remembered head and its last entry disagree: the database was changed behind our back."""

    code = "ledger.damaged_head"


class TileMissingError(LedgerError):
    """Hashes of the tree that must be there are not: the database was changed behind our back."""

    code = "ledger.tile_missing"


class _Chain:
    """One tenant's end of chain: what is durable, and what this transaction adds."""

    __slots__ = ("durable", "entry_hash", "epoch", "grown", "links", "sequence_number", "told")

    def __init__(self, head: Head, epoch: int, growth: Growth, told: int) -> None:
        self.durable = head
        self.epoch = epoch
        self.grown = Grown(growth, (), ())
        self.told = told
        self.links: list[Link] = []
        _, self.sequence_number, self.entry_hash = head

    @property
    def head(self) -> Head:
        return Head(self.durable.tenant_id, self.sequence_number, self.entry_hash)

    def append(self, prepared: Prepared) -> Link:
        link = link_to(self.entry_hash, self.sequence_number + 1, prepared, self.told)
        self.sequence_number, self.entry_hash = link.sequence_number, link.entry_hash
        self.told += len(prepared.draft.events)
        self.links.append(link)
        return link

    def rows(self) -> Iterator[Row]:
        """What to store; the tree grows after the last row, while the database still works on those before."""
        yield from map(_entry_row, self.links)
        self.grown = grow(self.grown.growth, [link.leaf_hash for link in self.links])

    def cut(self, count: int, head: Head) -> None:
        """Keep so many of the pending links; `head` is where the chain ended then."""
        self.told -= sum(len(link.draft.events) for link in self.links[count:])
        del self.links[count:]
        _, self.sequence_number, self.entry_hash = head

    def settle(self) -> None:
        self.durable = self.head
        self.links.clear()


class Mark(NamedTuple):
    """Where the open transaction stood before a unit of work began."""

    counts: dict[TenantId, int]
    heads: dict[TenantId, Head]


class Chains:
    """All chains this writer has touched; used by the writer's thread alone."""

    def __init__(self, holder: str, last_event: Callable[[SqlSession, TenantId], int]) -> None:
        """`last_event` returns the position of a tenant's newest event that its entry records."""
        self._holder = holder
        self._last_event = last_event
        self._chains: dict[TenantId, _Chain] = {}
        self._touched: set[TenantId] = set()

    def head(self, session: SqlSession, tenant_id: TenantId) -> Head:
        chain = self._chains.get(tenant_id)
        return chain.head if chain else stored_head(session, tenant_id)

    def append(self, session: SqlSession, prepared: Prepared) -> Receipt:
        draft = prepared.draft
        chain = self._chains.get(draft.tenant_id) or self._open(session, draft.tenant_id)
        link = chain.append(prepared)
        self._touched.add(draft.tenant_id)
        return Receipt(
            tenant_id=draft.tenant_id,
            sequence_number=link.sequence_number,
            entry_hash=link.entry_hash,
            timestamp=draft.timestamp,
        )

    def find_pending(self, tenant_id: TenantId, sequence_number: int) -> Row | None:
        """The row of an entry that the open transaction has appended and not stored yet."""
        chain = self._chains.get(tenant_id)
        place = -1 if chain is None else sequence_number - chain.durable.sequence_number - 1
        return None if chain is None or not 0 <= place < len(chain.links) else _entry_row(chain.links[place])

    def find_text(self, tenant_id: TenantId, sequence_number: int) -> bytes | None:
        """The text of such an entry."""
        chain = self._chains.get(tenant_id)
        place = -1 if chain is None else sequence_number - chain.durable.sequence_number - 1
        return None if chain is None or not 0 <= place < len(chain.links) else chain.links[place].text

    def pending(self, tenant_id: TenantId, kinds: frozenset[EntryKind]) -> list[Link]:
        """The entries of these kinds that the open transaction has appended and not stored yet."""
        chain = self._chains.get(tenant_id)
        return [] if chain is None else [link for link in chain.links if link.draft.kind in kinds]

    def mark(self) -> Mark:
        touched = [(name, self._chains[name]) for name in self._touched]
        return Mark({name: len(c.links) for name, c in touched}, {name: c.head for name, c in touched})

    def return_to(self, mark: Mark) -> None:
        """Take back what was appended since the mark; a chain first opened since then is forgotten with its claim."""
        for tenant_id in self._touched - mark.counts.keys():
            del self._chains[tenant_id]
        self._touched &= mark.counts.keys()
        for tenant_id, count in mark.counts.items():
            self._chains[tenant_id].cut(count, mark.heads[tenant_id])

    def flush(self, session: SqlSession) -> dict[TenantId, int]:
        """Store what was appended; say up to which outbox position each tenant now has news."""
        news: dict[TenantId, int] = {}
        for tenant_id in sorted(self._touched):
            chain = self._chains[tenant_id]
            if not chain.links:
                continue
            # First of all: a writer that was taken over learns it here, and not from rows that are in its way.
            self._advance(session, chain)
            session.insert("ledger", ENTRY_COLUMNS, chain.rows())
            self._store_tree(session, chain)
            session.insert("disclosure", _DISCLOSURE_COLUMNS, _disclosure_rows(chain.links))
            if self._store_events(session, chain):
                news[tenant_id] = chain.told
        return news

    def settle(self) -> None:
        """The transaction is durable: what was pending is now the head."""
        for tenant_id in self._touched:
            self._chains[tenant_id].settle()
        self._touched.clear()

    def forget(self) -> None:
        self._chains.clear()
        self._touched.clear()

    def _open(self, session: SqlSession, tenant_id: TenantId) -> _Chain:
        """Take the chain over: from now on a writer with an older epoch is fenced."""
        head = stored_head(session, tenant_id)
        epoch = _claim(session, head, self._holder)
        growth = growth_of(
            head.sequence_number, lambda level, index, width: read_tile(session, tenant_id, level, index, width)
        )
        chain = self._chains[tenant_id] = _Chain(head, epoch, growth, self._last_event(session, tenant_id))
        return chain

    @staticmethod
    def _store_tree(session: SqlSession, chain: _Chain) -> None:
        tenant_id, grown = chain.durable.tenant_id, chain.grown
        if grown.subtrees:
            session.insert(
                "subtree",
                ("tenant_id", "level", "position", "hash"),
                [(tenant_id, s.level, s.index, s.hash) for s in grown.subtrees],
            )
        if grown.tiles:
            session.insert(
                "tile",
                ("tenant_id", "level", "position", "hashes"),
                [(tenant_id, t.level, t.index, t.hashes) for t in grown.tiles],
            )

    @staticmethod
    def _store_events(session: SqlSession, chain: _Chain) -> bool:
        events = [(link, event) for link in chain.links for event in link.draft.events]
        rows: list[Row] = [
            (
                chain.durable.tenant_id,
                position,
                link.sequence_number,
                event.type,
                event.subject,
                link.timestamp,
                bytes(event.body).decode(),
            )
            for position, (link, event) in enumerate(events, chain.told - len(events) + 1)
        ]
        if rows:
            session.insert("outbox", _OUTBOX_COLUMNS, rows)
        return bool(rows)

    @staticmethod
    def _advance(session: SqlSession, chain: _Chain) -> None:
        # Compare-and-swap: of two writers, one is told, and the chain never forks.
        moved = session.run(
            "UPDATE chain SET sequence_number = ?, entry_hash = ?"
            " WHERE tenant_id = ? AND epoch = ? AND sequence_number = ? AND entry_hash = ?",
            (
                chain.sequence_number,
                chain.entry_hash,
                chain.durable.tenant_id,
                chain.epoch,
                chain.durable.sequence_number,
                chain.durable.entry_hash,
            ),
        )
        if moved != 1:
            raise FencedError(
                f"another writer took over the chain of `{chain.durable.tenant_id}` after entry"
                f" {chain.durable.sequence_number}"
            )


def stored_head(session: SqlSession, tenant_id: TenantId) -> Head:
    rows = session.query(
        "SELECT sequence_number, entry_hash FROM ledger WHERE tenant_id = ? ORDER BY sequence_number DESC LIMIT 1",
        (tenant_id,),
    )
    if not rows:
        return genesis(tenant_id)
    sequence, entry_hash = rows[0]
    # SQLite hands out what it finds: a damaged file can hold anything in any column.
    if not isinstance(sequence, int) or not isinstance(entry_hash, str):
        raise DamagedHeadError(f"expected a number and a hash at the head of `{tenant_id}`, got `{rows[0]!r}`")
    return Head(tenant_id, sequence, Digest(entry_hash))


def read_tile(session: SqlSession, tenant_id: TenantId, level: int, index: int, width: int) -> bytes:
    """A sealed tile in one read; an unsealed one from the entries (level 0) or the finished subtrees (above)."""
    if (index + 1) * _TILE_WIDTH > MAX_SIZE:
        raise TileMissingError(f"expected a tile that a tree can have, got {level}/{index} of `{tenant_id}`")
    if width == _TILE_WIDTH:
        sealed = session.query(
            "SELECT hashes FROM tile WHERE tenant_id = ? AND level = ? AND position = ?", (tenant_id, level, index)
        )
        found = [row[0] for row in sealed]
    else:
        found = [row[0] for row in _loose_hashes(session, tenant_id, level, index, width)]
    hashes = b"".join(value for value in found if isinstance(value, bytes))
    if len(hashes) != width * _HASH_SIZE:
        raise TileMissingError(
            f"expected {width} hashes in tile {level}/{index} of `{tenant_id}`, got {len(hashes) // _HASH_SIZE}"
        )
    return hashes


def _loose_hashes(session: SqlSession, tenant_id: TenantId, level: int, index: int, width: int) -> list[Row]:
    first = index * _TILE_WIDTH
    if level == 0:
        return session.query(
            "SELECT leaf_hash FROM ledger WHERE tenant_id = ? AND sequence_number BETWEEN ? AND ?"
            " ORDER BY sequence_number",
            (tenant_id, first + 1, first + width),
        )
    return session.query(
        "SELECT hash FROM subtree WHERE tenant_id = ? AND level = ? AND position BETWEEN ? AND ? ORDER BY position",
        (tenant_id, level, first, first + width - 1),
    )


def _claim(session: SqlSession, head: Head, holder: str) -> int:
    """Raise the chain's epoch, checking that the remembered head is the real one."""
    rows = session.query("SELECT epoch, sequence_number, entry_hash FROM chain WHERE tenant_id = ?", (head.tenant_id,))
    if not rows:
        if head.sequence_number:
            raise DamagedHeadError(f"`{head.tenant_id}` has {head.sequence_number} entries but no remembered head")
        session.run(
            "INSERT INTO chain (tenant_id, epoch, holder, sequence_number, entry_hash) VALUES (?, 1, ?, 0, ?)",
            (head.tenant_id, holder, head.entry_hash),
        )
        return 1
    epoch, sequence, entry_hash = rows[0]
    if (sequence, entry_hash) != (head.sequence_number, head.entry_hash):
        raise DamagedHeadError(
            f"expected entry {sequence} with {entry_hash} at the head of `{head.tenant_id}`,"
            f" got entry {head.sequence_number} with {head.entry_hash}"
        )
    session.run("UPDATE chain SET epoch = ?, holder = ? WHERE tenant_id = ?", (epoch + 1, holder, head.tenant_id))
    return int(epoch) + 1


_DISCLOSURE_COLUMNS = ("tenant_id", "sequence_number", "pointer", "salt", "value")
_OUTBOX_COLUMNS = ("tenant_id", "position", "sequence_number", "type", "subject", "occurred_at", "body")


def _entry_row(link: Link) -> Row:
    draft, verdict = link.draft, link.draft.verdict
    columns: Row = (None,) * 8
    if verdict is not None:
        columns = (
            verdict.telemetry_id,
            verdict.telemetry_hash,
            verdict.verdict,
            verdict.rule_id,
            verdict.kg_version_hash,
            verdict.model_weight_hash,
            bytes(verdict.llm_transcript).decode(),
            bytes(verdict.verifier_result).decode(),
        )
    return (
        draft.tenant_id,
        link.sequence_number,
        link.previous_hash,
        link.entry_hash,
        link.leaf_hash,
        link.timestamp,
        draft.kind.value,
        *columns,
        schema_of(draft.kind),
        link.text,
        draft.trace_id,
    )


def _disclosure_rows(links: list[Link]) -> Iterator[Row]:
    for link in links:
        for disclosure in link.draft.disclosures:
            yield (
                link.draft.tenant_id,
                link.sequence_number,
                disclosure.pointer,
                disclosure.salt,
                bytes(disclosure.value).decode(),
            )
