"""A trust snapshot: who was trusted how far at one instant, frozen (Kaori 9). Data, never something to ask.

standings (computed elsewhere) -> `freeze_snapshot` -> TrustSnapshot, whose hash always holds
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from hashlib import sha256
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import force_setattr

from assay.kernel.canonical import Profile, canonicalize
from assay.kernel.instant import Instant, instant_of, render_instant
from assay.truth._contract_subject import Standing
from assay.truth._read import read_record
from assay.truth._wire import canonical_value
from assay.truth.competence import Competence
from assay.truth.errors import NumberFormError, TruthError
from assay.truth.forms import AgentId, HexHash, RecordId, Share
from assay.truth.number import exact_number, plain_number, quantised, whole_millionths


class AgentTrust(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """`trust_score` is effective trust as a share of the highest; an inadmissible agent is recorded and not heard.

    `competence` is the agent's record for the claim type. It is left out of the canonical form where there is none, so
    that a snapshot without any keeps the hash it always had.
    """

    standing: Standing
    trust_score: Share
    admissible: bool
    competence: Competence | None = None

    def canonical(self) -> dict[str, object]:
        if not 0 <= exact_number(self.trust_score) <= 1:
            raise NumberFormError(f"expected a trust score from 0 to 1, got `{str(self.trust_score)[:80]}`")
        return {
            "standing": self.standing.value,
            "trust_score": plain_number(quantised(self.trust_score)),
            "admissible": self.admissible,
            **({} if self.competence is None else {"competence": self.competence.canonical()}),
        }


class _ByAgent(dict[str, int]):
    """Worked out when an agent is first asked for: what nobody asks costs nothing."""

    def __init__(
        self, agent_trusts: Mapping[str, AgentTrust], work_out: Callable[[AgentTrust], int], absent: int
    ) -> None:
        super().__init__()
        self._trusts, self._work_out, self._absent = agent_trusts, work_out, absent

    def __missing__(self, agent_id: str) -> int:
        trust = self._trusts.get(agent_id)
        if trust is None or not trust.admissible:
            # Not kept: anyone can make up names.
            return self._absent
        found = self[agent_id] = self._work_out(trust)
        return found


def _rank(trust: AgentTrust) -> int:
    return _RANK[trust.standing]


def _trust(trust: AgentTrust) -> int:
    return whole_millionths(trust.trust_score)


_RANK = {standing: rank for rank, standing in enumerate(Standing)}


class TrustSnapshot(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """Kaori 9.2. Whoever holds one need not check its hash again: another is refused when it is made.

    `agent_trusts` is a copy of what was given, and read-only.
    """

    snapshot_id: RecordId
    snapshot_time: Instant
    agent_trusts: Mapping[AgentId, AgentTrust]
    snapshot_hash: HexHash

    def __post_init__(self) -> None:
        instant_of(self.snapshot_time)
        force_setattr(self, "agent_trusts", MappingProxyType(dict(self.agent_trusts)))
        got = snapshot_hash(self.agent_trusts)
        if got != self.snapshot_hash:
            raise TruthError.snapshot_hash(f"expected the hash of the trusts, {got}, got `{self.snapshot_hash[:80]}`")

    def find(self, agent_id: str) -> AgentTrust | None:
        """None for an agent that Flow does not know: such a one weighs nothing."""
        return self.agent_trusts.get(agent_id)

    def weights(self, by_rank: tuple[int, ...]) -> Mapping[str, int]:
        """What the standing of each agent weighs; the last weight is that of one that is unknown or inadmissible."""
        if by_rank not in self._weights:
            self._weights[by_rank] = _ByAgent(self.agent_trusts, lambda trust: by_rank[_rank(trust)], by_rank[-1])
        return self._weights[by_rank]

    @cached_property
    def _weights(self) -> dict[tuple[int, ...], Mapping[str, int]]:
        return {}

    @cached_property
    def memo(self) -> dict[object, dict[object, Any]]:
        """What compilations worked out from this snapshot, so that the next one need not; no part of its value."""
        return {}

    # For look-up with `[]`, which answers for every name.
    @cached_property
    def ranks(self) -> Mapping[str, int]:
        """The rank of each agent's standing, from 0; -1 for one that is unknown or inadmissible."""
        return _ByAgent(self.agent_trusts, _rank, -1)

    @cached_property
    def trusts(self) -> Mapping[str, int]:
        """The trust of each agent in millionths; 0 for one that is unknown or inadmissible."""
        return _ByAgent(self.agent_trusts, _trust, 0)


def snapshot_hash(agent_trusts: Mapping[str, AgentTrust]) -> str:
    """Kaori 9.3: over the trusts alone, with their competence, sorted by agent: neither order nor name matters."""
    trusts = {agent_id: trust.canonical() for agent_id, trust in sorted(agent_trusts.items())}
    return sha256(canonicalize(trusts, Profile.KAORI)).hexdigest()


def freeze_snapshot(snapshot_id: str, snapshot_time: Instant, agent_trusts: Mapping[str, AgentTrust]) -> TrustSnapshot:
    """A copy of these trusts with its hash; forms are judged as for one from outside."""
    frozen = {
        "snapshot_id": snapshot_id,
        "snapshot_time": snapshot_time,
        "agent_trusts": {agent_id: trust.canonical() for agent_id, trust in agent_trusts.items()},
        "snapshot_hash": snapshot_hash(agent_trusts),
    }
    return parse_snapshot(frozen)


def parse_snapshot(value: bytes | str | dict[str, object]) -> TrustSnapshot:
    """From JSON text or its value; refused with every problem, or because the hash is another."""
    record = read_record(canonical_value(value), _Received)
    return TrustSnapshot(
        snapshot_id=record.snapshot_id,
        snapshot_time=record.snapshot_time,
        agent_trusts=record.agent_trusts,
        snapshot_hash=record.snapshot_hash,
    )


def render_snapshot(snapshot: TrustSnapshot) -> bytes:
    plain = {
        "snapshot_id": snapshot.snapshot_id,
        "snapshot_time": render_instant(instant_of(snapshot.snapshot_time)),
        "agent_trusts": {agent_id: trust.canonical() for agent_id, trust in snapshot.agent_trusts.items()},
        "snapshot_hash": snapshot.snapshot_hash,
    }
    return canonicalize(plain, Profile.KAORI)


class _Received(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A snapshot whose hash nobody checked yet, so that a wrong one keeps its own code."""

    snapshot_id: RecordId
    snapshot_time: Instant
    agent_trusts: dict[AgentId, AgentTrust]
    snapshot_hash: HexHash
