"""The agreement rate: over the latest verdicts that could be compared, and unhealthy until something was."""

from decimal import Decimal

import pytest

from assay.verdicts.agreement import CanaryStatus, measure_agreement
from assay.verdicts.envelope import VerifierStatus
from assay.verdicts.errors import VerdictsError
from tests.raising import raises

AGREED, NOT, UNSURE = (
    VerifierStatus.AGREED,
    VerifierStatus.NEURO_SYMBOLIC_DIVERGENCE,
    VerifierStatus.UNVERIFIABLE,
)


@pytest.mark.clause("ski", "9.2")
def test_the_rate_must_stay_above_the_threshold() -> None:
    assert measure_agreement([AGREED] * 996 + [NOT] * 4).is_healthy
    at = measure_agreement([AGREED] * 995 + [NOT] * 5)
    assert (at.agreement_rate, at.is_healthy, at.status) == (0.995, False, CanaryStatus.DEGRADED)
    assert measure_agreement([AGREED], threshold=Decimal(1)).is_healthy


def test_only_the_latest_count() -> None:
    canary = measure_agreement([NOT] * 5 + [AGREED] * 10, window_size=10)
    assert (canary.observed, canary.agreement_rate) == (10, 1)


def test_what_could_not_be_compared_is_neither_for_nor_against() -> None:
    canary = measure_agreement([AGREED, UNSURE, UNSURE])
    assert (canary.agreement_rate, canary.observed, canary.counts["UNVERIFIABLE"]) == (1, 3, 2)


@pytest.mark.parametrize("statuses", [[], [UNSURE]])
def test_nothing_compared_is_not_healthy(statuses: list[VerifierStatus]) -> None:
    canary = measure_agreement(statuses)
    assert (canary.agreement_rate, canary.is_healthy, canary.status) == (None, False, CanaryStatus.NO_DATA)


@pytest.mark.parametrize(("size", "threshold"), [(0, "0.9"), (1, "1.1"), (1, "-0.1")])
def test_settings_that_make_no_sense_are_refused(size: int, threshold: str) -> None:
    with raises(VerdictsError.agreement_setting):
        measure_agreement([], window_size=size, threshold=Decimal(threshold))
