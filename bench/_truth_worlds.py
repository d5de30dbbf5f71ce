"""The simulated worlds of the truth quality figures: agents, keys, true values and what is reported about them.

seed -> World: one true value for each key, the reports on it in order of arrival
The seeds and parameters were fixed before the estimator was written: parameters so that majority voting and Dawid-Skene
score what they scored when the targets were set, seeds by the number of the first. Every
choice comes from `random.Random` with the seed of the world and with nothing else.
"""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

__all__ = ["SEEDS", "VALUES", "WORLDS", "Report", "World", "draw_world", "ring_world", "sleeper_world"]

SEEDS = (1901, 1902, 1903, 1904, 1905)
VALUES = ("low", "moderate", "high", "critical")
_KEYS = 600
_AGENTS = 60
# An honest agent is right between these shares of the time; its errors are spread evenly.
_LEAST_RIGHT, _MOST_RIGHT = 0.75, 0.95


class Report(NamedTuple):
    agent: str
    value: str


class World(NamedTuple):
    """`lies[key]` is the value that attackers try to have believed at that key, None where they do not attack."""

    name: str
    truths: tuple[str, ...]
    reports: tuple[tuple[Report, ...], ...]
    lies: tuple[str | None, ...]
    honest: frozenset[str]


class Shape(NamedTuple):
    """How many agents report on each key, how many of the sixty lie, and whether the liars agree on one lie."""

    name: str
    reports_a_key: int
    liars: int
    colluding: bool


WORLDS = (
    Shape("15 % adversaries", 7, 9, colluding=False),
    Shape("30 % colluding", 7, 18, colluding=True),
    Shape("sparse, 25 % adversaries", 5, 15, colluding=False),
)


def draw_world(shape: Shape, seed: int) -> World:
    chance = Random(f"{shape.name} {seed}")
    skill = [chance.uniform(_LEAST_RIGHT, _MOST_RIGHT) for _ in range(_AGENTS)]
    truths, reports, lies = [], [], []
    for _ in range(_KEYS):
        truth = chance.choice(VALUES)
        lie = chance.choice(_wrong(truth))
        said = []
        for agent in sorted(chance.sample(range(_AGENTS), shape.reports_a_key)):
            if agent < shape.liars:
                value = lie if shape.colluding else chance.choice(_wrong(truth))
            else:
                value = truth if chance.random() < skill[agent] else chance.choice(_wrong(truth))
            said.append(Report(_name(agent), value))
        truths.append(truth)
        reports.append(tuple(said))
        lies.append(lie if shape.colluding else None)
    honest = frozenset(_name(agent) for agent in range(shape.liars, _AGENTS))
    return World(shape.name, tuple(truths), tuple(reports), tuple(lies), honest)


def sleeper_world(seed: int) -> World:
    """Eight sleepers beside twelve honest agents: 150 quiet keys, then 50 at which the sleepers agree on one lie."""
    return _attack_world("8 sleepers beside 12 honest", seed, quiet=150, right_before=0.97)


def ring_world(seed: int) -> World:
    """The same attack by a ring that works as well as honest agents do before, and attacks every other key."""
    return _attack_world("ring of 8 beside 12 honest", seed, quiet=100, right_before=0.85, every=2)


_SLEEPERS, _HONEST, _LIES = 8, 12, 50
_HONEST_RIGHT, _REPORTS_OF_TEN = 0.85, 0.7


def _attack_world(name: str, seed: int, *, quiet: int, right_before: float, every: int = 1) -> World:
    """Every agent reports on seven keys of ten, so that the attackers are sometimes the majority."""
    chance = Random(f"{name} {seed}")
    truths, reports, lies = [], [], []
    for number in range(quiet + _LIES * every):
        truth = chance.choice(VALUES)
        lie = chance.choice(_wrong(truth))
        is_attack = number >= quiet and (number - quiet) % every == 0
        said = []
        for agent in range(_SLEEPERS + _HONEST):
            if chance.random() >= _REPORTS_OF_TEN:
                continue
            if is_attack and agent < _SLEEPERS:
                value = lie
            else:
                right = right_before if agent < _SLEEPERS else _HONEST_RIGHT
                value = truth if chance.random() < right else chance.choice(_wrong(truth))
            said.append(Report(_name(agent), value))
        truths.append(truth)
        reports.append(tuple(said))
        lies.append(lie if is_attack else None)
    honest = frozenset(_name(agent) for agent in range(_SLEEPERS, _SLEEPERS + _HONEST))
    return World(name, tuple(truths), tuple(reports), tuple(lies), honest)


def _wrong(truth: str) -> Sequence[str]:
    return [value for value in VALUES if value != truth]


def _name(agent: int) -> str:
    return f"user:agent-{agent:03d}"
