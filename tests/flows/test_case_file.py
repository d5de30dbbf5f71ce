"""Files of cases: one in each line, plain or gzipped, whole or refused with the line that is wrong."""

import gzip
import json

import pytest

from assay.flows.model.case_file import load_sealed_cases, parse_case_file, render_case_file
from assay.flows.model.known_model import shipped_card
from assay.flows.model.teach_cases import digit_lines, draw_replay, teach_case
from assay.kernel.digest import digest_of
from assay.model.cases.draw import SeededDraw
from assay.model.cases.draw_case import case_lines, is_sealed
from assay.model.vocabulary import VOCABULARY
from assay.verdicts.case import expected_of, open_case, parse_case
from tests.contract._kit import refused
from tests.flows._models import a_few_sealed, labelled, pairs_of

LINE = {
    "case": {
        "obligations": [{"id": "o", "type": "must_not_exceed", "metric": "m", "value": 5}],
        "measurement": {"m": 6},
    },
    "expected": {"verdict": "FLAG"},
}


def file_of(*lines: object) -> bytes:
    return "\n".join(json.dumps(line) for line in lines).encode()


def test_the_shipped_sealed_cases_are_those_of_the_card() -> None:
    """Each falls into the sealed share by its hash, which is how training passed over it."""
    found = load_sealed_cases()
    assert (found.hash, len(found.cases)) == (shipped_card().sealed_hash, shipped_card().cases)
    for one in found.cases[:40]:
        opened = open_case(one.case)
        assert is_sealed(case_lines(opened.prompt))
        told = expected_of(opened)
        assert (one.expected.verdict, one.expected.classes, one.expected.truths) == (
            told.verdict,
            told.classes,
            told.truths,
        )


def test_a_file_is_the_same_cases_plain_and_gzipped() -> None:
    content = file_of(LINE, {**LINE, "training_pair_id": "p-1"})
    plain, packed = parse_case_file(content + b"\n\n"), parse_case_file(gzip.compress(content))
    assert plain.cases == packed.cases
    assert plain.cases[1].training_pair_id == "p-1"
    assert packed.hash == digest_of(gzip.compress(content))
    assert parse_case_file(render_case_file(plain.cases)).cases == plain.cases


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"{}",
        b"\xff",
        file_of(LINE, {"case": {}}),
        file_of({**LINE, "extra": 1}),
        file_of({**LINE, "expected": {"verdict": "MAYBE"}}),
        gzip.compress(file_of(LINE))[:-20],
        b"\x1f\x8bnot gzip",
        gzip.compress(b" " * (65 * 1024 * 1024)),
    ],
    ids=["empty", "blank", "no case", "not text", "no answer", "unknown field", "no verdict", "cut", "broken", "bomb"],
)
def test_a_file_that_is_not_one_of_cases_is_refused(content: bytes) -> None:
    with refused("model.cases"):
        parse_case_file(content)


def test_a_case_teaches_the_words_that_the_verifier_agrees_with() -> None:
    *lines, closing = teach_case(parse_case(LINE["case"]))
    assert len(lines) == 1
    told = [VOCABULARY[target] for target in lines[0].targets if target]
    assert told[-4:] == ["no_exemption", "breached", "value", "false"]
    assert VOCABULARY[closing.targets[-1]] == "FLAG"


def test_replayed_cases_are_never_sealed_nor_lines_that_measure() -> None:
    """What is measured must not have been learnt: neither whole cases nor single lines with digits."""
    sealed = [one.case for one in a_few_sealed(4).cases]
    hidden = digit_lines(sealed)
    assert hidden
    rng = SeededDraw("replay")
    rows = [row for _ in range(30) for row in draw_replay(rng, hidden)]
    assert len(rows) > 60
    again = SeededDraw("replay")
    assert rows == [row for _ in range(30) for row in draw_replay(again, hidden)]
    assert len(digit_lines([one.case for one in pairs_of(6).cases])) == 6
    assert labelled(sealed[0]).expected.verdict == a_few_sealed(4).cases[0].expected.verdict
