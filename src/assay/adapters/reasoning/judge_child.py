"""The judge's own process, started by `judge_process`.

It reads frames until its standard input ends, which also happens when whoever started it dies; then it leaves at once,
whatever it is doing. It reaches nothing: no socket, no other program, no file for writing.
"""

import os
import queue
import sys
import threading
from collections.abc import Sequence

from assay.adapters.reasoning.judge_frames import (
    Opening,
    Question,
    Ready,
    answer_all,
    read_frame,
    read_value,
    render_frame,
)
from assay.model.engine import Engine
from assay.model.errors import WeightFormError
from assay.model.weights import parse_weights

# What an evaluation must not do (SKI 6.3), by the names under which the interpreter announces it.
_REFUSED = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "ctypes.dlopen")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main() -> None:
    """The weights first, then questions in batches; each is answered before the next is looked at."""
    asked: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(asked,), daemon=True).start()
    engine, ready = _load(read_value(asked.get(), Opening))
    sys.addaudithook(_refuse)
    _send(ready)
    while engine is not None:
        questions = read_value(asked.get(), list[Question])
        _send(() if questions is None else answer_all(engine, questions))


def _load(opening: Opening | None) -> tuple[Engine | None, Ready]:
    if opening is None:
        return None, Ready(weight_hash=None, problem="expected weights, got something else")
    try:
        engine = Engine(parse_weights(opening.weights, expected=opening.expected))
    except WeightFormError as error:
        return None, Ready(weight_hash=None, problem=str(error))
    return engine, Ready(weight_hash=engine.weight_hash)


def _receive(asked: "queue.SimpleQueue[bytes]") -> None:
    while (content := read_frame(sys.stdin.buffer)) is not None:
        asked.put(content)
    os._exit(0)


def _send(value: object) -> None:
    sys.stdout.buffer.write(render_frame(value))
    sys.stdout.buffer.flush()


def _refuse(event: str, arguments: Sequence[object]) -> None:
    """An audit hook, which can never be taken away again."""
    is_writing = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING
    if is_writing or event.startswith(_REFUSED):
        raise PermissionError(f"the judge reaches nothing: {event}")
