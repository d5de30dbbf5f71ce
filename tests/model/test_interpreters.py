"""The judge writes the same bytes under every Python, each with the numpy that the lock names for it."""

import os
import sys
from pathlib import Path

import msgspec
import pytest

from tests.interpreters import NO_OTHER, OTHERS, make_environment, run_python
from tests.model.judged import hashes_of
from tests.model.networks import ROOT, WEIGHTS, asked
from tests.verdicts.judging import docket_of, obligation, record


def _questions() -> bytes:
    """Every way of comparing, on both sides of it."""
    docket = docket_of(
        obligation("o-1", "must_not_exceed", "nox", 50),
        obligation("o-2", "must_be_within", "so2", [1.5, 2.25]),
        obligation("o-3", "must_be_one_of", "fuel", ["gas", "oil"]),
        obligation("o-4", "must_equal", "on", True),
        obligation("o-5", "discretionary", "note", 1),
        obligation("o-6", "should", "pm", 3),
    )
    records = [
        record({"nox": 50 + step, "so2": 2.25 + step / 1000, "fuel": fuel, "on": step > 0})
        for step in (-1, 0, 1e-9, 1e15)
        for fuel in ("gas", "peat")
    ]
    questions = [(prompt, grammar.decode()) for prompt, grammar in (asked(docket, one) for one in records)]
    return msgspec.json.encode(questions)


@pytest.mark.slow
@pytest.mark.clause("ski", "7.5")
@pytest.mark.parametrize("version", [*OTHERS] or [NO_OTHER])
def test_every_python_of_this_machine_judges_the_same(
    version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        python = make_environment(version)
    except RuntimeError as error:
        pytest.skip(f"CPython {version} cannot be given the locked packages: {error}")
    file = tmp_path / "questions.json"
    file.write_bytes(_questions())
    path = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    said = run_python(str(python), "-m", "tests.model.judged", str(file), str(WEIGHTS), PYTHONPATH=path)
    assert said.split() == hashes_of(file.read_bytes(), WEIGHTS.read_bytes())
    with capsys.disabled():
        print(f"\nthe judge: CPython {version} agrees ({OTHERS[version]})", file=sys.stderr)  # noqa: T201 - which ran is part of the answer


def test_the_questions_have_different_answers() -> None:
    """The control of the test above: hashes that agreed on everything would agree on nothing."""
    assert len(set(hashes_of(_questions(), WEIGHTS.read_bytes()))) > 4
