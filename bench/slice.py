"""Taking a slice out of graphs of 1,000, 10,000 and 100,000 rules, and the memory that the largest takes.

The peer is the reference implementation of the specification, which no registry carries: its 1.1, 13.9 and 108 ms are
scaled by this run's rfc8785 rate over the 4,300 per second they were taken beside. The targets are absolute: a tenth
of a millisecond whatever the size, and 400 MB; they are written as ratios to these.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from statistics import median

import rfc8785

from assay.kernel.instant import Instant
from assay.verdicts.graph.hash import stamp_versions
from assay.verdicts.graph.index import GraphIndex, build_index
from assay.verdicts.graph.parse import parse_graph
from assay.verdicts.slice import slice_graph
from bench._frame import Aim, Figure, load, measure, print_table
from bench._graphs import RULES_PER_SUBJECT, typed_graph
from bench.canonical import RECORD

__all__ = ["figures"]

_REFERENCE_MS = {1_000: 1.1, 10_000: 13.9, 100_000: 108.0}
_RFC8785_BESIDE_IT = 4_300
_MOST_MS = 0.1
_MOST_MB = 400
_ROUNDS = 5
_SECONDS = 0.4
_NOW = Instant(datetime(2024, 6, 1, tzinfo=UTC))
# Subjects are visited in steps of a prime, so that the processor's caches do not hold them all.
_STEP = 7919

_MEASURE = """
import sys
from bench.slice import indexed
index = indexed(100_000)
print(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1])
"""


def indexed(rules: int) -> GraphIndex:
    return build_index(parse_graph(json.dumps(stamp_versions(typed_graph(rules))).encode()))


def _slicing(index: GraphIndex, subjects: int) -> Callable[[], object]:
    numbers = count(step=_STEP)
    return lambda: slice_graph(index, f"subject{next(numbers) % subjects}", as_of=_NOW, jurisdiction="jurisdiction3")


def _figure(rules: int) -> Figure:
    ours = _slicing(indexed(rules), rules // RULES_PER_SUBJECT)
    pairs = [
        (measure(ours, _SECONDS), measure(lambda: rfc8785.dumps(RECORD), _SECONDS))  # type: ignore[arg-type]  # its alias wants invariant containers
        for _ in range(_ROUNDS)
    ]
    mine = median(1000 / rate for (rate, _), _ in pairs)
    theirs = median(_REFERENCE_MS[rules] * _RFC8785_BESIDE_IT / rate for _, (rate, _) in pairs)
    return Figure(
        name=f"slice, {rules:,} rules",
        ours=mine,
        peer=theirs,
        peer_name="reference, scaled",
        unit="ms",
        ratio=mine / _MOST_MS,
        target=1,
        cpu_seconds=sum(one + other for (_, one), (_, other) in pairs),
        load=load(),
        aim=Aim.AT_MOST,
        note="ratio to 0.1 ms",
    )


def _memory() -> Figure:
    """In a process of its own: the index and what it holds, after the document was read and dropped."""
    done = subprocess.run([sys.executable, "-c", _MEASURE], check=True, capture_output=True, text=True)
    megabytes = int(done.stdout) / 1024
    return Figure(
        name="memory with 100,000 rules",
        ours=megabytes,
        peer=None,
        peer_name="400 MB",
        unit="MB",
        ratio=megabytes / _MOST_MB,
        target=1,
        cpu_seconds=0,
        load=load(),
        aim=Aim.AT_MOST,
        note="the whole process, interpreter included",
    )


def figures() -> list[Figure]:
    return [*(_figure(rules) for rules in _REFERENCE_MS), _memory()]


if __name__ == "__main__":
    print_table(figures())
