"""The witnesses that contradict this node, as their newest answers say; shared by all threads of a process."""

import threading
from collections.abc import Mapping


class WitnessStanding:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._contradictions: Mapping[str, str] = {}

    def contradictions(self) -> Mapping[str, str]:
        """What each of them said, by the witness's name."""
        return self._contradictions

    def contradicted(self, witness: str, said: str) -> None:
        with self._lock:
            self._contradictions = {**self._contradictions, witness: said}

    def agreed(self, witness: str) -> None:
        with self._lock:
            self._contradictions = {name: said for name, said in self._contradictions.items() if name != witness}
