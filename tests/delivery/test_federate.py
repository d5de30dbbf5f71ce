"""Nothing is inherited across a border: levels are recognised, rule ids translated, the rest goes to a person."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from assay.delivery._conform_facts import mandatory_problems
from assay.delivery.annotate import (
    ComponentLevel,
    annotate,
    annotation_message,
    question_digest,
    render_annotation,
)
from assay.delivery.consume import Asking, ProducerState, Recognised, check_claim, open_annotation
from assay.delivery.errors import DeliveryError
from assay.delivery.federate import (
    Agreement,
    accept_foreign,
    add_keys,
    registry_for_peer,
    report_for_peer,
    translate_signal,
)
from assay.delivery.level import Level
from assay.delivery.rule import RuleId
from assay.delivery.strand import CORE, StrandId
from assay.kernel.canonical import canonical_digest
from assay.kernel.json_text import JsonValue
from assay.kernel.key import key_id_of
from tests.delivery.answers import make_annotation, make_facts, report, widened
from tests.delivery.signals import make_signal

_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
_RAW = _KEY.public_key().public_bytes_raw()
_NONCE = "0123456789abcdef"
_ASKED = Asking(question_hash=question_digest("how deep?"), query_type="vessel.ukc-status", nonce=_NONCE)
_AGREEMENT = Agreement(
    peer="org.b",
    keys=(_RAW.hex(),),
    rules=((RuleId("B-1"), RuleId("OWN-1")), (RuleId("B-2"), RuleId("OWN-1")), (RuleId("B-3"), RuleId("OWN-3"))),
    strands=(StrandId("x-extra-1"),),
)
_STATE = ProducerState(service="org.b", strands_supported=CORE)


def _sealed(fields: dict[str, Any], key: Ed25519PrivateKey = _KEY) -> dict[str, Any]:
    key_id = key_id_of(key.public_key().public_bytes_raw())
    return {
        **fields,
        "signature": {
            "algorithm": "ed25519",
            "key_id": key_id,
            "value_hex": key.sign(annotation_message(fields)).hex(),
        },
    }


def _annotation(names: Iterable[str] = CORE, output: JsonValue = "deep", **changes: Any) -> dict[str, Any]:  # noqa: ANN401  any field
    made = make_annotation(
        names, output_hash=canonical_digest(output), question_hash=_ASKED.question_hash, nonce=_NONCE
    )
    return _sealed(json.loads(render_annotation(made)) | changes)


def _accept(
    theirs: dict[str, Any],
    state: ProducerState | None = _STATE,
    agreement: Agreement = _AGREEMENT,
    output: JsonValue = "deep",
) -> tuple[Recognised, ComponentLevel]:
    return accept_foreign(theirs, output, state, agreement, asked=_ASKED)


@pytest.mark.clause("pramana", "13.1")
def test_an_answer_at_three_from_elsewhere_is_marked_by_our_own_strands() -> None:
    recognised, component = _accept(_annotation())
    assert (recognised.level, component.source) == (Level.AUTHENTIC, "org.b")
    assert make_annotation(["capability"], components=(component,)).authenticity_level is Level.SINGLE_SOURCE


@pytest.mark.clause("pramana", "8.2")
@pytest.mark.clause("pramana", "8.3")
@pytest.mark.clause("pramana", "13.3")
@pytest.mark.parametrize(
    ("theirs", "named"),
    [
        (CORE[:2], ("PRAMANA-2", "proof")),
        (CORE[1:], ("PRAMANA-1", None)),
    ],
)
def test_a_composite_that_a_component_lowers_says_what_the_component_lacks(
    theirs: tuple[str, ...], named: tuple[str, str | None]
) -> None:
    """All our own strands are there, and the mandatory members of the lower level are, too; consumers can follow."""
    _, component = _accept(_annotation(theirs))
    composite = json.loads(render_annotation(make_annotation(CORE, components=(component,))))
    assert (composite["authenticity_level"], composite.get("strand_missing")) == named
    assert mandatory_problems(composite) == []
    missing = {"capability": "Capability", "knowledge": "Knowledge", "proof": "Proof"}
    lacks = next(name for one, name in missing.items() if one not in theirs)
    assert f"(component org.b), for which {lacks} is absent" in composite["disclosure"]
    assert ("answered all the same" in composite["disclosure"]) is (named[0] == "PRAMANA-1")
    assert check_claim(open_annotation(composite), _STATE).level == named[0]


def test_a_component_names_only_what_can_be_a_strand() -> None:
    """Their words stand in our annotation: what is no strand, or too many, is left out."""
    rough = ["proof", "Proof!", "<b>", *(f"x-{number}" for number in range(100))]
    _, component = _accept(_annotation(strands_present=["capability", "knowledge"], strands_missing=rough))
    assert component.strands_missing[:2] == ("proof", "x-0")
    assert len(component.strands_missing) == 32


@pytest.mark.clause("pramana", "13.3")
@pytest.mark.clause("pramana", "14.1")
def test_a_forged_level_lowers_the_composite_to_zero() -> None:
    poor = ProducerState(service="org.b", strands_supported=CORE[:1])
    _, component = _accept(_annotation(), poor)
    composite = make_annotation(CORE, components=(component,))
    assert (composite.authenticity_level, composite.human_review_required) == (Level.UNVERIFIED, True)
    assert "org.b claims PRAMANA-3 and counts as PRAMANA-0 here: the producer does not support" in composite.disclosure


def _without(theirs: dict[str, Any], name: str) -> dict[str, Any]:
    return {one: value for one, value in theirs.items() if one != name}


@pytest.mark.clause("pramana", "13.3")
@pytest.mark.clause("pramana", "14.1")
@pytest.mark.parametrize(
    ("theirs", "output", "told"),
    [
        (_without(_annotation(), "signature"), "deep", "it is not signed"),
        (_sealed(_without(_annotation(), "signature"), Ed25519PrivateKey.generate()), "deep", "expected a known key"),
        (_annotation() | {"authenticity_level": "PRAMANA-2"}, "deep", "its signature does not hold"),
        (_annotation() | {"signature": "mine"}, "deep", "its signature does not hold"),
        (_annotation() | {"signature": {"key_id": "a"}}, "deep", "its signature does not hold"),
        (_annotation(), "shallow", "its signature is for another output"),
        (_annotation(output_hash=None), "deep", "its signature is for another output"),
        (_annotation(), 1 << 60, "its signature does not hold"),
        (_annotation(question_hash=question_digest("how wide?")), "deep", "expected the answer to question"),
        (_sealed(_without(_without(_annotation(), "signature"), "question_hash")), "deep", "got none"),
        (_annotation(query_type="vessel.name"), "deep", "its signature is for another kind of question"),
        (_annotation(nonce="fedcba9876543210"), "deep", "its signature is not for this asking"),
        (
            _sealed(_without(_without(_annotation(), "signature"), "nonce")),
            "deep",
            "its signature is not for this asking",
        ),
    ],
    ids=lambda one: one[:30] if isinstance(one, str) else "",
)
def test_what_no_agreed_key_signed_for_this_answer_is_worth_nothing(
    theirs: dict[str, Any], output: JsonValue, told: str
) -> None:
    """Unsigned, signed by a stranger, changed after it was signed, or put beside another answer: it says which."""
    recognised, component = _accept(theirs, output=output)
    assert recognised.level is component.level is Level.UNVERIFIED
    assert told in recognised.reason
    assert (
        f"counts as PRAMANA-0 here: {recognised.reason}." in make_annotation(CORE, components=(component,)).disclosure
    )


@pytest.mark.clause("pramana", "14.1")
def test_without_an_agreed_key_nothing_can_be_verified() -> None:
    """The key that a document itself carries vouches for nothing."""
    recognised, component = _accept(_annotation(), agreement=Agreement(peer="org.b"))
    assert (recognised.level, component.claimed) == (Level.UNVERIFIED, Level.AUTHENTIC)
    assert component.reason == "no key was agreed on to verify its signature with"


def test_what_a_peer_withholds_is_signed_too() -> None:
    """It gave no output and bound none: that much is proven, it claims nothing, and our answer says why it is empty."""
    theirs = _annotation(authenticity_level="PRAMANA-0", withheld=True, output_hash=None)
    recognised, component = _accept(theirs, output=None)
    assert recognised.reason == "its output was withheld there"
    assert "its output was withheld there" in make_annotation(CORE, components=(component,)).disclosure
    assert _accept(theirs, output="deep")[0].reason == "its signature is for another output"


def test_keys_are_added_once_and_known_by_their_fingerprints() -> None:
    other = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    made = add_keys(_AGREEMENT, [_RAW, other])
    assert made.keys == (_RAW.hex(), other.hex())
    assert made.key_ids == (key_id_of(_RAW), key_id_of(other))


@pytest.mark.clause("pramana", "13.2")
def test_an_outcome_comes_home_in_our_own_rule_ids() -> None:
    signal = make_signal(rule_id=..., rule_ids=["B-1", "B-2", "B-3", "B-9"])
    found = translate_signal(signal, _AGREEMENT)
    assert found.signal is not None
    assert found.review is not None
    assert found.signal.rule_ids == ("OWN-1", "OWN-3")
    assert (found.review.rule_ids, found.review.peer) == (("B-9",), "org.b")
    assert found.signal.signal_id == signal.signal_id


@pytest.mark.clause("pramana", "13.2")
def test_what_cannot_be_translated_counts_for_nothing_and_is_not_lost() -> None:
    found = translate_signal(make_signal(), _AGREEMENT)
    assert found.signal is None
    assert found.review is not None
    assert found.review.signal == make_signal()
    assert translate_signal(make_signal(rule_id="B-1"), _AGREEMENT).review is None


@given(st.lists(st.sampled_from([f"B-{number}" for number in range(1, 6)]), min_size=1))
def test_every_rule_is_translated_or_reviewed(names: list[str]) -> None:
    found = translate_signal(make_signal(rule_id=..., rule_ids=names), _AGREEMENT)
    known = dict(_AGREEMENT.rules)
    reviewed = set() if found.review is None else set(found.review.rule_ids)
    ours = set() if found.signal is None else set(found.signal.rule_ids)
    assert reviewed == set(names) - set(known)
    assert ours == {known[RuleId(name)] for name in names if name in known}


@pytest.mark.clause("pramana", "15")
@pytest.mark.clause("pramana", "13.4")
def test_private_strands_count_only_between_those_who_agreed() -> None:
    registry = widened(2)
    assert registry_for_peer(registry).ids() == CORE
    assert registry_for_peer(registry, _AGREEMENT).ids() == (*CORE, "x-extra-1")
    theirs = _annotation(
        authenticity_level="PRAMANA-2", strands_present=["capability", "x-extra-1"], strands_missing=[]
    )
    wide = ProducerState(service="org.b", strands_supported=registry.ids())
    assert _accept(theirs, wide)[0].level is Level.PARTIAL
    assert _accept(theirs, wide, Agreement(peer="org.c", keys=(_RAW.hex(),)))[0].level is Level.SINGLE_SOURCE


@pytest.mark.clause("pramana", "15")
@given(st.sets(st.sampled_from(widened(2).ids())), st.booleans())
def test_a_peer_recognises_what_we_mark_for_it_as_it_is(names: set[str], agreed: bool) -> None:  # noqa: FBT001  drawn
    """Against our public STATE, which names every strand that we check."""
    ours = widened(2)
    agreement = _AGREEMENT if agreed else None
    registry = registry_for_peer(ours, agreement)
    annotation = annotate(make_facts(), report_for_peer(report(names, ours), registry), registry=registry)
    claim = open_annotation(json.loads(render_annotation(annotation)))
    state = ProducerState(service="org.a", strands_supported=ours.ids())
    found = check_claim(claim, state, agreed=agreement.strands if agreement else ())
    assert found.level is annotation.authenticity_level


@pytest.mark.parametrize(
    "changes",
    [
        {"peer": " "},
        {"rules": (("B-2", "A-1"), ("B-1", "A-1"))},
        {"rules": (("B-1", "A-1"), ("B-1", "A-2"))},
        {"rules": (("B-1", "a b"),)},
        {"rules": (("a b", "A-1"),)},
        {"strands": ("proof",)},
        {"keys": ("ab",)},
        {"keys": (_RAW.hex().upper(),)},
        {"keys": ("00" * 32,)},
        {"keys": (_RAW.hex(), _RAW.hex())},
    ],
    ids=str,
)
def test_an_agreement_is_well_formed_or_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(DeliveryError):
        Agreement(**({"peer": "org.b"} | changes))
