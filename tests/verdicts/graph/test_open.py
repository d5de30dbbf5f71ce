"""Signed by an anchor of the operator, or not opened."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.kernel.digest import EMPTY_DIGEST
from assay.kernel.errors import Error
from assay.kernel.key import TrustAnchors, key_id_of
from assay.kernel.signature import InvalidSignatureError
from assay.verdicts.errors import DowngradedGraphError, GraphError, GraphFormError
from assay.verdicts.graph.graph import NoticeCode
from assay.verdicts.graph.hash import graph_hash
from assay.verdicts.graph.open import (
    OpenGraph,
    SovereigntyMode,
    open_graph,
    sign_graph,
    verify_succession,
)
from tests.raising import raises
from tests.verdicts.graph.graphs import sound, written

_VECTORS = Path(__file__).parents[2] / "vectors" / "verdicts" / "graph"
_CASES: list[dict[str, Any]] = json.loads((_VECTORS / "signed.json").read_text())["cases"]
_OURS, _THEIRS = (Ed25519PrivateKey.from_private_bytes(bytes.fromhex(case["seed"])) for case in _CASES)
_OUR_KEY, _THEIR_KEY = (key.public_key().public_bytes_raw() for key in (_OURS, _THEIRS))
_ANCHORS = TrustAnchors(public_keys=frozenset({_OUR_KEY}))
_BY_ID = TrustAnchors(key_ids=frozenset({key_id_of(_OUR_KEY)}))
_NOBODY = TrustAnchors()


def _signed() -> bytes:
    return sign_graph(written(sound()), _OUR_KEY, _OURS.sign)


def _resigned(**signature: object) -> bytes:
    document = json.loads(_signed())
    document["signature"].update(signature)
    document["signature"] = {name: value for name, value in document["signature"].items() if value is not ...}
    return json.dumps(document).encode()


def _code(document: bytes, anchors: TrustAnchors = _ANCHORS, mode: SovereigntyMode = SovereigntyMode.STRICT) -> str:
    with pytest.raises(GraphError) as refused:
        open_graph(document, anchors, mode=mode)
    return refused.value.code


@pytest.mark.clause("ski", "3.5")
@pytest.mark.parametrize("case", _CASES, ids=lambda case: case["name"])
def test_a_graph_signed_elsewhere_verifies(case: dict[str, Any]) -> None:
    """Ed25519 over the canonical bytes without the signature."""
    document = json.dumps(case["document"]).encode()
    key = bytes.fromhex(case["public_key"])
    assert open_graph(document, TrustAnchors(public_keys=frozenset({key}))).signed_by == key_id_of(key)


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case["name"])
def test_our_signature_is_the_same_as_that_of_another_implementation(case: dict[str, Any]) -> None:
    """Ed25519 is deterministic, so the whole document is."""
    key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(case["seed"]))
    unsigned = {name: value for name, value in case["document"].items() if name != "signature"}
    document = sign_graph(json.dumps(unsigned).encode(), bytes.fromhex(case["public_key"]), key.sign)
    assert json.loads(document) == case["document"]


@pytest.mark.clause("ski", "2.1.2")
@pytest.mark.clause("ski", "3.5")
@pytest.mark.parametrize("anchors", [_ANCHORS, _BY_ID], ids=["by key", "by id"])
def test_a_graph_signed_by_an_anchor_opens(anchors: TrustAnchors) -> None:
    """Its hash is that of what was signed, and its bytes are those that were received."""
    document = _signed()
    opened = open_graph(document, anchors)
    assert opened.document == document
    assert opened.kg_version_hash == opened.content_hash == graph_hash(json.loads(document))
    assert opened.signed_by == key_id_of(_OUR_KEY)
    assert opened.notices == ()
    assert opened.graph.subjects[0].id == "stack"


def test_without_an_embedded_key_the_anchors_are_tried() -> None:
    """One known by its id alone cannot be."""
    document = _resigned(public_key_pem=...)
    both = TrustAnchors(public_keys=frozenset({_OUR_KEY, _THEIR_KEY}))
    assert open_graph(document, both).signed_by == key_id_of(_OUR_KEY)
    assert _code(document, _BY_ID) == "graph.unknown_key"


@pytest.mark.clause("ski", "2.1.2")
@pytest.mark.clause("ski", "3.5")
@pytest.mark.parametrize(
    ("document", "anchors", "code"),
    [
        (lambda: written(sound()), _ANCHORS, "graph.unsigned"),
        (_signed, _NOBODY, "graph.unknown_key"),
        (lambda: sign_graph(written(sound()), _THEIR_KEY, _THEIRS.sign), _ANCHORS, "graph.unknown_key"),
        (lambda: _signed().replace(b"Stack 1", b"Stack 2"), _ANCHORS, "graph.altered"),
        (lambda: _signed().replace(b"Stack 1", b"Stack 2"), _BY_ID, "graph.altered"),
        (lambda: _resigned(algorithm="none"), _ANCHORS, "graph.algorithm"),
        (lambda: _resigned(algorithm=...), _ANCHORS, "graph.algorithm"),
        (lambda: _resigned(algorithm="rsa"), _ANCHORS, "graph.algorithm"),
        (lambda: _resigned(value_hex="00" * 64), _ANCHORS, "graph.altered"),
        (lambda: _resigned(value_hex="00"), _ANCHORS, "graph.altered"),
        (lambda: _resigned(value_hex="zz"), _ANCHORS, "graph.signature_form"),
        (lambda: _resigned(value_hex=7), _ANCHORS, "graph.signature_form"),
        (lambda: _resigned(public_key_pem="a key"), _ANCHORS, "graph.signature_form"),
        (lambda: _resigned(public_key_pem=7), _ANCHORS, "graph.signature_form"),
        (lambda: _resigned(trust="me"), _ANCHORS, "graph.signature_form"),
        (lambda: written(sound())[:-1] + b', "signature": "trust me"}', _ANCHORS, "graph.signature_form"),
    ],
)
def test_strict_mode_opens_nothing_else(document: Callable[[], bytes], anchors: TrustAnchors, code: str) -> None:
    """Each way of not being signed has a code of its own."""
    assert _code(document(), anchors) == code


def test_a_key_inside_a_document_does_not_vouch_for_it() -> None:
    """Whoever alters a graph can sign it with a key of their own and embed that."""
    forged = sign_graph(written(sound()).replace(b"Stack 1", b"Stack 2"), _THEIR_KEY, _THEIRS.sign)
    open_graph(forged, TrustAnchors(public_keys=frozenset({_THEIR_KEY})))
    assert _code(forged) == "graph.unknown_key"


def test_every_altered_byte_of_the_content_is_noticed() -> None:
    """Whether it is then no JSON, no graph, or another graph."""
    document = _signed()
    start = document.index(b'"nodes"')
    for offset in range(start, len(document), 37):
        altered = document[:offset] + bytes([document[offset] ^ 1]) + document[offset + 1 :]
        with pytest.raises(Error):
            open_graph(altered, _ANCHORS)


@pytest.mark.clause("ski", "3.5")
@pytest.mark.parametrize("document", [lambda: written(sound()), _resigned], ids=["unsigned", "unknown key"])
def test_advisory_mode_opens_an_unsigned_graph_and_says_so(document: Callable[[], bytes]) -> None:
    """The hash that envelopes record is that of no bytes; the content still has its own."""
    opened = open_graph(document(), _NOBODY, mode=SovereigntyMode.ADVISORY)
    assert opened.kg_version_hash == EMPTY_DIGEST
    assert opened.kg_version_hash == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert opened.content_hash != EMPTY_DIGEST
    assert opened.signed_by is None
    assert [notice.code for notice in opened.notices] == [NoticeCode.UNSIGNED]


def test_advisory_mode_refuses_what_was_altered() -> None:
    """Somebody vouched for something else; and a signed graph keeps its hash."""
    altered = _signed().replace(b"Stack 1", b"Stack 2")
    assert _code(altered, mode=SovereigntyMode.ADVISORY) == "graph.altered"
    assert open_graph(_signed(), _ANCHORS, mode=SovereigntyMode.ADVISORY).kg_version_hash != EMPTY_DIGEST


def test_only_an_unsigned_graph_is_signed_and_only_truly() -> None:
    """What the signer gave is checked before anyone relies on it."""
    with raises(GraphError.signed):
        sign_graph(_signed(), _OUR_KEY, _OURS.sign)
    with pytest.raises(GraphFormError):
        sign_graph(b"{}", _OUR_KEY, _OURS.sign)
    with pytest.raises(InvalidSignatureError):
        sign_graph(written(sound()), _OUR_KEY, _THEIRS.sign)


def _opened(compiled_at: str | None = None, *, signed: bool = True, flat: bool = False) -> OpenGraph:
    document: dict[str, Any] = {"metadata": {}, "rules": []} if flat else sound()
    if compiled_at is not None:
        document["metadata"]["compiled_at"] = compiled_at
    text = json.dumps(document).encode() if flat else written(document)
    text = sign_graph(text, _OUR_KEY, _OURS.sign) if signed else text
    return open_graph(text, _ANCHORS, mode=SovereigntyMode.ADVISORY)


_EARLY, _LATE = "2025-01-01T00:00:00Z", "2025-06-01T00:00:00+02:00"


@pytest.mark.parametrize(
    ("current", "candidate"),
    [
        (_opened, lambda: _opened(signed=False)),
        (_opened, lambda: _opened(flat=True)),
        (lambda: _opened(_LATE), lambda: _opened(_EARLY)),
        (lambda: _opened(_LATE), _opened),
        (lambda: _opened(_LATE, flat=True), lambda: _opened("some day", flat=True)),
    ],
    ids=["unsigned", "flat", "older", "undated", "no date"],
)
def test_a_graph_does_not_give_way_to_a_lesser_one(
    current: Callable[[], OpenGraph], candidate: Callable[[], OpenGraph]
) -> None:
    """An old graph with a valid signature is still an old graph."""
    with pytest.raises(DowngradedGraphError):
        verify_succession(current(), candidate())


def test_a_graph_gives_way_to_a_later_or_better_one() -> None:
    """Also to one of the same moment; and where nobody says when, nobody is refused for it."""
    verify_succession(_opened(_EARLY), _opened(_LATE))
    verify_succession(_opened(_LATE), _opened(_LATE))
    verify_succession(_opened(), _opened())
    verify_succession(_opened(signed=False, flat=True), _opened())


def test_a_flat_graph_is_signed_and_opened_alike() -> None:
    """The signature covers what was received, not what we made of it."""
    document = sign_graph(
        b'{"rules": [{"id": "r", "metric": "m", "predicate": "lte", "value": 5}]}', _OUR_KEY, _OURS.sign
    )
    opened = open_graph(document, _ANCHORS)
    assert opened.kg_version_hash == graph_hash(json.loads(document))
    told = [NoticeCode.CONVERTED, NoticeCode.DEFAULT_TIER, NoticeCode.IN_FORCE_ALWAYS]
    assert [notice.code for notice in opened.notices] == told
