"""What one login is bound to, and which tokens are about it: every rule of the specification, each by itself."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.identity.oidc import BINDING_BYTES, begin_login, find_person, resume_login, verify_claims
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant

_AT = Instant(datetime(2026, 3, 1, 12, tzinfo=UTC))
_NOW = int(_AT.timestamp())
_CLAIMS: dict[str, Any] = {
    "iss": "https://id.example",
    "aud": "assay",
    "sub": "amira",
    "nonce": "n",
    "exp": _NOW + 300,
    "iat": _NOW,
}


def _verify(**change: object) -> None:
    claims = {name: value for name, value in {**_CLAIMS, **change}.items() if value is not ...}
    verify_claims(claims, issuers=("https://id.example", "https://alias.example"), client_id="assay", nonce="n", at=_AT)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"iss": "https://alias.example"},
        {"aud": ["assay"]},
        {"aud": ["assay", "other"], "azp": "assay"},
        {"azp": "assay"},
        {"exp": _NOW - 59},
        {"iat": _NOW + 60},
        {"iat": _NOW - 660},
    ],
)
def test_a_token_for_this_login_is_taken(change: dict[str, object]) -> None:
    """A minute of difference between clocks is no lie."""
    _verify(**change)


def test_a_token_that_ends_with_the_calendar_is_taken() -> None:
    """The last second that a date can have: nothing is added to it."""
    _verify(exp=253402300799)


@pytest.mark.parametrize(
    "change",
    [
        {"iss": "https://other.example"},
        {"iss": "https://id.example/"},
        {"iss": ...},
        {"aud": "other"},
        {"aud": ["other"]},
        {"aud": ["assay", "other"]},
        {"aud": ["assay", "other"], "azp": "other"},
        {"aud": ...},
        {"aud": {"assay": 1}},
        {"azp": "other"},
        {"exp": _NOW - 60},
        {"exp": ...},
        {"exp": str(_NOW + 300)},
        {"exp": True},
        {"exp": float("nan")},
        {"exp": 1e300},
        {"iat": _NOW + 61},
        {"iat": _NOW - 661},
        {"iat": ...},
        {"nonce": "m"},
        {"nonce": ...},
        {"nonce": 7},
        {"sub": ""},
        {"sub": ...},
        {"sub": "x" * 256},
    ],
)
def test_any_other_token_is_refused(change: dict[str, object]) -> None:
    """Another issuer, audience, party, time or login; a claim that is missing or of another type."""
    with pytest.raises(Error) as caught:
        _verify(**change)
    assert caught.value.code == "identity.id_token"


@given(entropy=st.binary(min_size=BINDING_BYTES, max_size=BINDING_BYTES), seconds=st.integers(0, 600))
def test_the_browser_that_began_a_login_ends_it(entropy: bytes, seconds: int) -> None:
    """The same secrets again, from the binding and the state alone; none of them is another, nor the binding."""
    begun = begin_login(entropy, at=_AT)
    assert resume_login(begun.binding, begun.state, at=Instant(_AT + timedelta(seconds=seconds))) == begun
    assert len({begun.binding, begun.state, begun.nonce, begun.verifier, begun.challenge}) == 5


@pytest.mark.parametrize("case", ["other browser", "no cookie", "no state", "old", "moved", "broken"])
def test_nobody_else_ends_it(case: str) -> None:
    mine, other = begin_login(b"m" * 32, at=_AT), begin_login(b"o" * 32, at=_AT)
    binding: str | None = mine.binding
    state: str | None = mine.state
    at = _AT
    if case == "other browser":
        binding = other.binding
    elif case == "no cookie":
        binding = None
    elif case == "no state":
        state = None
    elif case == "old":
        at = Instant(_AT + timedelta(seconds=601))
    elif case == "moved":
        # A later time in the state does not make an old login young: it is part of what the state is derived from.
        state = f"{_NOW + 500}.{mine.state.partition('.')[2]}"
    else:
        binding = "x"
    with pytest.raises(Error) as caught:
        resume_login(binding, state, at=at)
    assert caught.value.code == "identity.id_token"


def test_the_challenge_is_that_of_the_verifier() -> None:
    """RFC 7636, appendix B."""
    secrets = begin_login(b"m" * 32, at=_AT)._replace(verifier="dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    assert secrets.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


_AMIRA = PrincipalId("user:amira")


@pytest.mark.parametrize(
    ("claims", "claim", "prefix", "expected"),
    [
        ({"sub": "7"}, "sub", None, _AMIRA),
        ({"sub": "bo"}, "sub", None, None),
        ({"sub": "bo"}, "sub", "user", PrincipalId("user:bo")),
        ({"sub": "Bo Peep"}, "sub", "user", None),
        ({"sub": "x:y"}, "sub", "user", None),
        ({"email": "7", "email_verified": True}, "email", None, _AMIRA),
        ({"email": "7", "email_verified": "true"}, "email", None, None),
        ({"email": "7"}, "email", "user", None),
        ({"sub": 7}, "sub", "user", None),
        ({}, "sub", "user", None),
    ],
)
def test_a_claim_names_a_principal_or_nobody(
    claims: dict[str, object], claim: str, prefix: str | None, expected: PrincipalId | None
) -> None:
    assert find_person(claims, claim=claim, principals={"7": _AMIRA}, prefix=prefix) == expected
