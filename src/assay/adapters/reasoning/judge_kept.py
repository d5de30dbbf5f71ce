"""Judges of before: every weight file that is kept, and those of each release, to replay what they decided."""

from collections.abc import Callable
from pathlib import Path

from assay.adapters.reasoning.judge import JudgeReasoner, JudgeWeights, find_shipped
from assay.adapters.reasoning.judge_here import JudgeHere
from assay.kernel.digest import Digest
from assay.ports.clock import Clock
from assay.ports.model import ModelError
from assay.ports.reasoner import LocalReasoner


class KeptJudges:
    """Implements `ports.reasoner.KeptReasoners`; each is loaded into this process when first asked for, and once."""

    def __init__(self, path_of: Callable[[Digest], Path], clock: Clock) -> None:
        self._path_of = path_of
        self._clock = clock
        self._known: dict[Digest, LocalReasoner | None] = {}

    def find(self, weight_hash: Digest) -> LocalReasoner | None:
        if weight_hash not in self._known:
            self._known[weight_hash] = self._open(weight_hash)
        return self._known[weight_hash]

    def _open(self, weight_hash: Digest) -> LocalReasoner | None:
        reasoner = JudgeReasoner(JudgeHere(self._weights(weight_hash)), self._clock)
        try:
            # Now, and not with the first question: weights that are not what they are called are not kept.
            reasoner.identify()
        except ModelError:
            return None
        return reasoner

    def _weights(self, weight_hash: Digest) -> JudgeWeights:
        kept = JudgeWeights(file=self._path_of(weight_hash), expected=weight_hash)
        return find_shipped(weight_hash) or kept
