"""What a process asked of the kernel, in the order in which strace saw it begin and end.

strace holds a process at the entry and at the exit of every call, so the order of its lines is the order of events:
a thread that was woken by another cannot be seen to act before the call that it waited for was seen to return.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Call", "parse_trace"]

_LINE = re.compile(r"^(\d+) +(.*)$")
_WHOLE = re.compile(r"^(\w+)\((.*)\) += (-?\d+)(.*)$")
_BEGUN = re.compile(r"^(\w+)\((.*) <unfinished \.\.\.>$")
_ENDED = re.compile(r"^<\.\.\. (\w+) resumed>(.*)\) += (-?\d+)(.*)$")
_DESCRIPTOR = re.compile(r"^\d+<([^>]*)>")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


class Call(NamedTuple):
    """One system call: `begun` and `ended` are places in the order of events."""

    name: str
    path: str
    content: bytes
    begun: int
    ended: int
    result: int
    injected: bool


def parse_trace(trace: Path) -> list[Call]:
    """The calls on files, in the order in which they ended; the trace must have been made with `-f -y -xx`."""
    return list(_calls(trace.read_text().splitlines()))


def _calls(lines: list[str]) -> Iterator[Call]:
    open_calls: dict[str, tuple[int, str]] = {}
    for place, line in enumerate(lines):
        matched = _LINE.match(line)
        thread, text = matched.groups() if matched else ("", line)
        if begun := _BEGUN.match(text):
            open_calls[thread] = (place, begun[2])
        elif ended := _ENDED.match(text):
            first, arguments = open_calls.pop(thread)
            yield _call(ended[1], arguments + ended[2], first, place, ended[3], ended[4])
        elif whole := _WHOLE.match(text):
            yield _call(whole[1], whole[2], place, place, whole[3], whole[4])


def _call(name: str, arguments: str, begun: int, ended: int, result: str, rest: str) -> Call:
    descriptor, text = _DESCRIPTOR.match(arguments), _TEXT.search(arguments)
    path = bytes.fromhex(descriptor[1].replace("\\x", "")).decode() if descriptor else ""
    content = bytes.fromhex(text[1].replace("\\x", "")) if text else b""
    return Call(name, path, content, begun, ended, int(result), "(INJECTED)" in rest)
