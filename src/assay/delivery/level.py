"""The authenticity level: how many independent strands stand behind an answer, and which. Not a confidence.

strands present + strands defined -> assess -> level by count, lowered by caps
Five levels exist and no more (PRAMANA 8, 15); `PRAMANA-3+` ranks as `PRAMANA-3`.
"""

from collections.abc import Collection
from enum import StrEnum

from msgspec import Struct

from assay.delivery.errors import InvalidLevelError
from assay.delivery.strand import CAPABILITY, CORE, KNOWLEDGE, StrandId


class Level(StrEnum):
    """Closed: nobody may define another (PRAMANA 15)."""

    UNVERIFIED = "PRAMANA-0"
    SINGLE_SOURCE = "PRAMANA-1"
    PARTIAL = "PRAMANA-2"
    AUTHENTIC = "PRAMANA-3"
    INFERRED = "PRAMANA-3+"


_BY_NAME = {one.value: one for one in Level}
_RANKS = {
    Level.UNVERIFIED: 0,
    Level.SINGLE_SOURCE: 1,
    Level.PARTIAL: 2,
    Level.AUTHENTIC: 3,
    Level.INFERRED: 3,
}
_BY_RANK = (Level.UNVERIFIED, Level.SINGLE_SOURCE, Level.PARTIAL, Level.AUTHENTIC)
# PRAMANA 6.1 and 6.2: what a level cannot exceed while the strand is absent.
_CAPS = ((CAPABILITY, Level.SINGLE_SOURCE), (KNOWLEDGE, Level.PARTIAL))


class LevelCap(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why the level is lower than the count of strands says: an absent strand, or a component of a composite."""

    level: Level
    cause: str
    uncapped_level: Level


class Assessment(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    level: Level
    cap: LevelCap | None = None


def assess(present: Collection[StrandId], defined: Collection[StrandId], *, slm: bool = False) -> Assessment:
    """The level of an answer; `slm` is whether a plugin contributed, which only tells 3 from 3+.

    The three core strands always count as defined. What is present but not defined counts for nothing.
    """
    everything = frozenset(CORE).union(defined)
    found = everything.intersection(present)
    counted = _by_count(len(found), len(everything), slm=slm)
    for strand, limit in _CAPS:
        if strand not in found and rank_of(counted) > rank_of(limit):
            return Assessment(level=limit, cap=LevelCap(level=limit, cause=strand, uncapped_level=counted))
    return Assessment(level=counted)


def is_below(level: Level, floor: int) -> bool:
    """Whether an answer of this level is withheld from whoever has this floor."""
    return rank_of(level) < floor


def rank_of(level: Level) -> int:
    """0 to 3, to compare with a floor or an expected minimum."""
    return _RANKS[level]


def parse_level(text: str) -> Level:
    found = _BY_NAME.get(text)
    if found is None:
        raise InvalidLevelError(f"expected one of {', '.join(Level)}, got `{text[:80]}`")
    return found


def read_level(value: object) -> Level:
    """As a consumer reads it: a level that is missing, or is none of the five, is PRAMANA-0 (PRAMANA 8)."""
    try:
        return Level(value)  # type: ignore[arg-type]  # anything may stand there
    except ValueError:
        return Level.UNVERIFIED


def _by_count(found: int, everything: int, *, slm: bool) -> Level:
    if found == everything:
        return Level.INFERRED if slm else Level.AUTHENTIC
    return _BY_RANK[min(found, rank_of(Level.PARTIAL))]
