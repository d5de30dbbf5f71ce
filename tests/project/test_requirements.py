"""What is declared is locked, with hashes, and without naming where it comes from."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

_ROOT = Path(__file__).resolve().parents[2]
# Extras that nobody needs to see it work; only the tests install them.
_HEAVY = frozenset(
    {
        "dask",
        "documents",
        "images",
        "lake",
        "langgraph",
        "llamacpp",
        "mcp",
        "meaning",
        "openai-agents",
        "pdf",
        "prove",
        "pydantic-ai",
        "units",
    }
)
_LISTS = sorted((_ROOT / "requirements").glob("*.txt"), key=lambda path: path.name)


def _name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None
    return re.sub(r"[-_.]+", "-", found.group()).lower()


def _locked(path: Path) -> dict[str, str]:
    """The locked requirements of a file, each with all that belongs to it."""
    entries = re.split(r"\n(?=\S)", path.read_text().strip())
    return {f"{_name(entry)} {entry.partition(';')[2][:40]}": entry for entry in entries}


@pytest.mark.parametrize("path", _LISTS, ids=lambda path: path.name)
def test_every_locked_version_is_exact_and_has_hashes(path: Path) -> None:
    """A package that was replaced on the index is refused."""
    for entry in _locked(path).values():
        assert re.match(r"[a-z0-9._-]+(\[[a-z0-9,-]+\])?==[^ ;]+", entry), entry[:80]
        assert "--hash=sha256:" in entry, entry[:80]


@pytest.mark.parametrize("path", _LISTS, ids=lambda path: path.name)
def test_no_address_is_recorded(path: Path) -> None:
    """Where packages come from is the choice of whoever installs them."""
    text = path.read_text()
    assert "://" not in text
    assert "index-url" not in text


def test_everything_declared_is_locked() -> None:
    """`make lock` was run after the last change of the declarations."""
    declared = tomllib.loads((_ROOT / "pyproject.toml").read_text())
    project, groups = declared["project"], declared["dependency-groups"]
    extras = project["optional-dependencies"]
    base = project["dependencies"] + groups["build"]
    base += [one for name, extra in extras.items() if name not in _HEAVY for one in extra]
    heavy = [one for name in _HEAVY for one in extras[name]]
    wanted = {
        "base": base,
        "test": base + heavy + groups["test"],
        "bench": base + groups["bench"],
        "docs": groups["docs"],
    }
    for name, requirements in wanted.items():
        locked = {key.split()[0] for key in _locked(_ROOT / "requirements" / f"{name}.txt")}
        assert {_name(one) for one in requirements} <= locked, name


def test_an_extra_that_a_package_asks_for_is_locked_with_its_name() -> None:
    """Some releases of pip take `name[extra]` for another package, and its newest version, which has no hash here."""
    locked = {
        match[1]: set(match[2].split(",")) if match[2] else set()
        for entry in _locked(_ROOT / "requirements" / "test.txt").values()
        if (match := re.match(r"([a-z0-9._-]+)(?:\[([a-z0-9,-]+)\])?==", entry))
    }
    asked = [
        (requirement.name, extra)
        for name in locked
        for requirement in _requirements_of(name)
        for extra in requirement.extras
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    ]
    assert ("coverage", "toml") in asked
    assert [(name, extra) for name, extra in asked if extra not in locked[_name(name)]] == []


def _requirements_of(name: str) -> list[Requirement]:
    """None where a package is for another system."""
    try:
        return [Requirement(text) for text in requires(name) or ()]
    except PackageNotFoundError:
        return []


def test_the_lists_agree_with_each_other() -> None:
    """All of them can be installed into one environment."""
    versions: dict[str, set[str]] = {}
    for path in _LISTS:
        for key, entry in _locked(path).items():
            versions.setdefault(key, set()).add(entry.split()[0].partition("==")[2])
    assert {key: found for key, found in versions.items() if len(found) > 1} == {}
