"""Every wrong field of a JSON object, named by its JSON pointer; no framework is needed to ask.

document + type -> each field, however deep -> problems, none where the document is of the type
A text whose type names a form, such as an instant, is read as that too: nothing that is wrong waits for the rest.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, UnsetType
from msgspec.structs import fields

from assay.flows.request import FieldProblem, FieldsError
from assay.kernel.errors import TypeFormError
from assay.kernel.ids import parse_principal_id
from assay.kernel.instant import parse_instant

S = TypeVar("S", bound=Struct)
_LONGEST_NAME = 80
_MOST_PROBLEMS = 100


_FORMS: Mapping[str, Callable[[str], object]] = {"date-time": parse_instant, "principal-id": parse_principal_id}


def parse_fields(kind: type[S], document: object) -> S:
    """A value of the type, or `http.fields` with everything that is wrong, however deep."""
    if isinstance(document, dict) and _is_simple(kind):
        try:
            return msgspec.convert(document, kind)
        except msgspec.ValidationError:
            pass  # Every problem is named below.
    problems = find_problems(kind, document)
    if problems:
        raise FieldsError(problems)
    return msgspec.convert(document, kind)


@cache
def _is_simple(kind: type[Struct]) -> bool:
    """Whether `msgspec.convert` refuses whatever `find_problems` names: no forms, and no struct with unknown fields."""
    return kind.__struct_config__.forbid_unknown_fields and all(_has_no_forms(info.type) for info in fields(kind))


def _has_no_forms(kind: Any) -> bool:  # noqa: ANN401 - any type
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _is_simple(kind)
    return next(_forms(kind), None) is None and all(_has_no_forms(one) for one in get_args(kind))


def find_problems(kind: type[Struct], document: object) -> tuple[FieldProblem, ...]:
    """The first hundred of them; none means that `msgspec.convert` makes a value of it."""
    if not isinstance(document, dict):
        return (FieldProblem(field="", message="expected a JSON object", pointer=""),)
    return tuple(islice(_struct_problems(kind, document, ""), _MOST_PROBLEMS))


def _struct_problems(kind: type[Struct], document: Mapping[str, Any], place: str) -> Iterator[FieldProblem]:
    known = {info.encode_name: info for info in fields(kind)}
    for name, info in known.items():
        if name in document:
            yield from _problems(info.type, document[name], f"{place}/{_escaped(name)}")
        elif info.required:
            yield _problem(f"{place}/{_escaped(name)}", "expected this field, got none")
    for name in document:
        if name not in known:
            yield _problem(f"{place}/{_escaped(name[:_LONGEST_NAME])}", "expected no such field")


def _problems(kind: Any, value: Any, place: str) -> Iterator[FieldProblem]:  # noqa: ANN401 - any type, any JSON
    """Of the parts, where the value has parts as its type has; else of the value itself."""
    plain = _plain(kind)
    members = get_args(plain)
    if isinstance(plain, type) and issubclass(plain, Struct) and isinstance(value, dict):
        yield from _struct_problems(plain, value, place)
    elif get_origin(plain) in (tuple, list) and members and isinstance(value, list):
        yield from _value_problems(_shell(kind), value, place)
        for number, one in enumerate(value):
            yield from _problems(members[0], one, f"{place}/{number}")
    elif get_origin(plain) is dict and isinstance(value, dict):
        for name, one in value.items():
            yield from _problems(members[1], one, f"{place}/{_escaped(name[:_LONGEST_NAME])}")
    else:
        yield from _value_problems(kind, value, place)


def _value_problems(kind: Any, value: Any, place: str) -> Iterator[FieldProblem]:  # noqa: ANN401 - as above
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        yield _problem(place, str(error))
        return
    wrong = find_form_problem(kind, value)
    if wrong is not None:
        yield _problem(place, wrong)


def find_form_problem(kind: Any, value: object) -> str | None:  # noqa: ANN401 - as above
    """What is wrong with a text of a type that names a form; None where it has that form, or is no text."""
    if not isinstance(value, str):
        return None
    for form in _forms(kind):
        try:
            form(value)
        except TypeFormError as error:
            return str(error)
    return None


def _forms(kind: Any) -> Iterator[Callable[[str], object]]:  # noqa: ANN401 - as above
    if get_origin(kind) is Annotated:
        yield from _forms(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        for one in get_args(kind):
            yield from _forms(one)
    for meta in getattr(kind, "__metadata__", ()):
        described = meta.extra_json_schema if isinstance(meta, Meta) else None
        form = _FORMS.get((described or {}).get("format", ""))
        if form is not None:
            yield form


def _shell(kind: Any) -> Any:  # noqa: ANN401 - as above
    """A list of anything, as long as this one may be: what is in it is looked at one by one."""
    metas = [one for one in getattr(kind, "__metadata__", ()) if isinstance(one, Meta)]
    return Annotated[(list[Any], *metas)] if metas else list[Any]


def _plain(kind: Any) -> Any:  # noqa: ANN401 - as above
    """The one type that is meant where a value may also be absent or null."""
    if get_origin(kind) is Annotated:
        return _plain(get_args(kind)[0])
    if get_origin(kind) not in (Union, UnionType):
        return kind
    named = [one for one in get_args(kind) if one not in (NoneType, UnsetType)]
    return named[0] if len(named) == 1 else kind


def _problem(pointer: str, message: str) -> FieldProblem:
    """`field` is the name as people say it, `pointer` the place as machines find it (RFC 6901)."""
    parts = [one.replace("~1", "/").replace("~0", "~") for one in pointer.removeprefix("/").split("/")]
    return FieldProblem(field=".".join(parts), message=message, pointer=pointer)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
