"""A published tile log: written piece by piece, verified from its files alone, and a fork or a change is named."""

import shutil
from pathlib import Path

import pytest

from assay.adapters.object_store import FolderObjects
from assay.flows.errors.ledger import LedgerFlowError, NoCheckpointError
from assay.flows.ledger.append_record import append_record
from assay.flows.ledger.export_ledger import ExportForm, export_ledger
from assay.flows.ledger.monitor_log import MonitorReport, Seen, Trusted, monitor_log
from assay.flows.ledger.publish_log import Published, publish_log
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.kernel.checkpoint import parse_checkpoint
from assay.kernel.key import TrustAnchors
from assay.kernel.tile import root_hash, tile_path
from tests.flows._node import TENANT, append_notes, new_node, opened
from tests.raising import raises


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return new_node(tmp_path)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def _grow(home: Path, log: Path, count: int, *, long: int = 0) -> Published:
    with opened(home) as tools:
        append_notes(tools, count)
        if long:
            append_record(tools, TENANT, {"long": "x" * long}, at=tools.clock.now()).result()
        sign_checkpoint(tools, TENANT, at=tools.clock.now())
        return publish_log(tools, TENANT, FolderObjects(log))


def _trusted(home: Path) -> Trusted:
    with opened(home, writable=False) as tools:
        return Trusted(anchors=TrustAnchors(key_ids=frozenset([tools.founder])))


def _visit(home: Path, log: Path, seen: Seen | None = None) -> tuple[MonitorReport, Seen | None]:
    return monitor_log(FolderObjects(log), _trusted(home), seen)


def _files(log: Path) -> dict[str, bytes]:
    return {path.relative_to(log).as_posix(): path.read_bytes() for path in log.rglob("*") if path.is_file()}


def test_tiles_give_the_signed_root_and_bundles_the_entries(home: Path, log: Path) -> None:
    """A reader of C2SP tlog-tiles needs nothing but the files."""
    assert _grow(home, log, 600).size == 603
    files = _files(log)
    signed = parse_checkpoint(files["checkpoint"]).checkpoint
    assert root_hash(signed.size, lambda level, index, width: files[tile_path(level, index, width)]) == signed.root
    content = files["tile/entries/000"] + files["tile/entries/001"] + files["tile/entries/002.p/91"]
    texts = []
    while content:
        size = int.from_bytes(content[:2])
        texts.append(content[2 : 2 + size])
        content = content[2 + size :]
    exported: list[bytes] = []
    with opened(home, writable=False) as tools:
        export_ledger(tools, TENANT, ExportForm.NDJSON, lambda _, more: exported.append(more))
    assert b"\n".join(texts) + b"\n" == b"".join(exported)


def test_publishing_again_writes_only_what_is_new(home: Path, log: Path) -> None:
    """A log that grew in steps has the very files of one that was written at once, and no partial tile left over."""
    _grow(home, log, 250)
    _grow(home, log, 300)
    last = _grow(home, log, 10)
    assert (last.size, last.new_entries) == (563, 10)
    # A tile and its bundle grew; keys and checkpoint come with every step.
    assert last.files == 4
    stepped = _files(log)
    shutil.rmtree(log)
    with opened(home) as tools:
        publish_log(tools, TENANT, FolderObjects(log))
    whole = _files(log)
    assert {name: stepped[name] for name in whole} == whole
    assert {name for name in stepped if name not in whole} == {"tile/0/002.p/41", "tile/entries/002.p/41"}


def test_a_monitor_reads_each_entry_once(home: Path, log: Path) -> None:
    _grow(home, log, 300, long=70_000)
    report, seen = _visit(home, log)
    assert (report.holds, report.size, report.new_entries) == (True, 304, 304)
    assert _visit(home, log, seen)[0].new_entries == 0
    # What was seen is not read again: its bundle may go.
    (log / "tile/entries/000").unlink()
    _grow(home, log, 300)
    report, seen = _visit(home, log, seen)
    assert (report.holds, report.new_entries) == (True, 300)
    assert report.tenant_id == TENANT
    assert _visit(home, log)[0].fault is not None


def test_a_fork_is_proven_by_two_signed_checkpoints(home: Path, tmp_path: Path) -> None:
    """The node's own key signed both: whoever rewrote history cannot deny it."""
    other = tmp_path / "other" / "node"
    shutil.copytree(home, other)
    _grow(home, tmp_path / "a", 300)
    _, seen = _visit(home, tmp_path / "a")
    for count in (300, 100):
        _grow(other, tmp_path / "b", count)
        report, kept = _visit(home, tmp_path / "b", seen)
        assert report.fault is not None
        assert report.fault.code == "checkpoint.forks"
        assert report.fault.seen is not None
        assert report.fault.shown is not None
        assert parse_checkpoint(report.fault.seen.encode()).checkpoint.size == 303
        assert kept == seen
    with opened(other) as tools, raises(LedgerFlowError.other_log, match="not the beginning"):
        publish_log(tools, TENANT, FolderObjects(tmp_path / "a"))


def test_a_log_that_shrank_is_reported_and_never_published_over(home: Path, tmp_path: Path) -> None:
    early = tmp_path / "early" / "node"
    shutil.copytree(home, early)
    _grow(home, tmp_path / "a", 20)
    _, seen = _visit(home, tmp_path / "a")
    _grow(early, tmp_path / "b", 5)
    report, _ = _visit(home, tmp_path / "b", seen)
    assert report.fault is not None
    assert report.fault.code == "checkpoint.shrinks"
    with opened(early) as tools, raises(LedgerFlowError.other_log, match="rolled back"):
        publish_log(tools, TENANT, FolderObjects(tmp_path / "a"))


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("tile/entries/000", 1),
        ("tile/entries/001.p/47", 257),
        ("tile/0/000", 1),
        ("tile/0/001.p/47", 257),
        ("tile/1/000.p/1", None),
    ],
)
def test_a_changed_file_is_found_and_the_first_bad_entry_named(
    home: Path, log: Path, name: str, entry: int | None
) -> None:
    _grow(home, log, 300)
    content = bytearray((log / name).read_bytes())
    content[20] ^= 1
    (log / name).write_bytes(content)
    report, seen = _visit(home, log)
    assert report.fault is not None
    assert (report.fault.code, report.fault.entry) == ("ledger.tile_altered", entry)
    assert seen is None


@pytest.mark.parametrize("name", ["tile/entries/000", "tile/0/001.p/47", "tile/1/000.p/1"])
def test_a_missing_file_is_no_log_that_holds(home: Path, log: Path, name: str) -> None:
    _grow(home, log, 300)
    (log / name).unlink()
    assert not _visit(home, log)[0].holds


def test_a_checkpoint_that_no_trusted_key_signed_is_refused(home: Path, log: Path, tmp_path: Path) -> None:
    """Keys beside the log say how keys follow from an anchor; they are no anchors themselves."""
    _grow(home, log, 3)
    stranger = new_node(tmp_path / "stranger")
    report, seen = monitor_log(FolderObjects(log), _trusted(stranger), None)
    assert report.fault is not None
    assert report.fault.code == "checkpoint.unsigned"
    assert seen is None


def test_places_that_hold_something_else_are_refused(home: Path, log: Path, tmp_path: Path) -> None:
    with raises(LedgerFlowError.no_log):
        _visit(home, log)
    with opened(home) as tools, pytest.raises(NoCheckpointError):
        publish_log(tools, TENANT, FolderObjects(log))
    _grow(home, log, 3)
    _grow(new_node(tmp_path / "stranger"), tmp_path / "theirs", 3)
    with opened(home) as tools:
        with raises(LedgerFlowError.other_log):
            publish_log(tools, TENANT, FolderObjects(tmp_path / "theirs"))
        (log / "checkpoint").unlink()
        with raises(LedgerFlowError.other_log, match="without a checkpoint"):
            publish_log(tools, TENANT, FolderObjects(log))
