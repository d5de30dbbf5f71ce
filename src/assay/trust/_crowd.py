"""The agents of a simulation: who they are and what they are like, drawn from a seed and from nothing else."""

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256
from types import MappingProxyType

from msgspec import Struct


class Behaviour(StrEnum):
    """Honest agents look and say what they see; the others each abuse trust in their own way."""

    HONEST = "honest"
    LAZY = "lazy"
    SPAMMER = "spammer"
    COLLUDER = "colluder"
    SYBIL = "sybil"


class Habit(Struct, frozen=True, kw_only=True):
    """How often, of a hundred times, an agent reports and is right, and how good its evidence is."""

    reports: int
    right: int
    quality: Decimal


HABITS: Mapping[Behaviour, Habit] = MappingProxyType(
    {
        Behaviour.HONEST: Habit(reports=70, right=92, quality=Decimal("0.9")),
        Behaviour.LAZY: Habit(reports=25, right=70, quality=Decimal("0.3")),
        Behaviour.SPAMMER: Habit(reports=100, right=30, quality=Decimal("0.5")),
        # As honest as the best, until they attack together.
        Behaviour.COLLUDER: Habit(reports=70, right=92, quality=Decimal("0.9")),
        # Many names of one hand: all say what the hand guesses.
        Behaviour.SYBIL: Habit(reports=60, right=50, quality=Decimal("0.5")),
    }
)


class Crowd(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many of each there are."""

    honest: int = 12
    lazy: int = 4
    spammer: int = 3
    colluder: int = 3
    sybil: int = 8


class SimulatedAgent(Struct, frozen=True, kw_only=True):
    agent_id: str
    behaviour: Behaviour


def people(crowd: Crowd) -> tuple[SimulatedAgent, ...]:
    return tuple(
        SimulatedAgent(agent_id=f"user:{behaviour.value}-{number:02d}", behaviour=behaviour)
        for behaviour in Behaviour
        for number in range(1, getattr(crowd, behaviour.value) + 1)
    )


def drawn(seed: str, *question: object) -> int:
    """0 to 99, the same for the same question: what one agent does never depends on how often others were asked."""
    asked = "\x00".join([seed, *map(str, question)]).encode()
    return int.from_bytes(sha256(asked).digest()[:16]) % 100
