"""What a node costs that nobody asks anything: its memory, and the wait until it answers after a start.

Without a model, and as `assay init` makes it: the judge is loaded with the first record. The start is compared with
that of an empty application on the same web framework and server; a node besides opens its keys and its database, and
compares that with its checkpoints.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.request import urlopen

from assay.wiring import init_node
from bench._frame import Aim, Figure, load, print_table

__all__ = ["figures"]

_ROUNDS = 3
_SETTLE_SECONDS = 3.0
_MEGABYTE = 1_000_000
_MEMORY_TARGET = 150
_START_TARGET = 4.0
_NO_MODEL = '\n[ski]\nreasoner = "none"\n'
_PEER = """
import uvicorn
from litestar import Litestar, get

@get("/healthz")
async def healthz() -> dict[str, str]:
    return {"status": "ok"}

config = uvicorn.Config(Litestar([healthz]), port=0, log_config=None)
bound = config.bind_socket()
print(f"http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
uvicorn.Server(config).run(sockets=[bound])
"""


def figures() -> list[Figure]:
    """One after the other, each in processes of its own."""
    with tempfile.TemporaryDirectory() as folder:
        bare, judging = Path(folder, "bare"), Path(folder, "judging")
        for home in (bare, judging):
            init_node(home)
        with (bare / "assay.toml").open("a", encoding="utf-8") as file:
            file.write(_NO_MODEL)
        starts = [(_start_seconds(_node(bare)), _start_seconds([sys.executable, "-c", _PEER])) for _ in range(_ROUNDS)]
        return [
            _memory("memory of an idle node, no model", _idle_megabytes(bare)),
            _memory("memory of an idle node as `assay init` makes it", _idle_megabytes(judging)),
            _start(starts),
        ]


def _memory(name: str, megabytes: float) -> Figure:
    return Figure(
        name=name,
        ours=megabytes,
        peer=None,
        peer_name=f"{_MEMORY_TARGET} MB",
        unit="MB",
        ratio=megabytes / _MEMORY_TARGET,
        target=1.0,
        cpu_seconds=0.0,
        load=load(),
        aim=Aim.AT_MOST,
        note="resident, seconds after the start",
    )


def _start(rounds: list[tuple[float, float]]) -> Figure:
    return Figure(
        name="from start to the first answer",
        ours=median(ours for ours, _ in rounds) * 1000,
        peer=median(peer for _, peer in rounds) * 1000,
        peer_name="an empty Litestar on uvicorn",
        unit="ms",
        ratio=median(ours / peer for ours, peer in rounds),
        target=_START_TARGET,
        cpu_seconds=0.0,
        load=load(),
        aim=Aim.AT_MOST,
    )


def _node(home: Path) -> list[str]:
    return [sys.executable, "-m", "assay.surfaces.cli", "serve", "--home", str(home), "--port", "0"]


def _start_seconds(command: list[str]) -> float:
    began = time.perf_counter()
    with _answering(command):
        return time.perf_counter() - began


def _idle_megabytes(home: Path) -> float:
    with _answering(_node(home)) as process:
        time.sleep(_SETTLE_SECONDS)
        # The judge works in a process of its own, which counts too.
        return sum(map(_resident_bytes, (process.pid, *_children(process.pid)))) / _MEGABYTE


@contextmanager
def _answering(command: list[str]) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            _wait_for_answer(next(iter(process.stdout or ())).strip())
            yield process
        finally:
            process.terminate()


def _wait_for_answer(url: str) -> None:
    while True:
        try:
            with urlopen(f"{url}/healthz", timeout=10):  # noqa: S310 - our own child, on loopback
                return
        except OSError:
            time.sleep(0.005)


def _children(pid: int) -> list[int]:
    listed = [path.read_text(encoding="ascii") for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(one) for text in listed for one in text.split()]


def _resident_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


if __name__ == "__main__":
    print_table(figures())
