"""Callers over HTTP in a process of their own: raw sockets, each waits for its answer before it asks again.

Run as a module: PORT KEY CALLERS SECONDS TURN. Prints how many were answered 201, how many were not, and how long.
"""

import asyncio
import json
import sys
import time

__all__ = ["SUBJECTS", "record"]

SUBJECTS = 64


def record(number: int, caller: int) -> bytes:
    """A record of its own; callers speak of different subjects."""
    return json.dumps(
        {
            "telemetry_id": f"{caller}-{number}",
            "timestamp": "2024-06-01T00:00:00Z",
            "subject": f"subject{caller % SUBJECTS}",
            "measurement": {"so2": {"value": 20, "unit": "mg/Nm3"}},
        }
    ).encode()


async def _call(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes, body: bytes) -> int:
    writer.write(head + b"content-length: %d\r\n\r\n" % len(body) + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line[15:]) for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    await reader.readexactly(length)
    return int(answer[9:12])


async def _caller(caller: int, port: int, key: str, until: float) -> tuple[int, int]:
    head = (
        f"POST /api/v1/telemetry HTTP/1.1\r\nhost: bench\r\nx-api-key: {key}\r\ncontent-type: application/json\r\n"
    ).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    done = lost = number = 0
    while time.perf_counter() < until:
        number += 1
        status = await _call(reader, writer, head, record(number, caller))
        done, lost = (done + 1, lost) if status == 201 else (done, lost + 1)
    writer.close()
    return done, lost


async def _run(port: int, key: str, callers: int, seconds: float, turn: int) -> None:
    start = time.perf_counter()
    told = await asyncio.gather(
        *(_caller(one, port, key, start + seconds) for one in range(turn * 1000, turn * 1000 + callers))
    )
    done, lost = sum(one for one, _ in told), sum(one for _, one in told)
    print(json.dumps([done, lost, time.perf_counter() - start]))


if __name__ == "__main__":
    asyncio.run(_run(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])))
