"""Reviewers: how well they agree with what is known, how long they take, and whether they look at all.

answers with known labels -> kappa with interval, approval share, time, drift -> alarms
An alarm is an e-value: under its null hypothesis it reaches 1 / alpha with a chance of at most alpha, at any time.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from math import sqrt
from statistics import median

from msgspec import Struct

from assay.claims.estimate._beta import clopper_pearson

_FEWEST = 10
_WIDE = 1.96
_MISS = 0.05
_STEPS = 32
_NEARLY_ALWAYS = (0.9, 0.95, 0.99)


class AlarmKind(StrEnum):
    APPROVES_EVERYTHING = "approves_everything"
    FASTER_THAN_READING = "faster_than_reading"


class ReviewedTicket(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer of a reviewer; `should_approve` is None where nobody knows what would have been right.

    `words` are those that were shown, `seconds` from opening to answering, `agent` who asked.
    """

    reviewer: str
    kind: str
    agent: str
    approved: bool
    words: int
    seconds: float
    should_approve: bool | None = None


class OversightRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`missed` is the share of wrong tickets that a careful reviewer may let pass, `hasty` the share of answers that
    may be faster than `words_per_second`; an alarm sounds wrongly with a chance of at most `alpha` for each reviewer.
    """

    missed: float = 0.2
    hasty: float = 0.2
    words_per_second: float = 16.0
    least_seconds: float = 2.0
    alpha: float = 0.01
    recent: int = 50


_RULES = OversightRules()


class Interval(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    value: float
    low: float
    high: float


class Alarm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`about` is the agent whose tickets it is about, None where it is about all; `evidence` is the e-value."""

    kind: AlarmKind
    about: str | None
    evidence: float
    message: str


class ReviewerFigures(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One reviewer and one kind of ticket. `kappa` and `approval` are None where there is nothing to tell them by.

    `drift` is the approval share of the latest answers minus that of the earlier ones.
    """

    reviewer: str
    kind: str
    tickets: int
    known: int
    kappa: Interval | None
    approval: Interval
    seconds: float
    drift: Interval | None
    alarms: tuple[Alarm, ...] = ()


def review_figures(tickets: Sequence[ReviewedTicket], rules: OversightRules = _RULES) -> tuple[ReviewerFigures, ...]:
    """The figures of every reviewer and kind, by name; tickets are in the order of their answers."""
    names = sorted({(one.reviewer, one.kind) for one in tickets})
    return tuple(
        _figures(reviewer, kind, [one for one in tickets if (one.reviewer, one.kind) == (reviewer, kind)], rules)
        for reviewer, kind in names
    )


def next_known_answer(asked: Iterable[tuple[str, bool]], held: Iterable[tuple[str, bool]]) -> tuple[str, bool]:
    """Choose the agent and label of the next ticket with a known answer: of those `held`, the one asked for least.

    So every agent's wrong tickets come up as often, and help for one agent is found as soon as help for all.
    """
    seen = Counter(asked)
    return min(sorted(held, key=lambda one: (one[1], one[0])), key=lambda one: seen[one])


def cohen_kappa(pairs: Sequence[tuple[bool, bool]]) -> Interval | None:
    """Agreement beyond chance with its interval (Fleiss, Cohen and Everitt's error); None for fewer than ten pairs.

    Where one side gives one answer only, kappa is 0 by its definition and says that nothing is told apart.
    """
    n = len(pairs)
    if n < _FEWEST:
        return None
    both = sum(a and b for a, b in pairs) / n
    neither = sum(not a and not b for a, b in pairs) / n
    mine, theirs = sum(a for a, _ in pairs) / n, sum(b for _, b in pairs) / n
    agreed = both + neither
    chance = mine * theirs + (1.0 - mine) * (1.0 - theirs)
    if chance >= 1.0:
        return Interval(value=1.0, low=-1.0, high=1.0)
    kappa = (agreed - chance) / (1.0 - chance)
    error = sqrt(max(agreed * (1.0 - agreed), 1.0 / n / 4.0) / n) / (1.0 - chance)
    return Interval(value=kappa, low=max(kappa - _WIDE * error, -1.0), high=min(kappa + _WIDE * error, 1.0))


def _figures(reviewer: str, kind: str, tickets: list[ReviewedTicket], rules: OversightRules) -> ReviewerFigures:
    known = [(one.approved, one.should_approve) for one in tickets if one.should_approve is not None]
    return ReviewerFigures(
        reviewer=reviewer,
        kind=kind,
        tickets=len(tickets),
        known=len(known),
        kappa=cohen_kappa(known),
        approval=_share([one.approved for one in tickets]),
        seconds=median(one.seconds for one in tickets),
        drift=_drift([one.approved for one in tickets], rules.recent),
        alarms=tuple(_alarms(tickets, rules)),
    )


def _alarms(tickets: list[ReviewedTicket], rules: OversightRules) -> Iterable[Alarm]:
    bad = [one for one in tickets if one.should_approve is False]
    yield from _raised(
        AlarmKind.APPROVES_EVERYTHING,
        bad,
        lambda one: one.approved,
        rules.missed,
        rules.alpha,
        "wrong tickets approved",
    )
    yield from _raised(
        AlarmKind.FASTER_THAN_READING,
        tickets,
        lambda one: one.seconds < max(one.words / rules.words_per_second, rules.least_seconds),
        rules.hasty,
        rules.alpha,
        "answers faster than the text can be read",
    )


def _raised(
    kind: AlarmKind,
    tickets: list[ReviewedTicket],
    counts: Callable[[ReviewedTicket], bool],
    allowed: float,
    alpha: float,
    words: str,
) -> Iterable[Alarm]:
    """Over all tickets, and over those of each agent: who helps one agent only is careful with the others.

    The level is halved: one half for all tickets, the other shared by the agents.
    """
    agents = sorted({one.agent for one in tickets})
    groups: list[tuple[str | None, list[ReviewedTicket], float]] = [(None, tickets, alpha / 2.0)]
    groups += [(agent, [one for one in tickets if one.agent == agent], alpha / 2.0 / len(agents)) for agent in agents]
    for about, group, level in groups:
        evidence, hits, seen = _strongest([counts(one) for one in group], allowed)
        if evidence >= 1.0 / level:
            whom = "" if about is None else f" of `{about}`"
            told = f"{hits} of {seen} {words}{whom}, where at most {allowed:g} are expected"
            yield Alarm(kind=kind, about=about, evidence=evidence, message=told)
            return


def _strongest(hits: Sequence[bool], allowed: float) -> tuple[float, int, int]:
    """The largest e-value that was reached along the way, with the counts at that point.

    The e-value is the likelihood of the counts, averaged over shares above the allowed one, over that of the allowed.
    """
    best, at = 1.0, (0, 0)
    spread = [allowed + (1.0 - allowed) * (place + 0.5) / _STEPS for place in range(_STEPS)]
    # Half of the weight is on those who nearly always do it: they are the ones to be found soon.
    shares = [*spread, *_NEARLY_ALWAYS]
    weights = [0.5 / _STEPS] * _STEPS + [0.5 / len(_NEARLY_ALWAYS)] * len(_NEARLY_ALWAYS)
    found = 0
    for number, hit in enumerate(hits, 1):
        found += hit
        weights = [
            weight * (share / allowed if hit else (1.0 - share) / (1.0 - allowed))
            for weight, share in zip(weights, shares, strict=True)
        ]
        evidence = sum(weights)
        if evidence > best:
            best, at = evidence, (found, number)
    return best, *at


def _share(flags: Sequence[bool]) -> Interval:
    low, high = clopper_pearson(sum(flags), len(flags), _MISS)
    return Interval(value=sum(flags) / len(flags), low=low, high=high)


def _drift(flags: Sequence[bool], recent: int) -> Interval | None:
    """The difference of two shares with Newcombe's interval; None until there are as many before as lately."""
    late, early = flags[-recent:], flags[:-recent]
    if len(early) < recent:
        return None
    now, before = _share(late), _share(early)
    change = now.value - before.value
    down = sqrt((now.value - now.low) ** 2 + (before.high - before.value) ** 2)
    up = sqrt((now.high - now.value) ** 2 + (before.value - before.low) ** 2)
    return Interval(value=change, low=max(change - down, -1.0), high=min(change + up, 1.0))
