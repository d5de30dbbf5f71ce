"""Freezing the trust of those who spoke at a key, and writing down what it was frozen from, so that anyone can again.

agents + fold of the log up to an entry + who is disabled -> TrustSnapshot, and its basis for the ledger
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import NamedTuple

from assay.facts.truth import SnapshotBasis
from assay.flows.tools import Tools
from assay.flows.trust.fold_shelf import Folded
from assay.flows.trust.fold_trust import borrow_trust
from assay.kernel.errors import TypeFormError
from assay.kernel.ids import TenantId, parse_principal_id
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.trust.evolve import Fold
from assay.trust.freeze import freeze_trust
from assay.truth.snapshot import TrustSnapshot

_SECOND = timedelta(seconds=1)


class Taken(NamedTuple):
    snapshot: TrustSnapshot
    basis: SnapshotBasis


def take_snapshot(
    unit: Unit,
    tools: Tools,
    tenant_id: TenantId,
    agents: Iterable[str],
    claim_type: str,
    *,
    at: Instant,
    through: int | None = None,
    folded: Folded | None = None,
    probes: Mapping[str, str] | None = None,
) -> Taken:
    """Freeze trust, by the fold that is handed in or else the one this process keeps, up to an entry or to the end.

    `probes` are those for which single agents reported.
    """
    asked = _Asked(tuple(sorted(set(agents))), claim_type, dict(probes or {}), at)
    if folded is not None:
        return _taken(unit, tenant_id, folded, asked)
    with borrow_trust(unit, tools, tenant_id, through=through) as kept:
        return _taken(unit, tenant_id, kept, asked)


class _Asked(NamedTuple):
    agents: tuple[str, ...]
    claim_type: str
    probes: dict[str, str]
    at: Instant


def _taken(unit: Unit, tenant_id: TenantId, folded: Folded, asked: _Asked) -> Taken:
    agents, claim_type, probes, at = asked
    disabled = _disabled(unit, tenant_id, agents, at)
    moment = max(at, folded.fold.clock)
    snapshot = freeze_trust(folded.fold, agents, claim_type=claim_type, at=moment, probes=probes, disabled=disabled)
    basis = SnapshotBasis(
        policy_hash=folded.fold.policy.policy_hash,
        trust_through=folded.through,
        claim_type=claim_type,
        agents=agents,
        disabled=disabled,
        asked_at=at,
        ahead_seconds=seconds_ahead(moment, at),
        probes=probes,
    )
    return Taken(snapshot, basis)


def seconds_ahead(moment: Instant, at: Instant) -> int:
    """How many seconds away a moment still is, rounded up; 0 where it has come."""
    return max(0, -((at - moment) // _SECOND))


def snapshot_of(
    unit: Unit,
    tenant_id: TenantId,
    fold: Fold,
    agents: Iterable[str],
    claim_type: str,
    *,
    at: Instant,
    probe: str | None = None,
) -> TrustSnapshot:
    """The frozen trust of these agents; whoever is disabled is known and not heard.

    Of the time of the newest signal where that is later: a clock that was ahead once stops nobody.
    """
    asked = tuple(sorted(set(agents)))
    disabled = _disabled(unit, tenant_id, asked, at)
    moment = max(at, fold.clock)
    return freeze_trust(fold, asked, claim_type=claim_type, at=moment, probe=probe, disabled=disabled)


def _disabled(unit: Unit, tenant_id: TenantId, agents: Iterable[str], at: Instant) -> tuple[str, ...]:
    return tuple(agent for agent in agents if _is_disabled(unit, tenant_id, agent, at))


def _is_disabled(unit: Unit, tenant_id: TenantId, agent_id: str, at: Instant) -> bool:
    try:
        principal = unit.identity.find_principal(tenant_id, parse_principal_id(agent_id))
    except TypeFormError:
        return False  # an agent need not be a principal
    return principal is not None and not principal.is_active(at)
