"""Policies of the gates, bundles, decisions and evidence in SQL."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from msgspec import Struct

from assay.adapters.sql.parts import in_parts, marks
from assay.adapters.sql.row import add_row, columns_of, read_row, sortable, verify_row
from assay.adapters.sql.session import SqlSession
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.claims_store import (
    EvidenceFact,
    HeldEvidence,
    ReceivedBundle,
    RecordedDecision,
    ReleasedClaimsPolicy,
    TakenTurn,
)

T = TypeVar("T", bound=Struct)


def _select(kind: type[Struct], table: str) -> str:
    return f"SELECT {', '.join(columns_of(kind))} FROM {table}"  # noqa: S608 - our constants


_POLICY = _select(ReleasedClaimsPolicy, "claims_policy")
_BUNDLE = _select(ReceivedBundle, "claims_bundle")
_DECISION = _select(RecordedDecision, "claims_decision")
_TURN = _select(TakenTurn, "claims_turn")
_FACT = _select(EvidenceFact, "claims_evidence")
_EVIDENCE = f"{_select(HeldEvidence, 'claims_evidence')} LEFT JOIN claims_evidence_content USING (sha256, tenant_id)"
# As a value and not as a join: one look along the index for each.
_IS_LAST = (
    "position = (SELECT max(later.position) FROM claims_decision AS later"
    " WHERE later.bundle_hash = one.bundle_hash AND later.tenant_id = one.tenant_id)"
)
_LATEST = "ORDER BY sequence_number DESC LIMIT ?"


class SqlClaimsStore:
    """Implements `ports.claims_store.ClaimsStore`."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    def release_policy(self, tenant_id: TenantId, policy: ReleasedClaimsPolicy) -> None:
        verify_row(policy, "policy_hash", "policy_id", "version")
        what = f"version `{policy.version}` of the policy `{policy.policy_id}`"
        add_row(self._session, "claims_policy", tenant_id, policy, what)

    def policies(self, tenant_id: TenantId) -> tuple[ReleasedClaimsPolicy, ...]:
        sql = f"{_POLICY} WHERE tenant_id = ? ORDER BY sequence_number"
        return self._all(sql, (tenant_id,), ReleasedClaimsPolicy)

    def active_policy(self, tenant_id: TenantId) -> ReleasedClaimsPolicy | None:
        return self._one(f"{_POLICY} WHERE tenant_id = ? {_LATEST}", (tenant_id, 1), ReleasedClaimsPolicy)

    def add_bundle(self, tenant_id: TenantId, bundle: ReceivedBundle) -> None:
        verify_row(bundle, "bundle_hash", "submitted_by", "thread", "resumes")
        add_row(self._session, "claims_bundle", tenant_id, bundle, f"the bundle {bundle.bundle_hash}")

    def find_bundle(self, tenant_id: TenantId, bundle_hash: Digest) -> ReceivedBundle | None:
        return self._one(f"{_BUNDLE} WHERE bundle_hash = ? AND tenant_id = ?", (bundle_hash, tenant_id), ReceivedBundle)

    def find_bundles(self, tenant_id: TenantId, bundle_hashes: Iterable[Digest]) -> tuple[ReceivedBundle, ...]:
        found: list[ReceivedBundle] = []
        for part in in_parts(bundle_hashes):
            sql = f"{_BUNDLE} WHERE bundle_hash IN ({marks(part)}) AND tenant_id = ?"
            found += self._all(sql, (*part, tenant_id), ReceivedBundle)
        return tuple(found)

    def find_successor(self, tenant_id: TenantId, bundle_hash: Digest) -> ReceivedBundle | None:
        return self._one(f"{_BUNDLE} WHERE resumes = ? AND tenant_id = ?", (bundle_hash, tenant_id), ReceivedBundle)

    def bundle_log(self, tenant_id: TenantId) -> Iterator[ReceivedBundle]:
        return self._log(_BUNDLE, tenant_id, ReceivedBundle)

    def decision_log(self, tenant_id: TenantId) -> Iterator[RecordedDecision]:
        return self._log(_DECISION, tenant_id, RecordedDecision)

    def turn_log(self, tenant_id: TenantId) -> Iterator[TakenTurn]:
        return self._log(_TURN, tenant_id, TakenTurn)

    def evidence_log(self, tenant_id: TenantId) -> Iterator[EvidenceFact]:
        return self._log(_FACT, tenant_id, EvidenceFact)

    def take_turn(self, tenant_id: TenantId, turn: TakenTurn) -> None:
        verify_row(turn, "bundle_hash", "submitted_by")
        add_row(self._session, "claims_turn", tenant_id, turn, f"the turn of the bundle {turn.bundle_hash}")

    def latest_turn(self, tenant_id: TenantId, submitted_by: PrincipalId) -> TakenTurn | None:
        sql = f"{_TURN} WHERE submitted_by = ? AND tenant_id = ? ORDER BY position DESC LIMIT 1"
        return self._one(sql, (submitted_by, tenant_id), TakenTurn)

    def turn_before(self, tenant_id: TenantId, submitted_by: PrincipalId, since: Instant) -> TakenTurn | None:
        of = "submitted_by = ? AND tenant_id = ?"
        first = f"SELECT min(position) FROM claims_turn WHERE {of} AND taken_at > ?"  # noqa: S608 - our constants
        sql = f"{_TURN} WHERE {of} AND position < ({first}) ORDER BY position DESC LIMIT 1"
        return self._one(sql, (submitted_by, tenant_id, submitted_by, tenant_id, sortable(since)), TakenTurn)

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
        rows = self._session.query(
            f"SELECT tier FROM claims_bundle WHERE submitted_by = ? AND tenant_id = ?{named}"  # noqa: S608 - ours
            f" AND received_at > ? AND sequence_number < ? {_LATEST}",
            (submitted_by, tenant_id, *given, sortable(since), before, limit),
        )
        return tuple(str(tier) for (tier,) in reversed(rows))

    def add_decision(self, tenant_id: TenantId, decision: RecordedDecision) -> None:
        verify_row(decision, "bundle_hash")
        what = f"decision {decision.position} about the bundle {decision.bundle_hash}"
        add_row(self._session, "claims_decision", tenant_id, decision, what)

    def decisions(self, tenant_id: TenantId, bundle_hash: Digest) -> tuple[RecordedDecision, ...]:
        sql = f"{_DECISION} WHERE bundle_hash = ? AND tenant_id = ? ORDER BY position"
        return self._all(sql, (bundle_hash, tenant_id), RecordedDecision)

    def logged_decisions(self, tenant_id: TenantId, bundle_hash: Digest) -> int:
        ((number,),) = self._session.query(
            "SELECT count(*) FROM claims_logged WHERE bundle_hash = ? AND tenant_id = ?", (bundle_hash, tenant_id)
        )
        return int(number)

    def latest_decisions(self, tenant_id: TenantId, bundle_hashes: Iterable[Digest]) -> tuple[RecordedDecision, ...]:
        found: list[RecordedDecision] = []
        for part in in_parts(bundle_hashes):
            sql = f"{_DECISION} AS one WHERE bundle_hash IN ({marks(part)}) AND tenant_id = ? AND {_IS_LAST}"
            found += self._all(sql, (*part, tenant_id), RecordedDecision)
        return tuple(found)

    def add_evidence(self, tenant_id: TenantId, evidence: HeldEvidence) -> None:
        verify_row(evidence, "sha256")
        fact = EvidenceFact(**{name: getattr(evidence, name) for name in EvidenceFact.__struct_fields__})
        add_row(self._session, "claims_evidence", tenant_id, fact, f"the evidence {evidence.sha256}")
        self._session.run(
            "INSERT INTO claims_evidence_content (tenant_id, sha256, content) VALUES (?, ?, ?)",
            (tenant_id, evidence.sha256, evidence.content),
        )

    def find_evidence(self, tenant_id: TenantId, sha256: str) -> HeldEvidence | None:
        return self._one(f"{_EVIDENCE} WHERE sha256 = ? AND tenant_id = ?", (sha256, tenant_id), HeldEvidence)

    def evidence_states(self, tenant_id: TenantId, hashes: tuple[str, ...]) -> tuple[dict[str, int], frozenset[str]]:
        sizes: dict[str, int] = {}
        erased: set[str] = set()
        for part in in_parts(hashes):
            rows = self._session.query(
                "SELECT e.sha256, e.size, c.sha256 FROM claims_evidence AS e"  # noqa: S608 - marks are ours
                " LEFT JOIN claims_evidence_content AS c ON c.sha256 = e.sha256 AND c.tenant_id = e.tenant_id"
                f" WHERE e.sha256 IN ({marks(part)}) AND e.tenant_id = ?",
                (*part, tenant_id),
            )
            sizes |= {str(name): int(size) for name, size, held in rows if held is not None}
            erased |= {str(name) for name, _, held in rows if held is None}
        return sizes, frozenset(erased)

    def contents(self, tenant_id: TenantId, hashes: tuple[str, ...]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for part in in_parts(hashes):
            rows = self._session.query(
                "SELECT sha256, content FROM claims_evidence_content"  # noqa: S608 - marks are ours
                f" WHERE sha256 IN ({marks(part)}) AND tenant_id = ?",
                (*part, tenant_id),
            )
            found |= {str(name): bytes(content) for name, content in rows}
        return found

    def erase_content(self, tenant_id: TenantId, sequence_number: int) -> bool:
        erased = self._session.run(
            "DELETE FROM claims_evidence_content WHERE tenant_id = ? AND sha256 IN"
            " (SELECT sha256 FROM claims_evidence WHERE sequence_number = ? AND tenant_id = ?)",
            (tenant_id, sequence_number, tenant_id),
        )
        return bool(erased)

    def _log(self, sql: str, tenant_id: TenantId, kind: type[T]) -> Iterator[T]:
        rows = self._session.stream(f"{sql} WHERE tenant_id = ? ORDER BY sequence_number", (tenant_id,))
        return (read_row(row, kind) for row in rows)

    def _all(self, sql: str, parameters: tuple[object, ...], kind: type[T]) -> tuple[T, ...]:
        return tuple(read_row(row, kind) for row in self._session.query(sql, parameters))

    def _one(self, sql: str, parameters: tuple[object, ...], kind: type[T]) -> T | None:
        found = self._all(sql, parameters, kind)
        return found[0] if found else None
