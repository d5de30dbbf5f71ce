"""Reporters who are not independent: how much of its weight each report keeps where several of a group say the same.

speakers + snapshot + fingerprints -> groups by evidence, kin and moment -> the share that each report keeps
A group of m reporters who say the same counts as 1 + kept x (m - 1) of them, whatever their number.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import floor
from typing import NamedTuple

from assay.truth.contract import Contract, EvidenceSimilarity, PosteriorDependence
from assay.truth.evidence import Fingerprint, Resemblance
from assay.truth.number import MILLION, whole_millionths
from assay.truth.ready import ReadyObservation
from assay.truth.similar import near_pieces
from assay.truth.snapshot import TrustSnapshot

_MINUTE = 60_000_000
# A thousandth of a degree is about a hundred metres.
_SPOTS = 1000


class Kept(NamedTuple):
    """A share as a ratio of whole numbers."""

    above: int
    below: int


WHOLE = Kept(1, 1)


class Groups(NamedTuple):
    """For each kind of dependence its kept share in millionths, and the group of each speaker; None is in no group."""

    kinds: tuple[tuple[int, tuple[object, ...]], ...]

    @property
    def is_empty(self) -> bool:
        return not self.kinds


def find_groups(
    contract: Contract,
    rule: PosteriorDependence,
    rows: Sequence[ReadyObservation],
    snapshot: TrustSnapshot,
    prints: Collection[Fingerprint | Resemblance] = (),
) -> Groups:
    """Only groups of two or more are kept; a kind whose reports keep all of their weight is not looked for."""
    kinds = [
        (whole_millionths(share), _shared(list(groups)))
        for share, groups in (
            (rule.evidence, _by_evidence(contract.evidence_similarity, rows, prints)),
            (rule.kin, (_kin(snapshot, row.reporter_id) for row in rows)),
            (rule.moment, map(_moment, rows)),
        )
        if share < 1
    ]
    return Groups(tuple((share, groups) for share, groups in kinds if any(group is not None for group in groups)))


def kept_shares(groups: Groups, said: Sequence[object]) -> tuple[Kept, ...]:
    """What each speaker keeps, given what each says (None says nothing); of several kinds the one that leaves least."""
    kept = [WHOLE] * len(said)
    for share, members in groups.kinds:
        sizes: dict[tuple[object, object], int] = {}
        places = list(zip(members, said, strict=True))
        for place in places:
            sizes[place] = sizes.get(place, 0) + 1
        for number, place in enumerate(places):
            size = sizes[place]
            if size > 1 and None not in place:
                kept[number] = _less(kept[number], Kept(MILLION + share * (size - 1), MILLION * size))
    return tuple(kept)


def _less(one: Kept, other: Kept) -> Kept:
    return one if one.above * other.below <= other.above * one.below else other


def _shared(groups: Sequence[object]) -> tuple[object, ...]:
    """Without those that stand alone."""
    sizes: dict[object, int] = {}
    for group in groups:
        sizes[group] = sizes.get(group, 0) + 1
    return tuple([group if sizes[group] > 1 else None for group in groups])


def _kin(snapshot: TrustSnapshot, agent_id: str) -> str | None:
    trust = snapshot.find(agent_id)
    return None if trust is None or trust.competence is None else trust.competence.kin


def _moment(row: ReadyObservation) -> object:
    """The same minute and the same spot; what has no place is in no group."""
    geo = row.hashed.observation.geo
    if geo is None:
        return None
    return row.reported // _MINUTE, floor(geo.lat * _SPOTS), floor(geo.lon * _SPOTS)


def _by_evidence(
    rule: EvidenceSimilarity | None, rows: Sequence[ReadyObservation], prints: Collection[Fingerprint | Resemblance]
) -> Iterator[object]:
    """Connected by pieces that are the same, or nearly the same by the contract's own rule."""
    roots = {piece: piece for row in rows for piece in row.evidence or ()}
    for row in rows:
        for one, other in _pairs(row.evidence or ()):
            _join(roots, one, other)
    for one, other in near_pieces(rule, roots.keys(), prints):
        _join(roots, one, other)
    yield from (_root(roots, row.evidence[0]) if row.evidence else None for row in rows)


def _pairs(pieces: Sequence[str]) -> Iterator[tuple[str, str]]:
    return ((pieces[0], other) for other in pieces[1:])


def _root(roots: Mapping[str, str], piece: str) -> str:
    while roots[piece] != piece:
        piece = roots[piece]
    return piece


def _join(roots: dict[str, str], one: str, other: str) -> None:
    first, second = sorted((_root(roots, one), _root(roots, other)))
    roots[second] = first
