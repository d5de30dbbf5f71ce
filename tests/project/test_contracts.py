"""The rules of the project bite: imports, public names, the ban on clocks and randomness."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_SOURCE = _ROOT / "src" / "assay"
_RUFF = str(Path(sys.executable).parent / "ruff")
_PURE = (
    "kernel",
    "identity",
    "review",
    "truth",
    "trust",
    "verdicts",
    "claims",
    "delivery",
    "registry",
    "model",
    "permits",
)
_MODULES = sorted(path for path in _SOURCE.rglob("*.py") if path.name not in {"__init__.py", "__main__.py"})
_PACKAGES = sorted(path for path in _SOURCE.glob("*/__init__.py"))


def _settings() -> dict[str, Any]:
    tools: dict[str, Any] = tomllib.loads((_ROOT / "pyproject.toml").read_text())["tool"]
    return tools


def _contract(name: str) -> dict[str, Any]:
    contracts: list[dict[str, Any]] = _settings()["importlinter"]["contracts"]
    return next(contract for contract in contracts if contract["id"] == name)


def _place(path: Path) -> str:
    return path.relative_to(_SOURCE).as_posix()


@pytest.mark.parametrize("package", _PACKAGES, ids=_place)
def test_a_room_says_what_it_is_for_and_what_it_may_import(package: Path) -> None:
    """Each `__init__.py` starts with a summary, then the flow, then the line `May import:`."""
    docstring = ast.get_docstring(ast.parse(package.read_text()))
    assert docstring is not None
    assert re.search(r"^May import: ", docstring, re.MULTILINE), f"{_place(package)} has no `May import:` line"


@pytest.mark.parametrize("module", _MODULES, ids=_place)
def test_all_names_exactly_what_a_module_defines(module: Path) -> None:
    """Where a module has `__all__`, it lists every public name once and nothing foreign; most modules need none."""
    tree = ast.parse(module.read_text())
    declared = _declared(tree)
    if declared is None:
        return
    defined = {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
    }
    public = {name for name in defined if not name.startswith("_")}
    assert len(declared) == len(set(declared))
    assert public <= set(declared)
    assert set(declared) <= defined | _assigned(tree) | _raised_from_private_modules(tree)


def _declared(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            value: list[str] = ast.literal_eval(node.value)
            return value
    return None


def _assigned(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def _raised_from_private_modules(tree: ast.Module) -> set[str]:
    """A public module may show what the `_` modules behind it define."""
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module is not None]
    private = [node for node in imports if (node.module or "").rpartition(".")[2].startswith("_")]
    return {alias.name for node in private for alias in node.names}


def test_every_pure_package_that_exists_is_under_the_pure_contract() -> None:
    """A new room cannot forget to be pure."""
    existing = {f"assay.{name}" for name in _PURE if (_SOURCE / name / "__init__.py").exists()}
    assert set(_contract("pure")["source_modules"]) == existing


def test_every_package_has_a_place_in_the_layers() -> None:
    """The layers contract is exhaustive over what exists."""
    layers = re.findall(r"[a-z]+", " ".join(_contract("layers")["layers"]))
    existing = {path.parent.name for path in _PACKAGES} | {
        path.stem for path in _SOURCE.glob("*.py") if path.stem != "__init__"
    }
    assert existing <= set(layers)


def _foreign_project(folder: Path, **modules: str) -> Path:
    """A package called `assay` elsewhere, under our contracts, with the given modules in it."""
    package = folder / "assay"
    for name in ("kernel", "ports"):
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    for name, text in modules.items():
        (package / f"{name.replace('__', '/')}.py").write_text(text)
    pure = [f'"{name}"' for name in _contract("pure")["forbidden_modules"]]
    layers = [f'"{layer}"' for layer in _contract("layers")["layers"]]
    (folder / "pyproject.toml").write_text(
        "[tool.importlinter]\nroot_package = 'assay'\ninclude_external_packages = true\n"
        "[[tool.importlinter.contracts]]\nname = 'pure'\ntype = 'forbidden'\nsource_modules = ['assay.kernel']\n"
        f"forbidden_modules = [{', '.join(pure)}]\n"
        "[[tool.importlinter.contracts]]\nname = 'layers'\ntype = 'layers'\ncontainers = ['assay']\n"
        f"layers = [{', '.join(layers)}]\n"
    )
    return folder


def _lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_clean_package_keeps_the_contracts(tmp_path: Path) -> None:
    """The rejections below are not the tool failing for another reason."""
    done = _lint_imports(_foreign_project(tmp_path, kernel__good="import hashlib\n"))
    assert done.returncode == 0, done.stdout + done.stderr


_OUTSIDE = ("time", "socket", "sqlite3", "random", "os", "asyncio", "subprocess", "psycopg")


@pytest.fixture(scope="module")
def reaching(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """A kernel with one module for each way out, linted once."""
    modules = {f"kernel__bad_{module}": f"import {module}\n" for module in _OUTSIDE}
    return _lint_imports(_foreign_project(tmp_path_factory.mktemp("reaching"), **modules))


@pytest.mark.clause("kaori", "4.1")
@pytest.mark.parametrize("module", _OUTSIDE)
def test_a_pure_package_may_not_reach_the_outside(reaching: subprocess.CompletedProcess[str], module: str) -> None:
    """One import of a clock, a driver or a socket in the kernel breaks the build."""
    assert reaching.returncode == 1
    assert f"assay.kernel.bad_{module} -> {module}" in reaching.stdout


def test_a_lower_layer_may_not_import_a_higher_one(tmp_path: Path) -> None:
    """The kernel knows nothing of ports."""
    done = _lint_imports(_foreign_project(tmp_path, kernel__bad="import assay.ports\n"))
    assert done.returncode == 1
    assert "assay.kernel.bad -> assay.ports" in done.stdout


@pytest.mark.parametrize(
    "text",
    [
        "from datetime import UTC, datetime\n\nMOMENT = datetime.now(UTC)\n",
        "import time\n\nMOMENT = time.time()\n",
        "import uuid\n\nNAME = uuid.uuid4()\n",
        "import os\n\nSALT = os.urandom(8)\n",
        "import random\n\nCHOICE = random.choice([1])\n",
        "import secrets\n\nTOKEN = secrets.token_bytes(8)\n",
    ],
    ids=["datetime", "time", "uuid", "urandom", "random", "secrets"],
)
@pytest.mark.parametrize("place", ["kernel/probe.py", "flows/probe.py", "surfaces/cli/probe.py"])
def test_clocks_and_randomness_are_banned_by_name(text: str, place: str) -> None:
    """Only `adapters/clock.py` may use them; the file is judged as if it lay at that place."""
    assert "TID251" in _lint(text, f"src/assay/{place}")
    assert "TID251" not in _lint(text, "src/assay/adapters/clock.py")


def _lint(text: str, place: str) -> str:
    done = subprocess.run(
        [_RUFF, "check", "--output-format=concise", "--no-cache", "--stdin-filename", place, "-"],
        cwd=_ROOT,
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout
