"""The judge on cases of another author: generator and right answers written from the text, without a look at ours."""

from collections import Counter
from pathlib import Path

import pytest

from assay.flows.case_file import LabelledCase, parse_case_file
from assay.flows.measure_model import JudgeExaminee, measure_model
from assay.verdicts.case import expected_of, open_case
from tests.model.networks import shipped_engine
from tests.scale import scale

CASES = Path(__file__).parents[1] / "vectors" / "model" / "other_author.jsonl.gz"
# The file holds fifty cases of each of its twenty-six kinds, one kind after the other.
STRIDE = scale(13, 1)


@pytest.fixture(scope="module")
def cases() -> tuple[LabelledCase, ...]:
    return parse_case_file(CASES.read_bytes()).cases


def test_the_verifier_says_what_the_other_author_says(cases: tuple[LabelledCase, ...]) -> None:
    differ = [n for n, one in enumerate(cases) if expected_of(open_case(one.case)).verdict is not one.expected.verdict]
    assert not differ
    assert min(Counter(one.expected.verdict for one in cases).values()) > 0


def test_the_judge_is_right_on_cases_that_others_wrote(cases: tuple[LabelledCase, ...]) -> None:
    figures = measure_model(JudgeExaminee(shipped_engine()), cases[::STRIDE], timed=0).figures
    assert figures.verdict_accuracy >= 0.99
    assert figures.flag_recall >= 0.995
    assert figures.agreement >= 0.99
    assert (figures.silent_clears, figures.unparsable) == (0, 0)
