"""Answers of a node, read: bodies, refusals, and lines."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

import httpx
import msgspec

from assay.flows.request import BulkLine
from assay.surfaces.client.call import Given, content_of
from assay.surfaces.client.errors import (
    ClientError,
    ForeignAnswerError,
    Problem,
    UnreachableNodeError,
    problem_error,
)

T = TypeVar("T")
_FIRST_REFUSAL = 400


def raise_for(response: httpx.Response, body: bytes) -> None:
    """Raise the node's own error for a refusal."""
    if response.status_code >= _FIRST_REFUSAL:
        raise problem_error(response.status_code, body, _seconds(response.headers.get("retry-after")))


def unreachable(error: Exception) -> UnreachableNodeError:
    return UnreachableNodeError(f"no answer came: {type(error).__name__}: {error}"[:500])


def batches(given: Iterable[T], most: int) -> Iterator[list[T]]:
    rest = iter(given)
    while batch := list(islice(rest, most)):
        yield batch


def joined(records: Iterable[Given]) -> bytes:
    """One line each; what is a text already may not have lines of its own."""
    return b"".join(content_of(one).replace(b"\n", b" ") + b"\n" for one in records)


def read_bulk(body: bytes, *, before: int) -> Iterator[BulkLine]:
    """The answers of one request, numbered on after those before; what ended it early is raised after them."""
    for line in body.splitlines():
        try:
            one = msgspec.json.decode(line, type=BulkLine)
        except msgspec.MsgspecError as error:
            raise ForeignAnswerError(f"expected a line for each record, got another: {error}") from error
        if one.line is None:
            raise _ended(one)
        yield msgspec.structs.replace(one, line=before + one.line)


def _ended(told: BulkLine) -> ClientError:
    problem = Problem(title="ended early", status=500, detail=told.problem or "", code=told.code or "http.internal")
    return problem_error(500, msgspec.json.encode(problem))


def _seconds(text: str | None) -> float | None:
    return float(text) if text is not None and text.isdigit() else None
