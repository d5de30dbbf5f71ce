"""The Gold layer as a map: GeoJSON (RFC 7946), one feature for each key, streamed.

states -> the shape of each key's place -> features with status, claim and what age left of the confidence
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from assay.flows.tools import Tools
from assay.flows.truth.released import get_contract, read_contract
from assay.flows.truth.show_truth import ShownTruth, gold_of
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, render_instant
from assay.ports.database import Unit
from assay.truth.key import parse_truth_key
from assay.truth.outline import outline_of

_TURN = 360.0


class Box(NamedTuple):
    """A piece of a map in degrees, as RFC 7946 writes it: where `west` is greater than `east`, it crosses 180."""

    west: float
    south: float
    east: float
    north: float

    def meets(self, outline: Sequence[tuple[float, float]]) -> bool:
        """Whether it has anything in common with the box around an outline, which may go on beyond 180."""
        longitudes, latitudes = [one[0] for one in outline], [one[1] for one in outline]
        if max(latitudes) < self.south or min(latitudes) > self.north:
            return False
        east = self.east if self.west <= self.east else self.east + _TURN
        return any(
            min(longitudes) + turned <= east and max(longitudes) + turned >= self.west
            for turned in (-_TURN, 0.0, _TURN)
        )


def map_truth(
    tools: Tools,
    tenant_id: TenantId,
    *,
    at: Instant,
    claim_type: str | None = None,
    known_at: Instant | None = None,
) -> dict[str, Any]:
    """One FeatureCollection, all in memory; whoever has many keys takes `map_features`."""
    features: list[dict[str, Any]] = []
    map_features(tools, tenant_id, features.append, at=at, claim_type=claim_type, known_at=known_at)
    return {"type": "FeatureCollection", "features": features}


def map_features(
    tools: Tools,
    tenant_id: TenantId,
    put: Callable[[dict[str, Any]], None],
    *,
    at: Instant,
    claim_type: str | None = None,
    known_at: Instant | None = None,
    statuses: Collection[str] | None = None,
    after: str | None = None,
    limit: int | None = None,
    box: Box | None = None,
) -> int:
    """Each feature is handed to `put`, sorted by key; the answer counts them.

    A page: so many of the keys after one. With a `box` only of places in it; what has no place is in none.
    """

    def work(unit: Unit) -> int:
        count = 0
        gold = gold_of(
            unit,
            tools,
            tenant_id,
            claim_type=claim_type,
            known_at=known_at,
            at=at,
            after=after,
            statuses=statuses,
        )
        for feature in islice(_features(unit, tools, tenant_id, gold, box), limit):
            put(feature)
            count += 1
        return count

    return tools.database.read(work)


def _features(
    unit: Unit, tools: Tools, tenant_id: TenantId, gold: Iterable[ShownTruth], box: Box | None
) -> Iterator[dict[str, Any]]:
    for shown in gold:
        released = get_contract(unit, tenant_id, shown.state.claim_type)
        contract = read_contract(released.document, released.schema_text, tools.domain_systems)
        outline = outline_of(contract, parse_truth_key(shown.state.truthkey))
        if box is None or (outline is not None and box.meets(outline)):
            yield _feature(shown, outline)


def _feature(shown: ShownTruth, outline: Sequence[tuple[float, float]] | None) -> dict[str, Any]:
    state = shown.state
    return {
        "type": "Feature",
        "id": state.truthkey,
        "geometry": None if outline is None else {"type": "Polygon", "coordinates": [[list(one) for one in outline]]},
        "properties": {
            "claim_type": state.claim_type,
            "status": state.status.value,
            "verification_basis": state.verification_basis.value,
            "claim": state.claim,
            "confidence": float(state.confidence),
            "confidence_now": float(shown.confidence_now),
            "is_expired": shown.is_expired,
            "is_stale": shown.is_stale,
            "version": shown.version,
            "compiled_at": render_instant(shown.compiled_at),
            "state_hash": None if state.security is None else state.security.state_hash,
        },
    }
