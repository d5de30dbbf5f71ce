"""What is known of a key, now or at an instant of the past; Gold as it stands when somebody looks (Kaori 17)."""

from collections.abc import Collection, Iterator
from decimal import Decimal
from itertools import islice

from msgspec import Struct

from assay.flows.errors import NotFoundError
from assay.flows.tools import Tools
from assay.flows.truth.released import get_contract, read_contract
from assay.flows.truth.vouch_gold import vouch_gold
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.truth_store import SilverState
from assay.truth.admit import bucket_bounds
from assay.truth.confidence import decay_factor
from assay.truth.contract import Contract
from assay.truth.duration import parse_duration
from assay.truth.key import parse_truth_key
from assay.truth.number import ARITHMETIC, quantised
from assay.truth.state import TruthState, parse_truth_state
from assay.truth.status import TruthStatus

# States that are compared with their entries at once.
_PART = 64


class ShownTruth(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signed state, and what age has left of it when it was read; the state itself never changes.

    `is_stale`: something was recorded under the key that is in no state yet.
    """

    state: TruthState
    version: int
    sequence_number: int
    compiled_at: Instant
    read_at: Instant
    confidence_now: Decimal
    is_expired: bool
    is_stale: bool


def show_truth(
    tools: Tools, tenant_id: TenantId, truthkey: str, *, at: Instant, known_at: Instant | None = None
) -> ShownTruth:
    """The latest state, or what was known at `known_at`: the last one compiled by then."""

    def work(unit: Unit) -> ShownTruth:
        silver = unit.truth.find_state(tenant_id, truthkey, known_at=known_at)
        if silver is None:
            raise NotFoundError(f"tenant `{tenant_id}` knows nothing of `{truthkey[:200]}`")
        vouch_gold(unit, tools, tenant_id, [silver])
        return shown_state(unit, tools, tenant_id, silver, at=at if known_at is None else known_at)

    return tools.database.read(work)


def show_history(tools: Tools, tenant_id: TenantId, truthkey: str, *, at: Instant) -> tuple[ShownTruth, ...]:
    """Every state of a key, oldest first; none is an empty answer."""

    def work(unit: Unit) -> tuple[ShownTruth, ...]:
        history = unit.truth.history(tenant_id, truthkey)
        vouch_gold(unit, tools, tenant_id, history)
        return tuple(shown_state(unit, tools, tenant_id, silver, at=at) for silver in history)

    return tools.database.read(work)


def gold_of(
    unit: Unit,
    tools: Tools,
    tenant_id: TenantId,
    *,
    claim_type: str | None,
    known_at: Instant | None,
    at: Instant,
    after: str | None = None,
    statuses: Collection[str] | None = None,
) -> Iterator[ShownTruth]:
    """The latest of each key, sorted by key; streamed. Only keys after one, and states of these statuses, if asked.

    Each is vouched for before it is given out, many at a time.
    """
    moment = at if known_at is None else known_at
    gold = unit.truth.gold(tenant_id, claim_type=claim_type, known_at=known_at, after=after)
    chosen = (one for one in gold if statuses is None or one.status in statuses)
    while part := list(islice(chosen, _PART)):
        vouch_gold(unit, tools, tenant_id, part)
        for silver in part:
            yield shown_state(unit, tools, tenant_id, silver, at=moment)


def shown_state(unit: Unit, tools: Tools, tenant_id: TenantId, silver: SilverState, *, at: Instant) -> ShownTruth:
    released = get_contract(unit, tenant_id, silver.claim_type)
    contract = read_contract(released.document, released.schema_text, tools.domain_systems)
    state = parse_truth_state(silver.text)
    return ShownTruth(
        state=state,
        version=silver.version,
        sequence_number=silver.sequence_number,
        compiled_at=silver.compile_time,
        read_at=at,
        confidence_now=_aged(contract, state, at),
        is_expired=state.status is TruthStatus.EXPIRED or is_past_validity(contract, state.truthkey, at),
        is_stale=unit.truth.last_record(tenant_id, silver.truthkey) > silver.through,
    )


def _aged(contract: Contract, state: TruthState, at: Instant) -> Decimal:
    """The confidence with the decay of the time it is read at instead of that of its compilation."""
    _, end = bucket_bounds(contract, parse_truth_key(state.truthkey))
    now, then = decay_factor(contract.temporal_decay, end, at), state.confidence_breakdown.decay
    if not then or now >= then:
        return state.confidence
    return quantised(ARITHMETIC.multiply(state.confidence, ARITHMETIC.divide(now, then)))


def is_past_validity(contract: Contract, truthkey: str, at: Instant) -> bool:
    _, end = bucket_bounds(contract, parse_truth_key(truthkey))
    return at - end > parse_duration(contract.temporal_decay.max_validity)
