"""Discover: which services can do this, who answers that, and what is missing where the answer is no.

entries -> build_index -> Index -> who_can | count_can | who_answers | explain;   Index + changes -> update_index
An index is a snapshot that never changes. It holds every mask as a row of one array and as one packed column for each
bit, of which a question reads only those it asks about; a small fleet also has its columns as whole numbers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from assay.registry._columns import (
    NARROW,
    Names,
    Words,
    count_bits,
    grow,
    object_array,
    pack,
    pack_all,
    pick,
    positions,
    set_bits,
    whole_numbers,
)
from assay.registry.action import is_tier
from assay.registry.errors import RegistryError
from assay.registry.manifest import Manifest
from assay.registry.permission import ANKR_32BIT_V1, MaskSchema, describe, missing_bits, parse_mask

# Up to here the columns are kept as whole numbers too, and one pass over the rows costs less than over the columns.
_SMALL = 2048
# So many services are picked out of a whole number one by one; more are found in the array of rows.
_FEW = 24
_WORD = 64
_ALIVE = 1 << 63
_TIERS = (1, 2, 3)
# Remembered answers take at most some 16 MB.
_MOST_ANSWERS = 512
_LONGEST_ANSWER = 4096


class ServiceEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an index knows of a service: `tier` is the active one, as its kill switch leaves it."""

    id: str
    domain: str
    capability_mask: int
    tier: int
    can_answer: tuple[str, ...] = ()
    can_do: tuple[str, ...] = ()


class Explanation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a service can or cannot: the bits it lacks by name, and the tier it would need."""

    service_id: str
    can: bool
    missing: tuple[str, ...]
    active_tier: int
    needed_tier: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Index:
    """A snapshot; services stand in slots, and a slot whose service left stays empty until another takes it.

    Answers are in the order of slots. They are remembered, since a snapshot answers the same question only one way.
    """

    schema: MaskSchema
    entries: Mapping[str, ServiceEntry]
    slots: Mapping[str, int]
    free: tuple[int, ...]
    ids: Names
    rows: Words
    columns: Words
    alive: Words
    tiers: Words
    domains: Mapping[str, frozenset[int]]
    queries: Mapping[str, frozenset[int]]
    actions: Mapping[str, frozenset[int]]
    # Every bit that the schema names; a question about another one is refused.
    named_bits: int
    # For small fleets: the columns of the bits, of tiers 1 to 3 and of the taken slots, each as one whole number.
    numbers: tuple[int, ...]
    _known: dict[tuple[int, int], tuple[str, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.entries)

    def who_can(self, needed: int, *, tier: int = 0) -> tuple[str, ...]:
        """The ids of all services that have every needed bit, and at least that tier active."""
        if type(needed) is not int or type(tier) is not int:
            # `True` and `1.0` are equal to 1 and would find its answer, though neither is a mask.
            return tuple(self.search(needed, tier=tier))
        known = self._known.get((needed, tier))
        if known is not None:
            return known
        found = tuple(self.search(needed, tier=tier))
        if len(found) <= _LONGEST_ANSWER:
            if len(self._known) >= _MOST_ANSWERS:
                self._known.clear()
            self._known[needed, tier] = found
        return found

    def search(self, needed: int, *, tier: int = 0) -> list[str]:
        """As `who_can`, but nothing is remembered."""
        if self.numbers:
            left = self._small_matching(needed, tier)
            if left.bit_count() <= _FEW:
                return pick(self.ids, left)
        named: list[str] = self.find_ids(needed, tier=tier).tolist()
        return named

    def find_ids(self, needed: int, *, tier: int = 0) -> Names:
        """As `search`, as an array: the quickest form where there are many."""
        if self.rows.size <= _SMALL and self.schema.width == NARROW and tier == 0:
            wanted = self.rows.dtype.type(self._require(needed) | _ALIVE)
            slots = ((self.rows & wanted) == wanted).nonzero()[0]
        else:
            slots = positions(self._matching(needed, tier))
        found: Names = self.ids[slots]
        return found

    def count_can(self, needed: int, *, tier: int = 0) -> int:
        """How many services `who_can` would name, without naming them."""
        return count_bits(self._matching(needed, tier))

    def who_answers(self, query: str, *, domain: str | None = None) -> tuple[str, ...]:
        """Who declares this query in `can_answer`."""
        return self._named(self.queries, query, domain)

    def who_does(self, action: str, *, domain: str | None = None) -> tuple[str, ...]:
        """Who declares this action in `can_do`; whether it may run now is a ruling's business."""
        return self._named(self.actions, action, domain)

    def in_domain(self, domain: str) -> tuple[str, ...]:
        return self._named(self.domains, domain, None)

    def explain(self, service_id: str, needed: int, *, tier: int = 0) -> Explanation:
        """Which bit or tier is missing; agrees with `who_can` in every case."""
        entry = self.entries.get(service_id)
        if entry is None:
            raise RegistryError.unknown_service(f"the index knows no service `{service_id[:80]}`")
        missing = describe(missing_bits(entry.capability_mask, self._require(needed)), self.schema)
        low = entry.tier < tier
        lacks = [f"lacks {', '.join(missing)}"] * bool(missing) + [f"has tier {entry.tier}, not {tier}"] * low
        return Explanation(
            service_id=service_id,
            can=not lacks,
            missing=missing,
            active_tier=entry.tier,
            needed_tier=tier,
            reason=f"`{service_id}` " + (" and ".join(lacks) if lacks else "can"),
        )

    def _matching(self, needed: int, tier: int) -> Words:
        """One bit for each slot. INVARIANT: the bits of empty slots are zero in `_alive`, so they never match."""
        found = self.tiers[_require_tier(tier) - 1] if tier else self.alive
        left = self._require(needed)
        while left:
            lowest = left & -left
            found = found & self.columns[lowest.bit_length() - 1]
            left ^= lowest
        return found

    def _small_matching(self, needed: int, tier: int) -> int:
        found = self.numbers[self.schema.width + _require_tier(tier) - 1 if tier else -1]
        left = self._require(needed)
        while left:
            lowest = left & -left
            found &= self.numbers[lowest.bit_length() - 1]
            left ^= lowest
        return found

    def _require(self, needed: int) -> int:
        if type(needed) is int and needed & ~self.named_bits == 0:
            return needed
        return parse_mask(needed, self.schema)

    def _named(self, table: Mapping[str, frozenset[int]], name: str, domain: str | None) -> tuple[str, ...]:
        slots = table.get(name, frozenset())
        if domain is not None:
            slots &= self.domains.get(domain, frozenset())
        return tuple(self.ids[slot] for slot in sorted(slots))


def entry_of(manifest: Manifest, *, tier: int) -> ServiceEntry:
    """What an index keeps of a manifest; `tier` is what the service's switch leaves."""
    return ServiceEntry(
        id=manifest.service,
        domain=manifest.domain,
        capability_mask=manifest.capability_mask,
        tier=tier,
        can_answer=manifest.can_answer,
        can_do=manifest.can_do,
    )


def build_index(entries: Iterable[ServiceEntry], schema: MaskSchema = ANKR_32BIT_V1) -> Index:
    """An index of these services, in their order; two of one id, or a mask outside of the schema, are refused."""
    listed = tuple(entries)
    _require_sound(listed, schema)
    import numpy as np  # noqa: PLC0415  numpy is loaded with the first index, not with the package

    rows = np.fromiter((_row(entry) for entry in listed), dtype=np.uint64, count=len(listed))
    columns = pack_all([entry.capability_mask for entry in listed], rows, schema.width)
    tiers = np.stack([pack([entry.tier >= tier for entry in listed]) for tier in _TIERS])
    alive = pack([1] * len(listed))
    return Index(
        schema=schema,
        entries={entry.id: entry for entry in listed},
        slots={entry.id: slot for slot, entry in enumerate(listed)},
        free=(),
        ids=object_array([entry.id for entry in listed]),
        rows=rows,
        columns=columns,
        alive=alive,
        tiers=tiers,
        domains=_names_of((entry.domain,) for entry in listed),
        queries=_names_of(entry.can_answer for entry in listed),
        actions=_names_of(entry.can_do for entry in listed),
        named_bits=_named_bits(schema),
        numbers=_numbers(len(listed), columns, tiers, alive[None, :]),
    )


def update_index(index: Index, *, put: Sequence[ServiceEntry] = (), drop: Iterable[str] = ()) -> Index:
    """A new snapshot with these services added or replaced and those dropped; the old one stays as it was.

    The arrays are copied as a whole, which is a few blocks of memory; only the slots that change are worked on.
    Dropping an unknown id changes nothing.
    """
    _require_sound(put, index.schema)
    draft = _Draft(index, room=len(put))
    for name in drop:
        draft.drop(name)
    for entry in put:
        draft.drop(entry.id)
        draft.put(entry)
    return draft.done()


class _Draft:
    """The next snapshot while it is made: copies of what changes, thrown away when done."""

    def __init__(self, index: Index, *, room: int) -> None:
        import numpy as np  # noqa: PLC0415  see above

        self.index = index
        self.entries = dict(index.entries)
        self.slots = dict(index.slots)
        size = len(index.ids)
        total = size + max(0, room - len(index.free))
        self.free = [*range(total - 1, size - 1, -1), *index.free]
        words = -(-total // _WORD)
        self.ids = np.empty(total, dtype=object)
        self.ids[:size] = index.ids
        self.rows = np.zeros(total, dtype=np.uint64)
        self.rows[:size] = index.rows
        self.columns = grow(index.columns, words)
        self.tiers = grow(index.tiers, words)
        self.alive = grow(index.alive[None, :], words)[0]
        self.tables = [dict(index.domains), dict(index.queries), dict(index.actions)]

    def drop(self, name: str) -> None:
        entry = self.entries.pop(name, None)
        if entry is None:
            return
        slot = self.slots.pop(name)
        self.ids[slot] = None
        self._write(slot, entry, is_there=False)
        self.free.append(slot)

    def put(self, entry: ServiceEntry) -> None:
        slot = self.free.pop()
        self.entries[entry.id] = entry
        self.slots[entry.id] = slot
        self.ids[slot] = entry.id
        self._write(slot, entry, is_there=True)

    def done(self) -> Index:
        domains, answers, actions = self.tables
        return Index(
            schema=self.index.schema,
            entries=self.entries,
            slots=self.slots,
            free=tuple(self.free),
            named_bits=self.index.named_bits,
            numbers=_numbers(len(self.ids), self.columns, self.tiers, self.alive[None, :]),
            ids=self.ids,
            rows=self.rows,
            columns=self.columns,
            alive=self.alive,
            tiers=self.tiers,
            domains=domains,
            queries=answers,
            actions=actions,
        )

    def _write(self, slot: int, entry: ServiceEntry, *, is_there: bool) -> None:
        word, bit = divmod(slot, _WORD)
        held = entry.capability_mask if is_there else 0
        self.rows[slot] = _row(entry) if is_there else 0
        bits = [held >> position & 1 for position in range(self.index.schema.width)]
        set_bits(self.columns[:, word], bit, bits)
        set_bits(self.tiers[:, word], bit, [is_there and entry.tier >= tier for tier in _TIERS])
        set_bits(self.alive[word : word + 1], bit, [is_there])
        for table, names in zip(self.tables, ((entry.domain,), entry.can_answer, entry.can_do), strict=True):
            for name in names:
                own = table.get(name, frozenset())
                table[name] = own | {slot} if is_there else own - {slot}
                if not table[name]:
                    del table[name]


def _require_sound(entries: Sequence[ServiceEntry], schema: MaskSchema) -> None:
    seen: set[str] = set()
    named = _named_bits(schema)
    for entry in entries:
        if entry.id in seen:
            raise RegistryError.duplicate_service(f"`{entry.id[:80]}` stands in the index twice")
        seen.add(entry.id)
        if not is_tier(entry.tier):
            raise RegistryError.invalid_rule(f"expected a tier of 0 to 3 for `{entry.id[:80]}`, got `{entry.tier}`")
        if type(entry.capability_mask) is not int or entry.capability_mask & ~named:
            parse_mask(entry.capability_mask, schema)
            raise RegistryError.invalid_rule(f"expected the mask of `{entry.id[:80]}` in its unsigned form")


def _require_tier(tier: int) -> int:
    if not is_tier(tier):
        raise RegistryError.invalid_rule(f"expected a tier of 0 to 3, got `{tier}`")
    return tier


def _named_bits(schema: MaskSchema) -> int:
    return ~schema.reserved & (1 << schema.width) - 1


def _row(entry: ServiceEntry) -> int:
    """The mask with a bit that says the slot is taken; a wide schema has no rows, only columns."""
    return entry.capability_mask & (1 << NARROW) - 1 | _ALIVE


def _numbers(size: int, *parts: Words) -> tuple[int, ...]:
    """The numbers that make small fleets quick; empty for a large one."""
    return () if size > _SMALL else whole_numbers(*parts)


def _names_of(lists: Iterable[Sequence[str]]) -> dict[str, frozenset[int]]:
    table: dict[str, set[int]] = {}
    for slot, names in enumerate(lists):
        for name in names:
            table.setdefault(name, set()).add(slot)
    return {name: frozenset(slots) for name, slots in table.items()}
