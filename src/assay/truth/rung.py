"""Which rung of the AI ladder is due for an observation: the one where the climb waits for a score."""

from assay.truth.contract import AiValidationRouting, Route, StageName
from assay.truth.ladder import Scores, find_route

_RUNGS = {Route.GENERALIST: StageName.GENERALIST, Route.SPECIALIST: StageName.SPECIALIST}


def find_due_rung(routing: AiValidationRouting, observation_hash: str, scores: Scores) -> StageName | None:
    """None where the ladder has come to an end: nothing is asked that the contract does not ask."""
    name: StageName | None = StageName.BOUNCER
    while name is not None:
        stage, score = routing.find(name), scores.get((observation_hash, name))
        if stage is None or score is None:
            return None if stage is None else name
        name = _RUNGS.get(find_route(stage, score.score))
    return None
