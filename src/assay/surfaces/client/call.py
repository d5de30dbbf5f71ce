"""A request as a value: what is sent, and as what its answer is read; both clients send the same ones."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from assay.flows.request import BulkLine
from assay.surfaces.client.errors import ForeignAnswerError

T = TypeVar("T")
Given = Mapping[str, Any] | Struct | bytes | str
_PREFIX = "/api/v1"
_LINE = msgspec.json.Decoder(BulkLine)
# The members of a query; one that may be repeated is a list.
Asked = dict[str, str | list[str]]


class Call(Struct, Generic[T], frozen=True, kw_only=True):
    """`answer` is the type of what comes back. A POST is sent again only under its own key."""

    method: str
    path: str
    answer: Any
    query: Asked = {}
    content: bytes | None = None
    headers: dict[str, str] = {}
    is_lines: bool = False

    def read(self, body: bytes) -> T:
        if self.answer is bytes:
            return body  # type: ignore[return-value]  # the type of the answer is bytes
        try:
            if self.is_lines:
                return tuple(_LINE.decode_lines(body))  # type: ignore[return-value]  # of a bulk operation
            found: T = msgspec.json.decode(body, type=self.answer)
        except msgspec.MsgspecError as error:
            raise ForeignAnswerError(
                f"expected an answer of {self.method} {self.path}, got another: {error}"
            ) from error
        return found


class Listing(Struct, Generic[T], frozen=True, kw_only=True):
    """A list: `page` is the type of its pages, whose items are of the client's interest."""

    path: str
    page: Any
    query: Asked = {}

    def at(self, cursor: str | None) -> "Call[Any]":
        asked = self.query if cursor is None else {**self.query, "cursor": cursor}
        return Call(method="GET", path=self.path, answer=self.page, query=asked)


class Lines(Struct, frozen=True, kw_only=True):
    """A body of lines: at most so many in one request, so that its answers fit what lies between us."""

    path: str
    most: int


def path(*parts: str | int) -> str:
    """Below the prefix; what callers name is quoted."""
    return "/".join((_PREFIX, *(quote(str(part), safe=":") for part in parts)))


def query(**given: object) -> Asked:
    """Without what is None; yes and no as JSON has them, and each item of a tuple by itself."""
    return {
        name: [_text(one) for one in value] if isinstance(value, tuple) else _text(value)
        for name, value in given.items()
        if value is not None
    }


def content_of(given: Given) -> bytes:
    """JSON as bytes: a text is taken to be JSON already."""
    if isinstance(given, bytes):
        return given
    return given.encode() if isinstance(given, str) else msgspec.json.encode(given)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
