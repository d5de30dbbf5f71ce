"""Learning: what final states teach about an agent, added up by claim type, field and value, in whole millionths.

lessons + factor -> reports that were right and wrong, confusion matrix, distances -> competence for a snapshot
Adding is exact and in the order of the log; what a later state replaces is taken away again.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from hashlib import sha256

from msgspec import Struct

from assay.trust.policy import CompetencePolicy
from assay.trust.standing import MICRO, as_number, in_micro
from assay.truth.centre import closeness
from assay.truth.competence import FieldCompetence
from assay.truth.forms import PayloadPath
from assay.truth.learn import Lesson
from assay.truth.number import quantised, rounded_whole

_HALF = Decimal("0.5")
# An error counts as one only where at least so much is known.
_KNOWN = Decimal("0.25")


class FieldLearning(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Reports in millionths; `offs` and `squares` are sums over reports of distances and of their squares."""

    right: int = 0
    wrong: int = 0
    matrix: dict[str, dict[str, int]] = {}
    offs: int = 0
    squares: int = 0


class Recalled(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One of an agent's latest reports: at which key, what it said (a short hash), and whether it was wrong."""

    truthkey: str
    said: str
    wrong: bool


class AgentLearning(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Of one agent and claim type; `day_taught` is how much it was taught on `day`, which the policy limits."""

    fields: dict[PayloadPath, FieldLearning]
    recent: tuple[Recalled, ...] = ()
    day: int = 0
    day_taught: int = 0


def taught(
    known: AgentLearning,
    lessons: Iterable[Lesson],
    *,
    truthkey: str,
    wanted: Decimal,
    day: int,
    policy: CompetencePolicy,
) -> tuple[AgentLearning, int]:
    """With the lessons of one state, and as how many reports they counted, in millionths: at most what the day allows.

    A report is recalled even where the day's limit leaves nothing to learn from it.
    """
    given = tuple(lessons)
    so_far = known.day_taught if known.day == day else 0
    factor = max(0, min(in_micro(wanted), in_micro(policy.per_day) - so_far))
    fields = dict(known.fields)
    for lesson in given:
        fields[lesson.field] = _limited(_added(fields.get(lesson.field, FieldLearning()), lesson, factor), policy)
    recent = (*[one for one in known.recent if one.truthkey != truthkey], _recalled(truthkey, given))
    return AgentLearning(fields, recent[-policy.recent :], day, so_far + factor), factor


def forgotten(known: AgentLearning, lessons: Iterable[Lesson], factor: int) -> AgentLearning:
    """Without what these lessons added, as far as it is still there."""
    fields = dict(known.fields)
    for lesson in lessons:
        if lesson.field in fields:
            fields[lesson.field] = _added(fields[lesson.field], lesson, -factor)
    return AgentLearning(fields, known.recent, known.day, known.day_taught)


def _added(known: FieldLearning, lesson: Lesson, factor: int) -> FieldLearning:
    """`factor` below 0 takes away; nothing falls below 0."""
    amount = rounded_whole(factor * in_micro(lesson.weight), MICRO)
    if lesson.distance is not None:
        return _added_distance(known, in_micro(lesson.distance), amount)
    parts = {value: rounded_whole(amount * in_micro(share), MICRO) for value, share in lesson.shares.items()}
    right = parts.get(lesson.said, 0)
    wrong = sum(parts.values()) - right if lesson.is_listed else amount - right
    matrix = known.matrix
    if lesson.is_listed:
        matrix = {truth: dict(row) for truth, row in known.matrix.items()}
        for truth, part in parts.items():
            row = matrix.setdefault(truth, {})
            row[lesson.said] = max(0, row.get(lesson.said, 0) + part)
        matrix = _tidy(matrix)
    return FieldLearning(max(0, known.right + right), max(0, known.wrong + wrong), matrix, known.offs, known.squares)


def _tidy(matrix: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Sorted and without zeros, so that the same lessons in another order leave the same bytes."""
    rows = {truth: {said: row[said] for said in sorted(row) if row[said]} for truth, row in sorted(matrix.items())}
    return {truth: row for truth, row in rows.items() if row}


def _added_distance(known: FieldLearning, distance: int, amount: int) -> FieldLearning:
    near = closeness(abs(distance), MICRO)
    right = rounded_whole(amount * near, MICRO)
    return FieldLearning(
        max(0, known.right + right),
        max(0, known.wrong + amount - right),
        known.matrix,
        known.offs + rounded_whole(amount * distance, MICRO),
        max(0, known.squares + rounded_whole(amount * distance * distance, MICRO * MICRO)),
    )


def _limited(known: FieldLearning, policy: CompetencePolicy) -> FieldLearning:
    """Scaled down to as many reports as the policy remembers: what is recent counts for more."""
    total, most = known.right + known.wrong, in_micro(policy.memory)
    if total <= most:
        return known
    return FieldLearning(
        known.right * most // total,
        known.wrong * most // total,
        _tidy({t: {s: n * most // total for s, n in row.items()} for t, row in known.matrix.items()}),
        rounded_whole(known.offs * most, total),
        known.squares * most // total,
    )


def _recalled(truthkey: str, lessons: Iterable[Lesson]) -> Recalled:
    """What was said by its values, and by its numbers only where there are none; wrong where any of these is."""
    given = tuple(lessons)
    told = [lesson for lesson in given if lesson.distance is None] or given
    said = sorted(f"{lesson.field}={lesson.said}" for lesson in told)
    is_wrong = any(_is_wrong(lesson) for lesson in told)
    return Recalled(truthkey, sha256("\n".join(said).encode()).hexdigest()[:16], is_wrong)


def _is_wrong(lesson: Lesson) -> bool:
    if lesson.weight < _KNOWN:
        return False
    if lesson.distance is not None:
        return lesson.distance.copy_abs() > 1
    return lesson.shares.get(lesson.said, Decimal(0)) < _HALF


def competence_at(known: FieldLearning) -> FieldCompetence:
    """As a snapshot has it."""
    total = known.right + known.wrong
    is_number = bool(known.squares or known.offs)
    return FieldCompetence(
        right=as_number(known.right),
        wrong=as_number(known.wrong),
        matrix={truth: {said: as_number(n) for said, n in row.items()} for truth, row in known.matrix.items()},
        bias=quantised(as_number(rounded_whole(known.offs * MICRO, total))) if is_number and total else None,
        spread=quantised(as_number(known.squares * MICRO // total)) if is_number and total else None,
    )
