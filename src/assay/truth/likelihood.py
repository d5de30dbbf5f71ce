"""The likelihood of a report: how probable it is that this agent says this, for each value that may be true.

rule + record, both in whole millionths -> accuracy -> smoothed by the record's matrix -> capped -> what is kept of it
A record is brought into whole numbers once for a snapshot; the formula is in `docs/truth.md`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from assay.truth.competence import FieldCompetence
from assay.truth.contract import PosteriorRule
from assay.truth.depend import WHOLE, Kept
from assay.truth.number import MILLION, nearest, whole_millionths

_NO_ROW: tuple[int, Mapping[str, int]] = (0, {})


class Rule(NamedTuple):
    """`prior_reports`, `prior_correct`, `value_reports` and `cap`, in millionths."""

    strength: int
    correct: int
    by_value: int
    cap: int


class Record(NamedTuple):
    """The accuracy as a ratio, reports and bias in millionths, and each row of the matrix with its sum."""

    above: int
    below: int
    reports: int
    bias: int
    rows: Mapping[str, tuple[int, Mapping[str, int]]]


def rule_of(rule: PosteriorRule) -> Rule:
    return Rule(*map(whole_millionths, (rule.prior_reports, rule.prior_correct, rule.value_reports, rule.cap)))


def record_of(rule: Rule, known: FieldCompetence | None) -> Record:
    """Accuracy = (right + a c) / (right + wrong + a); of an agent without a record it is the prior's."""
    if known is None:
        return Record(rule.strength * rule.correct, rule.strength * MILLION, 0, 0, {})
    right, wrong = whole_millionths(known.right), whole_millionths(known.wrong)
    rows = {}
    for truth, row in known.matrix.items():
        counts = {said: whole_millionths(reports) for said, reports in row.items()}
        rows[truth] = (sum(counts.values()), counts)
    return Record(
        right * MILLION + rule.strength * rule.correct,
        (right + wrong + rule.strength) * MILLION,
        right + wrong,
        0 if known.bias is None else whole_millionths(known.bias),
        rows,
    )


def likelihoods(rule: Rule, record: Record, said: str, values: Sequence[str], kept: Kept = WHOLE) -> tuple[int, ...]:
    """For each true value the probability of `said`: millionths, rounded half up, at least 1 each."""
    count = len(values)
    if count == 1:
        return (MILLION,)
    # A value without a row has the same likelihood as any other without one, unless it is what was said.
    plain: int | None = None
    found = []
    for value in values:
        row = record.rows.get(value)
        if row is None and value != said:
            if plain is None:
                plain = _likelihood(rule, record, _NO_ROW, count, kept, value="", said=said)
            found.append(plain)
        else:
            found.append(_likelihood(rule, record, row or _NO_ROW, count, kept, value=value, said=said))
    return tuple(found)


def _likelihood(
    rule: Rule, record: Record, row: tuple[int, Mapping[str, int]], count: int, kept: Kept, *, value: str, said: str
) -> int:
    above, below = record.above, record.below
    reports, counts = row
    hit_above, hit_below = counts.get(value, 0) * below + rule.by_value * above, (reports + rule.by_value) * below
    is_capped = hit_above * MILLION > rule.cap * hit_below
    if said == value:
        top, bottom = (rule.cap, MILLION) if is_capped else (hit_above, hit_below)
    else:
        top = counts.get(said, 0) * below * (count - 1) + rule.by_value * (below - above)
        bottom = hit_below * (count - 1)
        if is_capped:
            top, bottom = top * (MILLION - rule.cap) * hit_below, bottom * MILLION * (hit_below - hit_above)
    if kept is not WHOLE:
        # What a dependent report does not keep says nothing: every value is then equally likely.
        top, bottom = kept.above * top * count + (kept.below - kept.above) * bottom, kept.below * bottom * count
    return max(1, nearest(top * MILLION, bottom))
