"""A guess where a failure lies, from what people concluded before: shown to a reviewer, and deciding nothing.

pairs, one after the other -> (guess first, then learn) -> CategoryModel -> suggest -> CategorySuggestion
It is a multinomial naive Bayes over hashed words. Every pair was guessed before it was learnt, so that the share of
right guesses is one over pairs it had not seen; beside it stands what always guessing the commonest would have got.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from math import log
from zlib import crc32

from assay.delivery.pair import TrainingPair
from assay.delivery.plugin import Category
from assay.delivery.rule import RuleId
from assay.delivery.suggestion import CategorySuggestion, HeldOut

# Below this many pairs, or with a single category among them, there is nothing to learn from.
LEAST_PAIRS = 10
_BUCKETS = 1 << 14
_WORD = re.compile(r"\w+")
_LONGEST_TEXT = 20_000


class CategoryModel:
    """What was learnt so far; counts only add up, so the order of the pairs does not matter to what it says next."""

    def __init__(self) -> None:
        self._pairs: Counter[Category] = Counter()
        self._words: dict[Category, Counter[int]] = {category: Counter() for category in Category}
        self._totals: Counter[Category] = Counter()
        self.held_out = HeldOut()

    @property
    def learnt_from(self) -> int:
        return sum(self._pairs.values())

    def learn(self, pair: TrainingPair) -> None:
        """Guess the pair's category first, for the measure, and then learn from the pair."""
        category, words = pair.label.failure_category, frozenset(_pair_words(pair))
        if self._is_ready():
            commonest = max(Category, key=lambda one: self._pairs[one])
            self.held_out = HeldOut(
                pairs=self.held_out.pairs + 1,
                right=self.held_out.right + (self._ranked(words)[0] is category),
                commonest_right=self.held_out.commonest_right + (commonest is category),
            )
        self._pairs[category] += 1
        self._words[category].update(words)
        self._totals[category] += len(words)

    def suggest(self, rule_id: RuleId, texts: Iterable[str]) -> CategorySuggestion | None:
        """None until there is enough to have learnt from."""
        if not self._is_ready():
            return None
        ranking = self._ranked(frozenset(_words(rule_id, texts)))
        return CategorySuggestion(ranking=ranking, learnt_from=self.learnt_from, held_out=self.held_out)

    def _is_ready(self) -> bool:
        return self.learnt_from >= LEAST_PAIRS and len(+self._pairs) > 1

    def _ranked(self, words: frozenset[int]) -> tuple[Category, ...]:
        return tuple(sorted(Category, key=lambda one: (-self._score(one, words), one)))

    def _score(self, category: Category, words: frozenset[int]) -> float:
        """Log prior and log likelihoods, each count raised by one, so that nothing unseen is impossible."""
        known, total = self._words[category], self._totals[category] + _BUCKETS
        prior = log((self._pairs[category] + 1) / (self.learnt_from + len(Category)))
        # In a fixed order: a sum of floats depends on it.
        return prior + sum(log((known[word] + 1) / total) for word in sorted(words))


def measure_pairs(pairs: Iterable[TrainingPair]) -> HeldOut:
    """How good the guesses are over these pairs, each guessed from those before it."""
    model = CategoryModel()
    for pair in pairs:
        model.learn(pair)
    return model.held_out


def _pair_words(pair: TrainingPair) -> Iterator[int]:
    """The words of what was known before anybody concluded: neither of the label nor of a plugin's hypothesis."""
    told = pair.input
    contexts = [f"{one.outcome} {one.query_context}" for one in told.phala_signals]
    return _words(pair.rule_id, [told.query, told.original_response, *contexts])


def _words(rule_id: RuleId, texts: Iterable[str]) -> Iterator[int]:
    yield crc32(f"rule {rule_id}".encode()) % _BUCKETS
    for text in texts:
        for word in _WORD.findall(text[:_LONGEST_TEXT].lower()):
            yield crc32(word.encode()) % _BUCKETS
