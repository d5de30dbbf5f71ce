"""States: list, show, prove, replay and map what is known of keys, now or at an instant of the past (Kaori 17)."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta, Struct
from msgspec.structs import asdict

from assay.flows.errors import NotFoundError
from assay.flows.ledger.own_keys import own_key_ring_in
from assay.flows.ledger.prove_record import bundle_of
from assay.flows.request import (
    Content,
    Done,
    FieldProblem,
    FieldsError,
    Limit,
    Moment,
    Option,
    Page,
    Paged,
    Request,
    cut,
    map_page,
    parse_moment,
    read_number,
    read_text,
)
from assay.flows.tools import Tools
from assay.flows.truth.contracts import get_contract, read_contract
from assay.flows.truth.replay_state import signature_problems
from assay.flows.truth.replay_truth import find_silver, ledger_entries, replay_truth
from assay.flows.truth.state_entry import GetEntry, ReplayCode, ReplayProblem, read_bronze, read_state, state_value
from assay.flows.truth.vote_entry import UnsignedRecordError, voter_entry_of
from assay.identity.caller import Caller
from assay.kernel.bundle import Attachment, Bundle, render_bundle
from assay.kernel.digest import digest_of
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, render_instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.truth_store import SilverState
from assay.truth.admit import bucket_bounds
from assay.truth.confidence import decay_factor
from assay.truth.contract import Contract
from assay.truth.duration import parse_duration
from assay.truth.key import parse_truth_key
from assay.truth.number import ARITHMETIC, quantised
from assay.truth.outline import outline_of
from assay.truth.state import TruthState, parse_truth_state, render_truth_state
from assay.truth.status import TruthStatus

_DEGREES = re.compile(r"-?\d{1,3}(\.\d{1,12})?", re.ASCII)
# States that are compared with their entries at once.
_PART = 64


KeyName = Annotated[
    str, Meta(description="A truth key, such as `earth:flood:h3:886142a8e7fffff:surface:2026-01-07T12:00Z`.")
]
NamedState = Annotated[str, Meta(description="A truth key, or the hash of a state."), Option(metavar="KEY|HASH")]
KnownAt = Annotated[
    Moment | None,
    Meta(description="What was known then, such as 2026-01-07T12:30:00Z; else what is known now."),
    Option(metavar="TIME"),
]
ClaimTypeFilter = Annotated[
    str | None, Meta(description="Only keys whose latest state is of this claim type."), Option(metavar="ID")
]
StatusFilter = Annotated[
    tuple[TruthStatus, ...], Meta(description="Only states of this status; may be repeated."), Option(flag="--status")
]
_HASH_LENGTH = 64
_HALF_TURN, _POLE = 180, 90


class ListStates(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    claim_type: ClaimTypeFilter = None
    status: StatusFilter = ()
    at: KnownAt = None


class ShowState(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    key: KeyName
    at: KnownAt = None


class ListVersions(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    key: KeyName
    at: Annotated[
        Moment | None, Meta(description="Only states that were compiled by then."), Option(metavar="TIME")
    ] = None


class ProveState(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    key: NamedState
    version: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Which state of the key; else the latest."),
        Option(metavar="N"),
    ] = None


class ReplayState(ProveState, frozen=True, kw_only=True, forbid_unknown_fields=True):
    skip_trust: Annotated[bool, Meta(description="Do not fold every signal again to compare the snapshot.")] = False


class MapStates(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    claim_type: ClaimTypeFilter = None
    status: StatusFilter = ()
    at: KnownAt = None
    bbox: Annotated[
        str | None,
        Meta(
            description="`west,south,east,north` in degrees; west is greater than east where it crosses longitude 180."
        ),
        Option(metavar="BOX"),
    ] = None
    after: Annotated[str | None, Meta(description="The `next` of the page before."), Option(metavar="KEY")] = None
    limit: Limit = 100


class StateItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signed state, and what age has left of it; the state itself never changes.

    `is_stale`: something was recorded under the key that is in no state yet.
    """

    truthkey: str
    version: int
    sequence_number: int
    compiled_at: Instant
    confidence_now: float
    is_expired: bool
    is_stale: bool
    state: dict[str, Any]


class TruthMap(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A GeoJSON FeatureCollection (RFC 7946); `next` is the `after` of the next page, null at the end."""

    type: Literal["FeatureCollection"]
    features: tuple[dict[str, Any], ...]
    next: str | None = None


class StateReplay(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What replaying a state found; `holds` only if every byte is the same and the signature is valid.

    `is_complete` and `is_trust_refolded` are null where that was not checked.
    """

    holds: bool
    truthkey: str
    version: int
    state_hash: str
    sequence_number: int
    records: int
    is_complete: bool | None
    is_trust_refolded: bool | None
    problems: tuple[ReplayProblem, ...]


def states(tools: Tools, caller: Caller, request: ListStates) -> Page[StateItem]:
    """List the latest state of each key, by key; or what was known at an instant."""
    after, known_at = read_text("states", request.cursor), parse_moment(request.at)
    statuses = frozenset(map(str, request.status)) or None

    def look(unit: Unit) -> list[ShownTruth]:
        shown = gold_of(
            unit,
            tools,
            caller.tenant_id,
            claim_type=request.claim_type,
            known_at=known_at,
            at=caller.at,
            after=after,
            statuses=statuses,
        )
        return list(islice(shown, request.limit + 1))

    found = tools.database.read(look)
    return map_page(cut("states", found, request.limit, lambda one: one.state.truthkey), state_item)


def state(tools: Tools, caller: Caller, request: ShowState) -> StateItem:
    """Show the latest state of a key, its confidence term by term, and what age has left of it.

    Nothing is verified by showing it; `assay truth verify` and `assay truth replay` do that.
    """
    return state_item(_shown(tools, caller, request))


def state_document(tools: Tools, caller: Caller, request: ShowState) -> Done[Content]:
    """Return the signed state alone, byte for byte as it was signed: what `assay truth verify` verifies."""
    shown = _shown(tools, caller, request)
    security = shown.state.security
    assert security is not None  # noqa: S101 - an unsigned state is never stored
    headers = {
        "assay-version": str(shown.version),
        "assay-sequence-number": str(shown.sequence_number),
        "assay-confidence-now": str(shown.confidence_now),
        "assay-is-expired": str(shown.is_expired).lower(),
        "assay-is-stale": str(shown.is_stale).lower(),
    }
    return Done(value=Content(body=render_truth_state(shown.state), etag=security.state_hash), headers=headers)


def _shown(tools: Tools, caller: Caller, request: ShowState) -> "ShownTruth":
    return show_truth(tools, caller.tenant_id, request.key, at=caller.at, known_at=parse_moment(request.at))


def versions(tools: Tools, caller: Caller, request: ListVersions) -> Page[StateItem]:
    """List every state of a key, the oldest first; none was ever edited."""
    after, known_at = read_number("versions", request.cursor), parse_moment(request.at)
    history = show_history(tools, caller.tenant_id, request.key, at=caller.at)
    if not history:
        raise NotFoundError(f"tenant `{caller.tenant_id}` knows nothing of `{request.key[:200]}`")
    by_then = [one for one in history if known_at is None or one.compiled_at <= known_at]
    rest = [one for one in by_then if one.version > after]
    return map_page(cut("versions", rest, request.limit, lambda one: one.version), state_item)


def prove_state(tools: Tools, caller: Caller, request: ProveState) -> Content:
    """Prove a state: its entry, path and checkpoint, and every entry it was compiled from.

    `assay verify` and `assay truth verify` compile it again from that file alone. A checkpoint must cover the entry.
    """
    bundle = prove_truth(tools, caller.tenant_id, **_named(request))
    return Content(body=render_bundle(bundle))


def replay_recorded(tools: Tools, caller: Caller, request: ReplayState) -> StateReplay:
    """Compile a state again from the ledger's entries alone, and compare every byte; then the tables.

    Trust is folded again from every signal of the ledger, and no entry of the key may have been left out.
    """
    found = replay_truth(tools, caller.tenant_id, **_named(request), skip_trust=request.skip_trust)
    return StateReplay(holds=found.holds, **asdict(found))


def _named(request: ProveState) -> dict[str, Any]:
    """A state is named by its hash, or by a key and one of its versions."""
    is_hash = len(request.key) == _HASH_LENGTH and ":" not in request.key
    if is_hash and request.version is not None:
        raise FieldsError([FieldProblem(field="version", message="expected a version with a key, got a hash")])
    if is_hash:
        return {"state_hash": request.key}
    return {"truthkey": request.key, "version": request.version}


def map_states(tools: Tools, caller: Caller, request: MapStates) -> TruthMap:
    """Map the latest state of each key as GeoJSON, by key: one feature for each, with the outline of its place."""
    features: list[dict[str, Any]] = []
    map_features(
        tools,
        caller.tenant_id,
        features.append,
        at=caller.at,
        claim_type=request.claim_type,
        known_at=parse_moment(request.at),
        statuses=frozenset(map(str, request.status)) or None,
        after=request.after,
        limit=request.limit + 1,
        box=_parse_box(request.bbox),
    )
    page = tuple(features[: request.limit])
    following = page[-1]["id"] if len(features) > request.limit else None
    return TruthMap(type="FeatureCollection", features=page, next=following)


def _parse_box(text: str | None) -> "Box | None":
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) == len(Box._fields) and all(_DEGREES.fullmatch(part) for part in parts):
        box = Box(*map(float, parts))
        if max(abs(box.west), abs(box.east)) <= _HALF_TURN and -_POLE <= box.south <= box.north <= _POLE:
            return box
    message = f"expected `west,south,east,north` in degrees, got `{text[:80]}`"
    raise FieldsError([FieldProblem(field="bbox", message=message)])


def state_item(shown: "ShownTruth") -> StateItem:
    return StateItem(
        truthkey=shown.state.truthkey,
        version=shown.version,
        sequence_number=shown.sequence_number,
        compiled_at=shown.compiled_at,
        confidence_now=float(shown.confidence_now),
        is_expired=shown.is_expired,
        is_stale=shown.is_stale,
        state=state_value(shown.state),
    )


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
        verify_gold(unit, tools, tenant_id, [silver])
        return shown_state(unit, tools, tenant_id, silver, at=at if known_at is None else known_at)

    return tools.database.read(work)


def show_history(tools: Tools, tenant_id: TenantId, truthkey: str, *, at: Instant) -> tuple[ShownTruth, ...]:
    """Every state of a key, oldest first; none is an empty answer."""

    def work(unit: Unit) -> tuple[ShownTruth, ...]:
        history = unit.truth.history(tenant_id, truthkey)
        verify_gold(unit, tools, tenant_id, history)
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

    The signature of each is verified before it is given out.
    """
    moment = at if known_at is None else known_at
    gold = unit.truth.gold(tenant_id, claim_type=claim_type, known_at=known_at, after=after)
    chosen = (one for one in gold if statuses is None or one.status in statuses)
    while part := list(islice(chosen, _PART)):
        verify_gold(unit, tools, tenant_id, part)
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


class _Signed(Struct, frozen=True, kw_only=True):
    """A row whose signature was checked, which is more than being its entry."""

    row: SilverState


def verify_gold(unit: Unit, tools: Tools, tenant_id: TenantId, states: Iterable[SilverState]) -> None:
    """Raise `truth.not_as_signed` for the first that is not as it was signed; each is verified once in a process.

    A signature that only the holder of a secret can check is left to its holder.
    """
    given = [_Signed(row=one) for one in states]
    unseen = [one for one in tools.vouched.unseen(tenant_id, given) if isinstance(one, _Signed)]
    if not unseen:
        return
    ring = own_key_ring_in(unit, tools.founder)
    for one in unseen:
        problems = signature_problems(parse_truth_state(one.row.text), ring, tools.truth_signer)
        wrong = [problem for problem in problems if problem.code != ReplayCode.NOT_CHECKED]
        if wrong:
            raise UnsignedRecordError(
                f"expected the state of entry {one.row.sequence_number} as it was signed: {wrong[0].message}"
            )
    tools.vouched.add(tenant_id, unseen)


ENTRY_ATTACHMENT = "assay-ledger-entry"
# As canonical bytes write it; inside a text the quotes would be escaped.
_VOTE = f'"kind":"{EntryKind.VOTE_CAST}"'.encode()


def prove_truth(
    tools: Tools,
    tenant_id: TenantId,
    *,
    state_hash: str | None = None,
    truthkey: str | None = None,
    version: int | None = None,
) -> Bundle:
    """The state's entry with its proof, and every entry it was compiled from; `replay_bundle` needs nothing else.

    Those entries are bound by the state itself, which names each input by its hash; with a vote goes the entry that
    says who the voter was.
    """

    def work(unit: Unit) -> Bundle:
        silver = find_silver(unit, tenant_id, state_hash=state_hash, truthkey=truthkey, version=version)
        get_entry = ledger_entries(unit, tenant_id)
        _, body = read_state(get_entry, silver.sequence_number)
        voters = _voters(get_entry, body.inputs.records)
        numbers = sorted({body.inputs.contract, body.inputs.snapshot, *body.inputs.records, *voters})
        attachments = tuple(_attachment(number, get_entry(number)) for number in numbers)
        with tools.tiles.borrow(unit, tenant_id) as cache:
            return bundle_of(unit, tenant_id, silver.sequence_number, attachments=attachments, cache=cache)

    return tools.database.read(work)


def _voters(get_entry: GetEntry, records: Iterable[int]) -> Iterator[int]:
    """A key has many observations and few votes: only these are read whole."""
    for number in records:
        if _VOTE in (get_entry(number) or b""):
            voter = voter_entry_of(read_bronze(get_entry, number)[1])
            if voter is not None:
                yield voter


def _attachment(number: int, text: bytes | None) -> Attachment:
    if text is None:
        raise NotFoundError(f"the ledger has no entry {number}, which the state was compiled from")
    return Attachment(kind=ENTRY_ATTACHMENT, name=f"entry-{number:09d}.json", sha256=digest_of(text), content=text)
