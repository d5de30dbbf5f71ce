"""One rule by which a text is taken for an attack; a person can read it."""

import re
from typing import NamedTuple

__all__ = ["ThreatRule", "threat_rule"]


class ThreatRule(NamedTuple):
    """`words` are in every text that could match: most texts are dismissed by them, without the pattern."""

    kind: str
    score: float
    words: tuple[str, ...]
    pattern: re.Pattern[str]


def threat_rule(kind: str, score: float, pattern: str, *words: str) -> ThreatRule:
    return ThreatRule(kind, score, words, re.compile(pattern))
