"""The judge on cases of other authors: generators and right answers written from the text, without a look at ours."""

from collections import Counter
from pathlib import Path

import pytest

from assay.flows.model.case_file import LabelledCase, parse_case_file
from assay.flows.model.measure_model import JudgeExaminee, measure_model
from assay.verdicts.case import expected_of, open_case
from tests.model.networks import shipped_engine
from tests.scale import scale

_FOLDER = Path(__file__).parents[1] / "vectors" / "model"
# The first holds fifty cases of each of its twenty-six kinds, one kind after the other; the second five hundred each as
# a regulator, a tester of numbers, a tester of structure and an attacker would write them.
FILES = {"other_author.jsonl.gz": scale(13, 1), "four_hands.jsonl.gz": scale(20, 1)}


@pytest.fixture(scope="module", params=FILES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def cases(name: str) -> tuple[LabelledCase, ...]:
    return parse_case_file((_FOLDER / name).read_bytes()).cases


def test_the_verifier_says_what_other_authors_say(cases: tuple[LabelledCase, ...]) -> None:
    differ = [n for n, one in enumerate(cases) if expected_of(open_case(one.case)).verdict is not one.expected.verdict]
    assert not differ
    assert min(Counter(one.expected.verdict for one in cases).values()) > 0


def test_the_judge_is_right_on_cases_that_others_wrote(cases: tuple[LabelledCase, ...], name: str) -> None:
    figures = measure_model(JudgeExaminee(shipped_engine()), cases[:: FILES[name]], timed=0).figures
    assert figures.verdict_accuracy >= 0.99
    assert figures.flag_recall >= 0.995
    assert figures.agreement >= 0.99
    assert (figures.silent_clears, figures.unparsable) == (0, 0)
