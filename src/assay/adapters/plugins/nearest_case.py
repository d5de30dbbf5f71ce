"""A plugin without a model: the earlier conclusion whose case was most like this one, said again as a hypothesis."""

import re
from collections.abc import Callable, Iterable

import msgspec

from assay.delivery.pair import TrainingPair
from assay.delivery.plugin import PluginReply, PluginRequest, PurvaPaksha
from assay.kernel.errors import Blame, Error

_WORD = re.compile(r"\w+")


class NoCaseError(Error):
    """No earlier case resembles this one, so there is nothing to propose."""

    code = "plugin.no_case"
    blame = Blame.ANSWER


class NearestCasePlugin:
    """Implements `delivery.plugin.Plugin`; `cases` gives the pairs that were captured so far, and nothing else of it.

    Alike is what shares words: the Jaccard index over the words of rule, question, answer and contexts, which is also
    the confidence it states. The same rule is preferred to another one, however alike.
    """

    def __init__(self, cases: Callable[[], Iterable[TrainingPair]]) -> None:
        self._cases = cases

    def infer(self, request: PluginRequest) -> bytes:
        words = _words(
            request.original_query, request.original_response, *(one.query_context for one in request.phala_signals)
        )
        ranked = [(pair.rule_id == request.rule_id, _likeness(words, pair), pair) for pair in self._cases()]
        same_rule, likeness, nearest = max(ranked, key=lambda one: one[:2], default=(False, 0.0, None))
        if nearest is None or (not same_rule and not likeness):
            raise NoCaseError(f"no earlier case is like this one of `{request.rule_id}`")
        label = nearest.label
        thought = PurvaPaksha(
            failure_category=label.failure_category,
            hypothesis=f"as in an earlier case of {nearest.rule_id}: {label.siddhanta}",
            proposed_correction=label.corrected_rule if isinstance(label.corrected_rule, str) else "",
            confidence=likeness,
        )
        return msgspec.json.encode(PluginReply(rule_id=request.rule_id, purva_paksha=thought))


def _likeness(words: frozenset[str], pair: TrainingPair) -> float:
    told = pair.input
    other = _words(told.query, told.original_response, *(one.query_context for one in told.phala_signals))
    union = words | other
    return round(len(words & other) / len(union), 3) if union else 0.0


def _words(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in _WORD.findall(text.lower()))
