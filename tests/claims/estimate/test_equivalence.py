"""The default judge keeps apart what differs and joins what means the same, on sets written before it."""

from itertools import permutations
from statistics import mean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.claims.estimate._facets import facets_of, find_veto
from assay.claims.estimate._quantities import take_quantities
from assay.claims.estimate._words import has_opposite, stem
from assay.claims.estimate.cluster import cluster_answers
from assay.claims.estimate.entropy import normalised_entropy
from assay.claims.estimate.equivalence import (
    EquivalenceJudge,
    ExactJudge,
    RuleJudge,
    Veto,
    VetoedJudge,
    normalised_text,
    token_overlap,
)
from tests.claims.making import items

_PARAPHRASES: list[dict[str, Any]] = items("paraphrases")
_DIFFERENT: list[dict[str, Any]] = items("different_answers")
_CONTRAST: list[dict[str, Any]] = items("contrast")
_ANSWERS = sorted({answer for item in (*_PARAPHRASES, *_DIFFERENT) for answer in item["answers"]})
_JUDGE = RuleJudge()


def _entropy(item: dict[str, Any]) -> float:
    return normalised_entropy(cluster_answers(item["question"], item["answers"], _JUDGE).sizes)


@pytest.mark.parametrize("half", [0, 1], ids=["seen", "held_out"])
def test_paraphrases_have_little_entropy(half: int) -> None:
    """At most 0.15 on average, on the half that was seen and on the half that was held out."""
    assert len(_PARAPHRASES) >= 60
    assert mean(_entropy(item) for item in _PARAPHRASES[half::2]) <= 0.15


@pytest.mark.parametrize("half", [0, 1], ids=["seen", "held_out"])
def test_different_answers_have_much_entropy(half: int) -> None:
    """At least 0.85 on average."""
    assert len(_DIFFERENT) >= 60
    assert mean(_entropy(item) for item in _DIFFERENT[half::2]) >= 0.85


@pytest.mark.parametrize("kind", ["role_swap", "negation", "number", "date", "unit", "quantifier", "entity"])
def test_what_only_a_word_keeps_apart_is_kept_apart(kind: str) -> None:
    """Nine of ten pairs of each kind are told right, and no two that differ are joined."""
    assert len(_CONTRAST) >= 60
    pairs = [item for item in _CONTRAST if item["kind"] == kind]
    told = [(_JUDGE.entails(item["question"], *item["pair"]), item) for item in pairs]
    assert [item["pair"] for same, item in told if same and not item["same"]] == []
    assert sum(same is item["same"] for same, item in told) >= 0.9 * len(pairs)


@given(st.sampled_from(_PARAPHRASES + _DIFFERENT), st.sampled_from(_ANSWERS), st.sampled_from(_ANSWERS))
def test_the_default_judge_is_symmetric_and_agrees_with_itself(item: dict[str, Any], one: str, other: str) -> None:
    """It says that one direction stands for both; so it must."""
    question = item["question"]
    assert _JUDGE.is_symmetric
    assert _JUDGE.entails(question, one, other) is _JUDGE.entails(question, other, one)
    assert _JUDGE.entails(question, one, one)


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_any_texts_can_be_judged(question: str, one: str, other: str) -> None:
    """No text breaks the judge."""
    assert _JUDGE.entails(question, one, other) is _JUDGE.entails(question, other, one)


@pytest.mark.parametrize(
    ("question", "one", "other", "veto"),
    [
        ("When?", "1999", "3 May 1999", Veto.DATE),
        ("When?", "In May 2024", "In June 2024", Veto.DATE),
        ("At what time?", "At noon", "At midnight", Veto.TIME),
        ("Which version?", "2.1.3", "2.1.4", Veto.NAME),
        ("How many?", "17", "18", Veto.NUMBER),
        ("How many bits, 128 or 256?", "128", "256", Veto.NUMBER),
        ("Is it open?", "It is.", "It is not.", Veto.NEGATION),
        ("Did it start?", "It started.", "It failed to start.", Veto.NEGATION),
        ("Which passed?", "All passed.", "Most passed.", Veto.QUANTIFIER),
        ("How many?", "At least 5", "At most 5", Veto.BOUND),
        ("Must it be signed?", "It must be signed.", "It may be signed.", Veto.MODAL),
        ("Must it be signed?", "It may be signed.", "It must be signed.", Veto.MODAL),
        ("When is it due?", "It may be due in May.", "It is due in May.", Veto.MODAL),
        ("Who may enter?", "Staff may enter.", "Staff", None),
        ("Is it valid?", "It is valid.", "It is invalid.", Veto.NEGATION),
        ("In which order?", "Tea, then coffee", "Coffee, then tea", Veto.ORDER),
        ("What happened?", "Belvane sued Altamar.", "Altamar sued Belvane.", Veto.ORDER),
        ("What happened?", "Lead is heavier than iron.", "Iron is heavier than lead.", Veto.ORDER),
        ("What happened?", "Belvane sued Altamar.", "Altamar was sued by Belvane.", None),
        ("What is it?", "Au is the symbol of gold.", "The symbol of gold is Au.", None),
        ("How long?", "Two years", "24 months", None),
    ],
)
def test_a_veto_says_which_facet_differs(question: str, one: str, other: str, veto: Veto | None) -> None:
    """An active and a passive voice, or two ways round an equation, differ in nothing."""
    for first, second in permutations((one, other)):
        assert find_veto(facets_of(question), facets_of(first), facets_of(second)) is veto


def test_a_choice_from_the_question_is_an_answer() -> None:
    """What the question says counts for both answers, but two picks from it are two answers."""
    assert not _JUDGE.entails("Is it lead or iron?", "Lead", "Iron")
    assert _JUDGE.entails("Is it lead or iron?", "It is lead.", "Lead")


@pytest.mark.parametrize(
    ("text", "amounts", "rest"),
    [
        ("two hundred and five ships", [205], "ships"),
        ("one million two hundred thousand", [1_200_000], ""),
        ("a dozen eggs", [12], "eggs"),
        ("-40", [-40], ""),
        ("twenty-one", [21], ""),
        ("1,200 users", [1200], "users"),
        ("version 2.1.3", [], "version"),
    ],
)
def test_numbers_are_read_from_digits_and_words(text: str, amounts: list[int], rest: str) -> None:
    """What is left are the other words."""
    found = take_quantities(text)
    assert [quantity.amount for quantity in found.numbers] == amounts
    assert found.rest.split() == rest.split()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("5 km", "5000 m", True),
        ("5 km", "5 miles", False),
        ("80 km/h", "80 km per hour", True),
        ("100 degrees", "100 °C", True),
        ("100 °F", "100 °C", False),
        ("$30", "30 dollars", True),
        ("the third", "3", True),
        ("the third", "3 km", False),
        ("5 percent", "5 percentage points", False),
        ("5 per cent", "5%", True),
        ("3.5 million euros", "3,500,000 euros", True),
        ("1.2345 thousand", "1234.5", False),
        ("3 and 4", "4 and 3", True),
        ("3 and 3", "3 and 4", False),
    ],
)
def test_amounts_are_compared_in_one_unit(one: str, other: str, *, same: bool) -> None:
    """A number without a unit fits every unit; a number of another kind never does."""
    assert _JUDGE.entails("How much?", one, other) is same


def test_words_have_one_stem_and_opposites_are_known() -> None:
    assert stem("stopped") == stem("stopping") == stem("halt")
    assert stem("studies") == stem("study")
    assert stem("purchased") == stem("bought") == stem("acquired")
    assert stem("glass") == "glass"
    assert has_opposite({"valid"}, {"invalid", "x"})
    assert has_opposite({"invalid"}, {"valid"})
    assert has_opposite({"rise"}, {"fall"})
    assert not has_opposite({"rise"}, {"grow"})


def test_the_exact_judge_joins_only_the_same_text_or_number() -> None:
    judge = ExactJudge()
    assert judge.entails("?", " Paris. ", "paris")
    assert judge.entails("?", "1,000", "1000.0")
    assert not judge.entails("?", "Paris", "It is Paris")
    assert normalised_text("NaN") == normalised_text("nan")


def test_a_similarity_of_ones_own_decides_what_no_rule_decides() -> None:
    """A static embedding may know that two words mean the same; it is never asked about what is vetoed."""
    asked: list[tuple[str, str]] = []

    def knowing(one: str, other: str) -> float:
        asked.append((one, other))
        return 1.0

    judge = RuleJudge(knowing, threshold=0.8, name="rules over a table")
    assert judge.entails("What is it?", "a big lorry", "a big truck")
    assert not judge.entails("What is it?", "a big lorry", "no big truck")
    assert not judge.entails("What is it?", "a big Volvo", "a big Scania")
    assert asked == [("lorry", "truck")]
    assert judge.name == "rules over a table"
    assert not RuleJudge().entails("What is it?", "a big lorry", "a big truck")


class _Yes:
    name = "yes"
    is_symmetric = False

    def __init__(self) -> None:
        self.asked = 0

    def entails(self, question: str, premise: str, hypothesis: str) -> bool:
        assert question
        assert premise != hypothesis
        self.asked += 1
        return True


def test_another_judge_behind_the_vetoes_is_asked_only_where_no_rule_answers() -> None:
    inner = _Yes()
    judge = VetoedJudge(inner)
    assert (judge.name, judge.is_symmetric) == ("rules, then yes", False)
    assert not judge.entails("How many?", "17", "18")
    assert judge.entails("How many?", "Seventeen!", "seventeen")
    assert inner.asked == 0
    assert judge.entails("What is it?", "A car", "An automobile")
    assert inner.asked == 1


def test_a_text_too_long_for_an_answer_means_only_itself() -> None:
    """What was not looked at could differ."""
    long = "word " * 2000
    assert _JUDGE.entails("?", long, f" {long}")
    assert not _JUDGE.entails("?", long, f"{long} more")


def test_the_order_of_a_long_text_is_not_taken_for_roles() -> None:
    words = [f"thing{letter}{other}" for letter in "abcdefghi" for other in "abcdefghi"]
    assert find_veto(facets_of("?"), facets_of(" ".join(words)), facets_of(" ".join(reversed(words)))) is None


def test_word_overlap_is_a_share() -> None:
    assert token_overlap("a b", "b c") == 0.5
    assert token_overlap("", "b") == 0.0
    assert token_overlap("a b", "b a") == 1.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (".5", "5"), ("1,5", "15"), ("5 mW", "5 MW"), ("10 Mb", "10 MB"), ("$5", "5"), ("1e999999999", "2"),
        ("123456789012345678901234567890", "123456789012345678901234567891"), ("9" * 5000, "8" * 5000),
        ("3 of 5", "5 of 3"), ("The minimum and maximum are 3 and 5.", "The minimum and maximum are 5 and 3."),
        ("The limit is 5 and the minimum is 3.", "The limit is 3 and the minimum is 5."),
        ("The limit is 5 and the minimum is 3.", "The minimum is 5 and the limit is 3."),
        ("Germany beat Brazil 7 to 1.", "Germany beat Brazil 1 to 7."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("judge", [ExactJudge(), RuleJudge(), VetoedJudge(ExactJudge())], ids=lambda one: one.name)
def test_numbers_that_look_alike_are_told_apart(judge: EquivalenceJudge, one: str, other: str) -> None:
    """Every digit, point, unit and role counts, and no number is too large to be compared."""
    assert not judge.entails("What holds?", one, other)
    assert not judge.entails("What holds?", other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0.5", ".50"), ("1,500", "1500"), ("-5", "\u22125"), ("1e3", "1000"), ("5 MW", "5 megawatts"),
        ("The limit is 5 and the minimum is 3.", "The minimum is 3 and the limit is 5."),
    ],
)  # fmt: skip
def test_one_number_in_two_forms_is_one(one: str, other: str) -> None:
    assert RuleJudge().entails("What holds?", one, other)
