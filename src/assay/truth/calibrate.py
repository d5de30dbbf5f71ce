"""Calibration against outcomes: what a confidence turned out to mean, as data beside the policy.

known cases -> monotone map, calibration error with interval, a promise's threshold, effect on statuses -> Calibration
Fitting is exact: pooled shares are ratios of whole numbers, and bounds are found by bisection in decimals of a fixed
context. The same cases in any order give the same bytes.
"""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from math import comb
from typing import Annotated

from msgspec import Struct

from assay.kernel.canonical import Profile, canonical_hash, canonicalize
from assay.truth._contract_outcome import CalibrationKnot
from assay.truth._read import Bound, Size, read_record
from assay.truth._wire import canonical_value, plain_record
from assay.truth.confidence import calibrated
from assay.truth.errors import TruthError
from assay.truth.forms import ClaimTypeId, Count, HexHash, Share
from assay.truth.number import ARITHMETIC, MILLION, from_millionths, nearest, quantised, whole_millionths
from assay.truth.status import TruthStatus

_BINS = 10
_FEWEST = 30
_ZERO, _ONE = Decimal(0), Decimal(1)


class KnownCase(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A state whose truth became known: by a later truth, an audit, or the final vote."""

    confidence: Share
    right: bool
    status: TruthStatus


class CalibrationRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`promise` is the share of VERIFIED states that may be wrong at most, kept with the confidence `level`.

    `verify` is the threshold that the cases were compiled under, if it is known.
    """

    claim_type: ClaimTypeId
    claim_type_hash: HexHash
    cases: Annotated[tuple[KnownCase, ...], Size(1)]
    promise: Annotated[Decimal, Bound(Decimal("0.000001"), Decimal("0.5"))] | None = None
    level: Annotated[Decimal, Bound(Decimal("0.5"), Decimal("0.999"))] = Decimal("0.95")
    verify: Share | None = None


class CalibrationGap(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The expected calibration error over ten bins, with an interval that holds at the level for all bins together."""

    value: Share
    low: Share
    high: Share


class ReliabilityBin(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of the cases whose confidence is in this bin: how sure they were, how many were right, and the bounds of that."""

    low: Share
    high: Share
    cases: Count
    right: Count
    mean_confidence: Share
    right_low: Share
    right_high: Share


class StatusEffect(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of the cases with a status: how many were right, the mean confidence as it was and as the map makes it.

    `verified_before` are those that reach the threshold they were compiled under, `verified_after` the promise's.
    """

    status: TruthStatus
    cases: Count
    right: Count
    mean_before: Share
    mean_after: Share
    verified_before: Count | None = None
    verified_after: Count | None = None


class Promise(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`threshold` is None where no threshold keeps the promise with these cases; `needed` is how many would be enough.

    `wrong_at_most` is the upper bound of the share that is wrong from the threshold on.
    """

    wrong: Share
    level: Share
    threshold: Share | None
    cases: Count
    wrong_cases: Count
    wrong_at_most: Share
    needed: Count


class Calibration(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was fitted, for one contract. `knots` go into the next version of the contract, `calibration`."""

    claim_type: ClaimTypeId
    claim_type_hash: HexHash
    cases: Count
    right: Count
    knots: tuple[CalibrationKnot, ...]
    before: CalibrationGap
    after: CalibrationGap
    bins: tuple[ReliabilityBin, ...]
    statuses: tuple[StatusEffect, ...]
    promise: Promise | None = None


def calibrate(request: CalibrationRequest) -> Calibration:
    """Refuses fewer than thirty cases: of less nothing can be said (`truth.calibration`)."""
    cases = sorted(request.cases, key=lambda case: (case.confidence, case.right, case.status))
    if len(cases) < _FEWEST:
        raise TruthError.calibration(f"expected at least {_FEWEST} known cases, got {len(cases)}")
    knots = _knots(cases)
    pairs = [(case.confidence, case.right) for case in cases]
    mapped = [(calibrated(knots, confidence), right) for confidence, right in pairs]
    promise = None if request.promise is None else _promise(pairs, knots, request.promise, request.level)
    return Calibration(
        claim_type=request.claim_type,
        claim_type_hash=request.claim_type_hash,
        cases=len(cases),
        right=sum(case.right for case in cases),
        knots=knots,
        before=_error(pairs, request.level),
        after=_error(mapped, request.level),
        bins=tuple(_bins(pairs, request.level)),
        statuses=tuple(_effects(cases, knots, request.verify, promise)),
        promise=promise,
    )


def _knots(cases: Sequence[KnownCase]) -> tuple[CalibrationKnot, ...]:
    """Isotonic regression: equal confidences first pooled, then neighbours as long as the shares do not rise."""
    blocks: list[list[int]] = []  # sum of confidences in millionths, right, cases
    by_confidence: dict[Decimal, list[int]] = {}
    for case in cases:
        pool = by_confidence.setdefault(case.confidence, [0, 0, 0])
        pool[0] += whole_millionths(case.confidence)
        pool[1] += case.right
        pool[2] += 1
    for pool in by_confidence.values():
        blocks.append(pool)
        while len(blocks) > 1 and blocks[-2][1] * blocks[-1][2] >= blocks[-1][1] * blocks[-2][2]:
            last = blocks.pop()
            blocks[-1] = [one + other for one, other in zip(blocks[-1], last, strict=True)]
    # One right and one wrong case are added to each block: of no block is it said that it is never or always right.
    return tuple(
        CalibrationKnot(
            at=from_millionths(nearest(total, count)), value=from_millionths(nearest((right + 1) * MILLION, count + 2))
        )
        for total, right, count in _rising(blocks)
    )


def _rising(blocks: Sequence[Sequence[int]]) -> Iterator[tuple[int, int, int]]:
    """Pooled further where the two added cases would make a value fall."""
    pooled: list[list[int]] = []
    for block in blocks:
        pooled.append(list(block))
        while len(pooled) > 1 and _added(pooled[-2]) >= _added(pooled[-1]):
            last = pooled.pop()
            pooled[-1] = [one + other for one, other in zip(pooled[-1], last, strict=True)]
    yield from ((total, right, count) for total, right, count in pooled)


def _added(block: Sequence[int]) -> int:
    return nearest((block[1] + 1) * MILLION, block[2] + 2)


def _grouped(pairs: Iterable[tuple[Decimal, bool]]) -> dict[int, list[tuple[Decimal, bool]]]:
    """By bin: (0, 0.1], (0.1, 0.2] and so on; 0 is in the first."""
    groups: dict[int, list[tuple[Decimal, bool]]] = {}
    for confidence, right in pairs:
        place = max(0, -(-whole_millionths(confidence) * _BINS // MILLION) - 1)
        groups.setdefault(place, []).append((confidence, right))
    return dict(sorted(groups.items()))


def _bins(pairs: Iterable[tuple[Decimal, bool]], level: Decimal) -> Iterator[ReliabilityBin]:
    """Each interval at a level that lets all of them hold together at the one asked for."""
    groups = _grouped(pairs)
    miss = ARITHMETIC.divide(ARITHMETIC.subtract(_ONE, level), Decimal(2 * len(groups)))
    for place, group in groups.items():
        right, count = sum(right for _, right in group), len(group)
        wrong_above = upper_bound(count - right, count, miss)
        yield ReliabilityBin(
            low=Decimal(place) / _BINS,
            high=Decimal(place + 1) / _BINS,
            cases=count,
            right=right,
            mean_confidence=quantised(ARITHMETIC.divide(sum((sure for sure, _ in group), _ZERO), Decimal(count))),
            right_low=quantised(ARITHMETIC.subtract(_ONE, wrong_above)),
            right_high=upper_bound(right, count, miss),
        )


def _error(pairs: Sequence[tuple[Decimal, bool]], level: Decimal) -> CalibrationGap:
    value = low = high = _ZERO
    for one in _bins(pairs, level):
        sure, share = one.mean_confidence, Decimal(one.cases) / len(pairs)
        value += share * abs(sure - Decimal(one.right) / one.cases)
        low += share * max(_ZERO, one.right_low - sure, sure - one.right_high)
        high += share * max(abs(sure - one.right_low), abs(sure - one.right_high))
    return CalibrationGap(value=quantised(value), low=quantised(low), high=quantised(min(_ONE, high)))


def upper_bound(hits: int, count: int, miss: Decimal) -> Decimal:
    """The exact (Clopper-Pearson) upper bound of a share, missed with this probability at most; rounded up."""
    if hits >= count:
        return _ONE
    low, high = 0, MILLION
    while high - low > 1:
        middle = (low + high) // 2
        if _at_most(hits, count, from_millionths(middle)) > miss:
            low = middle
        else:
            high = middle
    return from_millionths(high)


def _at_most(hits: int, count: int, share: Decimal) -> Decimal:
    """The probability of so many hits or fewer."""
    miss, total = ARITHMETIC.subtract(_ONE, share), _ZERO
    for number in range(hits + 1):
        term = ARITHMETIC.multiply(Decimal(comb(count, number)), ARITHMETIC.power(share, number))
        total = ARITHMETIC.add(total, ARITHMETIC.multiply(term, ARITHMETIC.power(miss, count - number)))
    return total


def _promise(
    pairs: Iterable[tuple[Decimal, bool]], knots: Sequence[CalibrationKnot], wrong: Decimal, level: Decimal
) -> Promise:
    """Thresholds are tried from the highest down, from where enough cases lie above, until the first that fails.

    The order is that of the confidences as they were, which does not depend on who was right, so that trying many takes
    nothing from the level. Above the last knot the map is flat, so a threshold lies at the last knot or below.
    """
    ordered = sorted(pairs, key=lambda pair: pair[0], reverse=True)
    miss = ARITHMETIC.subtract(_ONE, level)
    needed = _needed(wrong, miss)
    kept: tuple[Decimal | None, int, int, Decimal] = (None, len(ordered), sum(not right for _, right in ordered), _ONE)
    for count in range(needed, len(ordered) + 1):
        sure = ordered[count - 1][0]
        is_last = count == len(ordered) or ordered[count][0] < sure
        if not is_last or sure > knots[-1].at:
            continue
        mistakes = sum(not right for _, right in ordered[:count])
        bound = upper_bound(mistakes, count, miss)
        if bound > wrong:
            break
        kept = (calibrated(knots, sure), count, mistakes, bound)
    threshold, cases, mistakes, bound = kept
    return Promise(
        wrong=wrong,
        level=level,
        threshold=threshold,
        cases=cases,
        wrong_cases=mistakes,
        wrong_at_most=bound,
        needed=needed,
    )


def _needed(wrong: Decimal, miss: Decimal) -> int:
    """How many cases without a mistake are enough: the least n with (1 - wrong)^n <= miss."""
    ratio = ARITHMETIC.divide(ARITHMETIC.ln(miss), ARITHMETIC.ln(ARITHMETIC.subtract(_ONE, wrong)))
    return int(ratio.to_integral_value(rounding="ROUND_CEILING"))


def _effects(
    cases: Sequence[KnownCase], knots: Sequence[CalibrationKnot], verify: Decimal | None, promise: Promise | None
) -> Iterator[StatusEffect]:
    for status in TruthStatus:
        own = [case for case in cases if case.status is status]
        if not own:
            continue
        after = [calibrated(knots, case.confidence) for case in own]
        threshold = None if promise is None else promise.threshold
        yield StatusEffect(
            status=status,
            cases=len(own),
            right=sum(case.right for case in own),
            mean_before=quantised(ARITHMETIC.divide(sum((case.confidence for case in own), _ZERO), Decimal(len(own)))),
            mean_after=quantised(ARITHMETIC.divide(sum(after, _ZERO), Decimal(len(own)))),
            verified_before=None if verify is None else sum(case.confidence >= verify for case in own),
            verified_after=None if threshold is None else sum(one >= threshold for one in after),
        )


def calibration_hash(calibration: Calibration) -> str:
    """What is signed: the hash of the canonical bytes (`kaori-2.1`)."""
    return canonical_hash(plain_record(calibration), Profile.KAORI)


def render_calibration(calibration: Calibration) -> bytes:
    return canonicalize(plain_record(calibration), Profile.KAORI)


def parse_calibration(value: bytes | str | dict[str, object]) -> Calibration:
    return read_record(canonical_value(value), Calibration)
