"""What was judged then beside what columns come to now: each rule of each row that has another verdict, or none.

verdicts of the past + judged columns -> find_changes -> Changes, in the order of rows and then of rules' ids
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.verdicts.columns import Codes
from assay.verdicts.columns_judge import NO_RULE, JudgedColumns

if TYPE_CHECKING:
    from numpy import ndarray


@dataclass(frozen=True, slots=True)
class PastVerdicts:
    """One place for each verdict: its row, its rule's code, and its number among `VERDICTS`."""

    rows: "ndarray"
    rules: "ndarray"
    verdicts: "ndarray"


@dataclass(frozen=True, slots=True)
class Changes:
    """One place for each change; NO_RULE before or after: the rule did not apply then, or does not now."""

    rows: "ndarray"
    rules: "ndarray"
    before: "ndarray"
    after: "ndarray"


def find_changes(past: PastVerdicts, judged: JudgedColumns, rules: Codes) -> Changes:
    """Which verdicts differ from the past; `rules` numbers the ids of rules, those of the past and of now alike."""
    import numpy as np  # noqa: PLC0415  numpy is loaded with the first columns, not with the package

    now = _rules_of_places(judged, rules)
    verdicts = np.array(judged.verdicts, np.uint8).reshape(len(now), len(judged.groups))
    after, is_seen = np.full(len(past.rows), NO_RULE, np.uint8), np.zeros(verdicts.shape, bool)
    for place, of_group in enumerate(now):
        met = np.flatnonzero(of_group[judged.groups[past.rows]] == past.rules)
        after[met] = verdicts[place, past.rows[met]]
        is_seen[place, past.rows[met]] = True
    other = np.flatnonzero(after != past.verdicts)
    places, rows = np.nonzero(~is_seen & (verdicts != NO_RULE))
    return _in_order(
        Changes(
            rows=np.concatenate([past.rows[other], rows]),
            rules=np.concatenate([past.rules[other], now[places, judged.groups[rows]]]),
            before=np.concatenate([past.verdicts[other], np.full(len(rows), NO_RULE, np.uint8)]),
            after=np.concatenate([after[other], verdicts[places, rows]]),
        ),
        rules,
    )


def _rules_of_places(judged: JudgedColumns, rules: Codes) -> "ndarray":
    """By place and group the code of the rule there, and a number that is none where there is no rule."""
    import numpy as np  # noqa: PLC0415  see above

    found = np.full((len(judged.verdicts), len(judged.rules)), -1, np.int64)
    for group, names in enumerate(judged.rules):
        found[: len(names), group] = [rules[name] for name in names]
    return found


def _in_order(changes: Changes, rules: Codes) -> Changes:
    import numpy as np  # noqa: PLC0415  see above

    ranks = np.empty(len(rules), np.int64)
    ranks[sorted(range(len(rules)), key=rules.names.__getitem__)] = np.arange(len(rules))
    order = np.lexsort((ranks[changes.rules], changes.rows))
    return Changes(changes.rows[order], changes.rules[order], changes.before[order], changes.after[order])
