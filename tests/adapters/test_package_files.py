"""Every file of a package is seen, compiled ones included."""

import compileall
import marshal
from pathlib import Path

import pytest

from assay.adapters.package_files import PackageFiles, installed_folder, load_package_files


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "site" / "assay"
    (folder / "room").mkdir(parents=True)
    (folder / "__init__.py").write_text("ANSWER = 42\n")
    (folder / "room" / "step.py").write_text("def step(x: int) -> int:\n    return x + 1\n")
    (folder.parent / "assay_examples").mkdir()
    (folder.parent / "assay_examples" / "one.yaml").write_text("a: 1\n")
    for level in (0, 1, 2):
        assert compileall.compile_dir(folder, quiet=2, optimize=level)
    return folder


def _cache(package: Path) -> Path:
    return next(one for one in (package / "room" / "__pycache__").iterdir() if ".opt-" not in one.name)


def test_an_installed_package_is_its_files_and_its_bytecode_is_theirs(package: Path) -> None:
    found = load_package_files(package)
    assert set(found.digests) == {"assay/__init__.py", "assay/room/step.py", "assay_examples/one.yaml"}
    assert found.bytecode == ()


def _swapped_code(package: Path) -> None:
    """Another function under the header of the true one: the interpreter would not notice."""
    cache = _cache(package)
    other = compile("def step(x: int) -> int:\n    return x + 2\n", "step.py", "exec")
    cache.write_bytes(cache.read_bytes()[:16] + marshal.dumps(other))


def _of_another_interpreter(package: Path) -> None:
    cache = _cache(package)
    cache.rename(cache.with_name("step.cpython-399.pyc"))


def _of_another_level(package: Path) -> None:
    cache = _cache(package)
    cache.rename(cache.with_name(cache.name.replace(".pyc", ".opt-9.pyc")))


def _without_source(package: Path) -> None:
    cache = _cache(package)
    cache.rename(cache.with_name(cache.name.replace("step", "ghost")))


def _cut_short(package: Path) -> None:
    _cache(package).write_bytes(_cache(package).read_bytes()[:40])


@pytest.mark.parametrize(
    "tamper", [_swapped_code, _of_another_interpreter, _of_another_level, _without_source, _cut_short]
)
def test_bytecode_that_is_not_what_its_source_says_is_told(package: Path, tamper: object) -> None:
    assert callable(tamper)
    tamper(package)
    assert len(load_package_files(package).bytecode) == 1


@pytest.mark.parametrize("name", ["room/step.pyc", "room/__pycache__/note.txt", "extra.so", ".hidden"])
def test_a_file_that_nobody_expects_is_seen(package: Path, name: str) -> None:
    (package / name).write_bytes(b"x")
    assert f"assay/{name}" in load_package_files(package).digests


def test_a_linked_folder_is_seen_and_not_followed(package: Path) -> None:
    (package / "loop").symlink_to(package)
    assert load_package_files(package).digests["assay/loop"] == "a symbolic link to a folder"


def test_the_package_that_runs_is_found() -> None:
    found: PackageFiles = load_package_files(installed_folder())
    assert "assay/kernel/dsse.py" in found.digests
