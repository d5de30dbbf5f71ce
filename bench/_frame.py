"""The measuring frame: ours and the peer take turns in short rounds, so that load on the machine hits both alike.

A bench module offers `figures() -> list[Figure]`; `python -m bench` runs every such module and prints one table.
Only the ratio is a claim; rates are printed so that a reader can see what the ratio was made of.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable
from enum import StrEnum
from statistics import median

from msgspec import Struct
from rich.console import Console
from rich.table import Table

__all__ = ["Aim", "Figure", "compare", "is_met", "load", "measure", "print_table"]

_FIRST_BATCH = 1
_BATCH_SECONDS = 0.02
_ROUNDS = 5
_FILE_WIDTH = 180


class Aim(StrEnum):
    """On which side of its target a ratio should lie."""

    AT_LEAST = ">="
    AT_MOST = "<="


class Figure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row: `ratio` is ours / peer as measured in this run; `peer` is None where the target is absolute."""

    name: str
    ours: float
    peer: float | None
    peer_name: str
    unit: str
    ratio: float
    target: float
    cpu_seconds: float
    load: float
    aim: Aim = Aim.AT_LEAST
    note: str = ""


def is_met(figure: Figure) -> bool:
    if figure.aim is Aim.AT_LEAST:
        return figure.ratio >= figure.target
    return figure.ratio <= figure.target


def load() -> float:
    """How busy the machine is: the one-minute load average."""
    return os.getloadavg()[0]


def measure(fn: Callable[[], object], seconds: float) -> tuple[float, float]:
    """Call `fn` for about `seconds`; return calls per second of wall time, and the CPU seconds this process used."""
    batch = _batch_size(fn)
    calls = 0
    cpu_start = time.process_time()
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        for _ in range(batch):
            fn()
        calls += batch
    return calls / elapsed, time.process_time() - cpu_start


def compare(
    name: str,
    ours: Callable[[], object],
    peer: Callable[[], object],
    *,
    peer_name: str,
    target: float,
    unit: str = "calls/s",
    seconds: float = 0.4,
    rounds: int = _ROUNDS,
    aim: Aim = Aim.AT_LEAST,
    note: str = "",
) -> Figure:
    """Measure both in alternating rounds of `seconds` each; the figure holds medians, the ratio that of the rounds."""
    pairs = [(measure(ours, seconds), measure(peer, seconds)) for _ in range(rounds)]
    return Figure(
        name=name,
        ours=median(mine for (mine, _), _ in pairs),
        peer=median(theirs for _, (theirs, _) in pairs),
        peer_name=peer_name,
        unit=unit,
        ratio=median(mine / theirs for (mine, _), (theirs, _) in pairs),
        target=target,
        cpu_seconds=sum(mine + theirs for (_, mine), (_, theirs) in pairs),
        load=load(),
        aim=aim,
        note=note,
    )


def print_table(figures: Iterable[Figure], console: Console | None = None) -> None:
    """Data goes to standard output: one row per figure, and whether its target was met in this run."""
    table = Table(title="ours beside a peer, one run", title_justify="left")
    for heading in ("what", "unit", "ours", "peer", "ratio", "target", "met", "CPU s", "load"):
        table.add_column(heading, justify="left" if heading in {"what", "unit", "peer"} else "right")
    for figure in figures:
        table.add_row(*_cells(figure))
    (console or _console()).print(table)


def _console() -> Console:
    """As wide as the terminal; in a file or a pipe wide enough that no cell is cut."""
    return Console() if sys.stdout.isatty() else Console(width=_FILE_WIDTH)


def _cells(figure: Figure) -> tuple[str, ...]:
    return (
        f"{figure.name} ({figure.note})" if figure.note else figure.name,
        figure.unit,
        _number(figure.ours),
        figure.peer_name if figure.peer is None else f"{_number(figure.peer)} {figure.peer_name}",
        f"{figure.ratio:.2f}x",
        f"{figure.aim.value} {figure.target:g}x",
        "yes" if is_met(figure) else "NO",
        f"{figure.cpu_seconds:.1f}",
        f"{figure.load:.1f}",
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _batch_size(fn: Callable[[], object]) -> int:
    """So many calls that reading the clock between batches does not show; also the warm-up."""
    batch = _FIRST_BATCH
    while True:
        start = time.perf_counter()
        for _ in range(batch):
            fn()
        if time.perf_counter() - start >= _BATCH_SECONDS:
            return batch
        batch *= 2
