"""Canonical bytes are what an author who knew the text alone says they are."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from assay.kernel.canonical import Profile, canonicalize, canonicalize_exact
from assay.kernel.errors import Error
from assay.kernel.json_text import parse_json

_FILE = Path(__file__).parents[1] / "vectors" / "canonical" / "by_the_text.json"
_CASES: list[dict[str, Any]] = json.loads(_FILE.read_text())["cases"]


@pytest.mark.clause("kaori", "3.2")
@pytest.mark.clause("ski", "7.3")
@pytest.mark.parametrize("case", _CASES, ids=lambda case: f"{case['profile']} {ascii(case['input'])[:40]}")
def test_a_text_has_the_bytes_of_its_profile_or_is_refused(case: dict[str, Any]) -> None:
    """Key order, white space, normal forms, numbers and every refusal, on the quick way and on the exact one."""
    profile = Profile(case["profile"])
    if case.get("refused"):
        with pytest.raises(Error):
            canonicalize(parse_json(case["input"]), profile)
        return
    value = parse_json(case["input"])
    content = canonicalize(value, profile)
    assert content.decode() == case["canonical"]
    assert canonicalize_exact(value, profile) == content
    assert sha256(content).hexdigest() == case["sha256"]
