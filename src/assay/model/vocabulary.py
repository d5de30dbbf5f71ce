"""The vocabulary: every symbol that the model can read or write, each with its number.

A number is fixed by the order here and is part of the weights: symbols are only ever added, at the end.
"""

MAX_NAMES = 32
_PREDICATES = (
    "must",
    "must_not",
    "must_not_exceed",
    "must_be_at_least",
    "must_be_below",
    "must_be_above",
    "must_be_within",
    "must_be_one_of",
    "must_not_be_one_of",
    "must_be_recorded_within",
    "should",
    "discretionary",
    "must_equal",
    "must_not_equal",
    "must_average_within",
    "must_not_exceed_in_window",
    "unknown",
)
_MARKS = ("u", "u0", "u1", "w", "e", "?", "~", "_", ":", ";", "&", "x", "ee", "..", "t", "f")
_SIGNS = ("++", "+-", "-+", "--")
_PAIRS = tuple(f"{limit}{observed}" for limit in range(10) for observed in range(10))
_NAMES = tuple(f"{kind}{place}" for kind in "sn" for place in range(MAX_NAMES))

# What a case is written in; all other symbols are the model's own.
READ = frozenset((*_PREDICATES, *_MARKS, *_SIGNS, *_PAIRS, *_NAMES))
ROLES = (
    "obligation",
    "definition_resolved",
    "exemption_considered",
    "precedent_referenced",
    "jurisdiction_matched",
)
# What is asked: an answer to a comparison, the conclusion of a line, a verdict.
_ASKED = ("compare", "conclude", "decide")

# What is written about one comparison: where it is decided, how observed stands to limit, and what follows.
DIFFERENCES = (
    *_PAIRS,
    *_SIGNS,
    "same",
    "member",
    "stranger",
    "present",
    "denied",
    "kind",
    "missing",
    "foreign",
    "doubt",
    "person",
)
RELATIONS = ("less", "more", "equal", "none")
TRUTHS = ("holds", "fails", "open")
# What is written about one obligation.
EXEMPTING = ("exempting", "not_exempting", "exempting_perhaps", "no_exemption")
CLASSES = ("satisfied", "breached", "stale", "unfollowed", "exempt", "undetermined", "judgement")
OBSERVING = ("value", "null")
SATISFYING = ("true", "false")
# What is written about the whole.
CITING = ("cite", "skip")
VERDICTS = ("CLEAR", "FLAG", "NULL_UNMAPPED", "NULL_STALE", "DISCRETIONARY")

VOCABULARY: tuple[str, ...] = tuple(
    dict.fromkeys(
        (
            "pad",
            *_PREDICATES,
            *_MARKS,
            *_SIGNS,
            *_PAIRS,
            *_NAMES,
            *ROLES,
            *_ASKED,
            *DIFFERENCES,
            *RELATIONS,
            *TRUTHS,
            *EXEMPTING,
            *CLASSES,
            *OBSERVING,
            *SATISFYING,
            *CITING,
            *VERDICTS,
        )
    )
)
IDS = {symbol: number for number, symbol in enumerate(VOCABULARY)}
