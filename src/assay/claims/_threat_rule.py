"""One rule by which a text is taken for an attack; a person can read it."""

import re
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class ThreatRule:
    """`words` are in every text that could match: most texts are dismissed by them, without the pattern."""

    kind: str
    score: float
    words: tuple[str, ...]
    expression: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        # When it is first needed: all of them are a tenth of what it takes to start any command, and few ask for one.
        return re.compile(self.expression)


def threat_rule(kind: str, score: float, expression: str, *words: str) -> ThreatRule:
    return ThreatRule(kind, score, words, expression)
