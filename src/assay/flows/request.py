"""What an operation takes and returns: a request struct in, a result struct or a page out.

Every field of a request has one declaration. Doors read it: a name in the route is a path parameter and an argument on
the command line; the other fields are the query of a GET, the JSON body of a change, options, arguments of a tool.
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from assay.flows.errors import FlowError, NotFoundError
from assay.identity.authorise import has_role, require_role
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole
from assay.identity.problem import Problem
from assay.kernel.errors import Blame, Error
from assay.kernel.instant import Instant, parse_instant
from assay.kernel.ledger import Receipt

T = TypeVar("T")

MOST_ITEMS = 500
# The header of HTTP under which a change is applied once.
KEY_HEADER = "Idempotency-Key"
# The media type of a body with one JSON text in each line.
LINES = "application/x-ndjson"
_HIGHEST = 2**53 - 1
_ENCODER = msgspec.json.Encoder(decimal_format="number")
# Where a list that begins with the newest item starts.
NEWEST = _HIGHEST
# Roles that may read records about others: their observations, their standings, their answers.
SEE_ALL = (BuiltInRole.AUDITOR, BuiltInRole.OPERATOR, BuiltInRole.REVIEWER)

Limit = Annotated[int, Meta(ge=1, le=MOST_ITEMS, description="At most so many items.")]
Cursor = Annotated[str, Meta(min_length=1, max_length=4096, description="The `next` of the page before.")]
# An RFC 3339 instant with an offset, and the id of a principal; both are checked with all other fields.
Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
PrincipalName = Annotated[str, Meta(extra_json_schema={"format": "principal-id"})]
Reason = Annotated[str, Meta(min_length=1, max_length=2000, description="Why; it is recorded in the ledger.")]


class FieldProblem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is wrong where; `pointer` is the place in the body (RFC 6901), where it is about the body."""

    field: str
    message: str
    pointer: str | UnsetType = UNSET


class FieldsError(FlowError):
    """Fields of a request are missing, unknown or wrong; all of them are listed."""

    code = "http.fields"
    blame = Blame.INPUT

    def __init__(self, problems: Sequence[Problem | FieldProblem]) -> None:
        super().__init__("; ".join(f"{problem.field}: {problem.message}" for problem in problems))
        self.problems = tuple(problems)


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a caller asks for. Subclasses add fields; each has a type, limits and a description (`Meta`)."""


class Paged(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for a list, page by page."""

    limit: Limit = 100
    cursor: Cursor | None = None


class Page(Struct, Generic[T], frozen=True, kw_only=True):
    """One page of a list; `next` is the cursor of the following page, null at the end."""

    items: tuple[T, ...]
    next: str | None = None


class StreamPart(Struct, Generic[T], frozen=True, kw_only=True):
    """What a stream has after a position, in order; ask again with `after` for what follows."""

    items: tuple[T, ...]
    after: int


# Fields of these forms hold a secret: no log, no fingerprint and no answer repeats them.
SECRET_FORMS = ("secret", "new_secret")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """How a field appears on the command line where its name and type do not say it.

    `form`: `span` reads `90d` as seconds; `until` reads `90d` as the instant that far from now; `file` reads the
    content of a named file (`-`: standard input); `secret` reads a line of standard input or a hidden prompt, and
    `new_secret` asks twice; `argument` makes a positional argument of a field that is not in the route; `number` also
    reads `0x5`; `flat` makes an option of each field of a struct; `text` and `text_argument` read the text of a named
    file. `pairs` takes a name and a text, `file_pairs` a name and a file, as often as wanted. `read` makes the field's
    value of a file's content; `key` is an argument: the content of the file of that name
    if there is one, else the text. `clear` is a flag that sets the field to nothing: no items, or null.
    """

    flag: str | None = None
    metavar: str | None = None
    form: Literal[
        "plain",
        "span",
        "until",
        "file",
        "secret",
        "argument",
        "number",
        "new_secret",
        "flat",
        "key",
        "text",
        "text_argument",
        "pairs",
        "file_pairs",
    ] = "plain"
    clear: str | None = None
    read: Callable[[bytes], object] | None = None
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """Marks the one `bytes` field that is the request body itself: hashed and stored as received.

    `kind` is the type that describes the document to callers; `media_type` is what HTTP expects. `is_long` takes a body
    up to `http.max_stream_bytes`.
    """

    kind: object = None
    media_type: str = "application/json"
    metavar: str = "FILE"
    is_long: bool = False


@dataclass(frozen=True, slots=True)
class Header:
    """Marks a field that HTTP carries in a header, such as `If-Match`."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done(Generic[T]):
    """The result of a change with what doors add to it.

    `is_new` is False where the same request was recorded before. `receipt` is the entry that records it. `kept` is
    stored under an idempotency key in place of a value that holds a secret. `headers` are added to an HTTP answer.
    """

    value: T
    is_new: bool = True
    receipt: Receipt | None = None
    kept: T | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class Content(Struct, frozen=True, kw_only=True):
    """A result that is a document of its own: the exact bytes and their media type."""

    body: bytes
    media_type: str = "application/json"
    etag: str | None = None
    is_immutable: bool = False
    filename: str | None = None
    headers: dict[str, str] = {}


class BulkLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result of one line: its receipt, or the code and the message of its refusal.

    A line without a number is the last one; it is about all lines that were not answered.
    """

    line: int | None
    status: Literal["recorded", "known", "refused"]
    receipt: dict[str, Any] | None = None
    code: str | None = None
    problem: str | None = None


def next_cursor(name: str, place: int | str) -> str:
    """Encode where a list continues; `name` binds the cursor to its list."""
    return urlsafe_b64encode(msgspec.json.encode((name, place))).decode().rstrip("=")


def read_number(name: str, cursor: str | None, *, start: int = 0) -> int:
    """Decode the position after which a list continues; `start` where there is no cursor."""
    place = start if cursor is None else _place(name, cursor)
    if not isinstance(place, int) or not 0 <= place <= _HIGHEST:
        raise _foreign()
    return place


def read_text(name: str, cursor: str | None) -> str | None:
    """Decode the name after which a list continues; None at its beginning."""
    place = None if cursor is None else _place(name, cursor)
    if place is not None and (not isinstance(place, str) or "\x00" in place):
        raise _foreign()
    return place


def cut(name: str, found: Sequence[T], limit: int, place: Callable[[T], int | str]) -> Page[T]:
    """Make a page of `limit` items; `found` holds one more where there is a next page."""
    items = tuple(found[:limit])
    return Page(items=items, next=next_cursor(name, place(items[-1])) if len(found) > limit else None)


def cut_named(name: str, found: Iterable[T], cursor: str | None, limit: int, place: Callable[[T], str]) -> Page[T]:
    """Make a page of a list that is held whole, sorted by name."""
    after = read_text(name, cursor)
    rest = [item for item in found if after is None or place(item) > after]
    return cut(name, rest[: limit + 1], limit, place)


def map_page(page: Page[T], convert: Callable[[T], "Item"]) -> "Page[Item]":
    return Page(items=tuple(convert(item) for item in page.items), next=page.next)


Item = TypeVar("Item")


def parse_moment(text: str | None) -> Instant | None:
    """Parse an instant of a request; an offset is required."""
    return None if text is None else parse_instant(text)


def whose(caller: Caller, asked: str | None) -> str | None:
    """Return whose records the caller may read, None for everybody's; another principal's need a role that sees all."""
    if asked == caller.principal.id or has_role(caller.principal, SEE_ALL):
        return asked
    if asked is not None:
        require_role(caller.principal, SEE_ALL)
    return caller.principal.id


def encode_result(value: object) -> bytes:
    """The JSON of a result, as HTTP sends it."""
    return _ENCODER.encode(value)


def etag_of(body: bytes) -> str:
    """The ETag of a resource with these bytes."""
    return f'"{sha256(body).hexdigest()[:32]}"'


def require_match(given: str, current: object) -> None:
    """Raise unless `If-Match` names the resource as it is now; call it in the transaction that changes the resource."""
    tags, tag = [one.strip() for one in given.split(",")], etag_of(encode_result(current))
    if not {"*", tag} & set(tags):
        raise FlowError.precondition(f"expected it as it is now, {tag}, got `If-Match: {', '.join(tags)[:80]}`")


def parse_or_not_found(parse: Callable[[str], T], text: str, what: str) -> T:
    """Parse a name of a path; a name that nothing can have is `flow.not_found`."""
    try:
        return parse(text)
    except Error as error:
        raise NotFoundError(f"there is no {what} `{text[:80]}`") from error


def _place(name: str, cursor: str) -> object:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        named, place = msgspec.json.decode(urlsafe_b64decode(padded), type=tuple[str, int | str])
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise _foreign() from error
    if named != name:
        raise _foreign()
    return place


def _foreign() -> FieldsError:
    return FieldsError([Problem(field="cursor", message="expected the `next` of a page of this list")])


Example = Mapping[str, object]
