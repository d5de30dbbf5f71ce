"""Agents sign their requests: the key never leaves them, and nothing they sent can be sent again."""

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from litestar import Litestar
from litestar.testing import TestClient

from assay.flows.identity.authenticate import authenticate, authenticate_in, render_signed
from assay.identity.caller import Via
from assay.identity.principal import PrincipalKind
from assay.identity.signed_request import parse_signed_request
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId
from assay.surfaces.signing import SignedRequests
from tests.acting import end_signing_key, register_signing_key
from tests.surfaces.http._door import Door, opened_door
from tests.surfaces.http._house import refused
from tests.surfaces.http.served import ACME, ADMIN

_NOTE = {"note": {"n": 1}}
_ORIGIN = "http://testserver.local"


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with opened_door(tmp_path_factory.mktemp("door")) as opened:
        yield opened


_Join = Callable[..., SignedRequests]


@pytest.fixture
def join(door: Door) -> _Join:
    """A new agent with a key of its own."""

    def register(*, scopes: tuple[str, ...] = ("*",)) -> SignedRequests:
        key = Ed25519PrivateKey.generate()
        name = f"ai:{key.public_key().public_bytes_raw().hex()[:12]}"
        door.add(name, kind=PrincipalKind.AGENT)
        signer = SignedRequests(key, clock=door.clock)
        register_signing_key(
            door.tools, ACME, PrincipalId(name), signer.public_key, scopes=scopes, by=ADMIN, at=door.clock.at
        )
        return signer

    return register


def _sent(
    client: TestClient[Litestar], signer: SignedRequests, method: str, path: str, **body: object
) -> httpx.Request:
    """A signed request, to be sent as it is or spoilt first."""
    request = client.build_request(method, path, **body)  # type: ignore[arg-type]  # as httpx takes them
    request.read()
    return next(signer.auth_flow(request))


def test_a_signed_request_is_its_agent(door: Door, join: _Join) -> None:
    """Reading and writing, with and without a body and a query; the entry says who recorded it."""
    signer = join()
    who = door.browser.get("/whoami", auth=signer).json()
    assert (who["via"], who["kind"]) == ("signed_request", "agent")
    assert door.browser.get("/api/v1/contracts?limit=1", auth=signer).status_code in {200, 422}
    assert door.browser.head("/whoami", auth=signer).status_code == 200
    assert door.browser.post("/api/v1/entries", json=_NOTE, auth=signer).status_code == 201


def test_the_same_request_is_taken_once(door: Door, join: _Join) -> None:
    """The nonce is used up, durably; nothing was recorded a second time."""
    request = _sent(door.browser, join(), "POST", "/api/v1/entries", json=_NOTE)
    first = door.browser.send(request)
    assert first.status_code == 201
    refused(door.browser.send(request), 401, "identity.replayed")
    head = door.tools.database.read(lambda unit: unit.ledger.head(ACME)).sequence_number
    assert head == first.json()["sequence_number"]


def test_a_restart_forgets_no_nonce(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    with opened_door(tmp_path) as door:
        signer = SignedRequests(key, clock=door.clock)
        register_signing_key(door.tools, ACME, PrincipalId("svc:writer"), signer.public_key, by=ADMIN, at=door.clock.at)
        request = _sent(door.browser, signer, "GET", "/whoami")
        assert door.browser.send(request).status_code == 200
    with opened_door(tmp_path, at=door.clock.at) as again:
        refused(again.browser.send(request), 401, "identity.replayed")


@pytest.mark.parametrize("part", ["body", "path", "method", "nonce", "digest", "signature"])
def test_whatever_is_changed_on_the_way_is_refused(door: Door, join: _Join, part: str) -> None:
    signer = join()
    request = _sent(door.browser, signer, "POST", "/api/v1/entries", json=_NOTE)
    headers = dict(request.headers)
    method, path, body = "POST", "/api/v1/entries", request.content
    if part == "body":
        body = b'{"note":{"n":2}}'
        headers["content-length"] = str(len(body))
    elif part == "path":
        path = "/signals"
    elif part == "method":
        method = "PUT"
    elif part == "nonce":
        headers["signature-input"] = headers["signature-input"].replace('nonce="', 'nonce="0')
    elif part == "digest":
        headers["content-digest"] = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"
    else:
        headers["signature"] = "assay=:" + "A" * 86 + "==:"
    answer = door.browser.request(method, path, content=body, headers=headers)
    assert answer.status_code in ({405} if part == "method" else {401})


def test_a_request_of_another_time_is_refused(door: Door, join: _Join) -> None:
    """Once its time is over no nonce need be remembered for it."""
    request = _sent(door.browser, join(), "GET", "/whoami")
    door.wait(seconds=301)
    refused(door.browser.send(request), 401, "identity.stale_request")


def test_two_proofs_at_once_are_refused(door: Door, join: _Join) -> None:
    answer = door.browser.get("/whoami", auth=join(), headers={"x-api-key": door.operator})
    refused(answer, 401, "identity.not_signed_in")


def test_a_key_that_ended_or_was_never_registered_proves_nothing(door: Door, join: _Join) -> None:
    signer = join()
    stranger = SignedRequests(Ed25519PrivateKey.generate(), clock=door.clock)
    refused(door.browser.get("/whoami", auth=stranger), 401, "identity.not_signed_in")
    end_signing_key(door.tools, ACME, signer.key_id, reason="lost", by=ADMIN, at=door.clock.at)
    refused(door.browser.get("/whoami", auth=signer), 401, "identity.not_signed_in")


def test_a_key_may_do_no_more_than_its_scopes(door: Door, join: _Join) -> None:
    signer = join(scopes=("truth:read",))
    refused(door.browser.post("/api/v1/entries", json=_NOTE, auth=signer), 403, "identity.scope")


def test_one_key_proves_one_principal(door: Door, join: _Join) -> None:
    signer = join()
    with pytest.raises(Error) as caught:
        register_signing_key(door.tools, ACME, PrincipalId("svc:writer"), signer.public_key, by=ADMIN, at=door.clock.at)
    assert caught.value.code == "identity.credential_exists"


def test_an_admitted_request_is_proved_again_inside_and_never_from_outside(door: Door, join: _Join) -> None:
    """Journeys prove the caller in their own commit; the text they use opens no door, and ends with the key."""
    signer = join()
    request = _sent(door.browser, signer, "GET", "/whoami")
    signed = parse_signed_request("GET", f"{_ORIGIN}/whoami", dict(request.headers))
    text, at = render_signed(signed), door.clock.at

    def inside() -> Via:
        return door.tools.database.read(lambda unit: authenticate_in(unit, text, at=at)).via

    with pytest.raises(Error):
        inside()
    assert door.browser.send(request).status_code == 200
    assert inside() is Via.SIGNED_REQUEST
    with pytest.raises(Error):
        authenticate(door.tools, text, at=at)
    refused(door.browser.get("/whoami", headers={"x-api-key": text}), 401, "identity.not_signed_in")
    end_signing_key(door.tools, ACME, signer.key_id, reason="lost", by=ADMIN, at=at)
    with pytest.raises(Error):
        inside()


def test_a_key_comes_from_a_file_of_the_usual_form(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    path = tmp_path / "agent.pem"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    assert SignedRequests.from_file(path).public_key == key.public_key().public_bytes_raw()
    path.write_text("no key")
    with pytest.raises(Error) as caught:
        SignedRequests.from_file(path)
    assert caught.value.code == "signing.not_ed25519"
