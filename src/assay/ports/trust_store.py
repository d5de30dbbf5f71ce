"""Trust's memory: the signal log, the policies that read it, and where a fold of it had arrived."""

from collections.abc import Iterator
from typing import Protocol

from msgspec import Struct

from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant


class LoggedSignal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One signal, logged by the ledger entry of that number; `text` is its canonical JSON (`kaori-2.1`)."""

    sequence_number: int
    signal_id: str
    kind: str
    agent_id: str
    occurred_at: Instant
    text: str


class RegisteredPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A trust policy as it was registered; the one with the highest `sequence_number` is in force."""

    policy_id: str
    policy_hash: str
    document: str
    registered_at: Instant
    registered_by: str
    sequence_number: int


class FoldMark(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the signals up to an entry amount to under one policy: a short cut, never an authority.

    `signature` is the node's own, in hex, and covers the hash of the entry `through`; a mark without one that holds is
    not used.
    """

    policy_hash: str
    through: int
    text: str
    signature: str = ""


class TrustStore(Protocol):
    """Signals and policies are inserted by `unit.record` and compared with their entries when they are read.

    An id of a signal is used once in a tenant, and so is that of a policy; an entry logs one signal at most.
    """

    def find_signal(self, tenant_id: TenantId, signal_id: str) -> LoggedSignal | None: ...

    def signals(
        self, tenant_id: TenantId, *, after: int = 0, through: int | None = None, limit: int | None = None
    ) -> Iterator[LoggedSignal]:
        """In the order they were logged; streamed, to be read inside the unit of work that asked."""
        ...

    def signals_of(
        self, tenant_id: TenantId, agent_id: str, *, after: int = 0, limit: int = 100
    ) -> tuple[LoggedSignal, ...]: ...

    def policies(self, tenant_id: TenantId) -> tuple[RegisteredPolicy, ...]:
        """In the order of registration."""
        ...

    def find_policy(self, tenant_id: TenantId, policy_hash: str) -> RegisteredPolicy | None:
        """The first that was registered with this hash."""
        ...

    def put_mark(self, tenant_id: TenantId, mark: FoldMark) -> None:
        """Replaces the mark of that policy."""
        ...

    def find_mark(self, tenant_id: TenantId, policy_hash: str) -> FoldMark | None: ...
