"""Queries, read strictly: each name once but for lists, no unknown one, every wrong one told; and names in paths.

?name=text&… -> each field -> the route's type
"""

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar, get_args, get_origin

import msgspec
from litestar import Request
from msgspec import Meta, Struct
from msgspec.structs import FieldInfo, fields

from assay.flows.errors import NotFoundError
from assay.flows.request import FieldsError
from assay.identity.problem import Problem
from assay.kernel.instant import Instant, parse_instant
from assay.operations.fields import find_form_problem

P = TypeVar("P")
S = TypeVar("S", bound=Struct)
T = TypeVar("T")

_MOST = 1000
# Not every database can even be asked about it, so nothing is named by it.
_NUL = "\x00"
# How many at once, and after which entry or version: a page is found by where the last one ended.
PageSize = Annotated[int, Meta(ge=1, le=_MOST)]
Place = Annotated[int, Meta(ge=0, le=2**53 - 1)]


def parse_query(kind: type[S], request: Request[Any, Any, Any]) -> S:
    """A value of the route's type, or `http.fields` with everything that is wrong."""
    return parse_query_of(kind, request)


def parse_query_of(kind: type[S], request: Request[Any, Any, Any], *, without: Sequence[str] = ()) -> S:
    """The same, leaving out parameters that the caller reads by itself."""
    given = {name: texts for name, texts in request.query_params.dict().items() if name not in without}
    known = {info.encode_name: info for info in fields(kind)}
    problems = [problem for name, info in known.items() for problem in _problems(info, given.get(name, []))]
    problems += [Problem(field=name[:80], message="expected no such parameter") for name in given if name not in known]
    if problems:
        raise FieldsError(problems)
    values = {name: texts if _is_list(known[name]) else texts[0] for name, texts in given.items()}
    return msgspec.convert(values, kind, strict=False)


def _problems(info: FieldInfo, texts: list[str]) -> list[Problem]:
    if len(texts) > 1 and not _is_list(info):
        return [Problem(field=info.encode_name, message=f"expected it once, got it {len(texts)} times")]
    if any(_NUL in text for text in texts):
        return [Problem(field=info.encode_name, message="expected text without NUL")]
    if not texts:
        return [Problem(field=info.encode_name, message="expected this parameter")] if info.required else []
    try:
        msgspec.convert(texts if _is_list(info) else texts[0], info.type, strict=False)
    except msgspec.ValidationError as error:
        return [Problem(field=info.encode_name, message=str(error))]
    wrong = find_form_problem(info.type, texts[0])
    return [] if wrong is None else [Problem(field=info.encode_name, message=wrong)]


def _is_list(info: FieldInfo) -> bool:
    """Whether the parameter may be repeated: its type is a tuple, annotated or not."""
    return get_origin(get_args(info.type)[0] if get_origin(info.type) is Annotated else info.type) is tuple


def parse_moment(text: str | None) -> Instant | None:
    """An instant of a query; without an offset it names none, and is refused."""
    return None if text is None else parse_instant(text)


def path_text(text: str) -> str:
    """The name in a path; one that nothing can have is not found."""
    if _NUL in text:
        raise NotFoundError("expected a name without NUL")
    return text
