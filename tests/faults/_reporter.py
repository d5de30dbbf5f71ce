"""A process that reports outcomes from four threads until it is killed: it writes down what it was told, each time."""

import json
import os
import sys
import threading
from itertools import count
from pathlib import Path

from assay.kernel.instant import render_instant
from assay.wiring import open_node
from tests.delivering import report_outcome
from tests.flows._delivery import RULE

__all__: list[str] = []

_THREADS = 4


def main(folder: str, journal: str, sender: str) -> None:
    """A line says which signal was acknowledged; every third comes twice, as senders do who heard nothing."""
    log = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with open_node(Path(folder)) as (tools, _):

        def report(thread: int) -> None:
            for number in count():
                key = f"{os.getpid()}-{thread}-{number}"
                told: dict[str, object] = {
                    "signal_type": "phala",
                    "rule_id": RULE,
                    "applied_by": "bridge",
                    "outcome": "failure" if number % 5 else "success",
                    "strands_available": [],
                    "authenticity_level": "PRAMANA-0",
                    "timestamp": render_instant(tools.clock.now()),
                }
                content = json.dumps(told).encode()
                for _ in range(2 if number % 3 == 0 else 1):
                    done = report_outcome(tools, content, credential=sender, idempotency_key=key, at=tools.clock.now())
                    os.write(log, f"{done.signal_id} {done.sequence_number}\n".encode())

        threads = [threading.Thread(target=report, args=(number,), daemon=True) for number in range(_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
