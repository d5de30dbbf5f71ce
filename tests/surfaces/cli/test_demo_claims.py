"""The part of `assay demo` that is about claims."""

from pathlib import Path

from assay.surfaces.cli.demo_claims import run_claims


def test_the_demonstration_of_claims_goes_as_it_should(tmp_path: Path) -> None:
    """A short hash is deferred, a deletion waits, a machine is refused, and one approval is good for one bundle."""
    steps = list(run_claims(tmp_path / "claims"))
    assert [(step.title, step.is_right) for step in steps] == [
        (title, True)
        for title in (
            "A claim",
            "Evidence",
            "Escalate",
            "A machine",
            "Approve",
            "Once",
            "A changed bundle",
        )
    ]
