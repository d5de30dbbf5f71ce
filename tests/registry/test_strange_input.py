"""Whatever arrives, a reader answers with all its problems and never with a crash."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.registry.announce import AnnounceEvent, draft_announce, parse_announce
from assay.registry.errors import InvalidAnnounceError, InvalidManifestError
from assay.registry.open_manifest import check_manifest, open_manifest
from tests.identity.people import NOON
from tests.registry.codex import codex, make_manifest

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
_CODEX: dict[str, Any] = json.loads(codex(knowledge={"rule_count": 1}, proof_config={"threshold_pct": 5}))
_ANNOUNCE: dict[str, Any] = draft_announce(
    make_manifest(), AnnounceEvent.UPDATE, base_url="https://x", instance_id="i", sequence=1, at=NOON
)


@st.composite
def _broken(draw: st.DrawFn, document: dict[str, Any]) -> str:
    """A good document with something else in one of its places, at any depth."""
    copy = json.loads(json.dumps(document))
    inner: Any = copy
    while True:
        keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
        key = draw(st.sampled_from([*keys, "signature"] if inner is copy else keys))
        below = inner.get(key) if isinstance(inner, dict) else inner[key]
        if not (isinstance(below, dict | list) and below) or draw(st.booleans()):
            inner[key] = draw(_json)
            return json.dumps(copy)
        inner = below


@given(content=_broken(_CODEX))
def test_a_broken_manifest_is_opened_or_refused_with_its_problems(content: str) -> None:
    problems = check_manifest(content)
    if not problems:
        assert open_manifest(content).manifest.service
        return
    with pytest.raises(InvalidManifestError) as caught:
        open_manifest(content)
    assert caught.value.problems == problems
    assert str(caught.value).isprintable(), "an error is one line, whatever the document has in its keys"


@given(content=_broken(_ANNOUNCE))
def test_a_broken_announce_is_read_or_refused_with_its_problems(content: str) -> None:
    try:
        received = parse_announce(content)
    except InvalidAnnounceError as error:
        problems = error.problems
    else:
        assert received.announce.service_id
        return
    assert problems


@given(content=st.binary(max_size=30) | _json.map(json.dumps))
def test_what_is_something_else_altogether_is_refused(content: bytes | str) -> None:
    assert check_manifest(content)
    with pytest.raises(InvalidAnnounceError):
        parse_announce(content)
