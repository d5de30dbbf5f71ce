"""Stored credentials carry a MAC under a key outside the database: a row that somebody exchanged opens nothing."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from assay.adapters.keyfile import KeyFileMissingError
from assay.flows.identity.authenticate import authenticate
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.kernel.digest import digest_of
from assay.kernel.ids import PrincipalId
from assay.ports.damage import DamagedRecordError
from assay.wiring import CONFIG_FILE, open_node
from tests.acting import issue_api_key, log_in
from tests.flows._node import TENANT, damage, new_node
from tests.flows._people import ADMIN, Desk, quick_passwords

AMIRA = PrincipalId("user:amira")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return new_node(tmp_path)


def _desk(home: Path) -> "Iterator[Desk]":
    with open_node(home) as (tools, _):
        yield Desk(tools=replace(tools, passwords=quick_passwords()), start=tools.clock.now())


def _filled(home: Path) -> tuple[str, str]:
    """An API key and a session of one person."""
    for desk in _desk(home):
        desk.add()
        key, _ = issue_api_key(desk.tools, TENANT, AMIRA, by=ADMIN, at=desk.start)
        return key, desk.session()
    raise AssertionError


def _records(home: Path) -> dict[str, str]:

    with closing(sqlite3.connect(home / "assay.db")) as connection:
        return dict(connection.execute("SELECT credential_id, record FROM credential"))


def _exchange(home: Path, credential_id: str, record: str) -> None:
    damage(home, f"UPDATE credential SET record = '{record}' WHERE credential_id = '{credential_id}'")


def test_every_credential_has_a_mac_and_none_of_them_is_shown(home: Path) -> None:
    key, token = _filled(home)
    assert all("mac" in json.loads(record) for record in _records(home).values())
    for desk in _desk(home):
        for credential in (key, token):
            assert authenticate(desk.tools, credential, at=desk.start).principal.id == AMIRA
        assert audit_ledger(desk.tools, TENANT, full=True).holds


@pytest.mark.parametrize("kind", ["api_key", "session", "password"])
@pytest.mark.parametrize("how", ["another hash", "no mac", "the row of another"])
def test_an_exchanged_row_is_refused_and_found(home: Path, kind: str, how: str) -> None:
    """Who can write to the database puts the hash of a secret of their own there, and gains nothing."""
    key, token = _filled(home)
    prefixes = {"api_key": "ak_", "session": "st_", "password": "password/"}
    found = _records(home)
    name = next(one for one in found if one.startswith(prefixes[kind]))
    record = json.loads(found[name])
    if how == "the row of another":
        other = next(one for one in found if not one.startswith(prefixes[kind]))
        record["mac"] = json.loads(found[other])["mac"]
    else:
        if "encoded" in record:
            record["encoded"] = quick_passwords().encode("a secret of my own", salt=b"0123456789abcdef")
        else:
            record["secret_hash"] = digest_of(b"A" * 43)
        if how == "no mac":
            del record["mac"]
    _exchange(home, name, json.dumps(record, separators=(",", ":")))
    for desk in _desk(home):
        secret = "A" * 43 if how != "the row of another" else {"api_key": key, "session": token}.get(kind, "")[-43:]
        with pytest.raises(DamagedRecordError, match="`credential`"):
            _enter(desk, kind, f"{name}.{secret}")
        report = audit_ledger(desk.tools, TENANT, full=True)
        assert not report.holds


def _enter(desk: Desk, kind: str, credential: str) -> None:
    at = desk.at(minutes=1)
    if kind == "password":
        log_in(desk.tools, TENANT, AMIRA, "a secret of my own", at=at)
    else:
        authenticate(desk.tools, credential, at=at)


def test_a_node_from_before_gets_a_key_and_its_credentials_go_on(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it had is sealed when it is first opened for writing; from then on a change is found."""
    key = _strip(home, monkeypatch)
    for desk in _desk(home):
        desk.add("user:new")
    assert (home / "keys" / "credentials.key").stat().st_mode & 0o777 == 0o600
    assert not list((home / "keys").glob("*.new*"))
    for desk in _desk(home):
        assert authenticate(desk.tools, key, at=desk.at(minutes=1)).principal.id == AMIRA
    name = key.partition(".")[0]
    record = json.loads(_records(home)[name])
    assert "mac" not in record
    record["secret_hash"] = digest_of(b"A" * 43)
    _exchange(home, name, json.dumps(record, separators=(",", ":")))
    for desk in _desk(home):
        with pytest.raises(DamagedRecordError):
            authenticate(desk.tools, f"{name}.{'A' * 43}", at=desk.at(minutes=1))


def _strip(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make the node what 0.1.0 left: entries that commit to no credential, no key, and records without MACs."""
    with monkeypatch.context() as patch:
        patch.setattr("assay.facts.identity.commitment_of", lambda _record: None)
        key, _ = _filled(home)
    for name, text in _records(home).items():
        record = json.loads(text)
        del record["mac"]
        _exchange(home, name, json.dumps(record, separators=(",", ":")))
    path = home / CONFIG_FILE
    lines = [line for line in path.read_text().splitlines() if not line.startswith("credentials")]
    path.write_text("\n".join(lines) + "\n")
    for left in (home / "keys").glob("credentials*"):
        left.unlink()
    return key


def test_a_lost_key_is_not_made_up(home: Path) -> None:
    """A new one would accept whatever is in the database by then."""
    key, _ = _filled(home)
    (home / "keys" / "credentials.key").unlink()
    with pytest.raises(KeyFileMissingError, match="credentials"), open_node(home):
        pass
    with open_node(home, writable=False) as (tools, _), pytest.raises(KeyFileMissingError, match="credentials"):
        authenticate(tools, key, at=tools.clock.now())


def test_a_folder_without_its_keys_is_read_and_verified(home: Path) -> None:
    """A restored backup whose keys are elsewhere: nothing there signs, and everything else works."""
    _filled(home)
    shutil.rmtree(home / "keys")
    with open_node(home, writable=False) as (tools, _):
        assert audit_ledger(tools, TENANT, full=True, leave_mark=False).holds
        assert tools.database.read(lambda unit: unit.identity.find_principal(TENANT, AMIRA)) is not None
