"""The HTTP interface: who may ask what, and how every refusal looks."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
from litestar import Litestar
from litestar.testing import TestClient

from assay.adapters.sqlite.database import SqliteDatabase
from assay.config import Config
from assay.config.oidc import OidcConfig
from assay.flows.identity.authenticate import authenticate
from assay.flows.ledger.check_proof import check_proof
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.ledger.witness_standing import GuardedDatabase
from assay.flows.tools import Tools
from assay.identity.credential import parse_api_key
from assay.kernel.bundle import parse_bundle
from assay.kernel.check_bundle import check_bundle
from assay.kernel.checkpoint import parse_checkpoint
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import parse_anchors
from assay.kernel.ledger import EntryKind, draft_entry
from assay.kernel.merkle import leaf_hash
from assay.kernel.tile import root_hash
from assay.surfaces.http.app import create_app
from assay.wiring import open_node
from tests.acting import disable_principal, revoke_api_key
from tests.surfaces.http.served import ACME, ADMIN, issue, make_node

_OTHER = TenantId("other")


class _House:
    """An open node, its application, and a client."""

    def __init__(self, tools: Tools, config: Config, writer: str, client: TestClient[Litestar]) -> None:
        self.tools = tools
        self.config = config
        self.writer = {"authorization": f"Bearer {writer}"}
        self.client = client

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.client.get(path, headers=headers or self.writer)

    def post(self, body: Any, **headers: str) -> httpx.Response:  # noqa: ANN401  whatever JSON can hold
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.post(
            "/api/v1/entries", content=content, headers={"content-type": "application/json", **(headers or self.writer)}
        )


@contextmanager
def _opened(home: Path) -> Iterator[_House]:
    writer = make_node(home)
    with open_node(home) as (tools, config), TestClient(create_app(tools, config)) as client:
        yield _House(tools, config, writer, client)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[_House]:
    with _opened(tmp_path / "node") as opened:
        yield opened


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_House]:
    """For what is asked many times over and spoils nothing: making an interface takes longer than most questions."""
    with _opened(tmp_path_factory.mktemp("shared") / "node") as opened:
        yield opened


def _problem(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The response is a problem (RFC 9457) of this status and code."""
    assert response.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    assert (response.status_code, problem["status"], problem["code"]) == (status, status, code)
    assert set(problem) == {"type", "title", "status", "detail", "code", "errors"}
    return problem


def test_a_note_is_on_disk_when_it_is_answered(house: _House) -> None:
    """The receipt names place and hash; the entry says what was noted and who recorded it."""
    answer = house.post({"note": {"temperature": 7}})
    receipt = answer.json()
    assert (answer.status_code, receipt["tenant_id"]) == (201, "acme")
    assert answer.headers["location"] == f"/api/v1/entries/{receipt['sequence_number']}"
    row = house.tools.database.read(lambda unit: unit.ledger.find_entry(ACME, receipt["sequence_number"]))
    assert row is not None
    assert row.entry_hash == receipt["entry_hash"]
    assert json.loads(row.text)["body"] == {"note": {"temperature": 7}, "recorded_by": "svc:writer"}


def test_an_entry_is_served_byte_for_byte_as_it_was_hashed(house: _House) -> None:
    """SHA-256 of the body is the entry hash, which is also the ETag; a private cache may keep it."""
    receipt = house.post({"note": {"ä": 1.5}}).json()
    answer = house.get(f"/api/v1/entries/{receipt['sequence_number']}/text")
    assert "sha256:" + sha256(answer.content).hexdigest() == receipt["entry_hash"]
    assert answer.headers["etag"] == f'"{receipt["entry_hash"]}"'
    assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"


def test_personal_values_are_logged_as_commitments(house: _House) -> None:
    """Pointers lead into the note; the value is not in the entry, and lies beside it for erasure."""
    receipt = house.post({"note": {"email": "amira@example.org", "n": 1}, "personal": ["/email"]}).json()
    number = receipt["sequence_number"]
    entry = house.get(f"/api/v1/entries/{number}/text")
    assert "amira" not in entry.text
    assert list(entry.json()["body"]["note"]["email"]) == ["$commitment"]
    (disclosure,) = house.tools.database.read(lambda unit: unit.ledger.disclosures(ACME, number))
    assert (disclosure.pointer, bytes(disclosure.value)) == ("/note/email", b'"amira@example.org"')


def test_a_proof_convinces_an_offline_verifier(house: _House) -> None:
    """409 while no checkpoint covers the entry, then a bundle that holds for whoever trusts the ledger's key."""
    number = house.post({"note": {"n": 1}}).json()["sequence_number"]
    _problem(house.get(f"/api/v1/proofs/{number}"), 409, "proof.no_checkpoint")
    sign_checkpoint(house.tools, ACME, at=house.tools.clock.now())
    bundle = parse_bundle(house.get(f"/api/v1/proofs/{number}").content)
    public_key = house.tools.ledger_signer.public_key
    assert public_key is not None
    assert check_bundle(bundle, parse_anchors([public_key.hex()])).holds
    assert bundle.disclosures == ()


@pytest.mark.parametrize(
    ("form", "media_type"),
    [
        ("dsse", "application/json"),
        ("scitt", "application/scitt-statement+cose"),
        ("receipt", "application/scitt-receipt+cose"),
    ],
)
def test_a_proof_comes_in_the_form_that_was_asked_for(form: str, media_type: str, shared: _House) -> None:
    number = shared.post({"note": {"n": 1}}).json()["sequence_number"]
    sign_checkpoint(shared.tools, ACME, at=shared.tools.clock.now())
    answer = shared.get(f"/api/v1/proofs/{number}?format={form}")
    assert (answer.status_code, answer.headers["content-type"]) == (200, media_type)
    text = shared.get(f"/api/v1/entries/{number}/text").content
    assert check_proof(answer.content, parse_anchors([shared.tools.founder]), entry=text).holds
    _problem(shared.get(f"/api/v1/proofs/{number}?format=other"), 422, "http.fields")


def test_checkpoint_and_tiles_are_a_tlog_tiles_log(house: _House) -> None:
    """Whoever reads the checkpoint and the tiles computes the signed root; full tiles may be cached for ever."""
    _problem(house.get("/log/checkpoint"), 404, "flow.not_found")
    pending = [
        house.tools.database.submit(draft_entry(ACME, EntryKind.NOTE, {"n": n}, at=house.tools.clock.now()))
        for n in range(300)
    ]
    for write in pending:
        write.result()
    sign_checkpoint(house.tools, ACME, at=house.tools.clock.now())
    answer = house.get("/log/checkpoint")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    checkpoint = parse_checkpoint(answer.content).checkpoint
    assert checkpoint.origin == "example.org/assay/acme"

    def read(level: int, index: int, width: int) -> bytes:
        suffix = "" if width == 256 else f".p/{width}"
        tile = house.get(f"/log/tile/{level}/{index:03d}{suffix}")
        assert tile.status_code == 200
        assert ("immutable" in tile.headers["cache-control"]) == (width == 256)
        assert tile.headers["content-type"] == "application/octet-stream"
        return tile.content

    assert root_hash(checkpoint.size, read) == checkpoint.root
    entry = house.get("/api/v1/entries/256/text").content
    assert read(0, 0, 256)[-32:] == leaf_hash(entry)


@pytest.mark.parametrize(
    "path",
    ["00/000", "64/000", "-1/000", "a/000", "0/0", "0/x000/000", "0/001.p/0", "0/001.p/256", "0/001.p/07", "0/x1/001"],
)
def test_a_tile_has_one_path_only(shared: _House, path: str) -> None:
    _problem(shared.get(f"/log/tile/{path}"), 422, "http.tile_path")


@pytest.mark.parametrize(
    "path",
    ["0/000", "0/x001/234", "5/000.p/1", "0/" + "x999/" * 5 + "999", "0/x009/" + "x000/" * 5 + "000.p/5"],
)
def test_a_tile_that_does_not_exist_yet_is_not_found(shared: _House, path: str) -> None:
    _problem(shared.get(f"/log/tile/{path}"), 404, "flow.not_found")


def test_a_tile_that_must_be_there_and_is_not_is_our_fault(house: _House, tmp_path: Path) -> None:
    """404 would say that the tree has not grown so far; a damaged tree is a fault, and loud."""
    last = house.post({"note": {"n": 1}}).json()["sequence_number"]
    with closing(sqlite3.connect(tmp_path / "node" / "assay.db")) as connection, connection:
        connection.execute("DROP TRIGGER ledger_no_update")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("UPDATE ledger SET leaf_hash = 'gone' WHERE sequence_number = 1 AND tenant_id = 'acme'")
    _problem(house.get(f"/log/tile/0/000.p/{last}"), 500, "ledger.tile_missing")


@pytest.mark.parametrize("number", ["0", "99", "01", "-1", "abc", "9" * 30, "1e3"])
def test_an_entry_that_does_not_exist_is_not_found(shared: _House, number: str) -> None:
    _problem(shared.get(f"/api/v1/entries/{number}/text"), 404, "flow.not_found")
    _problem(shared.get(f"/api/v1/proofs/{number}"), 404, "flow.not_found")


def test_the_credential_may_come_in_either_header(house: _House) -> None:
    text = house.writer["authorization"].removeprefix("Bearer ")
    for headers in ({"authorization": f"bearer {text}"}, {"x-api-key": text}):
        who = house.get("/whoami", **headers).json()
        assert (who["id"], who["tenant_id"], who["roles"], who["via"]) == (
            "svc:writer",
            "acme",
            ["operator"],
            "api_key",
        )


@pytest.mark.parametrize(
    "headers",
    [
        {"x-nothing": "at all"},
        {"authorization": "Basic dXNlcjpwYXNz"},
        {"authorization": "Bearer "},
        {"authorization": "Bearer ak_aaaaaaaaaaaa." + "A" * 43},
        {"x-api-key": "nonsense"},
        {"x-api-key": "x" * 5000},
        {"x-api-key": "st_aaaaaaaaaaaaaaaa." + "A" * 43},
    ],
)
@pytest.mark.parametrize(
    "path", ["/whoami", "/log/checkpoint", "/api/v1/entries/1/text", "/api/v1/proofs/1", "/log/tile/0/000", "/metrics"]
)
def test_without_a_valid_credential_every_closed_route_says_the_same(
    shared: _House, path: str, headers: dict[str, str]
) -> None:
    """401 with the challenge, and nothing about what exists."""
    response = shared.get(path, **headers)
    _problem(response, 401, "identity.not_signed_in")
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert response.headers["cache-control"] == "no-store"


def test_two_credentials_at_once_are_refused(house: _House) -> None:
    text = house.writer["authorization"].removeprefix("Bearer ")
    _problem(
        house.get("/whoami", **{"authorization": f"Bearer {text}", "x-api-key": text}), 401, "identity.not_signed_in"
    )


def test_a_revoked_key_and_a_disabled_principal_are_out_at_once(house: _House) -> None:
    """The very next request is refused; nothing is cached."""
    tools = house.tools
    revoked, disabled = issue(tools, "svc:one"), issue(tools, "svc:two")
    assert house.get("/whoami", **{"x-api-key": revoked}).status_code == 200
    prefix, _ = parse_api_key(revoked)
    revoke_api_key(tools, ACME, prefix, by=ADMIN, at=tools.clock.now(), reason="lost")
    _problem(house.get("/whoami", **{"x-api-key": revoked}), 401, "identity.not_signed_in")
    assert house.get("/whoami", **{"x-api-key": disabled}).status_code == 200
    disable_principal(tools, ACME, PrincipalId("svc:two"), by=ADMIN, at=tools.clock.now())
    _problem(house.get("/whoami", **{"x-api-key": disabled}), 401, "identity.not_signed_in")


@pytest.mark.parametrize(
    ("roles", "allowed"),
    [
        ((), {"/whoami", "/log/tile/0/000.p/1"}),
        (("reviewer",), {"/whoami", "/log/tile/0/000.p/1"}),
        (("auditor",), {"/whoami", "/log/tile/0/000.p/1", "/api/v1/entries/1/text", "/metrics"}),
        (("operator",), {"/whoami", "/log/tile/0/000.p/1", "/api/v1/entries/1/text", "/metrics", "POST"}),
    ],
)
def test_a_role_opens_its_own_doors_and_no_other(house: _House, roles: tuple[str, ...], allowed: set[str]) -> None:
    """Auditors read and write nothing; whoever has no role sees hashes only."""
    key = {"x-api-key": issue(house.tools, "svc:some", roles=roles)}
    for path in ("/whoami", "/log/tile/0/000.p/1", "/api/v1/entries/1/text", "/metrics"):
        response = house.get(path, **key)
        if path in allowed:
            assert response.status_code == 200
        else:
            _problem(response, 403, "identity.role")
    posted = house.post({"note": {}}, **key)
    if "POST" in allowed:
        assert posted.status_code == 201
    else:
        _problem(posted, 403, "identity.role")


def test_a_key_with_a_narrow_scope_does_no_more_than_that(house: _House) -> None:
    """The principal is an operator, and this key of theirs may only read."""
    key = {"x-api-key": issue(house.tools, "svc:narrow", roles=("operator",), scopes=("log:read",))}
    assert house.get("/api/v1/entries/1/text", **key).status_code == 200
    _problem(house.post({"note": {}}, **key), 403, "identity.scope")
    _problem(house.get("/metrics", **key), 403, "identity.scope")
    assert house.get("/whoami", **key).json()["scopes"] == ["log:read"]


def test_a_principal_sees_its_own_tenant_only(house: _House) -> None:
    """The same path shows each tenant its own ledger; the node's figures are for the node's own tenant."""
    key = {"x-api-key": issue(house.tools, "svc:writer", roles=("operator", "auditor"), tenant=_OTHER)}
    receipt = house.post({"note": {"whose": "other"}}, **key).json()
    assert receipt["tenant_id"] == "other"
    number = receipt["sequence_number"]
    assert house.get(f"/api/v1/entries/{number}/text", **key).json()["body"]["note"] == {"whose": "other"}
    assert house.get(f"/api/v1/entries/{number}/text").json()["tenant_id"] == "acme"
    sign_checkpoint(house.tools, ACME, at=house.tools.clock.now())
    _problem(house.get("/log/checkpoint", **key), 404, "flow.not_found")
    sign_checkpoint(house.tools, _OTHER, at=house.tools.clock.now())
    assert house.get("/log/checkpoint", **key).text.startswith("example.org/assay/other\n")
    _problem(house.get("/metrics", **key), 404, "identity.other_tenant")


def test_every_wrong_field_is_named_at_once(house: _House) -> None:
    problem = _problem(house.post({"nte": {}, "personal": ["/a", 3]}), 422, "http.fields")
    assert [error["field"] for error in problem["errors"]] == ["note", "personal.1", "nte"]
    assert [error["pointer"] for error in problem["errors"]] == ["/note", "/personal/1", "/nte"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 422, "json.malformed"),
        (b"{", 422, "json.malformed"),
        (b"[]", 422, "http.fields"),
        (b'{"note": {}, "note": {}}', 422, "json.duplicate_key"),
        (b'{"note": {"a": 12345678901234567890}}', 422, "json.number_range"),
        (b'{"note": {"a": 0.10000000000000000001}}', 422, "json.inexact_number"),
        (b'{"note": {"a": NaN}}', 422, "json.non_finite"),
        (b'{"note": ' + b"[" * 100, 422, "json.depth"),
        (b"\xff", 422, "json.encoding"),
        (b'{"note": {"$commitment": "x"}}', 422, "commitment.reserved"),
        (b'{"note": {}, "personal": ["/missing"]}', 422, "commitment.pointer"),
        (b" " * (1024 * 1024 + 1), 413, "http.body_size"),
    ],
)
def test_a_body_that_cannot_be_read_one_way_is_refused(shared: _House, body: bytes, status: int, code: str) -> None:
    """And nothing is appended."""
    before = shared.tools.database.read(lambda unit: unit.ledger.head(ACME))
    _problem(shared.post(body), status, code)
    assert shared.tools.database.read(lambda unit: unit.ledger.head(ACME)) == before


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_only_json_is_taken(shared: _House, media_type: str) -> None:
    response = shared.post(b"{}", **{**shared.writer, "content-type": media_type})
    _problem(response, 415, "http.media_type")


def test_unknown_routes_and_methods_are_problems_too(house: _House) -> None:
    for path in ("/nothing", "/log", "/api/v1/entries/1/more", "/openapi", "/schema", "/docs"):
        _problem(house.get(path), 404, "http.no_route")
    response = house.client.delete("/api/v1/entries", headers=house.writer)
    _problem(response, 405, "http.method")
    assert "POST" in response.headers["allow"]


def test_the_bare_address_leads_whoever_opens_it_to_the_console(house: _House) -> None:
    """A person types an address without a path; a login by way of a provider ends on a page too."""
    response = house.client.get("/", follow_redirects=False)
    assert (response.status_code, response.headers["location"]) == (307, "/console/")
    assert house.client.get("/", follow_redirects=True).url.path.startswith("/console/login")
    assert (
        OidcConfig(issuer="https://id.example", client_id="a", redirect_url="https://a.example").landing == "/console/"
    )


def test_options_say_which_methods_a_route_has(house: _House) -> None:
    response = house.client.options("/api/v1/entries")
    assert (response.status_code, "POST" in response.headers["allow"], response.content) == (204, True, b"")


def test_health_is_open_and_says_nothing_else(house: _House) -> None:
    assert house.client.get("/healthz").json() == {"status": "ok"}
    assert house.client.get("/readyz").json() == {"status": "ok"}


def test_a_node_whose_database_is_gone_is_alive_and_not_ready(house: _House) -> None:
    """`/readyz` names each check that fails by its code; a write is refused and says to come back."""
    sign_checkpoint(house.tools, ACME, at=house.tools.clock.now())
    house.tools.database.close()
    assert house.client.get("/healthz").status_code == 200
    problem = _problem(house.client.get("/readyz"), 503, "http.not_ready")
    assert [(error["field"], error["message"]) for error in problem["errors"]] == [
        ("database", "store.closed"),
        ("writer", "store.closed"),
        ("resume", "store.closed"),
    ]
    response = house.post({"note": {}})
    assert _problem(response, 503, "store.closed")["detail"] == "the node could not do this; its log says why"
    assert response.headers["retry-after"] == "1"


def test_a_writer_that_stopped_makes_the_node_not_ready(house: _House) -> None:
    """After a failed commit reading goes on, writing is refused, and `/readyz` says which of the two is broken."""
    guarded = house.tools.database
    assert isinstance(guarded, GuardedDatabase)
    database = guarded.inner
    assert isinstance(database, SqliteDatabase)
    assert database._commits is not None
    database._commits._stopped_by = OSError("no space left on device")
    problem = _problem(house.client.get("/readyz"), 503, "http.not_ready")
    assert problem["errors"] == [{"field": "writer", "message": "store.writer_stopped"}]
    assert "no space" not in _problem(house.post({"note": {}}), 503, "store.writer_stopped")["detail"]
    assert house.get("/api/v1/entries/1/text").status_code == 200


def test_a_node_that_was_rolled_back_under_us_is_not_ready(house: _House) -> None:
    """A checkpoint outside that the database does not continue is found by `/readyz`."""
    sign_checkpoint(house.tools, ACME, at=house.tools.clock.now())
    note = house.tools.checkpoints.load(ACME)
    assert note is not None
    house.tools.checkpoints.store(_OTHER, note)
    problem = _problem(house.client.get("/readyz"), 503, "http.not_ready")
    assert problem["errors"] == [{"field": "resume", "message": "checkpoint.origin"}]


def test_metrics_count_what_happened(house: _House) -> None:
    house.post({"note": {}})
    house.get("/api/v1/entries/99/text")
    sign_checkpoint(house.tools, ACME, at=house.tools.clock.now())
    text = house.get("/metrics").text
    size = house.tools.database.read(lambda unit: unit.ledger.head(ACME)).sequence_number
    assert 'assay_appends_total{tenant="acme"} 1.0' in text
    assert 'assay_problems_total{code="flow.not_found"} 1.0' in text
    assert f'assay_checkpoint_size{{tenant="acme"}} {size}.0' in text
    assert f'assay_ledger_entries{{tenant="acme"}} {size}.0' in text
    assert 'assay_http_request_seconds_count{method="POST",route="/api/v1/entries",status="201"} 1.0' in text
    for name in ("assay_commits_total", "assay_writes_total", "assay_queue_length", "assay_checkpoint_age_seconds"):
        assert name in text


def test_metrics_are_open_only_when_configured(tmp_path: Path) -> None:
    make_node(tmp_path / "node", settings="open_metrics = true\n")
    with open_node(tmp_path / "node") as (tools, config), TestClient(create_app(tools, config)) as client:
        assert client.get("/metrics").status_code == 200


@pytest.mark.parametrize(("settings", "status"), [("", 401), ("open_sovereignty = true\n", 200)])
def test_the_sovereignty_document_is_open_only_when_configured(tmp_path: Path, settings: str, status: int) -> None:
    make_node(tmp_path / "node", settings=settings)
    with open_node(tmp_path / "node") as (tools, config), TestClient(create_app(tools, config)) as client:
        assert client.get("/api/sovereignty").status_code == status


def test_the_body_limit_is_the_operators(tmp_path: Path) -> None:
    writer = make_node(tmp_path / "node", settings="max_body_bytes = 100\n")
    with open_node(tmp_path / "node") as (tools, config), TestClient(create_app(tools, config)) as client:
        house = _House(tools, config, writer, client)
        assert house.post({"note": {}}).status_code == 201
        _problem(house.post({"note": {"a": "x" * 100}}), 413, "http.body_size")


def test_a_session_opens_the_same_doors(house: _House) -> None:
    """A person's session token is a credential like an API key; `/whoami` says which it was."""
    from dataclasses import replace

    from assay.identity.principal import PrincipalKind
    from tests.acting import add_principal, log_in
    from tests.flows._people import PASSWORD, quick_passwords

    tools, person = replace(house.tools, passwords=quick_passwords()), PrincipalId("user:amira")
    now = tools.clock.now()
    add_principal(tools, ACME, person, kind=PrincipalKind.PERSON, name="Amira", password=PASSWORD, by=ADMIN, at=now)
    token, _ = log_in(tools, ACME, person, PASSWORD, at=Instant(tools.clock.now() + timedelta(microseconds=1)))
    assert authenticate(tools, token, at=Instant(tools.clock.now() + timedelta(seconds=1))).principal.id == person
    who = house.get("/whoami", authorization=f"Bearer {token}").json()
    assert (who["id"], who["via"]) == ("user:amira", "session")


def test_a_fault_of_ours_shows_its_code_and_hides_its_words(house: _House, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes wrong inside may name files, hosts and secrets; the caller gets a code, the log the rest."""

    def fail(*_arguments: object, **_named: object) -> None:
        message = "disk /dev/secret failed"
        raise ZeroDivisionError(message)

    monkeypatch.setattr("assay.flows.ledger.proofs.prove_with_receipt", fail)
    sign_checkpoint(house.tools, ACME, at=house.tools.clock.now())
    house.client.app.debug = False
    problem = _problem(house.get("/api/v1/proofs/1"), 500, "http.internal")
    assert "secret" not in json.dumps(problem)
