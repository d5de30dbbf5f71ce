"""A state machine with the shape of the agent frameworks: nodes, edges, a checkpoint after each step, interrupts.

state -> node -> changes -> checkpoint -> next node;  `Interrupt` ends a run, and the next run begins at that node
Replace it by the graph of your framework: a node that calls `assay.gate` is the same there.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["END", "Interrupt", "Machine"]

END = "end"
State = dict[str, Any]
Node = Callable[[State], State]


class Interrupt(Exception):  # noqa: N818  the word that such frameworks use
    """A node cannot go on now: `value` is for whoever can help, and running again asks the node once more."""

    def __init__(self, value: State) -> None:
        super().__init__(str(value))
        self.value = value


class Machine:
    """Nodes by name, and an edge from each: a name, or a function of the state that gives one."""

    def __init__(self, start: str, checkpoints: Path) -> None:
        self._start = start
        self._checkpoints = checkpoints
        self._nodes: dict[str, Node] = {}
        self._edges: dict[str, str | Callable[[State], str]] = {}

    def add(self, name: str, node: Node, then: str | Callable[[State], str]) -> None:
        self._nodes[name] = node
        self._edges[name] = then

    def run(self, thread: str, given: State | None = None) -> State:
        """Run a thread from where it stopped, or from the start with what is given; an interrupt leaves it there."""
        place, state = self._load(thread) or (self._start, dict(given or {}))
        while place != END:
            try:
                state = {**state, **self._nodes[place](state)}
            except Interrupt as waiting:
                self._save(thread, place, {**state, **waiting.value})
                raise
            edge = self._edges[place]
            place = edge if isinstance(edge, str) else edge(state)
            self._save(thread, place, state)
        return state

    def _load(self, thread: str) -> tuple[str, State] | None:
        file = self._checkpoints / f"{thread}.json"
        if not file.exists():
            return None
        kept = json.loads(file.read_text())
        return kept["place"], kept["state"]

    def _save(self, thread: str, place: str, state: State) -> None:
        """Whole or not at all: a crash in the middle leaves the checkpoint before."""
        self._checkpoints.mkdir(parents=True, exist_ok=True)
        new = self._checkpoints / f"{thread}.new"
        with new.open("w") as file:
            json.dump({"place": place, "state": state}, file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._checkpoints / f"{thread}.json")
