"""Logging in by way of an identity provider: the whole way, with a real one, in the code flow with PKCE."""

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from litestar import Litestar
from litestar.testing import TestClient

from assay.flows.identity.log_in_oidc import begin_oidc, finish_oidc, get_oidc
from assay.identity.errors import IdTokenError
from assay.identity.principal import PrincipalKind
from assay.kernel.ledger import EntryKind
from tests.identity_provider import CLIENT_SECRET, IdentityProvider, providing
from tests.surfaces.http._door import AMIRA, Door, opened_door
from tests.surfaces.http._house import refused
from tests.surfaces.http.served import ACME

_ORIGIN = "http://testserver.local"
_CALLBACK = f"{_ORIGIN}/auth/oidc/callback"


@pytest.fixture(scope="module")
def provider() -> Iterator[IdentityProvider]:
    with providing(_CALLBACK) as found:
        yield found


@pytest.fixture(scope="module")
def door(provider: IdentityProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    folder = tmp_path_factory.mktemp("door")
    (folder / "client.secret").write_text(CLIENT_SECRET + "\n")
    settings = f"""
[oidc]
issuer = "{provider.issuer}"
client_id = "assay"
client_secret_file = "../client.secret"
redirect_url = "{_CALLBACK}"
scopes = ["openid", "email"]
claim = "email"
principals = {{ "amira@example.org" = "user:amira", "robot@example.org" = "ai:robot", "gone@example.org" = "user:gone",
  "unverified@example.org" = "user:amira" }}
hosts = ["127.0.0.1"]
landing = "/console"
session_seconds = 1800
"""
    with opened_door(folder, settings=settings.replace('",\n  "unv', '", "unv')) as opened:
        opened.add()
        opened.add("user:gone", disabled_at=opened.clock.at)
        opened.add("ai:robot", kind=PrincipalKind.AGENT)
        yield opened


@pytest.fixture
def browser(door: Door) -> TestClient[Litestar]:
    door.browser.cookies.clear()
    return door.browser


def _begin(browser: TestClient[Litestar]) -> str:
    answer = browser.get("/auth/oidc/login", follow_redirects=False)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def _return(browser: TestClient[Litestar], url: str) -> httpx.Response:
    return browser.get(url, follow_redirects=False)


def test_a_person_comes_back_from_the_provider_with_a_session(
    door: Door, provider: IdentityProvider, browser: TestClient[Litestar]
) -> None:
    """State, nonce and challenge are sent along; the session is like any other, and the ledger says who vouched."""
    url = _begin(browser)
    asked = parse_qs(urlsplit(url).query)
    assert asked["response_type"] == ["code"]
    assert asked["code_challenge_method"] == ["S256"]
    assert {"state", "nonce", "code_challenge"} <= asked.keys()
    answer = _return(browser, provider.log_in(url, "amira", back_at=_CALLBACK))
    assert (answer.status_code, answer.headers["location"]) == (303, "/console")
    cookies = answer.headers.get_list("set-cookie")
    assert any(one.startswith("assay_session=st_") and "HttpOnly" in one and "Max-Age=1800" in one for one in cookies)
    assert any(one.startswith(('assay_oidc=""', "assay_oidc=;")) for one in cookies)
    who = browser.get("/whoami").json()
    assert (who["id"], who["via"]) == (AMIRA, "session")
    rows = door.tools.database.read(lambda unit: list(unit.ledger.entries(ACME)))
    body = json.loads([row for row in rows if row.kind == EntryKind.CREDENTIAL_ISSUED][-1].text)["body"]
    assert (body["principal_id"], body["proved_by"]) == (AMIRA, f"oidc {provider.issuer}")
    csrf = browser.get("/auth/session").json()["csrf_token"]
    assert browser.post("/auth/logout", headers={"x-csrf-token": csrf}).status_code == 200


def test_a_callback_counts_only_in_the_browser_that_began_it(
    door: Door, provider: IdentityProvider, browser: TestClient[Litestar]
) -> None:
    """Somebody else's code cannot log this browser in, nor ours another one; and the provider takes a code once."""
    url = provider.log_in(_begin(browser), "amira", back_at=_CALLBACK)
    with door.elsewhere() as other:
        refused(_return(other, url), 401, "identity.id_token")
        _begin(other)
        refused(_return(other, url), 401, "identity.id_token")
    binding = browser.cookies["assay_oidc"]
    assert _return(browser, url).status_code == 303
    refused(_return(browser, url), 401, "identity.id_token")
    browser.cookies.set("assay_oidc", binding)
    refused(_return(browser, url), 401, "identity.id_token")


@pytest.mark.parametrize("account", ["stranger", "robot", "gone", "unverified"])
def test_whoever_is_no_active_person_of_the_tenant_is_refused(
    provider: IdentityProvider, browser: TestClient[Litestar], account: str
) -> None:
    """Nobody is made on the way: not an unknown one, a machine, a disabled one, or an address nobody verified."""
    answer = _return(browser, provider.log_in(_begin(browser), account, back_at=_CALLBACK))
    refused(answer, 401, "identity.not_signed_in")
    assert "assay_session" not in browser.cookies


@pytest.mark.parametrize(
    "change",
    [{"state": "1.x"}, {"state": ""}, {"code": ""}, {"iss": "https://other.example"}],
    ids=["another state", "no state", "no code", "another provider"],
)
def test_an_answer_that_is_not_to_our_question_is_refused(
    provider: IdentityProvider, browser: TestClient[Litestar], change: dict[str, str]
) -> None:
    url = provider.log_in(_begin(browser), "amira", back_at=_CALLBACK)
    query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()} | change
    refused(_return(browser, str(httpx.URL(_CALLBACK, params=query))), 401, "identity.id_token")


class _Promising:
    """A provider whose document promises `iss`; no code may reach it without one."""

    def authorization_endpoint(self) -> str:
        return "https://id.example/authorize"

    def promises_issuer(self) -> bool:
        return True

    def redeem(self, code: str, *, verifier: str, redirect_url: str) -> dict[str, object]:
        pytest.fail(f"a code was redeemed: {code}, {verifier}, {redirect_url}")


def test_an_answer_without_the_issuer_that_was_promised_is_refused(door: Door) -> None:
    """RFC 9207: leaving `iss` out would hide which provider answered."""
    tools = replace(door.tools, oidc=replace(get_oidc(door.tools), provider=_Promising()))
    now = door.clock.now()
    url, secrets = begin_oidc(tools, at=now)
    state = parse_qs(urlsplit(url).query)["state"][0]
    with pytest.raises(IdTokenError, match="expected `iss`"):
        finish_oidc(tools, binding=secrets.binding, state=state, code="c", issuer=None, at=now)


def test_a_login_that_took_too_long_is_refused(
    door: Door, provider: IdentityProvider, browser: TestClient[Litestar]
) -> None:
    url = provider.log_in(_begin(browser), "amira", back_at=_CALLBACK)
    before = door.clock.at
    door.wait(minutes=11)
    refused(_return(browser, url), 401, "identity.id_token")
    door.clock.at = before


def test_what_the_person_refused_at_the_provider_is_refused_here(browser: TestClient[Litestar]) -> None:
    state = parse_qs(urlsplit(_begin(browser)).query)["state"][0]
    refused(_return(browser, f"{_CALLBACK}?error=access_denied&state={state}"), 401, "identity.id_token")


def test_the_secret_of_the_client_may_come_from_the_environment(tmp_path: Path) -> None:
    """It wins over the file; a file that is named and not there is a refusal, since a public client would be less."""
    from assay.config import parse_config
    from assay.kernel.errors import Error
    from assay.wiring._oidc import oidc_settings

    config = parse_config(
        '[node]\norigin = "o"\nfounder = "sha256:' + "0" * 64 + '"\n[oidc]\nissuer = "https://id.example"\n'
        'client_id = "a"\nredirect_url = "https://a.example/auth/oidc/callback"\nprefix = "user"\n'
        'client_secret_file = "missing"\n',
        {},
    )
    found = oidc_settings(tmp_path, config, {"ASSAY_OIDC_CLIENT_SECRET": "given"})
    assert found is not None
    assert "given" not in repr(found)
    with pytest.raises(Error) as caught:
        oidc_settings(tmp_path, config, {})
    assert caught.value.code == "config.client_secret"


def test_over_https_no_other_host_can_lead_a_browser_into_its_own_login(
    provider: IdentityProvider, tmp_path: Path
) -> None:
    """The cookie that binds a login is one that only this host can set, as that of the session is."""
    settings = f"""public_url = "https://assay.example"
[oidc]
issuer = "{provider.issuer}"
client_id = "assay"
redirect_url = "https://assay.example/auth/oidc/callback"
principals = {{ "amira" = "user:amira" }}
hosts = ["127.0.0.1"]
"""
    with opened_door(tmp_path, settings=settings) as door:
        answer = door.browser.get("/auth/oidc/login", follow_redirects=False)
    [cookie] = answer.headers.get_list("set-cookie")
    assert cookie.startswith("__Host-assay_oidc=")
    assert {"Path=/", "Secure", "HttpOnly"} <= {part.strip() for part in cookie.split(";")}


def test_a_provider_that_is_slow_keeps_no_password_waiting(door: Door) -> None:
    """Passwords are how people come in while it is away."""
    desk, slow = door.browser.app.state.desk, threading.Event()

    async def come() -> str:
        visits = [asyncio.ensure_future(desk.admit_by_provider(slow.wait)) for _ in range(desk.visitors.count)]
        await asyncio.sleep(0)
        admitted: str = await asyncio.wait_for(desk.admit(lambda: "in"), 30)
        slow.set()
        await asyncio.gather(*visits)
        return admitted

    assert asyncio.run(come()) == "in"
