"""A process that judges telemetry until it is killed: it writes down what it was told, and when it asked the model."""

import json
import os
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from assay.flows.tools import Tools
from assay.verdicts.reason import ReasonRequest
from assay.wiring import open_node
from tests.flows._verdicts import HonestModel, guarded
from tests.verdict_calls import evaluate_many

__all__: list[str] = []


def main(folder: str, journal: str, document: str, credential: str, together: str) -> None:
    """One record after the other, or several in a unit; each line of the journal is on disk before the next begins."""
    model = HonestModel(Path(document).read_bytes())
    log = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def ask(request: ReasonRequest) -> str:
        reply = model(request)
        os.write(log, b"asked\n")
        return reply

    with open_node(Path(folder)) as (opened, _):
        tools = guarded(opened, ask)
        for one in evaluate_many(tools, _lines(tools), credential=credential, together=int(together)):
            assert one.decided is not None, one.message
            hashes = ",".join(verdict.entry_hash for verdict in one.decided.verdicts)
            os.write(log, f"told {one.decided.telemetry_id} {hashes}\n".encode())


def _lines(tools: Tools) -> Iterator[str]:
    for number in count(os.getpid() * 100_000):
        record = {
            "telemetry_id": f"t-{number}",
            "timestamp": tools.clock.now().isoformat(),
            "subject": "stack",
            "measurement": {"so2": number % 70},
        }
        yield json.dumps(record)


if __name__ == "__main__":
    main(*sys.argv[1:])
