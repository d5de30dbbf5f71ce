"""How long a person waits before anything happens: `assay --help` and `import assay`, beside importing click."""

import resource
import subprocess
import sys
import time
from statistics import median

from bench._frame import Aim, Figure, load, print_table

__all__ = ["figures"]

_ROUNDS = 9
_HELP = [sys.executable, "-m", "assay.surfaces.cli", "--help"]
_IMPORT = [sys.executable, "-c", "import assay"]
_PEER = [sys.executable, "-c", "import click"]
_HELP_TARGET = 0.250


def figures() -> list[Figure]:
    """Each in a process of its own, taking turns; caches of the file system are warm after the first round."""
    cpu = _children_cpu()
    for command in (_HELP, _IMPORT, _PEER):
        _seconds(command)
    rounds = [(_seconds(_HELP), _seconds(_IMPORT), _seconds(_PEER)) for _ in range(_ROUNDS)]
    spent = _children_cpu() - cpu
    helps, imports, peers = (median(column) for column in zip(*rounds, strict=True))
    return [
        _figure("`assay --help`", helps, peers, target=2.5, spent=spent),
        _figure("`import assay`", imports, peers, target=1.0, spent=spent),
        Figure(
            name="`assay --help`, of the 250 ms it may take",
            ours=helps * 1000,
            peer=None,
            peer_name="250 ms",
            unit="ms",
            ratio=helps / _HELP_TARGET,
            target=1.0,
            cpu_seconds=spent,
            load=load(),
            aim=Aim.AT_MOST,
        ),
    ]


def _figure(name: str, ours: float, peer: float, *, target: float, spent: float) -> Figure:
    return Figure(
        name=name,
        ours=ours * 1000,
        peer=peer * 1000,
        peer_name='python -c "import click"',
        unit="ms",
        ratio=ours / peer,
        target=target,
        cpu_seconds=spent,
        load=load(),
        aim=Aim.AT_MOST,
    )


def _seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    print_table(figures())
