"""Policies of the gates, bundles, decisions and evidence in SQL."""

from collections.abc import Iterable, Iterator
from hashlib import sha256 as hash_of

import msgspec

from assay.adapters.sql.parts import in_parts, marks
from assay.adapters.sql.row import sortable
from assay.adapters.sql.rows import Rows
from assay.kernel.digest import Digest
from assay.kernel.entry import read_entry
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.claims_store import (
    CONTENT_POINTER,
    EvidenceFact,
    HeldEvidence,
    ReceivedBundle,
    RecordedDecision,
    ReleasedClaimsPolicy,
    TakenTurn,
)
from assay.ports.damage import DamagedRecordError

# As a value and not as a join: one look along the index for each.
_IS_LAST = (
    "AND position = (SELECT max(later.position) FROM claims_decision AS later"
    " WHERE later.bundle_hash = claims_decision.bundle_hash AND later.tenant_id = claims_decision.tenant_id)"
)
_LATEST = "ORDER BY sequence_number DESC LIMIT ?"


class _Erased(msgspec.Struct, frozen=True):
    """What an entry about an erasure says, as far as content is concerned."""

    sequence_number: int
    pointers: tuple[str, ...]


class SqlClaimsStore:
    """Implements `ports.claims_store.ClaimsStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._session = rows.session

    def policies(self, tenant_id: TenantId) -> tuple[ReleasedClaimsPolicy, ...]:
        return self._rows.all(ReleasedClaimsPolicy, "WHERE tenant_id = ? ORDER BY sequence_number", (tenant_id,))

    def active_policy(self, tenant_id: TenantId) -> ReleasedClaimsPolicy | None:
        return self._rows.one(ReleasedClaimsPolicy, f"WHERE tenant_id = ? {_LATEST}", (tenant_id, 1))

    def find_bundle(self, tenant_id: TenantId, bundle_hash: Digest) -> ReceivedBundle | None:
        return self._rows.one(ReceivedBundle, "WHERE bundle_hash = ? AND tenant_id = ?", (bundle_hash, tenant_id))

    def logged_under(self, tenant_id: TenantId, bundle_id: str) -> tuple[int, ...]:
        sql = "SELECT sequence_number FROM bundle_logged WHERE bundle_id = ? AND tenant_id = ? ORDER BY sequence_number"
        return tuple(int(number) for (number,) in self._rows.session.query(sql, (bundle_id, tenant_id)))

    def find_bundles(self, tenant_id: TenantId, bundle_hashes: Iterable[Digest]) -> tuple[ReceivedBundle, ...]:
        return self._rows.among(ReceivedBundle, "bundle_hash", bundle_hashes, tenant_id)

    def find_successor(self, tenant_id: TenantId, bundle_hash: Digest) -> ReceivedBundle | None:
        return self._rows.one(ReceivedBundle, "WHERE resumes = ? AND tenant_id = ?", (bundle_hash, tenant_id))

    def decision_log(self, tenant_id: TenantId) -> Iterator[RecordedDecision]:
        return self._rows.stream(RecordedDecision, "WHERE tenant_id = ? ORDER BY sequence_number", (tenant_id,))

    def last_positions(self, tenant_id: TenantId) -> dict[Digest, int]:
        rows = self._session.query(
            "SELECT bundle_hash, max(position) FROM claims_decision WHERE tenant_id = ? GROUP BY bundle_hash",
            (tenant_id,),
        )
        return {Digest(str(name)): int(position) for name, position in rows}

    def latest_turn(self, tenant_id: TenantId, submitted_by: PrincipalId) -> TakenTurn | None:
        rest = "WHERE submitted_by = ? AND tenant_id = ? ORDER BY position DESC LIMIT 1"
        return self._rows.one(TakenTurn, rest, (submitted_by, tenant_id))

    def turn_before(self, tenant_id: TenantId, submitted_by: PrincipalId, since: Instant) -> TakenTurn | None:
        of = "submitted_by = ? AND tenant_id = ?"
        first = f"SELECT min(position) FROM claims_turn WHERE {of} AND taken_at > ?"  # noqa: S608 - our constants
        rest = f"WHERE {of} AND position < ({first}) ORDER BY position DESC LIMIT 1"
        return self._rows.one(TakenTurn, rest, (submitted_by, tenant_id, submitted_by, tenant_id, sortable(since)))

    def logged_turn(self, tenant_id: TenantId, submitted_by: PrincipalId) -> int | None:
        of = "submitted_by = ? AND tenant_id = ?"
        sql = f"SELECT sequence_number FROM claims_logged_turn WHERE {of} {_LATEST}"  # noqa: S608 - our constants
        rows = self._session.query(sql, (submitted_by, tenant_id, 1))
        return int(rows[0][0]) if rows else None

    def tiers(
        self,
        tenant_id: TenantId,
        submitted_by: PrincipalId,
        thread: str | None,
        *,
        since: Instant,
        before: int,
        limit: int,
        any_thread: bool = False,
    ) -> tuple[str, ...]:
        named = "" if any_thread else " AND thread IS NULL" if thread is None else " AND thread = ?"
        given = () if any_thread or thread is None else (thread,)
        rows = self._rows.all(
            ReceivedBundle,
            f"WHERE submitted_by = ? AND tenant_id = ?{named} AND received_at > ? AND sequence_number < ? {_LATEST}",
            (submitted_by, tenant_id, *given, sortable(since), before, limit),
        )
        return tuple(row.tier for row in reversed(rows))

    def decisions(self, tenant_id: TenantId, bundle_hash: Digest) -> tuple[RecordedDecision, ...]:
        rest = "WHERE bundle_hash = ? AND tenant_id = ? ORDER BY position"
        return self._rows.all(RecordedDecision, rest, (bundle_hash, tenant_id))

    def logged_decisions(self, tenant_id: TenantId, bundle_hash: Digest) -> int:
        ((number,),) = self._session.query(
            "SELECT count(*) FROM claims_logged WHERE bundle_hash = ? AND tenant_id = ?", (bundle_hash, tenant_id)
        )
        return int(number)

    def latest_decisions(self, tenant_id: TenantId, bundle_hashes: Iterable[Digest]) -> tuple[RecordedDecision, ...]:
        return self._rows.among(RecordedDecision, "bundle_hash", bundle_hashes, tenant_id, _IS_LAST)

    def add_content(self, tenant_id: TenantId, sha256: str, content: bytes) -> None:
        self._session.run(
            "INSERT INTO claims_evidence_content (tenant_id, sha256, content) VALUES (?, ?, ?)",
            (tenant_id, sha256, content),
        )

    def find_evidence(self, tenant_id: TenantId, sha256: str) -> HeldEvidence | None:
        fact = self._rows.one(EvidenceFact, "WHERE sha256 = ? AND tenant_id = ?", (sha256, tenant_id))
        if fact is None:
            return None
        content = self.contents(tenant_id, (sha256,)).get(sha256)
        if content is None:
            self._require_erased(tenant_id, fact)
        return HeldEvidence(**{name: getattr(fact, name) for name in fact.__struct_fields__}, content=content)

    def evidence_states(self, tenant_id: TenantId, hashes: tuple[str, ...]) -> tuple[dict[str, int], frozenset[str]]:
        sizes: dict[str, int] = {}
        erased: set[str] = set()
        for part in in_parts(hashes):
            held = {
                name
                for (name,) in self._session.query(
                    "SELECT sha256 FROM claims_evidence_content"  # noqa: S608 - marks are ours
                    f" WHERE sha256 IN ({marks(part)}) AND tenant_id = ?",
                    (*part, tenant_id),
                )
            }
            for fact in self._rows.among(EvidenceFact, "sha256", part, tenant_id):
                if fact.sha256 in held:
                    sizes[fact.sha256] = fact.size
                else:
                    self._require_erased(tenant_id, fact)
                    erased.add(fact.sha256)
        return sizes, frozenset(erased)

    def contents(self, tenant_id: TenantId, hashes: tuple[str, ...]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for part in in_parts(hashes):
            rows = self._session.query(
                "SELECT sha256, content FROM claims_evidence_content"  # noqa: S608 - marks are ours
                f" WHERE sha256 IN ({marks(part)}) AND tenant_id = ?",
                (*part, tenant_id),
            )
            for name, content in rows:
                if not isinstance(content, bytes) or hash_of(content).hexdigest() != name:
                    raise DamagedRecordError(f"expected content with the hash {name}, got another")
                found[name] = content
        return found

    def _require_erased(self, tenant_id: TenantId, fact: EvidenceFact) -> None:
        """Content is missing only where an entry records its erasure."""
        rows = self._session.query(
            "SELECT text FROM ledger WHERE tenant_id = ? AND kind = 'erasure' AND sequence_number > ?",
            (tenant_id, fact.sequence_number),
        )
        for (text,) in rows:
            erasure = msgspec.json.decode(read_entry(text).body, type=_Erased)
            if erasure.sequence_number == fact.sequence_number and CONTENT_POINTER in erasure.pointers:
                return
        raise DamagedRecordError(
            f"expected the content of the evidence {fact.sha256}, got none, and no entry records its erasure",
            entry=fact.sequence_number,
        )

    def erase_content(self, tenant_id: TenantId, sequence_number: int) -> bool:
        erased = self._session.run(
            "DELETE FROM claims_evidence_content WHERE tenant_id = ? AND sha256 IN"
            " (SELECT sha256 FROM claims_evidence WHERE sequence_number = ? AND tenant_id = ?)",
            (tenant_id, sequence_number, tenant_id),
        )
        return bool(erased)
