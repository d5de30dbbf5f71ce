"""Pairs of root-cause work reach the judge where they are about a case, with the verdict that people concluded."""

import json

import msgspec
import pytest

from assay.delivery.pair import PairInput, PairLabel, TrainingPair, render_pairs
from assay.delivery.plugin import Category
from assay.delivery.rule import RuleId
from assay.flows.model.judge_pairs import parse_pair_file
from assay.flows.model.train_model import split_pairs
from assay.kernel.digest import digest_of
from assay.kernel.ids import PrincipalId
from assay.verdicts.envelope import Verdict
from tests.contract._kit import refused
from tests.flows._models import pairs_of
from tests.verdicts.judging import NOON


def pair(
    query: str,
    siddhanta: str,
    name: str = "00000000-0000-8000-8000-000000000001",
    category: Category = Category.APPLICATION,
) -> TrainingPair:
    return TrainingPair(
        training_pair_id=name,
        rule_id=RuleId("rule-1"),
        input=PairInput(query=query, original_response="CLEAR", phala_signals=()),
        label=PairLabel(failure_category=category, siddhanta=siddhanta),
        captured_by=PrincipalId("user:rita"),
        captured_at=NOON,
    )


def case_of(number: int) -> str:
    return msgspec.json.encode(pairs_of(8).cases[number].case).decode()


def test_pairs_about_cases_become_cases_with_the_persons_verdict() -> None:
    told = [one.expected.verdict for one in pairs_of(8).cases]
    given = [pair(case_of(number), verdict.value) for number, verdict in enumerate(told)]
    given[1] = pair(case_of(1), json.dumps({"verdict": told[1].value}))
    content = render_pairs([*given, pair("who was Pāṇini?", "a grammarian")])
    found = parse_pair_file(content)
    assert found.hash == digest_of(content)
    assert [one.expected.verdict for one in found.cases] == told
    assert found.cases[0].training_pair_id == given[0].training_pair_id
    assert split_pairs(found).taught


def test_a_conclusion_in_words_is_the_verdict_that_it_names_or_that_follows_from_the_rule() -> None:
    """Who finds the rule right and names no verdict says that what follows from the rule is right."""
    right = pairs_of(8).cases[0].expected.verdict
    content = render_pairs([pair(case_of(0), f"{right}: one condition was overlooked"), pair(case_of(0), "overlooked")])
    assert {one.expected.verdict for one in parse_pair_file(content).cases} == {right}


def test_lines_of_cases_are_read_as_they_are() -> None:
    content = b"".join(msgspec.json.encode(one) + b"\n" for one in pairs_of(8).cases)
    assert parse_pair_file(content) == pairs_of(8)
    assert Verdict.CLEAR in {one.expected.verdict for one in pairs_of(8).cases}


@pytest.mark.parametrize(
    "content",
    [
        b"[",
        b"[{}]",
        b"[]",
        render_pairs([pair("who was Pāṇini?", "a grammarian")]),
        render_pairs([pair(case_of(0), "the rule is too lenient", category=Category.RULE)]),
        render_pairs([pair(case_of(0), "FLAG, or perhaps CLEAR")]),
    ],
    ids=["cut", "no pair", "empty", "no case", "no verdict", "two verdicts"],
)
def test_pairs_that_teach_the_judge_nothing_are_refused(content: bytes) -> None:
    with refused("model.cases"):
        parse_pair_file(content)
