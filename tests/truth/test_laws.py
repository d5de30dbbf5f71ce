"""The seven laws of truth, and what Kaori calls compatible, held as a whole."""

import tomllib
from hashlib import sha256
from pathlib import Path

import pytest

from assay.kernel.canonical import Profile, canonicalize
from assay.kernel.ids import KeyId
from assay.kernel.json_text import parse_json
from assay.kernel.key import SigningMethod
from assay.truth.key import parse_truth_key, render_truth_key
from assay.truth.seal import seal_truth_state
from assay.truth.snapshot import parse_snapshot, render_snapshot
from assay.truth.state import parse_truth_state, render_truth_state
from tests.truth.compiling import compiled, flood, observed, scores_for, trusted

ROOT = Path(__file__).parents[2]
# Of the seven laws as version 2 of the standard has them, one a line; another text is another major version.
LAWS = "7b68cefb1c51e1e51ed2f81b565cd5db045b55fef58343436e1b5c22af905769"


def _laws() -> dict[str, str]:
    clauses = tomllib.loads((ROOT / "docs/clauses/kaori.toml").read_text())
    laws: dict[str, list[str]] = {}
    for one in clauses["clause"]:
        if one["number"].startswith("law "):
            laws.setdefault(one["number"], []).append(one["quote"])
    return {number: " ".join(quotes) for number, quotes in laws.items()}


@pytest.mark.clause("kaori", "1.3")
def test_the_seven_laws_are_those_of_this_major_version_and_each_has_a_test() -> None:
    """Whoever changes one changes this hash with it, and has to say that it is another standard."""
    laws = _laws()
    assert sorted(laws) == [f"law {number}" for number in range(1, 8)]
    text = "\n".join(f"{number}: {laws[number]}" for number in sorted(laws))
    assert sha256(text.encode()).hexdigest() == LAWS
    sources = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert [law for law in laws if f'clause("kaori", "{law}")' not in sources] == []


@pytest.mark.clause("kaori", "18")
def test_a_state_has_everything_that_makes_it_compatible() -> None:
    """Canonical key and JSON, two hashes, inputs in full, a signature, and trust as data; the same twice."""
    said, trust = [observed("user:ann"), observed("user:ben")], trusted(ann="silver", ben="expert")
    first = compiled(flood(), said, trust, ai_scores=scores_for(said))
    assert compiled(flood(), said[::-1], parse_snapshot(render_snapshot(trust)), ai_scores=scores_for(said)) == first
    assert render_truth_key(parse_truth_key(first.truthkey)) == first.truthkey
    later = compiled(flood(), said, trust, ai_scores=scores_for(said), now="13:31")
    sealed, again = (
        seal_truth_state(one, signature=b"\x01" * 64, method=SigningMethod.ED25519, key_id=KeyId("sha256:" + "0" * 64))
        for one in (first, later)
    )
    text = render_truth_state(sealed)
    assert canonicalize(parse_json(text), Profile.KAORI) == text
    assert parse_truth_state(text) == sealed
    assert sealed.security is not None
    assert again.security is not None
    assert sealed.security.semantic_hash == again.security.semantic_hash
    assert sealed.security.state_hash != again.security.state_hash
    inputs = sealed.compile_inputs
    assert len(inputs.observation_hashes) == len(inputs.observation_ids) == 2
    assert (inputs.trust_snapshot_hash, inputs.claim_type_hash) == (trust.snapshot_hash, flood().claim_type_hash)
