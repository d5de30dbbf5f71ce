"""A process that judges telemetry until it is killed: it writes down what it was told, and when it asked the model."""

import os
import sys
from pathlib import Path

from assay.flows.decide_verdict import decide_verdict
from assay.verdicts.reason import ReasonRequest
from assay.wiring import open_node
from tests.flows._verdicts import HonestModel, guarded

__all__: list[str] = []


def main(folder: str, journal: str, document: str, credential: str) -> None:
    """One record after the other, each line of the journal on disk before the next step begins."""
    model = HonestModel(Path(document).read_bytes())
    log = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def ask(request: ReasonRequest) -> str:
        reply = model(request)
        os.write(log, b"asked\n")
        return reply

    with open_node(Path(folder)) as (opened, _):
        tools = guarded(opened, ask)
        number = os.getpid() * 100_000
        while True:
            number += 1
            at = tools.clock.now()
            given = {
                "telemetry_id": f"t-{number}",
                "timestamp": at.isoformat(),
                "subject": "stack",
                "measurement": {"so2": number % 70},
            }
            decided = decide_verdict(tools, given, credential=credential, at=at)
            hashes = ",".join(one.entry_hash for one in decided.verdicts)
            os.write(log, f"told {decided.telemetry_id} {hashes}\n".encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
