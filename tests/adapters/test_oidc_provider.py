"""The provider's side: only what it signed counts, only from where it may speak, and it is not asked at every login."""

import socket
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from itertools import chain, repeat

import pytest

from assay.adapters.oidc.fetch import ProviderFetch
from assay.adapters.oidc.provider import HttpOidcProvider
from assay.kernel.errors import Error
from assay.ports.oidc import ProviderError
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


def test_a_token_that_is_nested_too_deep_is_refused(false: FalseProvider) -> None:
    deep = urlsafe_b64encode(b'{"alg":' + b"[" * 20_000 + b"]" * 20_000 + b"}").rstrip(b"=").decode()
    false.token = f"{deep}.e30.e30"
    assert _refused(_client(false)) == "identity.id_token"


def test_a_provider_may_promise_to_name_itself(false: FalseProvider) -> None:
    assert not _client(false).promises_issuer()
    false.document["authorization_response_iss_parameter_supported"] = True
    assert _client(false).promises_issuer()


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


_NEW = (
    {"kty": "AKP", "kid": "new", "alg": "ML-DSA-65", "pub": "AAAA"},
    {"kty": "EC", "kid": "new", "crv": "P-999", "x": "AA", "y": "AA"},
    {"kid": "nothing"},
    "no key",
)


@pytest.mark.parametrize("new", _NEW, ids=["a new kind", "a new curve", "no kind", "no object"])
def test_a_key_that_nobody_can_read_yet_shuts_nobody_out(
    false: FalseProvider, new: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider that adds one of a new kind goes on signing with the others (RFC 7517, 5)."""
    known = false.keys()["keys"]
    monkeypatch.setattr(false, "keys", lambda: {"keys": [new, *known]})
    false.token = false.sign(_CLAIMS)
    assert _redeem(_client(false)) == _CLAIMS
    monkeypatch.setattr(false, "keys", lambda: {"keys": [new]})
    assert _refused(_client(false)) in {"identity.provider", "identity.id_token"}


class _Silent(ProviderFetch):
    """Gives no answer, and counts who asked."""

    asked = 0

    def get(self, url: str) -> dict[str, object]:
        self.asked += 1
        raise ProviderError(f"no answer of `{url}`")


def test_a_provider_that_is_silent_is_not_asked_by_each_who_waits() -> None:
    """Every one of them would wait for all before them."""
    clock, silent = _Clock(), _Silent()
    client = HttpOidcProvider(issuer="https://id", client_id="a", fetch=silent, algorithms=("RS256",), clock=clock)
    for now, asked in ((0.0, 1), (1.0, 1), (4.9, 1), (5.1, 2), (6.0, 2)):
        clock.now = now
        with pytest.raises(ProviderError):
            client.authorization_endpoint()
        assert silent.asked == asked


def test_an_answer_that_drips_has_one_limit() -> None:
    """However steadily it comes: the limit is of all of it."""
    end = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            line, _ = server.accept()
            text = chain([b"HTTP/1.1 200 OK\r\n"], repeat(b"x: y\r\n"))
            with line:
                while not end.wait(0.05):
                    try:
                        line.send(next(text))
                    except OSError:
                        return

        thread = threading.Thread(target=drip)
        thread.start()
        begun = time.monotonic()
        with pytest.raises(ProviderError):
            ProviderFetch(hosts=("127.0.0.1",), seconds=0.5).get(f"http://127.0.0.1:{server.getsockname()[1]}/")
        assert time.monotonic() - begun < 10
        end.set()
        thread.join()
