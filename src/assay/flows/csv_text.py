"""Rows as CSV (RFC 4180): columns that follow from the type of a row, and nothing that a spreadsheet would calculate.

type -> columns, nested ones as `ticket.id`;   row -> cells: texts made harmless, lists of texts with `; `, else JSON
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
from msgspec import Struct, UnsetType
from msgspec.structs import fields

CSV = "text/csv"
# What a spreadsheet would take for the beginning of a formula, also as East Asian keyboards write it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_DEEPEST = 4


def render_rows(kind: type[Struct], rows: Iterable[Struct]) -> str:
    """A line for each row below the names of the columns, which are there also where no row is."""
    paths = tuple(_paths(kind))
    cells = ([cell_of(_found(built, path)) for path in paths] for built in map(_builtins, rows))
    return render_table([".".join(path) for path in paths], cells)


def render_records(value: object) -> str:
    """A list of rows of whatever kind, or the one list in a mapping; no text where there is neither, or no row.

    Rows of one type have the columns of their type, others each column that any of them has.
    """
    rows = _rows_in(value)
    kinds = {type(one) for one in rows}
    if len(kinds) == 1 and issubclass(kind := kinds.pop(), Struct):
        return render_rows(kind, rows)
    flat = [dict(_flat(_builtins(one))) for one in rows]
    heads = list(dict.fromkeys(name for one in flat for name in one))
    cells = [[cell_of(one.get(name)) for name in heads] for one in flat]
    # Names of fields may be strangers' too.
    return render_table([cell_of(name) for name in heads], cells) if flat else ""


def _rows_in(value: object) -> Sequence[Any]:
    if isinstance(value, Mapping) and len(value) == 1:
        [(name, listed)] = value.items()
        return [{str(name): one} for one in listed] if isinstance(listed, list | tuple) else ()
    return value if isinstance(value, list | tuple) else ()


def _flat(built: Any, above: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - any JSON
    for name, value in built.items() if isinstance(built, dict) else (("value", built),):
        path = f"{above}{name}"
        if isinstance(value, dict) and value and path.count(".") < _DEEPEST - 1:
            yield from _flat(value, f"{path}.")
        else:
            yield path, value


def render_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells as they are: whoever made them made them harmless."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return out.getvalue()


def columns_of(kind: type[Struct]) -> tuple[str, ...]:
    return tuple(".".join(path) for path in _paths(kind))


def cell_of(value: object) -> str:
    """A number stays one; a text that a spreadsheet would calculate begins with an apostrophe."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float | Decimal):
        return str(value)
    return _harmless(_text(value))


def visible(text: str) -> str:
    """Control characters, and those that reorder or hide text, as escapes; line feeds stay."""
    return "".join(one if one.isprintable() or one == "\n" else one.encode("unicode_escape").decode() for one in text)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return "; ".join(value)
    return msgspec.json.encode(value).decode()


def _harmless(text: str) -> str:
    # White space before a formula does not keep every program from calculating it.
    is_formula = text.startswith(_FORMULA) or text.lstrip().startswith(_FORMULA)
    shown = visible(text)
    return f"'{shown}" if is_formula else shown


def _builtins(row: object) -> Any:  # noqa: ANN401 - any JSON, with exact decimals
    return msgspec.to_builtins(row, builtin_types=(Decimal,), str_keys=True)


def _found(built: Any, path: Sequence[str]) -> object:  # noqa: ANN401 - any JSON
    for name in path:
        built = built.get(name) if isinstance(built, dict) else None
    return built


def _paths(kind: type[Struct], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for info in fields(kind):
        path, part = (*above, info.encode_name), _struct_in(info.type)
        if part is None or len(path) >= _DEEPEST:
            yield path
        else:
            yield from _paths(part, path)


def _struct_in(kind: Any) -> type[Struct] | None:  # noqa: ANN401 - any type
    """The one type with fields of its own that is meant, also where a value may be absent or null."""
    if get_origin(kind) is Annotated:
        return _struct_in(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        named = [one for one in get_args(kind) if one not in (NoneType, UnsetType)]
        return _struct_in(named[0]) if len(named) == 1 else None
    return kind if isinstance(kind, type) and issubclass(kind, Struct) else None
