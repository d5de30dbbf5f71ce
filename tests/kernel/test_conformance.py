"""A report of a check passes only if something was asked and nothing that counts failed."""

from assay.kernel.conformance import Report, Severity, no, outcome, yes


def test_an_empty_report_has_not_passed() -> None:
    """Nothing asked is nothing shown."""
    assert not Report(profile="any", findings=()).passed


def test_a_failure_fails_and_a_warning_does_not() -> None:
    warned = Report(profile="any", findings=(yes("r1", "a", "holds"), no("r2", "b", "odd", severity=Severity.WARNING)))
    assert (warned.passed, warned.failures) == (True, ())
    failed = no("r3", "c", "expected x, got y")
    assert Report(profile="any", findings=(*warned.findings, failed)).failures == (failed,)


def test_an_outcome_says_what_was_expected_only_where_it_does_not_hold() -> None:
    assert outcome(True, "r", "w", "expected x") == yes("r", "w", "holds")
    assert outcome(False, "r", "w", "expected x") == no("r", "w", "expected x")
