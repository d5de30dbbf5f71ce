"""Terms: what an entry can be found by follows from its proven text alone."""

import pytest

from assay.kernel.canonical import canonicalize
from assay.kernel.commitment import seal_fields
from assay.kernel.term import KEY_SIZE, MAX_TERM, TermError, parse_term, term_key, terms_of


def _entry(body: object, **more: object) -> bytes:
    place = {"previous_hash": "sha256:00", "profile": "ski-3.0", "schema_version": "3.0.0", "sequence_number": 7}
    return canonicalize(
        {"body": body, "kind": "note", "tenant_id": "a", "timestamp": "2026-03-01T11:00:00Z"} | place | more
    )


def test_members_are_found_by_their_own_name_however_deep_they_are() -> None:
    """Texts, whole numbers and truth values count; a list is all of its items; an entry has its kind and its day."""
    body = {"a": "x", "deep": [{"rule_id": "R-1", "n": 3}, {"rule_id": "R-2", "ok": True}], "tags": ["t", 4, False]}
    terms = {"a=x", "rule_id=R-1", "rule_id=R-2", "n=3", "ok=true", "tags=t", "tags=4", "tags=false"}
    assert terms_of(_entry(body)) == terms | {"kind=note", "day=2026-03-01"}


def test_what_says_nothing_or_too_much_is_no_term() -> None:
    """Nothing, fractions, empty texts and long ones are not indexed; nor is what every entry has of its place."""
    body = {"none": None, "part": 0.5, "empty": "", "long": "x" * MAX_TERM, "fits": "x" * (MAX_TERM - len("fits="))}
    assert terms_of(_entry(body)) == {"kind=note", "day=2026-03-01", f"fits={body['fits']}"}


def test_a_verdict_is_found_by_its_own_columns() -> None:
    assert {"rule_id=R", "verdict=FLAG"} <= terms_of(_entry({}, rule_id="R", verdict="FLAG"))


def test_no_personal_value_is_a_term() -> None:
    """What can be erased is a commitment in the entry, so no index remembers it."""
    body, _ = seal_fields({"name": "Amira", "amount": 7}, ["/name"], [b"s" * 16])
    assert not any("Amira" in term for term in terms_of(_entry(body)))


@pytest.mark.parametrize("text", ["", "kind", "=note", "kind=", "k=" + "x" * MAX_TERM])
def test_what_no_entry_could_have_is_refused(text: str) -> None:
    with pytest.raises(TermError) as refused:
        parse_term(text)
    assert refused.value.code == "search.term"


def test_a_value_may_have_an_equals_sign() -> None:
    assert parse_term("subject=a=b") == "subject=a=b"
    assert len(term_key("subject=a=b")) == KEY_SIZE
