"""Secrets stay secret: a served node is used in every way that involves one, and then everything it wrote is read."""

import json
from pathlib import Path
from zipfile import ZipFile

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.identity.browser import csrf_token
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId
from assay.surfaces.signing import SignedRequests
from assay.wiring import open_node
from tests.acting import add_principal, register_signing_key
from tests.surfaces.http.served import ACME, ADMIN, make_node, run_cli, serving

_PASSWORD = "an unusual password: quokka"
_WRONG = "a wrong password: numbat"
_CLIENT_SECRET = "a client's secret: bilby"
_OIDC = """
[oidc]
issuer = "http://127.0.0.1:9"
client_id = "assay"
client_secret_file = "client.secret"
redirect_url = "http://127.0.0.1:1/auth/oidc/callback"
prefix = "user"
hosts = ["127.0.0.1"]
"""


class _Used:
    """What was secret, and every text that the node gave of itself."""

    def __init__(self) -> None:
        self.secrets: set[str] = set()
        self.answers: list[str] = []
        self.written: dict[str, str] = {}


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> _Used:
    folder = tmp_path_factory.mktemp("secrets")
    home, used = folder / "node", _Used()
    key = make_node(home, settings=_OIDC)
    (home / "client.secret").write_text(_CLIENT_SECRET)
    signer = SignedRequests(Ed25519PrivateKey.generate())
    _people(home, signer)
    used.secrets |= {_PASSWORD, _WRONG, _CLIENT_SECRET, key, key.partition(".")[2]}
    with serving("serve", "--home", str(home), "--port", "0", folder=folder) as served:
        with httpx.Client(base_url=served.url) as client:
            _use(client, used, key, signer)
        assert served.stop() == 0
        used.written["log"] = served.log.read_text()
    for name, command in _EXPORTS.items():
        done = run_cli(*command, "--home", str(home), "--json")
        assert done.returncode in {0, 1}, done.stderr
        used.written[name] = done.stdout + done.stderr
    _back_up(home, folder, used)
    return used


_EXPORTS = {
    "principals": ("principal", "list"),
    "principal": ("principal", "show", "user:amira"),
    "entries": ("ledger", "export", "--output", "-"),
    "doctor": ("doctor",),
}


def _people(home: Path, signer: SignedRequests) -> None:
    with open_node(home) as (tools, _):
        at = tools.clock.now()
        granted = PrincipalChange(roles=("operator",))
        add_principal(
            tools,
            ACME,
            PrincipalId("user:amira"),
            kind=PrincipalKind.PERSON,
            name="Amira",
            granted=granted,
            password=_PASSWORD,
            by=ADMIN,
            at=at,
        )
        register_signing_key(tools, ACME, PrincipalId("svc:writer"), signer.public_key, by=ADMIN, at=at)


def _use(client: httpx.Client, used: _Used, key: str, signer: SignedRequests) -> None:
    """Right and wrong, in headers, bodies, queries and paths; also where a secret does not belong."""

    def keep(answer: httpx.Response) -> httpx.Response:
        used.answers.append(answer.text + str(dict(answer.headers)))
        return answer

    keep(client.post("/auth/login", json={"principal_id": "user:amira", "password": _WRONG}))
    keep(client.post("/auth/login", json={"principal_id": _WRONG, "password": _PASSWORD}))
    keep(client.post("/auth/login", json={"principal_id": "user:amira", "password": [_PASSWORD]}))
    keep(client.post("/auth/login", content=f'{{"password": "{_PASSWORD}"'.encode(), headers=_JSON))
    opened = client.post("/auth/login", json={"principal_id": "user:amira", "password": _PASSWORD, "to": "token"})
    token = opened.json()["session_token"]
    used.secrets |= {token, token.partition(".")[2], csrf_token(token)}
    for credential in (key, token, key[:-1] + "A", token[:-1] + "A"):
        keep(client.get("/whoami", headers={"authorization": f"Bearer {credential}"}))
        keep(client.get("/whoami", headers={"authorization": f"Basic {credential}"}))
        keep(client.post("/api/v1/entries", json={"note": {}}, headers={"x-api-key": credential}))
        keep(client.get(f"/api/v1/contracts/{credential}", headers={"x-api-key": key}))
    keep(client.get("/api/v1/entries/1/text", headers={"x-api-key": key}))
    keep(client.post("/api/v1/entries", json={"note": {"n": 1}}, auth=signer))
    keep(client.get("/auth/oidc/login"))
    keep(client.get("/auth/oidc/callback", params={"code": "c", "state": "s"}))
    keep(client.get("/metrics", headers={"x-api-key": key}))
    keep(client.post("/auth/logout", headers={"authorization": f"Bearer {token}"}))


_JSON = {"content-type": "application/json"}


def _back_up(home: Path, folder: Path, used: _Used) -> None:
    """A backup holds what proves people, and nothing that would let anybody in."""
    target = folder / "backup.zip"
    done = run_cli("backup", str(target), "--home", str(home), "--json")
    assert done.returncode == 0, done.stderr
    with ZipFile(target) as archive:
        used.written["backup"] = "\n".join(archive.read(name).decode("latin-1") for name in archive.namelist())


def test_everything_was_really_used(used: _Used) -> None:
    """Otherwise there would be nothing to find."""
    assert len(used.secrets) >= 8
    assert any('"via":"session"' in answer for answer in used.answers)
    assert any('"code":"identity.provider"' in answer for answer in used.answers)
    assert "fault" in used.written["log"]
    assert json.loads(used.written["principal"])["has_password"]
    assert '"proved_by":"password"' in used.written["entries"]
    assert "$argon2id$" in used.written["backup"]


@pytest.mark.parametrize("where", ["log", "principals", "principal", "entries", "doctor", "backup"])
def test_no_secret_is_written_anywhere(used: _Used, where: str) -> None:
    """Not the server's log, with its tracebacks; not what is listed, exported or backed up."""
    assert used.written[where]
    found = [secret[:6] for secret in used.secrets if secret in used.written[where]]
    assert found == []


def test_no_answer_repeats_a_secret(used: _Used) -> None:
    """Not in words of refusal, and not in headers; a name in a path is the caller's own and comes back as such."""
    refusals = [answer for answer in used.answers if "has no contract" not in answer]
    found = [(secret[:6], answer[:200]) for secret in used.secrets for answer in refusals if secret in answer]
    assert found == []
