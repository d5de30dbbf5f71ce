"""The worked example of `docs/truth.md` is what the shipped contract makes of the shipped inputs."""

import hashlib
import json
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from assay.kernel.instant import parse_instant
from assay.truth.confidence import decay_factor
from assay.truth.state import parse_truth_state, render_truth_state, semantic_hash, state_hash
from tests.truth.worked_example import GIVEN, compiled_example, example_contract

_PAGE = (Path(__file__).parents[2] / "docs" / "truth.md").read_text()
_SECTION = _PAGE.partition("## A state, field by field")[2].partition("\n## ")[0]
_LEFT_OUT = {"compile_inputs", "evidence_refs", "security"}
_SEMANTIC = (
    "truthkey claim_type claim_type_hash claim status verification_basis ai_confidence confidence confidence_breakdown"
    " transparency_flags observation_ids"
)


def _shown() -> dict[str, Any]:
    (block,) = re.findall(r"```json\n(.*?)```", _SECTION, re.DOTALL)
    shown: dict[str, Any] = json.loads(block)
    return shown


def _state() -> dict[str, Any]:
    state: dict[str, Any] = json.loads(render_truth_state(compiled_example()))
    return state


def test_the_page_shows_the_state_that_is_compiled() -> None:
    """Every field but the inputs' hashes and the signature, with the same values; and every field is explained."""
    state = _state()
    assert {name: value for name, value in state.items() if name not in _LEFT_OUT} == _shown()
    named = "".join(re.findall(r"^\| (`[^|]*) \|", _SECTION, re.MULTILINE))
    for name in (*state, *state["claim"]):
        assert re.search(rf"[`.]{name}[`.]", named), name


def _rounded(value: Fraction) -> float:
    return float(round(value * 10**6)) / 10**6


def _worked_out(terms: str) -> Fraction:
    value: Fraction = eval(re.sub(r"([\d.]+)", r"Fraction('\1')", terms.replace("x", "*")))  # noqa: S307  digits and signs alone
    return value


@pytest.mark.clause("kaori", "14")
def test_the_arithmetic_of_the_page_is_right_and_is_that_of_the_state() -> None:
    """Worked out here from the printed terms, in exact fractions: the compiler and the page agree with it."""
    printed = dict(re.findall(r"^    (\w+) +([\d. x()/+]+?) += [\d.]+$", _SECTION, re.MULTILINE))
    results = dict(re.findall(r"^    (\w+) .*?([\d.]+)$", _SECTION, re.MULTILINE))
    components = _state()["confidence_breakdown"]["components"]
    assert set(printed) == set(components)
    exact = {name: _worked_out(terms) for name, terms in printed.items()}
    for name, value in exact.items():
        assert _rounded(value) == float(results[name]) == components[name]["contribution"]
    total = sum(exact.values(), Fraction(0))
    assert _rounded(total) == float(results["confidence"]) == _state()["confidence"]
    assert f"half: {_rounded(total / 2)}" in _SECTION


@pytest.mark.clause("kaori", "11.2")
@pytest.mark.clause("kaori", "11.3")
def test_the_hashes_of_the_page_are_those_of_the_shown_fields() -> None:
    """Computed here with nothing but the standard library: sorted keys, no blanks, SHA-256."""
    shown = _shown()
    content = {name: shown[name] for name in _SEMANTIC.split()}
    content |= {"trust_snapshot_hash": GIVEN["trust_snapshot"]["snapshot_hash"], "policy_version": "1.0.0"}
    whole = content | {"compile_time": GIVEN["compile_time"], "compiler_version": GIVEN["compiler_version"]}
    state = compiled_example()
    for value, ours in ((content, semantic_hash(state)), (whole, state_hash(state))):
        text = json.dumps(value, sort_keys=True, separators=(",", ":"))
        expected = hashlib.sha256(text.encode()).hexdigest()
        assert expected == ours
        assert f"`{expected}`" in _SECTION


def test_the_confidence_of_the_page_halves_in_a_half_life() -> None:
    """Six hours after the end of the bucket, as the contract says."""
    end, later = parse_instant("2026-01-07T13:00:00Z"), parse_instant("2026-01-07T19:00:00Z")
    assert decay_factor(example_contract().temporal_decay, end, later) == Decimal("0.5")


def test_the_inputs_hold_what_the_page_says_of_them() -> None:
    """Who reported, with which trust, and what the state names of that."""
    state = _state()
    assert parse_truth_state(state) == compiled_example()
    assert len(state["compile_inputs"]["ai_score_hashes"]) == 6
    photos = sorted(one["evidence_refs"][0]["sha256"] for one in GIVEN["observations"])
    assert state["evidence_refs"] == photos
    for name, trust in GIVEN["trust_snapshot"]["agent_trusts"].items():
        assert f"| `{name}` | {trust['standing']}, {trust['trust_score']} |" in _SECTION
