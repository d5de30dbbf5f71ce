"""Backups: every change to an archive is refused, and only a ledger that holds is ever committed."""

import json
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from assay.adapters.backup_file import BackupReader, BackupWriter, DamagedArchiveError
from assay.adapters.keyfile import load_key_file
from assay.adapters.node_folder import StagedFolder
from assay.adapters.postgres.provision import provision
from assay.adapters.sql.table_store import TABLES
from assay.adapters.toml_text import set_toml_value
from assay.flows.ledger.append_record import append_record
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.ledger.backup_manifest import (
    MANIFEST,
    SIGNATURE,
    ChainHead,
    Manifest,
    ManifestSignature,
    UnusableBackupError,
    manifest_message,
    parse_manifest,
)
from assay.flows.ledger.backup_node import backup_node
from assay.flows.ledger.check_backup import CheckedBackup, check_backup
from assay.flows.ledger.restore_node import restore_node
from assay.flows.ledger.seal_index import seal_index
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.kernel.errors import Blame, Code, Error
from assay.kernel.ids import TenantId
from assay.kernel.key import TrustAnchors
from assay.kernel.signature import InvalidSignatureError
from assay.wiring import open_for_restore
from tests.flows._node import TENANT, append_notes, new_node, opened
from tests.postgres_cluster import PostgresCluster
from tests.raising import raises

_Members = dict[str, bytes]


@pytest.fixture(scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A node and its backup, made once: two tenants, a personal value, full tiles, and a checkpoint."""
    folder = tmp_path_factory.mktemp("made")
    home, archive = new_node(folder), folder / "backup.zip"
    with opened(home) as tools:
        append_notes(tools, 299)
        seal_index(tools, TENANT, at=tools.clock.now())
        append_notes(tools, 3, tenant=TenantId("acme"))
        append_record(tools, TENANT, {"who": "Ada"}, personal=["/who"], at=tools.clock.now()).result()
        sign_checkpoint(tools, TENANT, at=tools.clock.now())
        append_notes(tools, 5)
    with opened(home, writable=False) as tools, BackupWriter(archive) as writer:
        backup_node(tools, writer, files={"assay.toml": (home / "assay.toml").read_bytes()}, at=tools.clock.now())
    return home, archive


@pytest.fixture
def home(_made: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(_made[0], tmp_path / "node"))


@pytest.fixture
def archive(_made: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copy(_made[1], tmp_path / "backup.zip"))


def _members(archive: Path) -> _Members:
    with zipfile.ZipFile(archive) as file:
        return {name: file.read(name) for name in file.namelist()}


def _write(path: Path, members: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def _signed_anew(home: Path, members: _Members, change: Callable[[Manifest], Manifest] = lambda it: it) -> _Members:
    """As somebody with the node's own key could forge it: hashes and signature are right, the content is not."""
    manifest = parse_manifest(members[MANIFEST])
    listed = [
        msgspec.structs.replace(
            one, size=len(members[one.name]), sha256="sha256:" + sha256(members[one.name]).hexdigest()
        )
        for one in manifest.members
        if one.name in members
    ]
    content = msgspec.json.encode(change(msgspec.structs.replace(manifest, members=tuple(listed))))
    signer = load_key_file(home / "keys" / "ledger.key")
    signature = ManifestSignature(key_id=signer.key_id, signature=signer.sign(manifest_message(content)).hex())
    return {**members, MANIFEST: content, SIGNATURE: msgspec.json.encode(signature)}


def _check(path: Path, anchors: TrustAnchors | None = None) -> CheckedBackup:
    with BackupReader(path) as reader:
        return check_backup(reader, anchors or TrustAnchors())


def _restore(path: Path, target: Path, *, database: str = "sqlite:assay.db") -> int:
    """Restore as the command does, and count the default tenant's entries."""
    with StagedFolder(target) as staged, BackupReader(path) as reader:
        checked = check_backup(reader, TrustAnchors())
        for member in checked.manifest.members:
            if not member.name.startswith("tables/"):
                content = b"".join(reader.chunks(member.name))
                if member.name == "assay.toml":
                    content = set_toml_value(content.decode(), "database", "url", database).encode()
                staged.put(member.name, content)
        with open_for_restore(staged.path) as tools:
            reports = restore_node(tools, reader, checked.manifest)
        staged.publish()
    return {report.tenant_id: report.size for report in reports}[TENANT]


def _rows(database: Path) -> dict[str, list[tuple[object, ...]]]:
    connection = sqlite3.connect(database)
    try:
        # Opening a chain raises its epoch, so those two columns may differ.
        return {
            name: connection.execute(f"SELECT {', '.join(table.columns)} FROM {name} ORDER BY 1, 2, 3").fetchall()
            for name, table in TABLES.items()
        }
    finally:
        connection.close()


def test_every_table_and_column_of_the_schema_is_in_a_backup(home: Path) -> None:
    """A table that is added to the schema and forgotten here would be lost in the next restore."""
    connection = sqlite3.connect(home / "assay.db")
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    columns = {
        name: {row[1] for row in connection.execute(f"PRAGMA table_info({name})")} for name in tables & TABLES.keys()
    }
    connection.close()
    assert tables - {"schema_migration"} == TABLES.keys()
    assert columns == {name: set(table.columns) for name, table in TABLES.items()}


def test_a_restored_database_has_every_row_of_every_table(home: Path, archive: Path, tmp_path: Path) -> None:
    assert _restore(archive, tmp_path / "again") == 309
    assert _rows(tmp_path / "again" / "assay.db") == _rows(home / "assay.db")


def test_a_checked_archive_says_who_signed_it_and_whether_you_trust_them(home: Path, archive: Path) -> None:
    signer = load_key_file(home / "keys" / "ledger.key")
    assert _check(archive).is_trusted is False
    trusted = _check(archive, TrustAnchors(key_ids=frozenset([signer.key_id])))
    assert (trusted.is_trusted, trusted.signer) == (True, signer.key_id)
    stranger = load_key_file(home / "keys" / "review.key")
    with raises(UnusableBackupError.untrusted):
        _check(archive, TrustAnchors(public_keys=frozenset([stranger.public_key])))


@pytest.mark.parametrize("name", [*(f"tables/{table}.ndjson" for table in TABLES), "assay.toml", "checkpoints/default"])
def test_a_changed_member_is_refused(name: str, archive: Path, tmp_path: Path) -> None:
    """One byte more in any of them."""
    members = _members(archive)
    members[name] += b" "
    with raises(UnusableBackupError.altered_member):
        _check(_write(tmp_path / "changed.zip", members))


def test_a_changed_byte_of_the_same_length_is_refused(archive: Path, tmp_path: Path) -> None:
    members = _members(archive)
    members["tables/ledger.ndjson"] = members["tables/ledger.ndjson"].replace(b'"n\\":7', b'"n\\":8', 1)
    with raises(UnusableBackupError.altered_member):
        _check(_write(tmp_path / "changed.zip", members))


def test_a_missing_added_or_repeated_member_is_refused(archive: Path, tmp_path: Path) -> None:
    members = _members(archive)
    fewer = {name: content for name, content in members.items() if name != "tables/chain.ndjson"}
    with raises(UnusableBackupError.unlisted_member):
        _check(_write(tmp_path / "fewer.zip", fewer))
    with raises(UnusableBackupError.unlisted_member):
        _check(_write(tmp_path / "more.zip", {**members, "keys/planted.key": b"x"}))
    twice = tmp_path / "twice.zip"
    shutil.copy(archive, twice)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(twice, "a") as file:
        file.writestr("assay.toml", b"other")
    with pytest.raises(UnusableBackupError) as caught:
        _check(twice)
    assert caught.value.code in ("backup.unlisted_member", "backup.altered_member")


def test_a_changed_manifest_or_signature_is_refused(archive: Path, tmp_path: Path) -> None:
    members = _members(archive)
    manifest = members[MANIFEST].replace(b'"size": ', b'"size":  ', 1)
    with pytest.raises(InvalidSignatureError):
        _check(_write(tmp_path / "manifest.zip", {**members, MANIFEST: manifest}))
    signature = json.loads(members[SIGNATURE])
    flipped = signature["signature"].translate(str.maketrans("0123456789abcdef", "123456789abcdef0"))
    forged = json.dumps({**signature, "signature": flipped}).encode()
    with pytest.raises(InvalidSignatureError):
        _check(_write(tmp_path / "signature.zip", {**members, SIGNATURE: forged}))
    unknown = json.dumps({**signature, "key_id": "sha256:" + "0" * 64}).encode()
    with raises(UnusableBackupError.untrusted):
        _check(_write(tmp_path / "unknown.zip", {**members, SIGNATURE: unknown}))
    for name in (MANIFEST, SIGNATURE):
        with raises(UnusableBackupError.manifest):
            _check(_write(tmp_path / "malformed.zip", {**members, name: b"{}"}))
        with pytest.raises(DamagedArchiveError):
            _check(_write(tmp_path / "none.zip", {one: members[one] for one in members if one != name}))


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "keys/../../evil",
        "/etc/evil",
        "keys/a/b",
        "keys/.hidden",
        "tables/../x.ndjson",
        "other",
        "keys/a\\b",
    ],
)
def test_a_name_that_leads_out_of_the_folder_is_refused_whoever_signed_it(
    name: str, home: Path, archive: Path, tmp_path: Path
) -> None:
    members = {**_members(archive), name: b"x"}
    content = json.loads(members[MANIFEST])
    content["members"].append({"name": name, "size": 1, "sha256": "sha256:" + sha256(b"x").hexdigest(), "rows": None})
    text = json.dumps(content).encode()
    signer = load_key_file(home / "keys" / "ledger.key")
    signature = ManifestSignature(key_id=signer.key_id, signature=signer.sign(manifest_message(text)).hex())
    members |= {MANIFEST: text, SIGNATURE: msgspec.json.encode(signature)}
    with raises(UnusableBackupError.member_name):
        _check(_write(tmp_path / "evil.zip", members))


def _with_line_changed(members: _Members, name: str, old: bytes, new: bytes) -> _Members:
    assert old in members[name]
    return {**members, name: members[name].replace(old, new, 1)}


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("tables/ledger.ndjson", b'\\"n\\":7', b'\\"n\\":8'),
        ("tables/checkpoint.ndjson", b"sha256:", b"sha256:0"),
        ("tables/tile.ndjson", b'"default",0,0,"', b'"default",0,9,"'),
        ("tables/subtree.ndjson", b'"default",1,0,"', b'"default",1,9,"'),
        ("tables/disclosure.ndjson", b'"default",304', b'"default",3040000000000000000000'),
        ("tables/chain.ndjson", b'309,"sha256:', b'308,"sha256:'),
        ("checkpoints/default", b"304\n", b"305\n"),
        ("tables/key_fact.ndjson", b'"endorsement"', b'"retirement"'),
        ("tables/ledger.ndjson", b"[", b"{"),
        ("tables/ledger.ndjson", b"[", b"[1,"),
    ],
)
def test_a_ledger_that_does_not_hold_is_not_restored_whoever_signed_the_archive(
    name: str, old: bytes, new: bytes, home: Path, archive: Path, tmp_path: Path
) -> None:
    """Nothing is left behind: no folder under the name, and none beside it."""
    forged = _signed_anew(home, _with_line_changed(_members(archive), name, old, new))
    path = _write(tmp_path / "forged.zip", forged)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(Error) as refusal:
        _restore(path, tmp_path / "again")
    assert refusal.value.blame is Blame.INPUT
    assert sorted(tmp_path.iterdir()) == before


def test_a_ledger_cut_short_behind_its_checkpoint_is_not_restored(home: Path, archive: Path, tmp_path: Path) -> None:
    """The signer dropped the tail and made everything else fit, but the checkpoint remembers."""
    members = _members(archive)
    lines = members["tables/ledger.ndjson"].splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(b'["default"')]
    kept += [line for line in lines if line.startswith(b'["default"')][:270]
    last = json.loads(kept[-1])
    members["tables/ledger.ndjson"] = b"".join(kept)
    members["tables/chain.ndjson"] = b"".join(
        json.dumps(["default", 9, "x", 270, last[3]]).encode() + b"\n" if line.startswith(b'["default"') else line
        for line in members["tables/chain.ndjson"].splitlines(keepends=True)
    )
    members["tables/disclosure.ndjson"] = b""

    def shortened(manifest: Manifest) -> Manifest:
        rows = {"tables/ledger.ndjson": len(kept), "tables/disclosure.ndjson": 0}
        listed = tuple(msgspec.structs.replace(m, rows=rows.get(m.name, m.rows)) for m in manifest.members)
        heads = tuple(
            ChainHead(tenant_id=TENANT, sequence_number=270, entry_hash=last[3]) if h.tenant_id == TENANT else h
            for h in manifest.heads
        )
        return msgspec.structs.replace(manifest, members=listed, heads=heads)

    path = _write(tmp_path / "short.zip", _signed_anew(home, members, shortened))
    with raises(UnusableBackupError.does_not_hold, match="checkpoint over 304"):
        _restore(path, tmp_path / "again")


def test_rows_heads_tables_and_schema_must_be_those_of_the_manifest(home: Path, archive: Path, tmp_path: Path) -> None:
    members = _members(archive)

    def refuse(kind: Code, change: Callable[[Manifest], Manifest], given: _Members = members) -> None:
        path = _write(tmp_path / "changed.zip", _signed_anew(home, given, change))
        with raises(kind):
            _restore(path, tmp_path / "again")

    refuse(UnusableBackupError.schema, lambda it: msgspec.structs.replace(it, schema_version=99))
    refuse(UnusableBackupError.does_not_hold, lambda it: msgspec.structs.replace(it, heads=()))
    counted = [msgspec.structs.replace(one, rows=7) for one in parse_manifest(members[MANIFEST]).members]
    by_name = {one.name: one.rows for one in counted}
    refuse(
        UnusableBackupError.does_not_hold,
        lambda it: msgspec.structs.replace(
            it, members=tuple(msgspec.structs.replace(one, rows=by_name[one.name]) for one in it.members)
        ),
    )
    fewer = {name: content for name, content in members.items() if name != "tables/answer.ndjson"}
    refuse(UnusableBackupError.does_not_hold, lambda it: it, fewer)


def test_a_database_with_rows_in_it_is_not_restored_into(home: Path, archive: Path) -> None:
    with open_for_restore(home) as tools, BackupReader(archive) as reader:
        manifest = check_backup(reader, TrustAnchors()).manifest
        with raises(UnusableBackupError.target_in_use):
            restore_node(tools, reader, manifest)


def _write_half(target: Path) -> None:
    with BackupWriter(target) as writer, writer.member("assay.toml") as write:
        write(b"some")
        raise ZeroDivisionError


def test_a_backup_that_fails_leaves_no_file(home: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.zip"
    with pytest.raises(ZeroDivisionError):
        _write_half(target)
    assert [path for path in tmp_path.iterdir() if "backup" in path.name] == []
    assert home.exists()


def test_a_backup_travels_between_the_databases(
    home: Path, archive: Path, tmp_path: Path, postgres_cluster: PostgresCluster
) -> None:
    """SQLite to PostgreSQL and back: the same rows; and a database that is in use is refused, unchanged."""
    name = postgres_cluster.create_database()
    with opened(home, writable=False) as tools:
        provision(postgres_cluster.dsn(name), at=tools.clock.now())
    url = postgres_cluster.dsn(name, user="assay_app")
    assert _restore(archive, tmp_path / "server", database=url) == 309
    with raises(UnusableBackupError.target_in_use):
        _restore(archive, tmp_path / "second", database=url)
    shutil.copytree(home / "keys", tmp_path / "server" / "keys")
    back = tmp_path / "back.zip"
    with opened(tmp_path / "server", writable=False) as tools, BackupWriter(back) as writer:
        assert audit_ledger(tools, TENANT, full=True).holds
        files = {"assay.toml": (home / "assay.toml").read_bytes()}
        backup_node(tools, writer, files=files, at=tools.clock.now())
    assert _restore(back, tmp_path / "again") == 309
    assert _rows(tmp_path / "again" / "assay.db") == _rows(home / "assay.db")


def test_nothing_of_a_bad_backup_is_committed_to_a_server(
    home: Path, archive: Path, tmp_path: Path, postgres_cluster: PostgresCluster
) -> None:
    """The ledger there is append-only: what was committed could never be taken back."""
    name = postgres_cluster.create_database()
    with opened(home, writable=False) as tools:
        provision(postgres_cluster.dsn(name), at=tools.clock.now())
    url = postgres_cluster.dsn(name, user="assay_app")
    changed = _with_line_changed(_members(archive), "tables/ledger.ndjson", b'\\"n\\":7', b'\\"n\\":8')
    forged = _write(tmp_path / "forged.zip", _signed_anew(home, changed))
    with raises(UnusableBackupError.does_not_hold):
        _restore(forged, tmp_path / "server", database=url)
    assert _restore(archive, tmp_path / "server", database=url) == 309
