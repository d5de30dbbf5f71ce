"""The kinds of operation, and what a declaration says; doors read these and nothing else.

An operation is one request that a caller can make of a node. Its flow has the signature `(tools, caller, request)`; the
types of request and result are the flow's own annotations, its description the flow's docstring.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import FieldInfo
from msgspec.structs import fields as struct_fields

from assay.flows.request import KEY_HEADER, Document, Done, Header, Option, Page, StreamPart
from assay.flows.tools import Tools
from assay.identity.access import Needs
from assay.identity.caller import Caller
from assay.kernel.errors import Blame
from assay.registry.action import Tier

# A head, and what an item shows below it.
Column = tuple[str, Callable[[Any], str]]
_NAME = re.compile(r"\{(\w+)\}")
_READ_SCOPES = (":read", ":query")
# Which threads do the work, so that slow work holds up nobody else's: see the HTTP door.
Crew = Literal["read", "act", "judge", "report", "log_in"]


class Place(StrEnum):
    """Where a field travels in HTTP."""

    PATH = "path"
    QUERY = "query"
    BODY = "body"
    DOCUMENT = "document"
    HEADER = "header"


class Field(NamedTuple):
    """One field of a request, as doors see it."""

    info: FieldInfo
    place: Place
    option: Option
    description: str

    @property
    def name(self) -> str:
        return self.info.encode_name


def _always(_tools: Tools) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """How requests that wait at the same time share work, for an operation with `many`.

    `when` says whether a node with these tools gathers them at all. With `keys`, `many` notes the idempotency key of
    each request in its own commit. `threads` work at once, each on at most `most` requests.
    """

    when: Callable[[Tools], bool] = _always
    keys: bool = False
    threads: int = 2
    most: int = 128


SHARES = Shares()


@dataclass(frozen=True)
class Operation:
    """What every declaration says.

    `route` is below `/api/v1`; `dialects` are the routes of specifications that perform the operation. `command` is a
    path of words; `tool` a name for agents; `method` the name in Python, else the flow's own. On the command line
    `says` is a line with fields of the result in braces, `shows` a renderer of the result, `columns` the columns of a
    list (fields of an item, or a head with a function of the item), `row` the cells of one item by column where fields
    alone are not enough, `nothing` the words about an empty list, `blames` what a result means for the exit code, and
    `notes` words for standard error before it: a template, or a function of what was given and the result. `location`
    names a new resource by fields of the result. `etag` is a field of the result that is a hash of it. `crew` names the
    threads of the HTTP door that do the work.
    """

    name: str
    flow: Callable[..., Any]
    route: str | None = None
    _: KW_ONLY
    needs: Needs
    dialects: Sequence[str] = ()
    command: str | None = None
    tool: str | None = None
    method: str | None = None
    example: Mapping[str, Any] | None = None
    says: str | None = None
    notes: str | Callable[[Any, Any], str | None] | None = None
    shows: Callable[[Any], str] | None = None
    columns: "Sequence[str | Column]" = ()
    row: Callable[[Any], Mapping[str, str]] | None = None
    nothing: str = "nothing found"
    blames: Callable[[Any], Blame | None] | None = None
    # On the command line the fields that are not in the route are read from a JSON file of this name.
    file: str | None = None
    # The operation, with fields of its own, that returns the message which the caller's own key signs.
    prepared_by: tuple[str, Mapping[str, Any]] | None = None
    # A flow without this takes None for the tools: the command also works where there is no node.
    needs_node: bool = True
    # A read that tries a change and takes it back: it needs a database that is open for writing.
    rehearses: bool = False
    location: str | None = None
    # The media types of a result that is a document of its own, besides JSON.
    media_types: Sequence[str] = ()
    etag: str | None = None
    # Whether the result never changes; of some, only results that this says of.
    is_immutable: bool | Callable[[Any], bool] = False
    crew: Crew | None = None
    # What the flow needs opened besides the database: a model that judges, answerers, a general model.
    uses: Sequence[Literal["judge", "any_judge", "answerers", "estimator", "engines"]] = ()
    # The flow that takes many requests at once, and answers each with a result or an error.
    many: Callable[..., Any] | None = None
    shares: Shares = SHARES
    # By the code of a refusal, operations without fields that remedy it: commands and embedded nodes perform them and
    # then try again, since a person who asks for a proof should not have to ask for a checkpoint first.
    remedies: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # Performing it again finds what was done before, so a request whose answer was lost may be performed again.
    may_repeat: bool = False
    # The result depends on the caller's floor: under another floor the same request is another one.
    by_floor: bool = False
    # Housekeeping that a server does in rounds; a node without one does it after the operation.
    then: Callable[[Tools, Caller], object] | None = None
    # Of a bulk: how many lines a client sends in one request.
    lines_at_once: int = 500

    kind: ClassVar[str] = "operation"
    writes: ClassVar[bool] = False

    @property
    def is_repeatable(self) -> bool:
        """Whether a change may find that it was recorded before (`Done.is_new`)."""
        return get_origin(self._hints["return"]) is Done

    @cached_property
    def takes(self) -> type[Struct]:
        """The type of the request."""
        found: type[Struct] = self._hints["request"]
        return found

    @cached_property
    def gives(self) -> Any:  # noqa: ANN401 - any type
        """The type of the result, without what `Done` adds."""
        found = self._hints["return"]
        return get_args(found)[0] if get_origin(found) is Done else found

    @cached_property
    def item(self) -> Any:  # noqa: ANN401 - any type
        """The type of the items, where the result is a page or a part of a stream."""
        return get_args(self.gives)[0] if get_origin(self.gives) in (Page, StreamPart) else None

    @cached_property
    def _hints(self) -> Mapping[str, Any]:
        return get_type_hints(self.flow, include_extras=True)

    @property
    def python_name(self) -> str:
        return self.method or str(self.flow.__name__)

    @cached_property
    def description(self) -> str:
        return inspect.getdoc(self.flow) or self.name

    @property
    def summary(self) -> str:
        """The first sentence of the description."""
        return self.description.partition("\n\n")[0].replace("\n", " ")

    @cached_property
    def is_open(self) -> bool:
        """Whether a caller need not sign in."""
        return self.needs is OPEN

    @cached_property
    def http_method(self) -> str:
        return (self.route or "").partition(" ")[0]

    @cached_property
    def path(self) -> str:
        return (self.route or "").partition(" ")[2]

    @property
    def full_route(self) -> str | None:
        """The method and the whole path of the route."""
        return None if self.route is None else f"{self.http_method} /api/v1{self.path}"

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """Every field of the request: those of the path in its order, then the others as declared."""
        in_path = _NAME.findall(self.path)
        known = {info.encode_name: info for info in struct_fields(self.takes)}
        missing = [name for name in in_path if name not in known]
        if missing:
            raise TypeError(f"`{self.name}`: the route names {missing}, which the request does not have")
        has_document = any(marker_of(info, Document) is not None for info in known.values())
        names = [*in_path, *(name for name in known if name not in in_path)]
        return tuple(self._field(known[name], in_path, has_document=has_document) for name in names)

    def _field(self, info: FieldInfo, in_path: Sequence[str], *, has_document: bool) -> Field:
        if info.encode_name in in_path:
            place = Place.PATH
        elif marker_of(info, Document) is not None:
            place = Place.DOCUMENT
        elif marker_of(info, Header) is not None:
            place = Place.HEADER
        elif self.http_method in ("GET", "DELETE") or has_document:
            place = Place.QUERY
        else:
            place = Place.BODY
        return Field(info, place, marker_of(info, Option) or Option(), description_of(info))

    @cached_property
    def document(self) -> Document | None:
        """The marker of the field that is the body itself; None where the body is JSON of the other fields."""
        return next((one for info in struct_fields(self.takes) if (one := marker_of(info, Document))), None)

    @cached_property
    def headers(self) -> Mapping[str, Field]:
        """The fields that HTTP carries in headers, by the header's name."""
        return {marker_of(one.info, Header).name: one for one in self.fields if one.place is Place.HEADER}

    @cached_property
    def key_field(self) -> str | None:
        """The field that the idempotency key fills, where the flow itself needs the key."""
        return next((field.info.name for name, field in self.headers.items() if name == KEY_HEADER), None)

    @cached_property
    def named_fields(self) -> type[Struct]:
        """A struct of every field but the document, for values that are handed in by name."""
        chosen = [field.info for field in self.fields if field.place is not Place.DOCUMENT]
        return self._defined("Named", chosen)

    @cached_property
    def tool_fields(self) -> type[Struct]:
        """A struct of every field as a tool takes it: a document is an object."""
        declared = [
            (field.info.name, self._tool_document(field))
            if field.place is Place.DOCUMENT
            else declared_field(field.info)
            for field in self.fields
        ]
        name = f"{self.takes.__name__}Arguments"
        return msgspec.defstruct(name, declared, frozen=True, kw_only=True, forbid_unknown_fields=True)

    def _tool_document(self, field: Field) -> Any:  # noqa: ANN401 - any type
        kind = None if self.document is None else self.document.kind
        shown: Any = kind if isinstance(kind, type) and issubclass(kind, Struct) else dict[str, Any]
        return Annotated[shown, Meta(description=field.description)]

    def part(self, place: Place) -> type[Struct] | None:
        """A struct of the fields that travel in one place, for strict parsing; None where there are none."""
        return self._parts[place]

    @cached_property
    def _parts(self) -> Mapping[Place, type[Struct] | None]:
        return {place: self._struct(place) for place in Place}

    def _struct(self, place: Place) -> type[Struct] | None:
        chosen = [field.info for field in self.fields if field.place is place]
        return self._defined(place.title(), chosen) if chosen else None

    def _defined(self, suffix: str, chosen: Sequence[FieldInfo]) -> type[Struct]:
        return msgspec.defstruct(
            f"{self.takes.__name__}{suffix}",
            [declared_field(info) for info in chosen],
            frozen=True,
            kw_only=True,
            forbid_unknown_fields=True,
        )


class Read(Operation):
    """Return one resource with an ETag; write nothing."""

    kind = "read"


class Listing(Operation):
    """Return pages found by a cursor, as JSON or CSV; every row is checked against the ledger."""

    kind = "listing"


class Change(Operation):
    """Durable when it returns; applied once under an idempotency key; recorded with caller and trace."""

    kind = "change"
    writes = True


class Bulk(Operation):
    """Lines in, lines out; each line is a change with a result of its own."""

    kind = "bulk"
    writes = True


class Stream(Operation):
    """Events after a position, at least once, in order.

    The flow returns what is there now (`StreamPart`); each door waits for more in its own way.
    """

    kind = "stream"


@dataclass(frozen=True, kw_only=True)
class Local:
    """What only the machine of the node can do, or needs no node at all: a command or a method without a route.

    It asks for no permission: whoever runs it reads the node's key files, or reads files that they were given.
    """

    name: str
    summary: str
    command: str | None = None
    method: str | None = None

    kind: ClassVar[str] = "local"


def needs(scope: str | None, *roles: str, session: bool = False, tier: int | None = None) -> Needs:
    """State a permission: a scope, one of the roles, a session. Reading is tier 1 and writing tier 2 (Forja)."""
    reads = scope is not None and scope.endswith(_READ_SCOPES)
    found = (Tier.READ if reads else Tier.LOW_RISK_WRITE) if tier is None else tier
    return Needs(scope=scope, roles=tuple(str(role) for role in roles) or None, tier=found, session=session)


# Anybody, signed in or not.
OPEN = needs(None, tier=Tier.OFF)
# Any signed-in principal, whatever the credential was issued for.
SIGNED_IN = needs(None, tier=Tier.READ)


def no_if(test: Callable[[Any], bool]) -> Callable[[Any], Blame | None]:
    """What a result means on the command line: an honest no where the test holds."""
    return lambda value: Blame.ANSWER if test(value) else None


def marker_of(info: FieldInfo, kind: type[Any]) -> Any:  # noqa: ANN401 - of that type, or None
    """The marker of this kind that a field's type carries."""
    metas = getattr(info.type, "__metadata__", ()) if get_origin(info.type) is Annotated else ()
    return next((meta for meta in metas if isinstance(meta, kind)), None)


def description_of(info: FieldInfo) -> str:
    """What a field is for."""
    for kind in _annotated(info.type):
        for meta in kind.__metadata__:
            if isinstance(meta, Meta) and meta.description:
                return meta.description
    return ""


def _annotated(kind: Any) -> "list[Any]":  # noqa: ANN401 - any type
    """The annotated types in a type: itself, or members of its union."""
    if get_origin(kind) is Annotated:
        return [kind, *_annotated(get_args(kind)[0])]
    return [found for one in get_args(kind) for found in _annotated(one)] if get_args(kind) else []


def declared_field(info: FieldInfo) -> tuple[Any, ...]:
    """A field for `msgspec.defstruct`, as this one is declared."""
    named = {} if info.encode_name == info.name else {"name": info.encode_name}
    if info.required:
        return (info.name, info.type, msgspec.field(**named)) if named else (info.name, info.type)
    if info.default_factory is not msgspec.NODEFAULT:
        return (info.name, info.type, msgspec.field(default_factory=info.default_factory, **named))
    return (info.name, info.type, msgspec.field(default=info.default, **named) if named else info.default)
