"""The case of a prompt becomes numbers, and whatever is not a case is refused."""

import pytest

from assay.model.errors import CaseSizeError, JudgeError
from assay.model.form import FIRST, SECOND
from assay.model.tokenizer import ASKED, read_case, read_line
from assay.model.vocabulary import IDS, VOCABULARY
from tests.raising import raises

PROMPT = "instructions\ncase\no0 must_not_exceed u0 u0 ++ 54 08\no1 must u u t : _\nanswer\n"


def test_symbols_have_fixed_numbers_and_no_two_the_same() -> None:
    """The order is part of the weights: a changed number would make every trained weight mean something else."""
    assert len(set(VOCABULARY)) == len(VOCABULARY)
    assert (IDS["pad"], IDS["must"], IDS["++"], IDS["00"], IDS["99"]) == (0, 1, 34, 38, 137)


def test_a_case_is_read_line_by_line_and_a_pair_of_digits_is_one_token() -> None:
    first, second = read_case(PROMPT)
    assert first.symbols == ("must_not_exceed", "u0", "u0", "++", "54", "08")
    assert first.tokens == tuple(IDS[symbol] for symbol in first.symbols)
    assert second.symbols[0] == "must"


def test_a_comparison_is_numbered_and_its_places_counted_from_its_start() -> None:
    line = read_line("o0 must_be_within u u ++ 15 ; ++ 95 x must_equal u u t : t & must u u _ x ~", 0)
    assert line.starts == ("", ";", "x", "&", "x")
    assert line.comparisons == (0, 0, 0, 0, 0, 1, 1, 1, *[2] * 7, *[3] * 5, 4, 4)
    assert line.places[5:8] == (0, 1, 2)
    ends_demand, ends_exemption, continued = ASKED, ASKED + 16, ASKED + 8
    assert line.asked == (continued, ends_demand, continued, ends_exemption, ends_exemption)


def test_a_name_beyond_those_that_have_a_number_is_one_that_is_not_the_observed() -> None:
    line = read_line("o0 must_be_one_of u u s0 : s31 s32 s4000", 0, FIRST)
    assert line.tokens[5:] == (IDS["s31"], IDS["s31"], IDS["s31"])
    assert IDS["s31"] != IDS["s0"]


def test_members_have_places_and_names_in_turns_and_none_has_that_of_the_observed() -> None:
    """Every member of a long set is read as one of the first twenty are, which training saw most often."""
    members = " ".join(f"s{number}" for number in range(1, 65))
    line = read_line(f"o0 must_be_one_of u u s0 : {members}", 0)
    assert line.tokens[5:25] == tuple(IDS[f"s{number}"] for number in range(1, 21))
    assert line.tokens[25:45] == line.tokens[5:25]
    assert line.places[5:25] == tuple(range(5, 25))
    assert line.places[25:45] == line.places[5:25]
    assert IDS["s0"] not in line.tokens[5:]
    short = read_line("o0 must u u t : _ x must_be_one_of u u s0 : s1 s2 s3 s4 s5 s6 s0", 0)
    assert short.places[-7:] == (6, 7, 8, 9, 10, 6, 7)
    assert short.tokens[-3:] == (IDS["s5"], IDS["s1"], IDS["s0"])


def test_a_prompt_of_the_first_template_is_read_as_it_was() -> None:
    lines = f"case\no0 must u u t : _{' x ~' * 15}\nanswer\n"
    (line,) = read_case(f"{FIRST.template_id}\n{lines}")
    assert len(line.starts) == 16
    with pytest.raises(CaseSizeError, match="expected at most 7 comparisons"):
        read_case(f"{SECOND.template_id}\n{lines}")


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "case\no0 must u u t : _\n",
        "case\no1 must u u t : _\nanswer\n",
        "case\no0 must u u t : _\nanswer\nmore",
        "case\no0 must u u t : FLAG\nanswer\n",
        "case\no0 must  u\nanswer\n",
        "case\no0 \nanswer\n",
        "case\no0 must satisfied\nanswer\n",
    ],
)
def test_what_is_no_case_is_refused(prompt: str) -> None:
    """The model's own words are no symbols of a case: a case cannot contain its answer."""
    with raises(JudgeError.case):
        read_case(prompt)


@pytest.mark.parametrize(
    "lines",
    [
        [f"o{number} must u u t : _" for number in range(65)],
        [f"o0 must_be_one_of u u s0 :{' s1' * 360}"],
        [f"o0 must u u t : _{' x ~' * 16}"],
    ],
)
def test_a_case_larger_than_the_model_reads_is_refused_and_not_cut(lines: list[str]) -> None:
    with pytest.raises(CaseSizeError):
        read_case("case\n" + "\n".join(lines) + "\nanswer\n")
