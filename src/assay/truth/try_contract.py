"""Trying a contract on reports, without a node: the states, why a report is heard or not, and what would change them.

contract + observations + snapshot (or newcomers) + time -> for each key: state, beliefs, what one report changes
Nothing here decides anything: every number is what the compiler computes.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, localcontext
from enum import StrEnum

from msgspec import Struct

from assay.kernel.instant import Instant
from assay.truth.compile import compile_truth_state
from assay.truth.contract import Contract, Standing
from assay.truth.derive import most_probable
from assay.truth.forms import Share
from assay.truth.gather import gather_observations
from assay.truth.number import ARITHMETIC
from assay.truth.observation import HashedObservation
from assay.truth.posterior import Belief, believe
from assay.truth.ready import ReadyObservation, prepare_observation
from assay.truth.snapshot import AgentTrust, TrustSnapshot, freeze_snapshot
from assay.truth.state import TruthState
from assay.truth.status import TruthStatus

_COMPILER = "try"
_NEWCOMER = AgentTrust(standing=Standing.BRONZE, trust_score=Decimal("0.119203"), admissible=True)
_MOST_FURTHER = 20


class Unheard(StrEnum):
    """Why a report is not heard, the first reason that applies."""

    FOREIGN_CLAIM_TYPE = "foreign_claim_type"
    NO_ADDRESS = "no_address"
    FUTURE = "future"
    EVIDENCE = "evidence"
    UNKNOWN_REPORTER = "unknown_reporter"
    THETA_MIN = "theta_min"
    NO_WEIGHT = "no_weight"


class Hearing(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a report is heard by itself; a later one of the same reporter, or a copy, may still take its place."""

    observation_id: str
    reporter_id: str
    heard: bool
    reason: Unheard | None = None
    is_misfit: bool = False


class FieldBelief(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The posterior of each value of a field, by canonical text; of a number that it is near the centre, or not."""

    field: str
    shares: dict[str, Share]


class ReportEffect(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the state would be without this report; `changed` are the fields of the claim that would be others."""

    observation_id: str
    reporter_id: str
    status: TruthStatus
    confidence: Share
    changed: tuple[str, ...]


class TriedKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`further` is how many more newcomers who say the same would verify it; None where twenty would not, or 0."""

    truthkey: str
    state: TruthState
    beliefs: tuple[FieldBelief, ...]
    effects: tuple[ReportEffect, ...]
    further: int | None


class TryRequest(Struct, frozen=True, kw_only=True):
    """Without a snapshot every reporter is a newcomer: bronze, admissible, without a record."""

    contract: Contract
    observations: tuple[HashedObservation, ...]
    compile_time: Instant
    snapshot: TrustSnapshot | None = None


class TryResult(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    keys: tuple[TriedKey, ...]
    hearings: tuple[Hearing, ...]


def try_contract(request: TryRequest) -> TryResult:
    """One key after another, sorted; a claim that its schema refuses is refused here as the compiler does."""
    contract = request.contract
    rows = [prepare_observation(contract, one) for one in request.observations]
    snapshot = request.snapshot or _newcomers(request, {row.reporter_id for row in rows})
    keys: dict[str, list[ReadyObservation]] = {}
    for row in rows:
        if row.truthkey:
            keys.setdefault(row.truthkey, []).append(row)
    return TryResult(
        keys=tuple(_tried(request, snapshot, key, keys[key]) for key in sorted(keys)),
        hearings=tuple(find_hearing(contract, row, snapshot, request.compile_time) for row in rows),
    )


def _newcomers(request: TryRequest, agents: Iterable[str]) -> TrustSnapshot:
    return freeze_snapshot("newcomers", request.compile_time, dict.fromkeys(agents, _NEWCOMER))


def find_hearing(
    contract: Contract, observation: HashedObservation | ReadyObservation, snapshot: TrustSnapshot, at: Instant
) -> Hearing:
    """By what the compiler asks of a single report: claim type, address, time, evidence, and the reporter's trust."""
    row = prepare_observation(contract, observation)
    said, trust = row.hashed.observation, snapshot.find(row.reporter_id)
    reason = None
    if said.claim_type != contract.id:
        reason = Unheard.FOREIGN_CLAIM_TYPE
    elif not row.truthkey:
        reason = Unheard.NO_ADDRESS
    elif said.reported_at > at:
        reason = Unheard.FUTURE
    elif row.evidence is None:
        reason = Unheard.EVIDENCE
    elif trust is None:
        reason = Unheard.UNKNOWN_REPORTER
    elif not trust.admissible:
        reason = Unheard.THETA_MIN
    elif not contract.consensus_model.weighted_roles[trust.standing]:
        reason = Unheard.NO_WEIGHT
    return Hearing(
        observation_id=row.observation_id,
        reporter_id=row.reporter_id,
        heard=reason is None,
        reason=reason,
        is_misfit=row.is_misfit,
    )


def _tried(request: TryRequest, snapshot: TrustSnapshot, key: str, rows: Sequence[ReadyObservation]) -> TriedKey:
    state = _state(request, snapshot, key, rows)
    heard = [row for row in rows if row.observation_id in state.observation_ids]
    posterior = believe(request.contract, gather_observations(request.contract, heard), snapshot)
    return TriedKey(
        truthkey=key,
        state=state,
        beliefs=tuple(
            FieldBelief(field=name, shares=belief.shares()) for name, belief in sorted(posterior.beliefs.items())
        ),
        effects=tuple(_effect(request, snapshot, key, rows, row, state) for row in heard) if len(heard) > 1 else (),
        further=_further(request.contract, posterior.beliefs),
    )


def _state(request: TryRequest, snapshot: TrustSnapshot, key: str, rows: Iterable[ReadyObservation]) -> TruthState:
    return compile_truth_state(
        request.contract,
        key,
        rows,
        snapshot,
        policy_version=request.contract.policy_version,
        compiler_version=_COMPILER,
        compile_time=request.compile_time,
    )


def _effect(
    request: TryRequest,
    snapshot: TrustSnapshot,
    key: str,
    rows: Sequence[ReadyObservation],
    left_out: ReadyObservation,
    state: TruthState,
) -> ReportEffect:
    without = _state(request, snapshot, key, [row for row in rows if row is not left_out])
    return ReportEffect(
        observation_id=left_out.observation_id,
        reporter_id=left_out.reporter_id,
        status=without.status,
        confidence=without.confidence,
        changed=tuple(
            sorted(name for name in {*without.claim, *state.claim} if without.claim.get(name) != state.claim.get(name))
        ),
    )


def _further(contract: Contract, beliefs: Mapping[str, Belief]) -> int | None:
    """By the posterior alone: how many newcomers with the claim's own values lift it to the contract's threshold."""
    rule, verify = contract.consensus_model.posterior, contract.confidence_model.thresholds.verify
    if rule is None or not beliefs:
        return None
    required = contract.schema.get("required")
    names = [name for name in beliefs if isinstance(required, list) and name in required] or list(beliefs)
    for count in range(_MOST_FURTHER + 1):
        shares = [_lifted(contract, name, beliefs[name], rule.prior_correct, count) for name in names]
        if min(shares) >= verify:
            return count
    return None


def _lifted(contract: Contract, name: str, belief: Belief, correct: Decimal, count: int) -> Decimal:
    """The share of the claimed value after so many newcomers say it, each right as often as the prior says."""
    place = belief.values.index(most_probable(contract.claim_derivation[name], belief))
    others = max(1, len(belief.values) - 1)
    with localcontext(ARITHMETIC):
        held = Decimal(belief.odds[place]) * (correct * others / (1 - correct)) ** count
        return held / (held + sum(belief.odds) - belief.odds[place])
