"""Small files beside the database: whole or as before, one per tenant."""

import resource
import signal
from pathlib import Path

import pytest

from assay.adapters.folder_memory import FolderMemory
from assay.kernel.errors import TypeFormError
from assay.kernel.ids import TenantId
from tests.contract._kit import refused

_ACME, _OTHER = TenantId("acme"), TenantId("other")


def test_a_folder_that_does_not_exist_remembers_nothing(tmp_path: Path) -> None:
    memory = FolderMemory(tmp_path / "checkpoints")
    assert (memory.tenants(), memory.load(_ACME)) == ((), None)


def test_the_last_content_stored_is_the_one_remembered(tmp_path: Path) -> None:
    """Also by another process that opens the same folder."""
    memory = FolderMemory(tmp_path / "checkpoints")
    memory.store(_ACME, b"first")
    memory.store(_OTHER, b"other")
    memory.store(_ACME, b"second")
    again = FolderMemory(tmp_path / "checkpoints")
    assert (again.load(_ACME), again.load(_OTHER), again.tenants()) == (b"second", b"other", (_ACME, _OTHER))


def test_a_replacement_that_was_cut_short_leaves_the_old_content(tmp_path: Path) -> None:
    """A crash before the rename leaves a draft beside the file; it is neither a tenant nor the content."""
    memory = FolderMemory(tmp_path)
    memory.store(_ACME, b"whole")
    (tmp_path / ".acme.new").write_bytes(b"ha")
    assert (memory.load(_ACME), memory.tenants()) == (b"whole", (_ACME,))
    memory.store(_ACME, b"next")
    assert (memory.load(_ACME), sorted(path.name for path in tmp_path.iterdir())) == (b"next", ["acme"])


@pytest.mark.parametrize("name", ["../acme", "a/b", "", ".hidden", "ACME"])
def test_a_name_that_is_no_tenant_reaches_no_file(tmp_path: Path, name: str) -> None:
    memory = FolderMemory(tmp_path / "checkpoints")
    with pytest.raises(TypeFormError):
        memory.load(TenantId(name))
    with pytest.raises(TypeFormError):
        memory.store(TenantId(name), b"x")
    assert list(tmp_path.iterdir()) in ([], [tmp_path / "checkpoints"])


def test_a_disk_that_is_full_is_told_and_leaves_the_old_content(tmp_path: Path) -> None:
    """The operating system's own limit on a file's size: the write fails in the middle."""
    memory = FolderMemory(tmp_path)
    memory.store(_ACME, b"whole")
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with refused("store.folder_write"):
            memory.store(_ACME, b"x" * 8192)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert (memory.load(_ACME), [path.name for path in tmp_path.iterdir()]) == (b"whole", ["acme"])


def test_others_may_not_look_into_the_folder(tmp_path: Path) -> None:
    FolderMemory(tmp_path / "checkpoints").store(_ACME, b"x")
    assert (tmp_path / "checkpoints").stat().st_mode & 0o077 == 0
