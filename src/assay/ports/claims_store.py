"""What a node remembers of claims: policies, bundles by their hash, what was decided about them, and evidence.

All of it is added once and never changed, but that the content of evidence may be erased. Approvals are not here: they
are answers on the review desk.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.ids import KeyId, PrincipalId, TenantId
from assay.kernel.instant import Instant


class ReleasedClaimsPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A policy as it was signed: `document` is the YAML, `signature` hex over it by the key of that id."""

    policy_hash: Digest
    policy_id: str
    version: str
    document: str
    key_id: KeyId
    signature: str
    released_at: Instant
    released_by: PrincipalId
    sequence_number: int


class ReceivedBundle(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A bundle as it came: `text` is its canonical JSON, `context` the JSON of what came with it.

    `tier` is the highest of its claims, `thread` the session it says to belong to, `resumes` the bundle that it is
    put in the place of.
    """

    bundle_hash: Digest
    bundle_id: str
    submitted_by: PrincipalId
    tier: str
    thread: str | None
    resumes: Digest | None
    text: str
    context: str
    received_at: Instant
    sequence_number: int


class RecordedDecision(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was decided about a bundle: `position` counts 1, 2, 3 … of it, `text` is the JSON of the whole outcome."""

    bundle_hash: Digest
    position: int
    decision: str
    reason: str
    policy_hash: Digest
    text: str
    decided_at: Instant
    sequence_number: int


class TakenTurn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A bundle that has had its turn in the rate of its agent, with the decision in that entry.

    `position` counts 1, 2, 3 … of the agent.
    """

    bundle_hash: Digest
    submitted_by: PrincipalId
    position: int
    taken_at: Instant
    sequence_number: int


class EvidenceFact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fact that evidence of this SHA-256 in hex was attached; it stays when the content goes."""

    sha256: str
    size: int
    attached_by: PrincipalId
    attached_at: Instant
    sequence_number: int


# What an erasure names where it removed the content of evidence; the entry that attached it has its hash alone.
CONTENT_POINTER = "/content"


class EvidenceContent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of evidence under its SHA-256; erased without a trace here, and with an entry in the ledger."""

    sha256: str
    content: bytes


class HeldEvidence(EvidenceFact, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Attached evidence with its content; None where that was erased."""

    content: bytes | None


class ClaimsStore(Protocol):
    """Whatever is added under a name that is taken is `store.conflict`."""

    def policies(self, tenant_id: TenantId) -> tuple[ReleasedClaimsPolicy, ...]:
        """In the order of their release; the last one is active."""
        ...

    def active_policy(self, tenant_id: TenantId) -> ReleasedClaimsPolicy | None: ...

    def find_bundle(self, tenant_id: TenantId, bundle_hash: Digest) -> ReceivedBundle | None: ...

    def logged_under(self, tenant_id: TenantId, bundle_id: str) -> tuple[int, ...]:
        """Return the numbers of the `claims.received` entries with this id (a UUID) by the ledger's own index."""
        ...

    def find_bundles(self, tenant_id: TenantId, bundle_hashes: Iterable[Digest]) -> tuple[ReceivedBundle, ...]:
        """Return those of them that were received, in any order; a few queries, however many there are."""
        ...

    def find_successor(self, tenant_id: TenantId, bundle_hash: Digest) -> ReceivedBundle | None:
        """The bundle that was put in its place; there is at most one."""
        ...

    def decision_log(self, tenant_id: TenantId) -> Iterator[RecordedDecision]: ...

    def last_positions(self, tenant_id: TenantId) -> dict[Digest, int]:
        """The position of the last decision about each bundle."""
        ...

    def latest_turn(self, tenant_id: TenantId, submitted_by: PrincipalId) -> TakenTurn | None: ...

    def turn_before(self, tenant_id: TenantId, submitted_by: PrincipalId, since: Instant) -> TakenTurn | None:
        """The turn just before the agent's first one after `since`; None where there is no such turn."""
        ...

    def logged_turn(self, tenant_id: TenantId, submitted_by: PrincipalId) -> int | None:
        """The newest entry that says that a bundle of this agent took its turn, whatever rows there are.

        What is appended in this very commit may not be found yet.
        """
        ...

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
        """The tiers of the latest bundles of one thread of a principal, oldest first; None is what named no thread.

        With `any_thread`, those of all its threads.
        """
        ...

    def decisions(self, tenant_id: TenantId, bundle_hash: Digest) -> tuple[RecordedDecision, ...]:
        """The decisions about a bundle, by position."""
        ...

    def logged_decisions(self, tenant_id: TenantId, bundle_hash: Digest) -> int:
        """How many decisions about a bundle the ledger itself holds, whatever rows there are; as `logged_turn`."""
        ...

    def latest_decisions(self, tenant_id: TenantId, bundle_hashes: Iterable[Digest]) -> tuple[RecordedDecision, ...]:
        """The last about each of these bundles that is decided, in any order. A few questions, however many bundles."""
        ...

    def add_content(self, tenant_id: TenantId, sha256: str, content: bytes) -> None:
        """Store the content of evidence whose entry is recorded; `unit.record` inserts the row about it."""
        ...

    def find_evidence(self, tenant_id: TenantId, sha256: str) -> HeldEvidence | None: ...

    def evidence_states(self, tenant_id: TenantId, hashes: tuple[str, ...]) -> tuple[dict[str, int], frozenset[str]]:
        """How large each of these is whose content is held, and those that were attached and whose content is gone."""
        ...

    def contents(self, tenant_id: TenantId, hashes: tuple[str, ...]) -> dict[str, bytes]:
        """The content of those of them that are held, by hash."""
        ...

    def erase_content(self, tenant_id: TenantId, sequence_number: int) -> bool:
        """Delete the content that the entry of that number attached; false where there is none (any more)."""
        ...
