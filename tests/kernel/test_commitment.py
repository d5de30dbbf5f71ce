"""A sealed value can be shown, checked and forgotten, and the sealed body never changes."""

from hashlib import sha256

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from assay.kernel.canonical import canonicalize
from assay.kernel.commitment import (
    Disclosure,
    MismatchedDisclosureError,
    PointerError,
    ReservedKeyError,
    SaltError,
    commit,
    open_fields,
    seal_fields,
    verify_disclosure,
)
from assay.kernel.errors import CommitmentError

_BODY: dict[str, object] = {
    "subject": {"name": "Amira", "year": 1990, "tags": ["a", "b", {"deep": None}]},
    "a/b": {"m~n": 7},
    "": "empty key",
    "verdict": "FLAG",
}
_SALTS = [bytes([n]) * 16 for n in range(8)]


def _code(error: pytest.ExceptionInfo[CommitmentError]) -> str:
    return error.value.code


def test_a_commitment_is_the_hash_of_salt_and_value_in_canonical_form() -> None:
    """Written out by hand, so that anyone can check a disclosure with a SHA-256 tool."""
    text = '{"salt":"' + "00" * 16 + '","value":"Amira"}'
    assert commit("Amira", bytes(16)) == "sha256:" + sha256(text.encode()).hexdigest()


def test_sealing_hides_the_values_and_leaves_the_rest() -> None:
    sealed, disclosures = seal_fields(_BODY, ["/subject/name", "/subject/tags/2"], _SALTS[:2])
    assert sealed["subject"] == {
        "name": {"$commitment": commit("Amira", _SALTS[0])},
        "year": 1990,
        "tags": ["a", "b", {"$commitment": commit({"deep": None}, _SALTS[1])}],
    }
    assert b"Amira" not in canonicalize(sealed)
    assert disclosures[0] == Disclosure(pointer="/subject/name", salt="00" * 16, value=Raw(b'"Amira"'))
    assert _BODY["subject"] == {"name": "Amira", "year": 1990, "tags": ["a", "b", {"deep": None}]}


@pytest.mark.parametrize("pointer", ["/subject", "/subject/tags/0", "/a~1b/m~0n", "/", "/verdict"])
def test_opening_gives_the_body_back(pointer: str) -> None:
    sealed, disclosures = seal_fields(_BODY, [pointer], _SALTS[:1])
    assert sealed != _BODY
    verify_disclosure(sealed, disclosures[0])
    assert open_fields(sealed, disclosures) == _BODY


def test_what_was_erased_stays_sealed_and_the_rest_still_opens() -> None:
    sealed, disclosures = seal_fields(_BODY, ["/subject/name", "/verdict"], _SALTS[:2])
    opened = open_fields(sealed, disclosures[1:])
    assert opened["verdict"] == "FLAG"
    assert opened["subject"] == sealed["subject"]


def test_a_disclosure_survives_the_wire() -> None:
    sealed, disclosures = seal_fields(_BODY, ["/subject"], _SALTS[:1])
    read = msgspec.json.decode(msgspec.json.encode(disclosures[0]), type=Disclosure)
    verify_disclosure(sealed, read)


@given(
    value=st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | st.text(st.characters(codec="utf-8")), st.lists)
)
def test_any_json_value_can_be_sealed_and_opened(value: object) -> None:
    """Strings come back in NFC, which is what the ledger would have recorded."""
    sealed, disclosures = seal_fields({"value": value}, ["/value"], _SALTS[:1])
    assert canonicalize(open_fields(sealed, disclosures)) == canonicalize({"value": value})


@pytest.mark.parametrize(
    "change",
    [{"value": Raw(b'"Emira"')}, {"salt": "01" * 16}, {"salt": "00" * 17}],
    ids=["value", "salt", "longer salt"],
)
def test_another_value_or_salt_is_refused(change: dict[str, object]) -> None:
    sealed, disclosures = seal_fields(_BODY, ["/subject/name"], _SALTS[:1])
    forged = msgspec.structs.replace(disclosures[0], **change)
    for check in (verify_disclosure, lambda body, disclosure: open_fields(body, [disclosure])):
        with pytest.raises(MismatchedDisclosureError) as caught:
            check(sealed, forged)
        assert _code(caught) == "commitment.mismatch"


@pytest.mark.parametrize("salt", ["", "00" * 15, "0" * 31, "0G" * 16, "AB" * 16])
def test_a_malformed_or_short_salt_is_refused(salt: str) -> None:
    sealed, disclosures = seal_fields(_BODY, ["/verdict"], _SALTS[:1])
    with pytest.raises(SaltError) as caught:
        verify_disclosure(sealed, msgspec.structs.replace(disclosures[0], salt=salt))
    assert _code(caught) == "commitment.salt"


@pytest.mark.parametrize("salts", [[], _SALTS[:1], _SALTS[:3], [_SALTS[0], _SALTS[0]], [b"short", _SALTS[0]]])
def test_each_pointer_needs_a_good_salt_of_its_own(salts: list[bytes]) -> None:
    with pytest.raises(SaltError):
        seal_fields(_BODY, ["/subject/name", "/verdict"], salts)


@pytest.mark.parametrize(
    "pointer",
    [
        "",
        "verdict",
        "/missing",
        "/subject/tags/3",
        "/subject/tags/-",
        "/subject/tags/00",
        "/subject/tags/x",
        "/verdict/0",
        "/a~2b",
        "/a~",
    ],
)
def test_a_pointer_that_leads_nowhere_is_refused(pointer: str) -> None:
    with pytest.raises(PointerError) as caught:
        seal_fields(_BODY, [pointer], _SALTS[:1])
    assert _code(caught) == "commitment.pointer"


@pytest.mark.parametrize(
    "pointers",
    [["/subject", "/subject/name"], ["/subject/name", "/subject"], ["/verdict", "/verdict"]],
)
def test_pointers_that_lead_into_one_another_are_refused(pointers: list[str]) -> None:
    with pytest.raises(PointerError, match="separate pointers"):
        seal_fields(_BODY, pointers, _SALTS[:2])


@pytest.mark.parametrize("body", [{"$commitment": "x"}, {"list": [{"deep": {"$commitment": None}}]}])
def test_a_body_that_imitates_a_commitment_is_refused(body: dict[str, object]) -> None:
    """Otherwise a caller could log a commitment to something nobody can ever open."""
    with pytest.raises(ReservedKeyError) as caught:
        seal_fields(body, [], [])
    assert _code(caught) == "commitment.reserved"


@pytest.mark.parametrize(
    "body",
    [{"verdict": "FLAG"}, {"verdict": {"$commitment": "x", "more": 1}}, {"verdict": ["$commitment"]}],
)
def test_a_disclosure_of_something_never_sealed_is_refused(body: dict[str, object]) -> None:
    _, disclosures = seal_fields(_BODY, ["/verdict"], _SALTS[:1])
    with pytest.raises(CommitmentError) as caught:
        verify_disclosure(body, disclosures[0])
    assert _code(caught) == "commitment.absent"


def test_a_commitment_that_is_no_digest_matches_nothing() -> None:
    _, disclosures = seal_fields(_BODY, ["/verdict"], _SALTS[:1])
    with pytest.raises(MismatchedDisclosureError):
        verify_disclosure({"verdict": {"$commitment": None}}, disclosures[0])


@pytest.mark.parametrize("number", [1e20, -1e20, 123456789012345680000.0, 1e300])
def test_a_large_number_can_stand_beside_a_sealed_value_and_be_one(number: float) -> None:
    """Canonical text writes it without a fraction; whatever has canonical bytes can be sealed and opened again."""
    body = {"amount": number, "kept": number}
    sealed, disclosures = seal_fields(body, ["/amount"], _SALTS[:1])
    assert sealed["kept"] == number
    assert open_fields(sealed, disclosures) == body
