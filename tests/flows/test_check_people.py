"""An audit compares credentials and names with the ledger, and finds what was written to the database alone."""

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from assay.flows.ledger.audit_ledger import audit_ledger
from assay.identity.principal import PrincipalChange
from assay.kernel.ids import PrincipalId
from tests.acting import (
    amend_principal,
    end_signing_key,
    erase_principal,
    issue_api_key,
    log_out,
    register_signing_key,
    revoke_api_key,
    rotate_api_key,
    set_password,
)
from tests.flows._node import TENANT, damage, opened
from tests.flows._people import ADMIN, Desk, opened_desk
from tests.kernel._seed_signer import SeedSigner

_RITA, _SAM = PrincipalId("user:rita"), PrincipalId("user:sam")


def _live(desk: Desk) -> None:
    """Everything that happens to people: added, changed, erased, let in, shut out."""
    tools, at = desk.tools, desk.at(minutes=1)
    desk.add(_RITA)
    desk.add(_SAM)
    amend_principal(tools, TENANT, _RITA, PrincipalChange(roles=("reviewer",), action_tier=2), by=ADMIN, at=at)
    set_password(tools, TENANT, _SAM, "another horse battery", by=ADMIN, at=at)
    log_out(tools, desk.session(_RITA, minutes=2), at=desk.at(minutes=3))
    desk.session(_RITA, minutes=4)
    for number in (1, 2):
        _, key = issue_api_key(tools, TENANT, _RITA, scopes=("*",), by=ADMIN, at=at)
        if number == 1:
            rotate_api_key(tools, TENANT, key.prefix, overlap=timedelta(hours=1), by=ADMIN, at=at)
            revoke_api_key(tools, TENANT, key.prefix, reason="lost", by=ADMIN, at=at)
    for seed in (1, 2):
        register_signing_key(tools, TENANT, _SAM, SeedSigner(seed).public_key, by=ADMIN, at=at)
    end_signing_key(tools, TENANT, SeedSigner(2).key_id, reason="lost", by=ADMIN, at=at)
    erase_principal(tools, TENANT, _SAM, by=ADMIN, reason="asked for it", at=at)


@pytest.fixture(scope="module")
def peopled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A node whose audit holds, whatever happened to its people."""
    folder = tmp_path_factory.mktemp("people")
    with opened_desk(folder) as desk:
        _live(desk)
        report = audit_ledger(desk.tools, TENANT, full=True)
        assert report.holds, report.message
    return folder / "node"


_KEY = (
    "INSERT INTO credential (tenant_id, credential_id, kind, principal_id, record, sequence_number)"
    " SELECT tenant_id, 'ak_zzzzzzzzzzzz', kind, principal_id,"
    " replace(record, substr(record, instr(record, 'ak_'), 15), 'ak_zzzzzzzzzzzz'), {number}"
    " FROM credential WHERE kind = 'api_key' LIMIT 1"
)
_TIER = (
    "UPDATE ledger SET text = CAST(replace(CAST(text AS TEXT), '\"action_tier\":2', '\"action_tier\":3') AS BLOB)"
    " WHERE kind = 'principal.changed'"
)
_PASSWORD = (
    "DELETE FROM credential WHERE sequence_number ="
    " (SELECT max(sequence_number) FROM credential WHERE kind = 'password')"
)
_CHANGES = {
    "a key that names no entry": (_KEY.format(number=9999), "ledger.row_unrecorded"),
    "a key that names an entry of another kind": (_KEY.format(number=1), "ledger.row_unrecorded"),
    "scopes exchanged": (
        "UPDATE credential SET record = replace(record, '[\"*\"]', '[\"log:read\"]') WHERE kind = 'api_key'",
        "ledger.row_differs",
    ),
    "a password taken away": (_PASSWORD, "ledger.row_missing"),
    "a session taken away": ("DELETE FROM credential WHERE kind = 'session'", "ledger.row_missing"),
    "a signing key of somebody else": (
        "UPDATE signing_key SET principal_id = 'user:rita', record = replace(record, 'user:sam', 'user:rita')",
        "ledger.row_differs",
    ),
    "a name exchanged": (
        "UPDATE disclosure SET value = '\"Somebody Else\"' WHERE pointer = '/name' AND value <> 'null'",
        "ledger.row_differs",
    ),
    "a revocation taken away": ("DELETE FROM ledger WHERE kind = 'credential.revoked'", "ledger.entry_missing"),
    "a tier raised": (_TIER, "ledger.entry_hash"),
}


@pytest.mark.parametrize("name", _CHANGES)
def test_an_audit_tells_what_was_done_to_people_and_credentials(peopled: Path, tmp_path: Path, name: str) -> None:
    """Whoever can write to the database could make themselves anybody; the entries are a signed chain, and tell."""
    change, code = _CHANGES[name]
    node = Path(shutil.copytree(peopled, tmp_path / "node"))
    damage(node, change)
    with opened(node) as tools:
        found = audit_ledger(tools, TENANT, full=True)
    assert (found.holds, found.code) == (False, code), found.message
