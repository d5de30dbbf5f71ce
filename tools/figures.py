"""Print the size of the house: lines, modules, imports, error classes, and the work of warm requests.

`make figures`. Generated modules are marked and do not count. Work is measured on a node of the tests, in this process:
Python calls (all of them with those of libraries and of the test client), modules of ours that are passed through, and
SQL statements, for one warm request of each kind.
"""

import ast
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

_ROOT = Path(__file__).resolve().parent.parent
_SOURCE = _ROOT / "src"
_GENERATED = re.compile("generated", re.IGNORECASE)
# What the second round began with.
_BEFORE = {
    "lines in src": "142,841",
    "modules": "1,247",
    "imports and __all__": "13.4 %",
    "error classes": "567",
    "`whoever` in src": "383",
    "lines of the shell (flows, surfaces, ports)": "74,677",
}
_WARM = 3
_STATEMENTS = ("query", "stream", "run", "_insert_part")


def main() -> None:
    """Print both tables."""
    print(f"{'the house':<46} {'before':>10} {'now':>10}")
    for name, now in _static().items():
        print(f"{name:<46} {_BEFORE.get(name, '-'):>10} {now:>10}")
    print()
    print(f"{'one warm request':<28} {'our calls':>10} {'all calls':>10} {'modules':>8} {'SQL':>6}")
    for name, work in _measured():
        print(f"{name:<28} {work.calls:>10,} {work.all_calls:>10,} {len(work.modules):>8} {work.statements:>6}")


def _static() -> dict[str, str]:
    lines = modules = imports = errors = whoever = shell = 0
    for path in sorted(_SOURCE.rglob("*.py")):
        text = path.read_text()
        if _GENERATED.search(text[:200]):
            continue
        tree = ast.parse(text)
        modules += 1
        count = text.count("\n")
        lines += count
        shell += count if path.relative_to(_SOURCE).parts[1] in ("flows", "surfaces", "ports") else 0
        whoever += len(re.findall(r"\bwhoever\b", text, re.IGNORECASE))
        imports += sum(_length(node) for node in ast.walk(tree) if _is_import(node))
        errors += sum(isinstance(node, ast.ClassDef) and node.name.endswith("Error") for node in ast.walk(tree))
    return {
        "lines in src": f"{lines:,}",
        "modules": f"{modules:,}",
        "imports and __all__": f"{imports / lines:.1%}".replace("%", " %"),
        "error classes": f"{errors:,}",
        "`whoever` in src": f"{whoever:,}",
        "lines of the shell (flows, surfaces, ports)": f"{shell:,}",
    }


def _is_import(node: ast.AST) -> bool:
    is_all = isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
    return is_all or isinstance(node, ast.Import | ast.ImportFrom)


def _length(node: Any) -> int:  # noqa: ANN401 - a node with a place
    return int(node.end_lineno) - int(node.lineno) + 1


@dataclass
class Work:
    """What one request cost."""

    calls: int = 0
    all_calls: int = 0
    statements: int = 0
    modules: set[str] = field(default_factory=set)


def _measured() -> Iterator[tuple[str, Work]]:
    from tests.surfaces.http.v1._whole import opened_whole  # noqa: PLC0415 - the static part needs no node

    counting = _Counting()
    with closing(counting), tempfile.TemporaryDirectory() as folder, opened_whole(Path(folder)) as whole:
        numbers = iter(range(2000, 10_000))
        # Evidence is attached before: it is another request.
        bundles = iter([whole.bundle(number) for number in range(1000, 1000 + _WARM + 1)])
        kinds: dict[str, Callable[[], Any]] = {
            "POST /api/v1/telemetry": lambda: _post(whole, "telemetry", whole.record(f"f-{next(numbers)}"), "sensor"),
            "POST /api/v1/answers (ask)": lambda: _post(whole, "answers", whole.question(), "amira"),
            "POST /api/v1/claims (gate)": lambda: _post(whole, "claims", next(bundles), "agent"),
            "POST /api/v1/observations": lambda: _post(
                whole, "observations", whole.observation(next(numbers)), "sensor"
            ),
            "POST /api/v1/outcomes": lambda: _post(
                whole, "outcomes", whole.outcome(query_context=f"trip {next(numbers)}"), "bell"
            ),
        }
        for name, send in kinds.items():
            for _ in range(_WARM):
                send()
            yield name, counting.count(send)


def _post(whole: Any, place: str, body: object, by: str) -> None:  # noqa: ANN401 - a node of the tests
    told = whole.post(f"/api/v1/{place}", body, by)
    assert told.status_code in (200, 201), told.text  # noqa: S101 - a figure of a refusal would mislead


class _Counting:
    """Counts the calls of every thread that starts after it was installed, while a request is measured."""

    def __init__(self) -> None:
        self.work: Work | None = None
        self._mine = f"{_SOURCE}/"
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def close(self) -> None:
        threading.setprofile(None)
        sys.setprofile(None)

    def _profile(self, frame: FrameType, event: str, _argument: object) -> None:
        work, name = self.work, frame.f_code.co_filename
        if work is None or event != "call":
            return
        if name.startswith(self._mine):
            work.modules.add(name)
            work.calls += 1
            work.statements += name.endswith("/sqlite/session.py") and frame.f_code.co_name in _STATEMENTS
        work.all_calls += 1

    def count(self, send: Callable[[], Any]) -> Work:
        work = self.work = Work()
        try:
            send()
        finally:
            self.work = None
        return work


if __name__ == "__main__":
    main()
