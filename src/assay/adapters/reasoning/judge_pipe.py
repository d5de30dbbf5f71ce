"""Frames through pipes within a time: a child that stops reading or writing, at whatever byte, holds up nobody.

content -> as much as the pipe takes, while there is time -> ...; bytes as they come, while there is time -> a frame
"""

import os
import select
from time import monotonic

from assay.adapters.reasoning.judge_frames import FRAME_LENGTH, MAX_FRAME
from assay.ports.model import ModelTimeoutError

_CHUNK = 1024 * 1024
_MILLISECONDS = 1000


def send_frame(descriptor: int, frame: bytes, deadline: float) -> None:
    """All of it; raises `model.timeout` when the time is over, and `OSError` where the reader is gone."""
    os.set_blocking(descriptor, False)
    rest = memoryview(frame)
    while rest:
        _wait(descriptor, select.POLLOUT, deadline)
        rest = rest[os.write(descriptor, rest[:_CHUNK]) :]


def receive_frame(descriptor: int, deadline: float) -> bytes | None:
    """The next frame's content; None where the writer ended, also within a frame, or where it is no frame."""
    os.set_blocking(descriptor, False)
    head = _receive(descriptor, FRAME_LENGTH, deadline)
    size = MAX_FRAME + 1 if head is None else int.from_bytes(head, "big")
    return None if size > MAX_FRAME else _receive(descriptor, size, deadline)


def _receive(descriptor: int, size: int, deadline: float) -> bytes | None:
    content = bytearray()
    while len(content) < size:
        _wait(descriptor, select.POLLIN, deadline)
        part = os.read(descriptor, min(size - len(content), _CHUNK))
        if not part:
            return None
        content += part
    return bytes(content)


def _wait(descriptor: int, event: int, deadline: float) -> None:
    """Not `select`, which knows no descriptor beyond 1023."""
    poll = select.poll()
    poll.register(descriptor, event)
    if not poll.poll(max(deadline - monotonic(), 0) * _MILLISECONDS):
        raise ModelTimeoutError("the time allowed was over before the judge answered")
