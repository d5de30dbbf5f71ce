"""Frames through pipes: the time is over wherever the other side stops, and a whole frame comes whole."""

import os
import threading
from collections.abc import Iterator
from time import monotonic

import pytest

from assay.adapters.reasoning.judge_frames import MAX_FRAME, render_frame
from assay.adapters.reasoning.judge_pipe import receive_frame, send_frame
from tests.contract._kit import refused

_MOMENT, _PATIENCE = 0.02, 30.0
_LARGE = render_frame("x" * 1_000_000)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    for descriptor in (reader, writer):
        try:
            os.close(descriptor)
        except OSError:
            continue


def test_a_frame_larger_than_the_pipe_arrives_whole(pipe: tuple[int, int]) -> None:
    found: list[bytes | None] = []
    until = monotonic() + _PATIENCE
    reading = threading.Thread(target=lambda: found.append(receive_frame(pipe[0], until)))
    reading.start()
    send_frame(pipe[1], _LARGE, until)
    reading.join()
    assert found == [_LARGE[4:]]


def test_a_reader_that_stops_within_a_frame_is_a_time_out(pipe: tuple[int, int]) -> None:
    with refused("model.timeout"):
        send_frame(pipe[1], _LARGE, monotonic() + _MOMENT)


@pytest.mark.parametrize("said", [b"", b"\0\0", render_frame("half")[:-1]])
def test_a_writer_that_stops_within_a_frame_is_a_time_out(pipe: tuple[int, int], said: bytes) -> None:
    os.write(pipe[1], said)
    with refused("model.timeout"):
        receive_frame(pipe[0], monotonic() + _MOMENT)


@pytest.mark.parametrize("said", [b"", b"\0\0", render_frame("half")[:-1], (MAX_FRAME + 1).to_bytes(4, "big")])
def test_the_end_within_a_frame_is_no_frame(pipe: tuple[int, int], said: bytes) -> None:
    os.write(pipe[1], said)
    os.close(pipe[1])
    assert receive_frame(pipe[0], monotonic() + _PATIENCE) is None


def test_a_reader_that_is_gone_is_told(pipe: tuple[int, int]) -> None:
    os.close(pipe[0])
    with pytest.raises(BrokenPipeError):
        send_frame(pipe[1], _LARGE, monotonic() + _PATIENCE)
