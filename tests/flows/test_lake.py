"""The lake: rows that other programs read, each of them held to the ledger by the files alone."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet
import pytest

from assay.adapters.object_store import FolderObjects
from assay.adapters.parquet import ParquetFormat
from assay.flows.errors.ledger import NoCheckpointError
from assay.flows.lake.export import LakeExported, export_lake
from assay.flows.lake.table import TABLES
from assay.flows.lake.verify import LakeReport, verify_lake
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.kernel.key import TrustAnchors
from assay.ports.table_format import LakeError
from assay.surfaces.sample import SMALL, make_sample
from tests.flows._node import TENANT, append_notes, new_node, opened
from tests.flows._people import quick_passwords
from tests.raising import raises


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake") / "node"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.wiring.Argon2Passwords", quick_passwords)
        for _ in make_sample(folder, size=SMALL):
            pass
    with opened(folder) as tools:
        export_lake(tools, TENANT, FolderObjects(folder.parent / "lake"), ParquetFormat(), at=tools.clock.now())
    return folder


@pytest.fixture
def lake(sample: Path, tmp_path: Path) -> Path:
    """A copy of the exported sample, to be changed."""
    shutil.copytree(sample.parent / "lake", tmp_path / "lake")
    return tmp_path / "lake"


def _export(home: Path, lake: Path) -> LakeExported:
    with opened(home) as tools:
        sign_checkpoint(tools, TENANT, at=tools.clock.now())
        return export_lake(tools, TENANT, FolderObjects(lake), ParquetFormat(), at=tools.clock.now())


def _verify(home: Path, lake: Path) -> LakeReport:
    with opened(home, writable=False) as tools:
        anchors = TrustAnchors(key_ids=frozenset([tools.founder]))
    return verify_lake(FolderObjects(lake), ParquetFormat(), anchors)


def _rewrite(path: Path, change: Callable[[Any], Any]) -> None:
    """Write a Parquet file again with other rows, as somebody does who has the files and no key."""
    table = pyarrow.parquet.ParquetFile(path).read()
    rows = change(table.to_pylist())
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema=table.schema), path)


def _query(text: str) -> list[Any]:
    with duckdb.connect() as connection:
        return list(connection.execute(text).fetchall())


def _file(lake: Path, table: str) -> Path:
    return min((lake / table).rglob("*.parquet"))


def test_the_lake_of_a_whole_node_holds_and_every_table_has_rows(sample: Path, lake: Path) -> None:
    report = _verify(sample, lake)
    assert report.problems == ()
    assert (report.tenants, report.manifests) == (1, 1)
    assert {path.name for path in lake.iterdir()} == {"entries", "manifests", *(table.name for table in TABLES)}


def test_another_program_reads_it_with_tenant_kind_and_day(sample: Path, lake: Path) -> None:
    """DuckDB counts what the ledger says, and finds the folders' names as columns."""
    with opened(sample, writable=False) as tools:
        rows = tools.database.read(lambda unit: list(unit.ledger.entries(TENANT, first=1, last=None)))
    decided = _query(
        f"SELECT tenant, kind, decision, count(*) FROM read_parquet('{lake}/decisions/**/*.parquet') GROUP BY ALL"
    )
    assert {one[:2] for one in decided} == {("default", "claims.decided")}
    assert sum(one[3] for one in decided) == sum(row.kind == "claims.decided" for row in rows)
    assert {one[2] for one in decided} >= {"PUBLISH", "ESCALATE"}
    held = _query(f"SELECT subject, tier FROM read_parquet('{lake}/verdicts/**/*.parquet') WHERE kind = 'verdict.held'")
    assert held
    assert {tier for _, tier in held} == {"high"}
    [days] = _query(f"SELECT min(day), max(day) FROM read_parquet('{lake}/tickets/**/*.parquet')")
    assert days[0] < days[1]
    assert _query(f"SELECT count(*) FROM read_parquet('{lake}/entries/**/*.parquet')") == [(len(rows),)]


def test_an_export_adds_only_what_is_new(tmp_path: Path) -> None:
    home, lake = new_node(tmp_path), tmp_path / "lake"
    with opened(home) as tools:
        append_notes(tools, 20)
    assert _export(home, lake).entries == 23
    files = {path: path.stat().st_mtime_ns for path in lake.rglob("*") if path.is_file()}
    with opened(home) as tools:
        append_notes(tools, 7)
    again = _export(home, lake)
    assert (again.entries, again.files) == (7, 1)
    assert {path: path.stat().st_mtime_ns for path in files} == files
    assert _export(home, lake).entries == 0
    report = _verify(home, lake)
    assert (report.holds, report.manifests, report.files) == (True, 2, 2)


@pytest.mark.parametrize("table", ["decisions", "verdicts", "states", "outcomes", "tickets", "answers", "bundles"])
def test_a_changed_value_is_found_with_its_entry_and_column(sample: Path, lake: Path, table: str) -> None:
    column = {"decisions": "decision", "states": "status", "verdicts": "verdict", "tickets": "ticket_id"}
    name = column.get(table, {"outcomes": "outcome", "answers": "asked_by", "bundles": "origin_agent"}.get(table, ""))
    path = _file(lake, table)
    numbers: list[int] = []

    def change(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        numbers.append(rows[0]["sequence_number"])
        return [{**rows[0], name: "FORGED"}, *rows[1:]]

    _rewrite(path, change)
    found = _verify(sample, lake).problems
    assert [(one.what, one.sequence_number) for one in found] == [("changed", None), ("changed", numbers[0])]
    assert name in found[1].message


def test_a_changed_text_a_removed_row_and_an_added_row_are_found(sample: Path, lake: Path) -> None:
    def of(table: str, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> set[tuple[str, int | None]]:
        shutil.copytree(lake, lake.parent / table)
        _rewrite(_file(lake.parent / table, table), change)
        return {(one.what, one.sequence_number) for one in _verify(sample, lake.parent / table).problems}

    assert len(of("decisions", lambda rows: [{**rows[0], "entry": rows[0]["entry"].replace("PUBLISH", "REFUSE")}])) >= 2
    first = pyarrow.parquet.ParquetFile(_file(lake, "tickets")).read().to_pylist()[0]["sequence_number"]
    assert ("missing", first) in of("tickets", lambda rows: rows[1:])
    assert ("added", 10**6) in of("states", lambda rows: [*rows, {**rows[0], "sequence_number": 10**6}])
    assert ("changed", None) in of("entries", lambda rows: [{**rows[0], "leaf_hash": "00" * 32}, *rows[1:]])


def test_missing_and_added_files_and_manifests_are_found(sample: Path, lake: Path) -> None:
    _file(lake, "outcomes").unlink()
    (lake / "decisions" / "tenant=default" / "more.parquet").write_bytes(b"")
    (lake / "stray").write_bytes(b"")
    found = {(one.what, one.path) for one in _verify(sample, lake).problems}
    assert {("added", "decisions/tenant=default/more.parquet"), ("added", "stray")} < found
    assert {what for what, _ in found} == {"added", "missing"}


def test_a_manifest_that_was_changed_moved_or_removed_is_not_believed(tmp_path: Path) -> None:
    home, lake = new_node(tmp_path), tmp_path / "lake"
    for _ in range(3):
        with opened(home) as tools:
            append_notes(tools, 2)
        _export(home, lake)
    folder = lake / "manifests" / "tenant=default"
    kept = {path: path.read_bytes() for path in sorted(folder.iterdir())}
    first, second, third = kept
    for damage in (
        second.unlink,
        lambda: second.write_bytes(kept[third]),
        lambda: second.write_bytes(kept[second].replace(b'payload":"ey', b'payload":"eX')),
    ):
        damage()
        assert not _verify(home, lake).holds
        second.write_bytes(kept[second])
    assert _verify(home, lake).holds
    stranger = new_node(tmp_path / "stranger")
    assert {one.what for one in _verify(stranger, lake).problems} >= {"untrusted"}
    assert first.exists()


def test_a_place_with_another_lake_or_none_is_refused(tmp_path: Path) -> None:
    home, lake = new_node(tmp_path), tmp_path / "lake"
    with raises(LakeError.manifest):
        _verify(home, lake)
    with opened(home) as tools, pytest.raises(NoCheckpointError):
        export_lake(tools, TENANT, FolderObjects(lake), ParquetFormat(), at=tools.clock.now())
    _export(home, lake)
    other = new_node(tmp_path / "other")
    with raises(LakeError.other_lake):
        _export(other, lake)
    early = tmp_path / "early"
    shutil.copytree(home, early)
    with opened(home) as tools:
        append_notes(tools, 5)
    _export(home, lake)
    with raises(LakeError.other_lake, match="rolled back"):
        _export(early, lake)
