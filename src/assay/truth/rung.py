"""Which rung of the AI ladder is due for an observation: the one where the climb waits for a score."""

from assay.truth.ai_score import AiScore
from assay.truth.contract import AiValidationRouting, Route, Stage, StageName
from assay.truth.ladder import Scores

__all__ = ["find_due_rung"]

_RUNGS = {Route.GENERALIST: StageName.GENERALIST, Route.SPECIALIST: StageName.SPECIALIST}


def find_due_rung(routing: AiValidationRouting, observation_hash: str, scores: Scores) -> StageName | None:
    """None where the ladder has come to an end: nothing is asked that the contract does not ask."""
    name: StageName | None = StageName.BOUNCER
    while name is not None:
        stage, score = routing.find(name), scores.get((observation_hash, name))
        if stage is None or score is None:
            return None if stage is None else name
        name = _RUNGS.get(_route(stage, score))
    return None


def _route(stage: Stage, score: AiScore) -> Route:
    """As the climb takes it; a test holds both to the same way."""
    if score.score >= stage.pass_threshold:
        return stage.routes.passed
    return stage.routes.fail if score.score <= stage.fail_threshold else stage.routes.uncertain
