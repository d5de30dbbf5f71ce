"""Every estimator is at hand from the command line: conformal sets, risk control, and calibrators of confidence."""

import json
from pathlib import Path

import msgspec
import pytest

from assay.claims.estimate.stated import Calibrator, calibrated
from tests.surfaces.cli.running import ask


def _written(path: Path, lines: list[dict[str, object]]) -> Path:
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def _cases(path: Path, count: int, *, groups: tuple[str, ...] = ()) -> Path:
    """The right answer is said to be likely in nine cases of ten."""
    rows: list[dict[str, object]] = []
    for number in range(count):
        sure = 0.5 + (number % 40) / 100
        rows.append({"probabilities": [sure, 1 - sure], "right": 1 if number % 10 == 0 else 0})
    for number, row in enumerate(rows if groups else ()):
        row["group"] = groups[number % len(groups)]
    return _written(path, rows)


@pytest.mark.clause("claimbundle", "conformal-prediction")
@pytest.mark.parametrize("score", ["lac", "aps", "raps"])
def test_sets_are_calibrated_and_predicted_with_what_they_promise(tmp_path: Path, score: str) -> None:
    """Coverage with its Beta interval, and each new set as an uncertainty: 0 for one answer, 1 for all."""
    fresh = _written(tmp_path / "fresh.jsonl", [{"probabilities": [0.99, 0.01]}, {"probabilities": [0.5, 0.5]}])
    done = ask("claims", "conformal", _cases(tmp_path / "c.jsonl", 200), "--score", score, "--predict", fresh, "--json")
    assert done.code == 0, done.err
    (found,) = done.json["thresholds"]
    assert found["threshold"]["n"] == 200
    assert 0.8 < found["coverage_low"] < 0.9 < found["coverage_high"] < 1.0
    sizes = [len(one["places"]) for one in done.json["sets"]]
    assert sizes[0] <= sizes[1]
    assert {one["estimate"]["method"] for one in done.json["sets"]} == {"conformal_set"}


def test_each_group_has_its_own_threshold_and_too_little_data_promises_nothing(tmp_path: Path) -> None:
    """An unseen group, or one with too few cases, gets every answer; exit 1 says so."""
    fresh = _written(tmp_path / "fresh.jsonl", [{"probabilities": [0.9, 0.1], "group": "other"}])
    cases = _cases(tmp_path / "c.jsonl", 200, groups=("a", "b"))
    done = ask("claims", "conformal", cases, "--predict", fresh, "--json")
    assert [one["group"] for one in done.json["thresholds"]] == ["a", "b"]
    assert done.json["sets"][0]["places"] == [0, 1]
    few = ask("claims", "conformal", _cases(tmp_path / "few.jsonl", 5))
    assert (few.code, "the set is everything" in few.out) == (1, True)


def test_a_loss_is_bounded_by_risk_control(tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [{"losses": [1.0 if n % 2 else 0.05, 0.05, 0.0]} for n in range(200)]
    done = ask("claims", "risk-control", _written(tmp_path / "l.jsonl", lines), "--json")
    assert (done.code, done.json["place"]) == (0, 1)
    worst = _written(tmp_path / "w.jsonl", [{"losses": [1.0, 1.0]}] * 20)
    assert ask("claims", "risk-control", worst).code == 1
    uneven = _written(tmp_path / "u.jsonl", [{"losses": [1.0]}, {"losses": [1.0, 0.5]}])
    assert ask("claims", "risk-control", uneven, "--json").error_code == "claims.scores"


@pytest.mark.parametrize(
    "line", ["{", '{"probabilities": [0.5, 0.5], "right": 7}', '{"probabilities": [2], "right": 0}']
)
def test_what_is_no_case_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "odd.jsonl").write_text(line)
    assert ask("claims", "conformal", tmp_path / "odd.jsonl", "--json").code == 3


@pytest.mark.parametrize("kind", ["temperature", "platt", "isotonic"])
def test_a_calibrator_is_fitted_and_written_and_the_threshold_is_fitted_after_it(tmp_path: Path, kind: str) -> None:
    """On other cases than the calibrator saw; what it writes reads back as one that lowers false confidence."""
    rows: list[dict[str, object]] = [{"uncertainty": 0.02, "wrong": n % 4 < 2 and n % 3 != 0} for n in range(600)]
    rows += [{"uncertainty": 0.3, "wrong": n % 4 < 2} for n in range(600)]
    done = ask(
        "claims", "calibrate", _written(tmp_path / "c.jsonl", rows), "--method", "confidence_score",
        "--calibrator", kind, "--alpha", "0.45", "--json",
    )  # fmt: skip
    assert done.code in (0, 1), done.err
    assert done.json["fitted"]["n"] == 600
    fitted: Calibrator = msgspec.convert(done.json["calibrator"], Calibrator)
    assert calibrated(fitted, 0.98) < 0.9
