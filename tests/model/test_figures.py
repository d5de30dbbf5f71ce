"""Figures are counts that anybody can make again, and a worse model is found out whatever got worse."""

from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.model.card import parse_card
from assay.model.figures import Figures, MarkedCase, check_targets, check_worse, count_cases
from assay.model.plot import plot_figures
from tests.model.networks import ROOT, WEIGHTS

VERDICTS = ("CLEAR", "FLAG", "DISCRETIONARY", "NULL_STALE")


def case(
    expected: str = "FLAG", got: str | None = "FLAG", *, agreed: bool = True, right: int = 1, wrong: int = 0
) -> MarkedCase:
    told = (("must_not_exceed", True),) * right + (("must_not_exceed", False),) * wrong
    return MarkedCase(expected=expected, got=got, agreed=agreed, assertions=told)


def test_every_figure_is_what_its_name_says() -> None:
    found = count_cases(
        [
            case(),
            case(got="CLEAR", agreed=False, right=0, wrong=1),
            case(got=None, agreed=False, right=0),
            case("CLEAR", "CLEAR", right=2),
            case("CLEAR", "FLAG", agreed=False),
        ]
    )
    assert (found.cases, found.verdict_accuracy, found.flag_recall) == (5, 0.4, 1 / 3)
    assert found.silent_clears == 1
    assert found.silent_clear == pytest.approx(1 / 3)
    assert (found.agreement, found.unparsable, found.assertion_accuracy) == (0.4, 1, 0.8)
    assert found.types["must_not_exceed"].asserted == 5
    assert found.confusion == {"CLEAR": {"CLEAR": 1, "FLAG": 1}, "FLAG": {"CLEAR": 1, "FLAG": 1, "unparsable": 1}}


@given(
    st.lists(
        st.builds(case, st.sampled_from(VERDICTS), st.sampled_from((*VERDICTS, None)), right=st.integers(0, 3)),
        min_size=1,
    ),
    st.randoms(use_true_random=False),
)
def test_the_order_of_cases_changes_no_figure(cases: list[MarkedCase], shuffling: "object") -> None:
    before = count_cases(cases)
    shuffling.shuffle(cases)  # type: ignore[attr-defined]  # a `random.Random`
    assert count_cases(cases) == before
    assert check_worse(before, before, "cases") == ()
    ET.fromstring(plot_figures(before, "a <model> & its figures"))  # noqa: S314  our own text


GOOD = count_cases([case()] * 999 + [case("CLEAR", "CLEAR")] * 1001)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"verdict_accuracy": 0.9995}, "verdict accuracy"),
        ({"flag_recall": 0.999}, "FLAG recall"),
        ({"silent_clears": 1}, "silent CLEARs"),
        ({"unparsable": 1}, "unparsable"),
        ({"assertion_accuracy": 0.998}, "assertion accuracy"),
        ({"agreement": 0.998}, "agreement"),
        ({"cases": 10}, "cases"),
    ],
)
def test_a_model_is_worse_if_any_figure_is(changes: dict[str, float], named: str) -> None:
    """Verdicts may not get worse by a single case; how an answer is put, by one in a thousand."""
    (reason,) = check_worse(GOOD, msgspec.structs.replace(GOOD, **changes), "sealed cases")
    assert reason.startswith("sealed cases: ")
    assert named in reason


def test_a_better_model_is_not_worse_and_a_little_in_how_it_is_put_is_allowed() -> None:
    poor = count_cases([case()] * 3 + [case(got="CLEAR", agreed=False)])
    assert check_worse(poor, count_cases([case()] * 4), "pairs") == ()
    close = msgspec.structs.replace(GOOD, agreement=0.9995, assertion_accuracy=0.9995)
    assert check_worse(GOOD, close, "sealed cases") == ()


def test_what_a_judge_must_reach_is_named_where_it_is_not_reached() -> None:
    assert check_targets(GOOD) == ()
    bad = count_cases([case(got="CLEAR", agreed=False, right=0, wrong=1), case(got=None, agreed=False)])
    assert len(check_targets(bad)) == 6


def test_a_picture_of_the_same_figures_is_the_same_and_shows_every_type() -> None:
    text = plot_figures(GOOD, "sealed cases")
    assert text == plot_figures(GOOD, "sealed cases")
    assert "must_not_exceed" in text
    assert ">2000 of 2000<" in text
    assert isinstance(GOOD, Figures)


def test_the_picture_in_the_docs_is_of_the_shipped_weights_and_the_sealed_cases() -> None:
    card = parse_card((WEIGHTS.parent / "judge.json").read_bytes())
    text = (ROOT / "docs" / "model" / "evaluation.svg").read_text()
    assert f"{card.weight_hash[:40]}… on {card.sealed_hash[:23]}…" in text
    assert all(f">{one.right} of {one.asserted}<" in text for one in card.types.values())
