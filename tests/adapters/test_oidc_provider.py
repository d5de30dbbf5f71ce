"""The provider's side: only what it signed counts, only from where it may speak, and it is not asked at every login."""

from collections.abc import Iterator

import pytest

from assay.adapters.oidc.fetch import ProviderFetch
from assay.adapters.oidc.provider import HttpOidcProvider
from assay.kernel.errors import Error
from tests.adapters._false_provider import FalseProvider, speaking

_CLAIMS = {"sub": "amira", "iss": "i", "aud": "assay"}
_SECRET = "100% secret: +/&"


@pytest.fixture(scope="module")
def _spoken() -> Iterator[FalseProvider]:
    with speaking() as found:
        yield found


@pytest.fixture
def false(_spoken: FalseProvider) -> FalseProvider:
    _spoken.document, _spoken.token, _spoken.status = {}, None, 200
    for seen in (_spoken.asked, _spoken.forms, _spoken.basic):
        seen.clear()
    return _spoken


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _client(
    false: FalseProvider, *, clock: _Clock | None = None, hosts: tuple[str, ...] = ("127.0.0.1",)
) -> HttpOidcProvider:
    return HttpOidcProvider(
        issuer=false.issuer,
        client_id="assay",
        fetch=ProviderFetch(hosts=hosts, seconds=5),
        algorithms=("RS256", "ES256"),
        client_secret=_SECRET,
        clock=clock or _Clock(),
    )


def _redeem(client: HttpOidcProvider) -> object:
    return client.redeem("the-code", verifier="v" * 43, redirect_url="https://a.example/cb")


def _refused(client: HttpOidcProvider) -> str:
    with pytest.raises(Error) as caught:
        _redeem(client)
    assert _SECRET not in str(caught.value)
    return caught.value.code


def test_a_token_that_the_provider_signed_is_read(false: FalseProvider) -> None:
    """The code goes with its verifier, and the client proves itself, each half encoded as the RFC has it."""
    false.token = false.sign(_CLAIMS)
    assert _redeem(_client(false)) == _CLAIMS
    assert "code=the-code" in false.forms[0]
    assert f"code_verifier={'v' * 43}" in false.forms[0]
    assert false.basic == ["assay:100%25+secret%3A+%2B%2F%26"]


@pytest.mark.parametrize("forge", ["unsigned", "by_public_key", "by_another_key"])
def test_a_token_that_somebody_else_made_is_refused(false: FalseProvider, forge: str) -> None:
    """No signature, the public key as a secret, or another key under the same id."""
    false.token = getattr(false, forge)(_CLAIMS)
    assert _refused(_client(false)) == "identity.id_token"


def test_an_algorithm_that_is_not_on_the_list_is_refused(false: FalseProvider) -> None:
    """Though the key and the signature are right."""
    false.token = false.sign(_CLAIMS, algorithm="RS512")
    assert _refused(_client(false)) == "identity.id_token"


@pytest.mark.parametrize("token", ["", "a.b.c", "x" * 70000, "e30.e30."])
def test_what_is_no_token_is_refused(false: FalseProvider, token: str) -> None:
    false.token = token
    assert _refused(_client(false)) == "identity.id_token"


def test_a_changed_token_is_refused(false: FalseProvider) -> None:
    head, body, signature = false.sign(_CLAIMS).split(".")
    false.token = f"{head}.{body[:-2]}AA.{signature}"
    assert _refused(_client(false)) == "identity.id_token"


def test_documents_and_keys_are_kept_for_an_hour(false: FalseProvider) -> None:
    clock = _Clock()
    client = _client(false, clock=clock)
    false.token = false.sign(_CLAIMS)
    for _ in range(3):
        _redeem(client)
    assert (false.asked.count("/jwks"), len(false.asked)) == (1, 5)
    clock.now = 3601
    _redeem(client)
    assert false.asked.count("/jwks") == 2


def test_a_new_key_is_found_and_strangers_do_not_make_us_look_each_time(false: FalseProvider) -> None:
    """A token by an unknown key makes us look once more, and then not for a minute."""
    clock = _Clock()
    client = _client(false, clock=clock)
    false.token = false.sign(_CLAIMS)
    _redeem(client)
    rolled = FalseProvider(key=type(false.key).generate_key(2048, {"kid": "two"}))
    false.token = rolled.sign(_CLAIMS, kid="two")
    for _ in range(3):
        assert _refused(client) == "identity.id_token"
    assert false.asked.count("/jwks") == 1
    before, false.key = false.key, rolled.key
    clock.now = 61
    assert _redeem(client) == _CLAIMS
    false.key = before
    assert false.asked.count("/jwks") == 2


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://other.example"},
        {"token_endpoint": None},
        {"token_endpoint": "http://localhost:1/token"},
        {"token_endpoint": "https://169.254.169.254/latest/meta-data"},
        {"jwks_uri": "file:///etc/passwd"},
    ],
    ids=["another issuer", "no endpoint", "another host inside", "a cloud's own address", "a file"],
)
def test_a_document_leads_nowhere_else(false: FalseProvider, document: dict[str, object]) -> None:
    """It must name our issuer, and each address in it is checked like the first."""
    false.document, false.token = document, false.sign(_CLAIMS)
    assert _refused(_client(false)) == "identity.provider"


def test_an_issuer_inside_needs_the_operators_word(false: FalseProvider) -> None:
    assert _refused(_client(false, hosts=())) == "identity.provider"
    assert false.asked == []


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, "identity.id_token"), (401, "identity.provider"), (302, "identity.provider"), (500, "identity.provider")],
)
def test_no_redirect_is_followed_and_a_refused_code_is_a_refusal(false: FalseProvider, status: int, code: str) -> None:
    false.status, false.token = status, false.sign(_CLAIMS)
    assert _refused(_client(false)) == code
    assert "/jwks" not in false.asked


def test_the_secret_is_in_no_text_of_the_client(false: FalseProvider) -> None:
    assert _SECRET not in repr(_client(false))
