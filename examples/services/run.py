"""A registry and two services in one command: `python examples/services/run.py`; Ctrl-C ends all of it.

With `--once` it waits until both are listed, attacks each of them, says what came of it, and ends.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

import assay
from assay.adapters.keyfile import create_key_file, public_path

_HERE = Path(__file__).parent
_ASSAY = [sys.executable, "-m", "assay.surfaces.cli"]
_REGISTRY = "http://127.0.0.1:4585"
_SERVICES = {"bookings": "http://127.0.0.1:4081", "berths": "http://127.0.0.1:4082"}
_DEADLINE = 60


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        node = Path(folder) / "node"
        _run("init", node)
        keys = {name: _known_key(node, Path(folder) / f"{name}.key", name) for name in _SERVICES}
        stack.enter_context(_process(*_ASSAY, "--home", node, "serve"))
        _wait(lambda: httpx.get(f"{_REGISTRY}/healthz").is_success)
        for name, key in keys.items():
            stack.enter_context(_process(sys.executable, _HERE / f"{name}.py", _REGISTRY, node, key))
        with assay.Fleet(_REGISTRY, max_age=0.1) as fleet:
            _wait(lambda: set(fleet.who_can("READ")) == set(_SERVICES))
            print("who can BOOK at tier 2:", *fleet.who_can("BOOK", tier=2))
            print("who answers berth.availability:", *fleet.who_answers("berth.availability"))
            print("why not berths:", fleet.explain("berths", "BOOK", tier=2).reason)
        failed = sum(_check(url) for url in _SERVICES.values())
        if "--once" not in sys.argv:
            _stay()
        return failed


def _known_key(node: Path, path: Path, service: str) -> Path:
    """A key of the service's own, whose public half the operator makes known to the node."""
    create_key_file(path)
    _run("--home", node, "service", "trust", service, public_path(path))
    return path


def _check(url: str) -> int:
    return _run("check", url, "--profile", "forja-full", "--active", "--registry", _REGISTRY, must_hold=False)


def _run(*arguments: str | Path, must_hold: bool = True) -> int:
    done = subprocess.run([*_ASSAY, *map(str, arguments)], stdout=subprocess.DEVNULL, check=must_hold)
    return done.returncode


@contextmanager
def _process(*command: str | Path) -> Iterator[None]:
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def _wait(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + _DEADLINE
    while time.monotonic() < end:
        try:
            if holds():
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    raise SystemExit("the services never came up")


def _stay() -> None:
    print(f"registry {_REGISTRY}, services {', '.join(_SERVICES.values())}; Ctrl-C ends all of it")
    try:
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    sys.exit(main())
