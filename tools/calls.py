"""Write operations/calls.py and async_calls.py: every operation as a typed method, for nodes and clients alike."""

import subprocess
import sys
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec.structs import FieldInfo

from assay.flows.request import Content
from assay.operations.kinds import Bulk, Field, Listing, Operation, Place, Stream
from assay.operations.table import TABLE

_FOLDER = Path(__file__).resolve().parent.parent / "src" / "assay" / "operations"
SYNC, ASYNC = _FOLDER / "calls.py", _FOLDER / "async_calls.py"
_WIDTH = 120

_HEAD = '''\
# ruff: noqa: A002 - parameters have the names of the request's fields
"""Every operation as a method. Generated from the table by `make docs`; edit the table instead."""

from __future__ import annotations

from collections.abc import {abstract}
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from assay.operations.given import drop_absent

if TYPE_CHECKING:
{imports}

Given: TypeAlias = Mapping[str, Any] | Struct | bytes | str


class {name}:
    """What a node can be asked; an embedded node and a client of a remote one have the same methods."""

    {a}def _perform(self, operation: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - the operation's result
        """Perform an operation by its name; each door has its own way."""
        raise NotImplementedError(operation)

    def _walk(self, operation: str, given: Mapping[str, Any]) -> {iterator}[Any]:
        """Iterate over all items of a list, page by page."""
        raise NotImplementedError(operation)

    def _each(self, operation: str, records: Iterable[Given]) -> {iterator}[BulkLine]:
        """Send records in batches; iterate over the result of each, in order."""
        raise NotImplementedError(operation)

    def _follow(self, operation: str, given: Mapping[str, Any]) -> {iterator}[Any]:
        """Iterate over the items of a stream without end."""
        raise NotImplementedError(operation)
'''


def render(*, is_async: bool) -> str:
    """The module as text."""
    imports: set[tuple[str, str]] = {("assay.flows.request", "BulkLine")}
    methods = [_method(one, imports, is_async=is_async) for one in TABLE if one.route]
    modules: dict[str, list[str]] = {}
    for module, name in sorted(imports):
        modules.setdefault(module, []).append(name)
    lines = [f"    from {module} import {', '.join(sorted(names))}" for module, names in sorted(modules.items())]
    head = _HEAD.format(
        abstract="AsyncIterator, Iterable, Mapping, Sequence" if is_async else "Iterable, Iterator, Mapping, Sequence",
        imports="\n".join(lines) or "    pass",
        name="AsyncCalls" if is_async else "Calls",
        a="async " if is_async else "",
        iterator="AsyncIterator" if is_async else "Iterator",
    )
    return head + "\n" + "\n".join(methods)


def _method(one: Operation, imports: set[tuple[str, str]], *, is_async: bool) -> str:
    if isinstance(one, Bulk):
        iterator = "AsyncIterator" if is_async else "Iterator"
        return (
            f"    def {one.python_name}(self, records: Iterable[Given]) -> {iterator}[BulkLine]:\n"
            f'        """{one.summary}"""\n'
            f'        return self._each("{one.name}", records)\n'
        )
    positional = [field for field in one.fields if _is_positional(field)]
    named = [field for field in one.fields if field not in positional and field.name != "cursor"]
    parts = ["self", *(_parameter(field, imports) for field in positional)]
    if named:
        parts += ["*", *(_parameter(field, imports) for field in named)]
    result = _result(one, imports, is_async=is_async)
    is_list = isinstance(one, Listing | Stream)
    begin = "async def" if is_async and not is_list else "def"
    given = ", ".join(f"{field.info.name}={field.info.name}" for field in (*positional, *named))
    wait = "await " if is_async else ""
    ask = f"{wait}self._perform"
    if is_list:
        ask = "self._walk" if isinstance(one, Listing) else "self._follow"
    body = [
        f"    {begin} {one.python_name}({', '.join(parts)}) -> {result}:",
        f'        """{one.summary}"""',
        f'        return {ask}("{one.name}", drop_absent({given}))',
    ]
    if not is_list:
        body[-1] = f'        result: {result} = {ask}("{one.name}", drop_absent({given}))'
        body.append("        return result")
    return "\n".join(body) + "\n"


def _is_positional(field: Field) -> bool:
    return field.place in (Place.PATH, Place.DOCUMENT) or field.option.form in ("argument", "text_argument")


def _parameter(field: Field, imports: set[tuple[str, str]]) -> str:
    info = field.info
    kind = "Given" if field.place is Place.DOCUMENT else _type(info.type, imports)
    if info.required:
        return f"{info.name}: {kind}"
    default = _default(info)
    if default == "UNSET":
        kind += " | UnsetType"
    return f"{info.name}: {kind} = {default}"


def _default(info: FieldInfo) -> str:
    value = info.default
    if isinstance(value, Enum):
        return repr(value.value)
    return repr(value) if value is None or isinstance(value, bool | int | float | str | tuple) else "UNSET"


def _result(one: Operation, imports: set[tuple[str, str]], *, is_async: bool) -> str:
    if isinstance(one, Listing | Stream):
        return f"{'AsyncIterator' if is_async else 'Iterator'}[{_type(one.item, imports, is_result=True)}]"
    return "bytes" if one.gives is Content else _type(one.gives, imports, is_result=True)


def _type(kind: Any, imports: set[tuple[str, str]], *, is_result: bool = False) -> str:  # noqa: ANN401, PLR0911 - any type
    origin = get_origin(kind)
    if origin is Annotated:
        return _type(get_args(kind)[0], imports, is_result=is_result)
    if origin in (Union, UnionType):
        members = [one for one in get_args(kind) if one is not msgspec.UnsetType]
        return " | ".join(dict.fromkeys(_type(one, imports, is_result=is_result) for one in members))
    if origin is Literal:
        return f"Literal[{', '.join(repr(one) for one in get_args(kind))}]" if is_result else "str"
    if origin in (tuple, list):
        item = _type(get_args(kind)[0], imports, is_result=is_result)
        return f"tuple[{item}, ...]" if is_result else f"Sequence[{item}]"
    if origin is not None:
        return "Mapping[str, Any]"
    if kind is NoneType:
        return "None"
    if kind is Any:
        return "Any" if is_result else "object"
    if hasattr(kind, "__supertype__"):
        return _type(kind.__supertype__, imports, is_result=is_result)
    if kind.__module__ == "builtins":
        return "Mapping[str, Any]" if kind is dict else str(kind.__name__)
    imports.add((kind.__module__, kind.__name__))
    return (
        f"{kind.__name__} | str"
        if isinstance(kind, type) and issubclass(kind, Enum) and not is_result
        else kind.__name__
    )


def formatted(*, is_async: bool) -> str:
    """The module as it is written: formatted as every other."""
    ruff = Path(sys.executable).parent / "ruff"
    text = render(is_async=is_async)
    for arguments in (["format", "-"], ["check", "--quiet", "--fix", "--exit-zero", "-"], ["format", "-"]):
        place = ["--stdin-filename", str(ASYNC if is_async else SYNC)]
        done = subprocess.run([str(ruff), *arguments, *place], input=text, capture_output=True, text=True, check=True)
        text = done.stdout
    return text


if __name__ == "__main__":
    for path, is_async in ((SYNC, False), (ASYNC, True)):
        path.write_text(formatted(is_async=is_async))
