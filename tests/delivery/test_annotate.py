"""Every answer carries what its level makes mandatory, in a form for machines and in plain words."""

import json
from html.parser import HTMLParser
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from assay.delivery.annotate import (
    Annotation,
    ComponentLevel,
    GateMark,
    SlmContribution,
    annotate,
    deliver,
    question_digest,
    render_annotation,
    render_body,
    render_header,
    seal_annotation,
    seal_body,
)
from assay.delivery.consume import Asking, check_seal
from assay.delivery.errors import DeliveryError
from assay.delivery.level import Level, rank_of
from assay.delivery.render import render_html, render_text
from assay.delivery.rule import RuleId
from assay.kernel.canonical import canonical_digest
from assay.kernel.digest import digest_of
from assay.kernel.key import key_id_of
from tests.delivery.answers import OUTPUT, RULE, make_annotation, make_facts, report, widened
from tests.identity.people import later
from tests.raising import raises

_ALL = ("capability", "knowledge", "proof")
_SLM = SlmContribution(plugin_id="slm-ukc", rules_applied=(RULE,))
_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
_RAW = _KEY.public_key().public_bytes_raw()
_ASKED = Asking(question_hash=question_digest("how deep?"), query_type="vessel.ukc-status", nonce="0123456789abcdef")


class _Tags(HTMLParser):
    """The names of the elements of a page, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert attrs or tag != "aside"
        self.seen.append(tag)


def _told(annotation: Annotation) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(render_annotation(annotation))
    return told


@pytest.mark.clause("pramana", "8")
@pytest.mark.clause("pramana", "8.1")
@pytest.mark.clause("pramana", "6.4")
def test_level_zero_asks_for_a_person_in_the_words_of_the_text() -> None:
    told = _told(make_annotation([]))
    assert told["authenticity_level"] == "PRAMANA-0"
    assert told["human_review_required"] is True
    assert "has not been validated through any independent verification process" in told["disclosure"]
    assert "Do not act on this output without independent expert review" in told["disclosure"]


@pytest.mark.clause("pramana", "8.2")
@pytest.mark.parametrize("strand", _ALL)
def test_level_one_names_its_strand_the_absent_ones_and_why_it_answered(strand: str) -> None:
    told = _told(make_annotation([strand]))
    assert (told["authenticity_level"], told["strand_present"]) == ("PRAMANA-1", strand)
    assert f"{strand.capitalize()} is present" in told["disclosure"]
    for other in set(_ALL) - {strand}:
        assert f"{other.capitalize()} is absent, which means that" in told["disclosure"]
    assert "answered all the same" in told["disclosure"]
    assert told["human_review_required"] is False


@pytest.mark.clause("pramana", "8.3")
@pytest.mark.clause("pramana", "11.5")
def test_level_two_names_the_absent_strand_and_its_implication() -> None:
    told = _told(make_annotation(["capability", "knowledge"]))
    assert told["strands_present"] == ["capability", "knowledge"]
    assert (told["strand_missing"], told["strands_missing"]) == ("proof", ["proof"])
    assert "Proof is absent, which means that this system has not been independently verified" in told["disclosure"]


@pytest.mark.clause("pramana", "8.4")
def test_level_three_names_all_strands() -> None:
    told = _told(make_annotation(_ALL))
    assert (told["authenticity_level"], told["strands_present"]) == ("PRAMANA-3", list(_ALL))
    assert "All strands are present: Capability, Knowledge and Proof." in told["disclosure"]
    assert not {"strand_present", "strand_missing", "level_cap", "slm_plugin_id"} & set(told)


@pytest.mark.clause("pramana", "8.5")
@pytest.mark.clause("pramana", "12.7")
def test_three_plus_names_the_plugin_and_its_rules_and_claims_no_more() -> None:
    told = _told(make_annotation(_ALL, slm=_SLM))
    assert (told["authenticity_level"], told["slm_plugin_id"]) == ("PRAMANA-3+", "slm-ukc")
    assert told["slm_rules_applied"] == [RULE]
    assert f"slm-ukc applied inference for {RULE}" in told["disclosure"]
    assert "does not claim to improve accuracy" in told["disclosure"]


def test_a_plugin_is_named_below_three_too() -> None:
    told = _told(make_annotation(["capability"], slm=_SLM))
    assert (told["authenticity_level"], told["slm_plugin_id"]) == ("PRAMANA-1", "slm-ukc")


def test_a_capped_annotation_says_so() -> None:
    told = _told(make_annotation(["knowledge", "proof"]))
    assert told["level_cap"] == {"level": "PRAMANA-1", "cause": "capability", "uncapped_level": "PRAMANA-2"}
    assert told["strand_present"] == "knowledge"
    assert "Without Capability no answer is marked above PRAMANA-1" in told["disclosure"]


def test_of_several_missing_strands_the_one_that_caps_is_named() -> None:
    registry = widened(2)
    told = _told(make_annotation(["capability", "x-extra-1"], registry))
    assert (told["authenticity_level"], told["strand_missing"]) == ("PRAMANA-2", "knowledge")
    first = _told(make_annotation(["capability", "knowledge"], registry))
    assert first["strand_missing"] == "proof"
    assert first["strands_missing"] == ["proof", "x-extra-0", "x-extra-1"]
    assert "these gaps" in first["disclosure"]


@pytest.mark.clause("pramana", "11.6")
def test_an_answer_without_rules_is_not_marked() -> None:
    with raises(DeliveryError.annotation, match="rules"):
        make_annotation(_ALL, rules=())


@pytest.mark.parametrize("rules", [(), (RuleId("OTHER-1"),)])
def test_a_plugin_speaks_of_rules_of_the_answer(rules: tuple[RuleId, ...]) -> None:
    with raises(DeliveryError.annotation, match="plugin"):
        make_annotation(_ALL, slm=SlmContribution(plugin_id="p", rules_applied=rules))


@pytest.mark.clause("pramana", "8.5")
@pytest.mark.parametrize("name", ["", " ", "a\x00b", "x" * 201])
def test_a_plugin_has_a_name_that_people_can_read(name: str) -> None:
    with raises(DeliveryError.annotation, match="plugin"):
        make_annotation(_ALL, slm=SlmContribution(plugin_id=name, rules_applied=(RULE,)))


@pytest.mark.clause("pramana", "13.3")
@pytest.mark.clause("pramana", "13.1")
def test_a_composite_is_marked_no_higher_than_its_weakest_component_or_our_own_strands() -> None:
    weak = ComponentLevel(source="org.b", level=Level.SINGLE_SOURCE)
    strong = ComponentLevel(source="org.a", level=Level.INFERRED)
    told = _told(make_annotation(_ALL, components=(strong, weak)))
    assert told["authenticity_level"] == "PRAMANA-1"
    assert told["level_cap"]["cause"] == "component org.b"
    assert "contains an output marked PRAMANA-1 (component org.b)" in told["disclosure"]
    assert _told(make_annotation(["capability"], components=(strong,)))["authenticity_level"] == "PRAMANA-1"
    zero = ComponentLevel(source="org.c", level=Level.UNVERIFIED)
    assert _told(make_annotation(_ALL, components=(zero,)))["human_review_required"] is True
    assert _told(make_annotation(_ALL, components=(strong,)))["authenticity_level"] == "PRAMANA-3"


@pytest.mark.clause("pramana", "13.3")
@given(st.lists(st.sampled_from(Level), max_size=5), st.sets(st.sampled_from(_ALL)), st.sampled_from([None, _SLM]))
def test_a_composite_has_the_minimum_and_never_an_average(
    levels: list[Level], names: set[str], slm: SlmContribution | None
) -> None:
    """Of all components and of our own strands; 3+ is said of our own plugin, and of others beside their outputs."""
    components = tuple(ComponentLevel(source=f"org.{place}", level=level) for place, level in enumerate(levels))
    own = make_annotation(names, slm=slm).authenticity_level
    found = make_annotation(names, slm=slm, components=components)
    assert rank_of(found.authenticity_level) == min(map(rank_of, [own, *levels]))
    assert found.authenticity_level is not Level.INFERRED or own is Level.INFERRED
    assert (found.components or ()) == components


@pytest.mark.clause("pramana", "7.2")
@pytest.mark.clause("pramana", "14.6")
@given(st.sets(st.sampled_from(_ALL)), st.integers(0, 3))
def test_nobody_below_the_floor_sees_the_output(names: set[str], floor: int) -> None:
    annotation = make_annotation(names)
    told = json.loads(render_body(deliver(OUTPUT, annotation, floor=floor)))
    computed = annotation.authenticity_level
    if rank_of(computed) >= floor:
        assert (told["output"], told["withheld"], told["authenticity_level"]) == (OUTPUT, False, computed)
        assert "computed_level" not in told
        return
    assert (told["output"], told["withheld"], told["authenticity_level"]) == (None, True, "PRAMANA-0")
    assert (told["computed_level"], told["authenticity_level_floor"]) == (computed, floor)
    assert told["human_review_required"] is True
    assert f"nothing below PRAMANA-{floor}" in told["disclosure"]
    assert told["annotation"]["authenticity_level"] == "PRAMANA-0"
    assert told["annotation"]["output_hash"] is None
    assert "clearance" not in json.dumps(told)


@pytest.mark.parametrize("floor", [-1, 4, True, 1.0])
def test_a_floor_is_a_level(floor: Any) -> None:  # noqa: ANN401  wrong on purpose
    with raises(DeliveryError.annotation, match="floor"):
        deliver(OUTPUT, make_annotation([]), floor=floor)


def test_the_header_says_level_strands_and_review() -> None:
    assert render_header(make_annotation(["capability", "knowledge"])) == (
        'PRAMANA-2; present="capability knowledge"; missing="proof"; review=?0'
    )
    assert render_header(make_annotation([])).endswith("review=?1")


@pytest.mark.clause("pramana", "8")
@pytest.mark.clause("pramana", "8.1")
def test_text_and_page_show_level_zero_unlike_all_others() -> None:
    zero, two = make_annotation([]), make_annotation(["capability", "proof"])
    assert render_text(zero).startswith("!!!!")
    assert "HUMAN REVIEW REQUIRED" in render_text(zero)
    assert "!" not in render_text(two)
    assert "MAR-YK-007@3" in render_text(two)
    assert 'role="alert" style="border:3px' in render_html(zero)
    assert "HUMAN REVIEW REQUIRED" in render_html(zero)
    assert "style=" not in render_html(two)
    assert 'data-authenticity-level="PRAMANA-2"' in render_html(two)


@pytest.mark.clause("pramana", "4")
@pytest.mark.parametrize("count", range(4))
@pytest.mark.parametrize("slm", [None, _SLM])
def test_a_level_is_shown_as_no_confidence(count: int, slm: SlmContribution | None) -> None:
    """No number that is not a version, no share of a hundred, and no word of how sure anybody is."""
    annotation = make_annotation(_ALL[:count], slm=slm)
    told = _told(annotation)
    assert isinstance(told["authenticity_level"], str)
    assert not [name for name, value in told.items() if isinstance(value, int | float) and not isinstance(value, bool)]
    shown = " ".join([*told, told["disclosure"], render_header(annotation), render_text(annotation)]).lower()
    assert not [word for word in ("%", "confiden", "probab", "certain ", "score") if word in shown]


_PRINTABLE = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=40)


@given(_PRINTABLE)
def test_nothing_in_an_annotation_becomes_markup(name: str) -> None:
    page = render_html(make_annotation(_ALL, slm=SlmContribution(plugin_id=name, rules_applied=(RULE,))))
    parser = _Tags()
    parser.feed(page)
    assert parser.seen == ["aside", "p", "strong", "p", "p"]


def _answering(**changes: Any) -> Annotation:  # noqa: ANN401  any field
    """The annotation of our output as the answer to `_ASKED`."""
    return make_annotation(
        ["proof"],
        question_hash=_ASKED.question_hash,
        output_hash=canonical_digest(OUTPUT),
        nonce=_ASKED.nonce,
        **changes,
    )


def test_a_sealed_annotation_is_verified_and_a_changed_one_refused() -> None:
    annotation = _answering(answered_at=later(microseconds=120))
    fields = _told(seal_annotation(annotation, key_id=key_id_of(_RAW), sign=_KEY.sign))
    assert check_seal(fields, OUTPUT, keys=[_RAW], asked=_ASKED) is None
    raised = check_seal(fields | {"authenticity_level": "PRAMANA-3"}, OUTPUT, keys=[_RAW], asked=_ASKED)
    assert raised is not None
    assert raised.startswith("its signature does not hold")
    other = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()
    assert "known key" in (check_seal(fields, OUTPUT, keys=[other], asked=_ASKED) or "")
    assert check_seal(fields, OUTPUT, keys=[], asked=_ASKED) == "no key was agreed on to verify its signature with"
    assert check_seal(_told(annotation), OUTPUT, keys=[_RAW], asked=_ASKED) == "it is not signed"


@pytest.mark.parametrize("floor", [0, 3])
def test_what_is_delivered_is_sealed_also_where_it_is_withheld(floor: int) -> None:
    first = seal_annotation(_answering(), key_id=key_id_of(_RAW), sign=_KEY.sign)
    body = deliver(OUTPUT, first, floor=floor)
    assert (body.annotation.signature is UNSET) == (floor > 0)
    told = json.loads(render_body(seal_body(body, key_id=key_id_of(_RAW), sign=_KEY.sign)))
    fields = told["annotation"]
    assert check_seal(fields, told["output"], keys=[_RAW], asked=_ASKED) is None
    assert fields["authenticity_level"] == told["authenticity_level"]
    assert fields.get("withheld", False) == told["withheld"]


def test_every_defined_strand_was_looked_at() -> None:
    with raises(DeliveryError.annotation, match="4 strands"):
        annotate(make_facts(), report(_ALL), registry=widened(1))


def test_an_annotation_names_its_rules_with_versions() -> None:
    annotation = make_annotation(_ALL)
    assert _told(annotation)["rules"] == [{"rule_id": "MAR-YK-007", "version": 3}]
    assert annotation.withheld is UNSET


@pytest.mark.parametrize("decision", ["DEFER", "ESCALATE", "REFUSE"])
@given(names=st.sets(st.sampled_from(["capability", "knowledge", "proof"])), floor=st.integers(0, 3))
def test_nobody_sees_an_output_that_the_gates_did_not_publish(decision: str, names: set[str], floor: int) -> None:
    """Neither the output nor its hash, at any level and floor; the level that it would have is told."""
    gate = GateMark(decision=decision, reason="in doubt", policy_hash=digest_of(b"policy"))
    annotation = make_annotation(names, gate=gate)
    body = deliver(OUTPUT, annotation, floor=floor)
    assert (body.output, body.withheld, body.annotation.output_hash) == (None, True, None)
    assert body.computed_level is annotation.authenticity_level
    assert body.authenticity_level is Level.UNVERIFIED
    is_below = rank_of(annotation.authenticity_level) < floor
    assert (body.authenticity_level_floor is UNSET) is not is_below
    assert is_below or f"{decision}: in doubt" in body.disclosure


def test_caveats_stand_beside_what_was_published() -> None:
    gate = GateMark(decision="PUBLISH", reason="ok", policy_hash=digest_of(b"policy"), caveats=("<b>unsure</b>",))
    body = deliver(OUTPUT, make_annotation({"capability"}, gate=gate), floor=0)
    assert body.output == OUTPUT
    assert "caveat: <b>unsure</b>" in render_text(body.annotation)
    assert "<p>Caveat: &lt;b&gt;unsure&lt;/b&gt;</p>" in render_html(body.annotation)
