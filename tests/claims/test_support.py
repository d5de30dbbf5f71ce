"""A quote is evidence only where its source says it: located by its words, then compared with the claim."""

import json
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assay.claims.bundle import Decision, GateName, Recommendation, bundle_hash, render_bundle
from assay.claims.decide import Outcome, gate_document
from assay.claims.errors import BundleError
from assay.claims.estimate.follow import follows
from assay.claims.finding import FindingCode
from assay.claims.gate import standard_gates
from assay.claims.guardian import BuiltInGuardian
from assay.claims.locate import LONGEST_SEARCHED, Place, locate, readable_text, selected_part, sentences_around
from assay.claims.parse_bundle import Reading, check_bundle, parse_bundle
from assay.claims.passage import Passage, Selector, SupportResult
from assay.claims.policy import DEFAULT_POLICY, ClaimsPolicy, EvidencePolicy, SupportRule
from assay.claims.support import check_passage
from tests.claims.making import claim, document, facts, pointer
from tests.claims.support_cases import support_cases

_TEXT = "The river is 30 m deep at the bridge. It was measured in May. The bridge is older than the mill."
_SOURCE = "https://data.example.org/rivers.csv"
_TABLE = "station,depth\nbridge,30 m\nmill,4 m\n"
_VALUE = '{"bridge": {"depth": "30 m"}}'
_CASES = list(support_cases())


def _gated(quote: str, *, statement: str = "The river is 30 m deep.", policy: ClaimsPolicy = DEFAULT_POLICY) -> Outcome:
    content = _TEXT.encode()
    made = pointer(evidence_hash=sha256(content).hexdigest(), quote=quote)
    finding = check_bundle(document(claim(statement=statement, evidence_pointers=[made])))
    given = facts(contents={_SOURCE: content})
    return gate_document(finding, standard_gates([BuiltInGuardian()]), given, policy)


@pytest.mark.clause("claimbundle", "fact")
@pytest.mark.parametrize(
    ("quote", "code", "words"),
    [
        ("The river is 45 m deep at the bridge.", FindingCode.NOT_FOUND, "the quote is not in"),
        ("The river is 30 m ... older than the mill", FindingCode.STITCHED, "put together from fragments"),
    ],
)
def test_a_fact_whose_quote_is_not_in_its_source_is_not_published(quote: str, code: FindingCode, words: str) -> None:
    """It says so in one sentence, no reviewer can wave it through, and the pointer does not count as evidence."""
    outcome = _gated(quote)
    assert (outcome.decision, outcome.stopped_by) == (Decision.DEFER, GateName.EVIDENCE)
    found = {one.code: one for one in outcome.findings}
    assert words in found[code].message
    assert not found[code].resumable
    assert FindingCode.WEAK_EVIDENCE in found


def test_a_quote_that_says_it_is_published_without_a_caveat() -> None:
    outcome = _gated("The river is 30 m deep at the bridge.")
    assert (outcome.decision, outcome.caveats) == (Decision.PUBLISH, ())


def test_a_passage_that_says_otherwise_defers_and_a_person_may_decide() -> None:
    outcome = _gated("The river is 30 m deep at the bridge.", statement="The river is 13 m deep.")
    assert [(one.code, one.resumable) for one in outcome.findings] == [(FindingCode.CONTRADICTED, True)]
    unclear = _gated("It was measured in May.", statement="Salmon live in the river.")
    assert unclear.decision is Decision.PUBLISH
    assert "about something else" in unclear.reason


def test_no_policy_lets_an_unsupported_quote_count() -> None:
    """A rule that asks for less than the default is not heard."""
    lax = tuple(SupportRule(result=one, recommendation=Recommendation.EXECUTE) for one in SupportResult)
    policy = replace(DEFAULT_POLICY, evidence=EvidencePolicy(support=lax))
    for quote in ("The river is 45 m deep at the bridge.", "The river is 30 m ... older than the mill"):
        assert _gated(quote, policy=policy).decision is Decision.DEFER
    strict = (SupportRule(result=SupportResult.UNCLEAR, recommendation=Recommendation.REFUSE),)
    policy = replace(DEFAULT_POLICY, evidence=EvidencePolicy(support=strict))
    assert _gated("It was measured in May.", statement="Salmon live here.", policy=policy).decision is Decision.REFUSE


def test_the_extension_is_no_part_of_the_bundle() -> None:
    """Strict readers never see it: hash and rendering are those of the same bundle without it."""
    quoted = check_bundle(
        document(claim(evidence_pointers=[pointer(quote="30 m deep", offset=13)])), reading=Reading.STRICT
    )
    plain = parse_bundle(document(claim(evidence_pointers=[pointer()])))
    assert quoted.bundle == plain
    assert quoted.bundle is not None
    assert bundle_hash(quoted.bundle) == bundle_hash(plain)
    assert b"quote" not in render_bundle(quoted.bundle)
    assert quoted.passages == {"c-1": (Passage(place=0, quote="30 m deep", offset=13),)}


@pytest.mark.parametrize(
    "wrong",
    [
        {"offset": 3},
        {"quote": 3},
        {"quote": "x", "offset": -1},
        {"quote": "x", "offset": 1, "selector": {"page": 1}},
        {"quote": "x", "selector": {"page": 0}},
        {"quote": "x", "selector": {"row": 1}},
        {"quote": "x", "selector": {"page": 1, "pointer": "/a"}},
        {"quote": "x", "selector": {"line": 1}},
        {"quote": "x", "selector": 4},
    ],
)
def test_a_passage_that_cannot_be_read_is_a_problem_of_the_bundle(wrong: dict[str, object]) -> None:
    with pytest.raises(BundleError):
        parse_bundle(document(claim(evidence_pointers=[pointer(**wrong)])))


def test_a_selector_names_a_page_a_value_or_a_cell() -> None:
    table = "station,depth\nbridge,30 m\nmill,4 m\n"
    assert selected_part(table, Selector(row=1, column="depth")) == "30 m"
    assert selected_part(table, Selector(row=3, column="depth")) is None
    assert selected_part(table, Selector(row=1, column="width")) is None
    assert selected_part("one\ftwo", Selector(page=2)) == "two"
    assert selected_part("one\ftwo", Selector(page=3)) is None
    value = json.dumps({"a/b": [{"depth": "30 m"}], "n": 4})
    assert selected_part(value, Selector(pointer="/a~1b/0/depth")) == "30 m"
    assert selected_part(value, Selector(pointer="/n")) == "4"
    for absent in ("/a~1b/1/depth", "/x", "/a~1b", "/n/x"):
        assert selected_part(value, Selector(pointer=absent)) is None
    assert selected_part("no json", Selector(pointer="/n")) is None
    assert selected_part("text", Selector()) is None


@pytest.mark.parametrize(
    ("content", "selector", "statement", "expected"),
    [
        (_TABLE, {"row": 1, "column": "depth"}, "The depth at the bridge is 30 m.", "supported"),
        (_TABLE, {"row": 2, "column": "depth"}, "The depth at the mill is 30 m.", "misattributed"),
        (_VALUE, {"pointer": "/bridge/depth"}, "The bridge has a depth of 30 m.", "supported"),
        (_VALUE, {"pointer": "/bridge/depth"}, "The bridge has a depth of 31 m.", "contradicted"),
        ("Depth.\fThe depth is 30 m.", {"page": 2}, "The depth is 30 m.", "supported"),
        ("Depth.\fThe depth is 30 m.", {"page": 1}, "The depth is 30 m.", "misattributed"),
    ],
)  # fmt: skip
def test_a_value_is_held_against_what_it_is_of(
    content: str, selector: dict[str, Any], statement: str, expected: str
) -> None:
    raw = content.encode()
    made = parse_bundle(document(claim(evidence_pointers=[pointer(evidence_hash=sha256(raw).hexdigest())])))
    (named,) = made.claims[0].evidence_pointers
    passage = Passage(place=0, quote="30 m", selector=Selector(**selector))
    assert check_passage(statement, passage, named, raw, {named.source: raw}).result == expected


def test_words_are_found_through_layout_and_not_through_signs() -> None:
    text = "It fell to -5 degrees in the val-\nley, as “reported”.\nIt is 2.50 m wide."
    for quote in ("fell to -5 degrees in the valley", 'as "reported". It is 2.50 m', "FELL TO −5 degrees"):
        assert locate(text, Passage(place=0, quote=quote)).place is Place.HERE, quote
    for quote in ("fell to 5 degrees", "It is 2.5 m wide", "ell to -5", "..."):
        assert locate(text, Passage(place=0, quote=quote)).place is Place.NOWHERE, quote
    twice = "a b c d. x a b c d."
    assert locate(twice, Passage(place=0, quote="a b c d", offset=11)).start == 11
    assert locate(twice, Passage(place=0, quote="a b c d", offset=6)).place is Place.ELSEWHERE
    assert readable_text(b"%PDF-1.7") is None
    assert readable_text(b"\xff\xfe\x00") is None
    assert sentences_around("One is. Two is. Three is.", 9, 12) == ("Two is.",)


def test_a_quote_is_found_in_what_a_reader_sees_of_a_page() -> None:
    """Tags, scripts and entities are no words; what is hidden in a comment is not on the page."""
    page = (
        "<!DOCTYPE html><html><head><title>Rivers</title></head><body><!-- The river is 99 m deep. -->"
        "<script>var depth = '98 m';</script><p>The river is <b>30&nbsp;m</b> deep.</p><p>It is old.</p></body></html>"
    )
    text = readable_text(page.encode())
    assert text is not None
    assert locate(text, Passage(place=0, quote="The river is 30 m deep. It is old.")).place is Place.HERE
    for hidden in ("The river is 99 m deep.", "var depth", "Rivers"):
        assert locate(text, Passage(place=0, quote=hidden)).place is Place.NOWHERE
    assert readable_text(b"5 < 6 and <b>") == "5 < 6 and <b>"


@pytest.mark.parametrize(
    ("claimed", "expected"),
    [
        ("The score is >= 0.78.", "supported"),
        ("The score is at least 0.79.", "supported"),
        ("The score is more than 0.79.", "contradicted"),
        ("The score is ≤ 0.8.", "supported"),
        ("The score is below 0.7.", "contradicted"),
        ("The score is at least 0.8.", "contradicted"),
    ],
)
def test_a_bound_is_kept_by_the_number_of_the_passage(claimed: str, expected: str) -> None:
    assert follows(claimed, ("The score is 0.79.",)).result == expected


def test_a_claim_too_long_to_compare_is_unclear() -> None:
    assert follows("x " * 3000, ("x",)).result is SupportResult.UNCLEAR
    assert follows("x", ()).result is SupportResult.UNCLEAR


def test_each_result_is_told_on_500_perturbed_passages() -> None:
    """Precision and recall of at least 0.85 for each; no passage that is none of a claim counts as its support."""
    assert len(_CASES) >= 500
    told = Counter(
        (one.expected, check_passage(one.claim, one.passage, one.pointer, one.content, one.contents).result)
        for one in _CASES
    )
    for result in SupportResult:
        right = told[result, result]
        assert right >= 0.85 * sum(times for (expected, _), times in told.items() if expected is result), result
        assert right >= 0.85 * sum(times for (_, got), times in told.items() if got is result), result
    wrongly = [expected for expected, got in told if got is SupportResult.SUPPORTED and expected is not got]
    assert wrongly == []


def test_a_very_long_text_is_searched_letter_by_letter_only() -> None:
    """What is not found so is not said to be missing; a number that goes on is another number, there too."""
    long = "x " * LONGEST_SEARCHED + "The river is -30 m deep, and 1.30 m wide; it's old. It is 30 m. "
    for quote in ("river is -30 m deep", "The river", "1.30 m wide", "It is 30 m"):
        assert locate(long, Passage(place=0, quote=quote)).place is Place.HERE, quote
    for quote in ("30 m deep", "30 m wide", "iver is", "is 30", "river was"):
        expected = Place.HERE if quote == "is 30" else Place.UNSEARCHED
        assert locate(long, Passage(place=0, quote=quote)).place is expected, quote
    raw = long.encode()
    named = parse_bundle(document(claim(evidence_pointers=[pointer(evidence_hash=sha256(raw).hexdigest())])))
    found = check_passage(
        "x", Passage(place=0, quote="not there at all"), named.claims[0].evidence_pointers[0], raw, {}
    )
    assert (found.result, "so long a text" in found.message) == (SupportResult.ABSENT, True)


def test_the_example_that_quotes_its_source_is_published_without_a_caveat() -> None:
    folder = Path(__file__).parents[2] / "examples" / "claims"
    finding = check_bundle((folder / "fact_quoted.json").read_bytes())
    assert finding.bundle is not None
    (named,) = finding.bundle.claims[0].evidence_pointers
    given = facts(submitter="ai:planner", contents={named.source: (folder / "paper.txt").read_bytes()})
    outcome = gate_document(finding, standard_gates([BuiltInGuardian()]), given, DEFAULT_POLICY)
    assert (outcome.decision, outcome.caveats) == (Decision.PUBLISH, ())
