"""Validating a knowledge graph of 10,000 rules, all classes of defects at once.

The peer is the reference implementation of the specification, which no registry carries: its 334 ms (for four of the
eight classes of SKI 3.6) are scaled by this run's rfc8785 rate over the 4,300 per second they were taken beside.
"""

import json
from collections.abc import Callable
from statistics import median

import rfc8785

from assay.verdicts.graph.hash import stamp_versions
from assay.verdicts.graph.parse import parse_graph
from assay.verdicts.graph.validate import validate_graph
from bench._frame import Aim, Figure, load, measure, print_table
from bench._graphs import typed_graph
from bench.canonical import RECORD

__all__ = ["figures"]

_REFERENCE_SECONDS = 0.334
_RFC8785_BESIDE_IT = 4_300
_ROUNDS = 5
_SECONDS = 0.4


def _beside_reference(name: str, ours: Callable[[], object], note: str) -> Figure:
    """Ours and rfc8785 take turns; times are in milliseconds."""
    pairs = [
        (measure(ours, _SECONDS), measure(lambda: rfc8785.dumps(RECORD), _SECONDS))  # type: ignore[arg-type]  # its alias wants invariant containers
        for _ in range(_ROUNDS)
    ]
    times = [(1000 / mine, 1000 * _REFERENCE_SECONDS * _RFC8785_BESIDE_IT / theirs) for (mine, _), (theirs, _) in pairs]
    return Figure(
        name=name,
        ours=median(mine for mine, _ in times),
        peer=median(theirs for _, theirs in times),
        peer_name="reference, scaled",
        unit="ms",
        ratio=median(mine / theirs for mine, theirs in times),
        target=1,
        cpu_seconds=sum(mine + theirs for (_, mine), (_, theirs) in pairs),
        load=load(),
        aim=Aim.AT_MOST,
        note=note,
    )


def figures() -> list[Figure]:
    document = json.dumps(stamp_versions(typed_graph(10_000))).encode()
    graph = parse_graph(document)
    # A figure for a graph whose defects are found early would be worth nothing.
    assert validate_graph(graph) == ()  # noqa: S101 - as above
    return [
        _beside_reference("graph validation, 10,000 rules", lambda: validate_graph(graph), "a graph that was read"),
    ]


if __name__ == "__main__":
    print_table(figures())
