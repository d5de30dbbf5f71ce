"""Run an agent of `examples/agents` that may be killed at one of its requests: `FILE KILL URL FOLDER RUN`."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import assay
from tests.surfaces.guarded_child import Killed


def main(file: str, at: str) -> int:
    real = assay.Client
    assay.Client = lambda *args, **kwargs: Killed(real(*args, **kwargs), at)  # type: ignore[assignment,misc] # a client that dies
    sys.path.insert(0, str(Path(file).parent))
    found = importlib.util.spec_from_file_location("example", file)
    assert found is not None
    assert found.loader is not None
    module: Any = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    ended: int = module.main()
    return ended


if __name__ == "__main__":
    file, at = sys.argv[1:3]
    sys.argv[1:3] = []
    sys.exit(main(file, at))
