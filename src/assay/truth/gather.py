"""The observations of a key gathered for compiling: each once, turned into columns, with what follows from them alone.

ready observations, in any order and number -> Gathered -> compiled again and again, under any snapshot, at any time
One that arrives late is added to what was gathered before, without going through all of it again.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, compress
from types import MappingProxyType
from typing import NamedTuple, Self

from assay.kernel.instant import Instant
from assay.truth.contract import Contract
from assay.truth.observation import HashedObservation, render_observation
from assay.truth.reading import NumberColumn, ReadingPlan, TextColumn, number_column, text_column
from assay.truth.ready import ReadyObservation, prepare_observation


class _Columns(NamedTuple):
    claim_type_hash: str
    plan: ReadingPlan
    rows: tuple[ReadyObservation, ...]
    observation_hashes: tuple[str, ...]
    reporters: tuple[str, ...]
    hashes: tuple[str, ...]
    ids: tuple[str, ...]
    pieces: tuple[str, ...]
    key: str
    latest: int
    is_each_reporter_once: bool
    is_each_piece_once: bool
    has_misfits: bool
    texts: Mapping[str, TextColumn]
    numbers: Mapping[str, NumberColumn]


class Gathered(_Columns):
    """Made by `gather_observations` and `add_observation` alone, under the contract with this hash, or made again.

    `hashes`, `ids` and `pieces` (of evidence) are sorted, each once. `key` is the one at which all of them stand with
    evidence that counts, empty where some do not; `latest` is when the last was reported. `texts` and `numbers` are
    columns by path; they, `observation_hashes` and `reporters` have the order of `rows`.
    """

    __slots__ = ()

    def __new__(cls, *_given: object, **_named: object) -> Self:
        """Refused: whoever could write a column could write a claim (law 1)."""
        raise TypeError("expected `gather_observations` to make it, since it follows from observations alone")

    @classmethod
    def _make(cls, given: Iterable[object]) -> Self:  # type: ignore[override]  # as a tuple has it, said in fewer words
        """Refused like making one, and with it `_replace`."""
        return cls(*given)

    def receipts(self) -> tuple[Instant | None, ...]:
        """When each of `hashes` reached us; nothing where nobody knows of any."""
        known = {row.observation_hash: row.hashed.received_at for row in self.rows}
        return tuple([known[hash_] for hash_ in self.hashes]) if {*known.values()} - {None} else ()

    def only(self, chosen: Iterable[object]) -> "Gathered":
        """Those where `chosen` is true."""
        return _gathered(self.claim_type_hash, self.plan, tuple(compress(self.rows, chosen)))


def gather_observations(
    contract: Contract, observations: "Iterable[HashedObservation | ReadyObservation] | Gathered"
) -> Gathered:
    """Each once, ready for this contract; what is that already is kept as it is."""
    law = contract.claim_type_hash
    if isinstance(observations, Gathered):
        return observations if observations.claim_type_hash == law else gather_observations(contract, observations.rows)
    plan = contract.reading_plan
    rows = _ready(contract, tuple(observations))
    gathered = _gathered(law, plan, rows)
    return gathered if len(gathered.hashes) == len(rows) else _gathered(law, plan, _distinct(rows))


def _ready(contract: Contract, given: tuple[HashedObservation | ReadyObservation, ...]) -> tuple[ReadyObservation, ...]:
    law = contract.claim_type_hash
    # One look at a whole column instead of two questions to each row.
    if {*map(type, given)} == {ReadyObservation} and {row.claim_type_hash for row in given} == {law}:  # type: ignore[union-attr]  # asked for first
        return given  # type: ignore[return-value]  # asked for just before
    return tuple([prepare_observation(contract, one) for one in given])


def _distinct(rows: Iterable[ReadyObservation]) -> tuple[ReadyObservation, ...]:
    """Each once, by hash.

    Neither when it reached us nor media types are in the hash: of two that differ only there the one that was received
    first stands, then the one with the smaller bytes, so that the order in which they are given does not matter.
    """
    kept: dict[str, ReadyObservation] = {}
    for row in rows:
        other = kept.setdefault(row.observation_hash, row)
        if other.hashed != row.hashed:
            kept[row.observation_hash] = min(other, row, key=_arrival_and_bytes)
    return tuple(kept.values())


def _arrival_and_bytes(row: ReadyObservation) -> tuple[int, bytes]:
    return row.received, render_observation(row.hashed.observation)


def _gathered(law: str, plan: ReadingPlan, rows: tuple[ReadyObservation, ...]) -> Gathered:
    if not rows:
        return _nothing(law, plan)
    _, hashes, keys, reported, reporters, ids, evidence, texts, numbers, _, misfits, _ = zip(*rows, strict=True)
    pieces = [*chain.from_iterable(filter(None, evidence))]
    distinct = set(pieces)
    is_one_key = keys.count(keys[0]) == len(rows) and None not in evidence
    columns = _Columns(
        law,
        plan,
        rows,
        hashes,
        reporters,
        _sorted_once(hashes),
        _sorted_once(ids),
        tuple(sorted(distinct)),
        keys[0] if is_one_key else "",
        max(reported),
        len(set(reporters)) == len(rows),
        len(distinct) == len(pieces),
        True in misfits,
        dict(zip(plan.text_paths, map(text_column, zip(*texts, strict=True)), strict=True)),
        dict(zip(plan.number_paths, map(number_column, zip(*numbers, strict=True)), strict=True)),
    )
    return _made(columns)


def _made(columns: _Columns) -> Gathered:
    read_only = columns._replace(texts=MappingProxyType(columns.texts), numbers=MappingProxyType(columns.numbers))
    return tuple.__new__(Gathered, read_only)


def _nothing(law: str, plan: ReadingPlan) -> Gathered:
    texts = dict.fromkeys(plan.text_paths, text_column(()))
    numbers = dict.fromkeys(plan.number_paths, number_column(()))
    return _made(_Columns(law, plan, (), (), (), (), (), (), "", 0, True, True, False, texts, numbers))


def _sorted_once(names: Sequence[str]) -> tuple[str, ...]:
    """In the order given first, which is often the sorted one and then costs little."""
    distinct = set(names)
    return tuple(sorted(names if len(distinct) == len(names) else distinct))


def add_observation(
    contract: Contract, gathered: Gathered, observation: HashedObservation | ReadyObservation
) -> Gathered:
    """What gathering everything anew would give, for a little of the cost."""
    row = observation if type(observation) is ReadyObservation else prepare_observation(contract, observation)
    is_fit = gathered.claim_type_hash == row.claim_type_hash == contract.claim_type_hash
    hashes = _with_one(gathered.hashes, row.observation_hash)
    if not is_fit or not gathered.rows or hashes is gathered.hashes:
        return gather_observations(contract, [*gathered.rows, row])
    pieces = gathered.pieces
    for piece in row.evidence or ():
        pieces = _with_one(pieces, piece)
    is_own = len(pieces) - len(gathered.pieces) == len(row.evidence or ())
    columns = _Columns(
        gathered.claim_type_hash,
        gathered.plan,
        (*gathered.rows, row),
        (*gathered.observation_hashes, row.observation_hash),
        (*gathered.reporters, row.reporter_id),
        hashes,
        _with_one(gathered.ids, row.observation_id),
        pieces,
        gathered.key if row.truthkey == gathered.key and row.evidence is not None else "",
        max(gathered.latest, row.reported),
        gathered.is_each_reporter_once and row.reporter_id not in gathered.reporters,
        gathered.is_each_piece_once and is_own,
        gathered.has_misfits or row.is_misfit,
        {path: said.adding(text) for (path, said), text in zip(gathered.texts.items(), row.texts, strict=True)},
        {path: said.adding(number) for (path, said), number in zip(gathered.numbers.items(), row.numbers, strict=True)},
    )
    return _made(columns)


def _with_one(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Sorted, each once, with one more; the same tuple where it is there already."""
    place = bisect_left(names, name)
    return names if names[place : place + 1] == (name,) else (*names[:place], name, *names[place:])
