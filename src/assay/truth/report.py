"""Which report of each reporter would speak, if they are heard: before any trust is asked.

gathered -> those that belong -> those in time -> those that the ladder did not reject -> the latest of each reporter
Trust is given to agents and never to reports, so that this does not depend on it; whether one is a copy comes later.
"""

from collections.abc import Collection, Iterable, Mapping

from assay.kernel.instant import Instant
from assay.truth.admit import admit_observations, drop_late
from assay.truth.ai_score import AiScore, ai_score_hash
from assay.truth.consensus import find_window
from assay.truth.contract import Contract
from assay.truth.gather import Gathered
from assay.truth.ladder import Ending, choose_scores, climb_ladder, scored_until
from assay.truth.observation import Observation
from assay.truth.ready import ReadyObservation
from assay.truth.window import WindowEvent, find_seal


def latest_reports(
    contract: Contract,
    truthkey: str,
    observations: Gathered,
    *,
    ai_scores: Iterable[AiScore] = (),
    window_events: Iterable[WindowEvent] = (),
    compile_time: Instant,
    sealed_at: Iterable[Instant] = (),
    late: Collection[str] = (),
) -> Mapping[str, Observation]:
    """The report of each reporter that the compiler would choose from the same inputs."""
    window = find_window(contract, truthkey, window_events, compile_time)[0]
    seal, hushed = find_seal(window, sealed_at), frozenset(late if window is not None else ())
    admitted, _ = admit_observations(contract, truthkey, observations, compile_time)
    timely, _ = drop_late(admitted, window, seal, compile_time, hushed)
    routing = contract.ai_validation_routing
    given = [score for score in ai_scores if not hushed or ai_score_hash(score) not in hushed]
    scores, _ = choose_scores(routing, given, scored_until(window, seal, compile_time))
    latest: dict[str, ReadyObservation] = {}
    for row in timely.rows:
        if scores and climb_ladder(routing, row.observation_hash, scores).ending is Ending.REJECTED:
            continue
        latest[row.reporter_id] = max(latest.get(row.reporter_id, row), row, key=lambda one: one.moment)
    return {reporter: row.hashed.observation for reporter, row in latest.items()}
