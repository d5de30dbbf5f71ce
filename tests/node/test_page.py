"""The page about Python is a program: every block runs, from top to bottom."""

import re
import shutil
from pathlib import Path

import pytest

from assay.node import Node

_ROOT = Path(__file__).parents[2]
_PAGE = (_ROOT / "docs" / "python.md").read_text()


def test_every_block_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever copies it from top to bottom gets what it says."""
    for name in ("graphs/energy.json", "telemetry/energy.jsonl"):
        shutil.copy(_ROOT / "examples" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", _PAGE, re.DOTALL)
    assert len(blocks) == 12
    names: dict[str, object] = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"python.md block {number}", "exec"), names)  # noqa: S102 - the page's own text


def test_every_method_that_the_page_names_is_there_and_every_one_is_named() -> None:
    """A journey that no page tells of is one that nobody finds."""
    named = set(re.findall(r"node\.([a-z_]+)\(", _PAGE))
    assert {one for one in named if not hasattr(Node, one)} == set()
    told = set(re.findall(r"[a-z_]+", _PAGE))
    public = {name for name in dir(Node) if not name.startswith("_") and callable(getattr(Node, name))}
    assert public - told - {"answering_tools", "judging_tools", "estimator", "engines", "perform_named"} == set()
