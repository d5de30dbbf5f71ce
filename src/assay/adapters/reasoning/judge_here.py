"""The judge in this very process: for tests, for checking receipts, and for bulk work that owns its process."""

import threading
from collections.abc import Sequence

from assay.adapters.reasoning.judge import JudgeWeights, load_weights
from assay.adapters.reasoning.judge_frames import Question, Reply, answer_all
from assay.kernel.digest import Digest
from assay.model.engine import Engine
from assay.model.errors import WeightFormError
from assay.model.weights import parse_weights
from assay.ports.model import ModelError, ModelWeightsError
from assay.verdicts.sovereignty import Place, PlaceKind


class JudgeHere:
    """Implements `Bench`; numpy and the weights are loaded with the first question."""

    place = Place(kind=PlaceKind.IN_PROCESS)

    def __init__(self, weights: JudgeWeights) -> None:
        self._weights = weights
        self._lock = threading.Lock()
        self._engine: Engine | None = None

    def identify(self) -> Digest:
        return self._loaded().weight_hash

    def ask_many(self, questions: Sequence[Question]) -> list[Reply | ModelError]:
        try:
            return [*answer_all(self._loaded(), questions)]
        except ModelError as error:
            return [error] * len(questions)

    def close(self) -> None:
        """Nothing is held that needs an end."""

    def _loaded(self) -> Engine:
        with self._lock:
            if self._engine is None:
                content = load_weights(self._weights)
                try:
                    self._engine = Engine(parse_weights(content, expected=self._weights.expected))
                except WeightFormError as error:
                    raise ModelWeightsError(str(error)) from error
            return self._engine
