"""Loops in a directed graph, found without recursion."""

from collections.abc import Iterator, Mapping, Sequence

from assay.verdicts.graph.node import NodeId


def find_cycles(successors: Mapping[NodeId, Sequence[NodeId]]) -> Iterator[tuple[NodeId, ...]]:
    """A loop for each edge that closes one in a walk from the smallest id on; none exactly when there is no loop."""
    done: set[NodeId] = set()
    for root in sorted(successors):
        if root not in done:
            yield from _walk(root, successors, done)


def _walk(
    root: NodeId, successors: Mapping[NodeId, Sequence[NodeId]], done: set[NodeId]
) -> Iterator[tuple[NodeId, ...]]:
    path, position, waiting = [root], {root: 0}, [iter(successors.get(root, ()))]
    while path:
        following = next(waiting[-1], None)
        if following is None:
            done.add(path[-1])
            position.pop(path.pop())
            waiting.pop()
        elif following in position:
            yield tuple(path[position[following] :])
        elif following not in done:
            position[following] = len(path)
            path.append(following)
            waiting.append(iter(successors.get(following, ())))
