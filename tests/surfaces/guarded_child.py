"""A program with one guarded tool, which may be killed at any of its steps: `URL KEY RUN FILE TIER KILL`.

KILL is `-`, `effect:before`, `effect:after`, or the name of a request to the node with `:before` or `:after`.
The tool's effect is a line in FILE. The last line on standard output says how the call ended.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import assay


class Killed:
    """A client that kills its process before or after one of its requests."""

    def __init__(self, client: assay.Client, at: str) -> None:
        self._client = client
        self._at = at

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a method of the client
        method = getattr(self._client, name)

        def asked(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the client
            die_at(f"{name}:before", self._at)
            answer = method(*args, **kwargs)
            die_at(f"{name}:after", self._at)
            return answer

        return asked


def die_at(step: str, at: str) -> None:
    if step == at:
        os.kill(os.getpid(), signal.SIGKILL)


def main(url: str, key: str, run: str, file: str, tier: str, at: str) -> None:
    guard = assay.guard(Killed(assay.Client(url, key=key), at), agent="ai:clerk", run=run, report_seconds=1)

    @guard.tool(tier=tier, says="append {text} to the file")
    def append(text: str) -> int:
        die_at("effect:before", at)
        with Path(file).open("a") as lines:
            lines.write(text + "\n")
            lines.flush()
            os.fsync(lines.fileno())
        die_at("effect:after", at)
        return len(text)

    try:
        ended = f"done {append('one line')}"
    except assay.Waiting as waiting:
        ended = f"waiting {' '.join(waiting.tickets)}"
    except assay.NotRun as error:
        ended = f"not_run {error.reason}"
    sys.stdout.write(ended)


if __name__ == "__main__":
    main(*sys.argv[1:])
