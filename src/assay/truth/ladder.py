"""The AI ladder: bouncer -> generalist -> specialist -> people, as far as recorded scores lead.

speakers + scores -> for each speaker where it ended and the last score -> the machines' confidence
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum

from msgspec import Struct

from assay.kernel.instant import Instant
from assay.truth.ai_score import AiScore
from assay.truth.contract import AiValidationRouting, Route, Stage, StageName
from assay.truth.flag import Flag
from assay.truth.number import MILLION, from_millionths, nearest, whole_millionths
from assay.truth.weigh import Speakers
from assay.truth.window import Window

Scores = Mapping[tuple[str, StageName], AiScore]


class Ending(StrEnum):
    """Where the ladder left an observation; WAITING for a score that nobody gave yet."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    HUMAN = "human"
    WAITING = "waiting"


_ENDINGS = {Route.ACCEPT: Ending.ACCEPTED, Route.REJECT: Ending.REJECTED, Route.HUMAN: Ending.HUMAN}


class Climb(Struct, frozen=True, gc=False):
    """`score` is that of the last rung that was reached and judged."""

    ending: Ending
    score: Decimal | None


class MachineView(Struct, frozen=True, kw_only=True):
    """What the machines say together: the weighted mean of last scores, and their weighted variance."""

    confidence: Decimal
    variance: Decimal
    is_scored: bool
    is_finished: bool
    asks_people: bool


def scored_until(window: Window | None, sealed_at: Instant | None, compile_time: Instant) -> Instant:
    """The last instant of which a score counts: people's answer and the end of a round seal scores as observations."""
    limit = sealed_at or compile_time
    if window is None or window.is_aborted or limit < window.end:
        return limit
    return Instant(window.end - _TICK)


_TICK = timedelta(microseconds=1)


def choose_scores(
    routing: AiValidationRouting, scores: Iterable[AiScore], compile_time: Instant
) -> tuple[Scores, set[Flag]]:
    """For each observation and rung the latest score of the contract's engine; of two at one instant the lower.

    Two that are equal in both lead the same way, so that it does not matter which of them is kept.
    """
    chosen: dict[tuple[str, StageName], AiScore] = {}
    flags: set[Flag] = set()
    for score in scores:
        stage = routing.find(score.stage)
        if stage is None or stage.engine != score.engine or score.scored_at > compile_time:
            flags.add(Flag.AI_SCORE_NOT_COUNTED)
            continue
        place = (score.observation_hash, score.stage)
        chosen[place] = max(chosen.get(place, score), score, key=_precedence)
    return chosen, flags


def _precedence(score: AiScore) -> tuple[Instant, Decimal]:
    return score.scored_at, -score.score


def climb_ladder(
    routing: AiValidationRouting, observation_hash: str, scores: Scores, *, counts_form: bool = False
) -> Climb:
    """Follow the contract's routes from the bouncer until an end, or a rung without a score.

    The score of a form check leads on and is no machine's confidence, unless `counts_form`, as in the first edition.
    """
    name: StageName = StageName.BOUNCER
    last: Decimal | None = None
    while True:
        stage, score = routing.find(name), scores.get((observation_hash, name))
        if stage is None or score is None:
            return Climb(Ending.WAITING, last)
        route = find_route(stage, score.score)
        last = score.score if counts_form or not stage.is_form_check else last
        if route in _ENDINGS:
            return Climb(_ENDINGS[route], last)
        name = StageName(route.value)


def find_route(stage: Stage, score: Decimal) -> Route:
    """Where a score leads from a rung."""
    if score >= stage.pass_threshold:
        return stage.routes.passed
    return stage.routes.fail if score <= stage.fail_threshold else stage.routes.uncertain


def view_of_machines(speakers: Speakers, climbs: Mapping[str, Climb]) -> MachineView:
    """Over those speakers that a machine judged; without any the confidence is 0."""
    if not climbs:
        return _NOBODY_ASKED
    hashes = speakers.said.observation_hashes
    ends = [(weight, climbs[hash_]) for hash_, weight in zip(hashes, speakers.weights, strict=True)]
    endings = {climb.ending for _, climb in ends} or {Ending.WAITING}
    pairs = [(weight, whole_millionths(climb.score)) for weight, climb in ends if climb.score is not None]
    return MachineView(
        **_mean_and_variance(pairs),
        is_scored=bool(pairs),
        is_finished=Ending.WAITING not in endings,
        asks_people=Ending.HUMAN in endings,
    )


def _mean_and_variance(pairs: Sequence[tuple[int, int]]) -> dict[str, Decimal]:
    """Mean and variance by weight, in millionths, each rounded once from the exact ratio: no order of adding shows."""
    total = sum([weight for weight, _ in pairs])
    if not total:
        return {"confidence": Decimal(0), "variance": Decimal(0)}
    first = sum([weight * score for weight, score in pairs])
    second = sum([weight * score * score for weight, score in pairs])
    spread = nearest(total * second - first * first, total * total * MILLION)
    return {"confidence": from_millionths(nearest(first, total)), "variance": from_millionths(spread)}


_NOBODY_ASKED = MachineView(
    confidence=Decimal(0), variance=Decimal(0), is_scored=False, is_finished=False, asks_people=False
)
