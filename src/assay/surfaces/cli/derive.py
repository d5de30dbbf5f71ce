"""Commands from the table of operations: each parses, performs one operation and prints its result.

arguments and options -> the operation's request -> the running server, a remote node, or the folder -> text, JSON, CSV
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from enum import Enum, EnumType
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import click
import msgspec
from msgspec import Meta, Struct
from msgspec.structs import fields

from assay.flows.request import SECRET_FORMS, Content, Document, FieldProblem, FieldsError, Option
from assay.kernel.json_text import parse_json
from assay.operations.kinds import Field, Listing, Operation, Place, Stream, description_of, marker_of
from assay.surfaces.cli.acting import SPAN, read_password
from assay.surfaces.cli.keys import read_key_text
from assay.surfaces.cli.output import Call, ListCommand, NodeCommand
from assay.surfaces.cli.reviewer_key import load_signer

_HONEST_NO = 1
_LARGEST_FILE = 512 * 1024 * 1024
_UNSHOWN = (Place.HEADER,)
_FILE = "request_file"
_LARGEST_TEXT = 256 * 1024 * 1024


def add_operations(group: click.Group, path: str, operations: Iterable[Operation]) -> None:
    """Add to a group the commands of the operations below it; groups in between must exist already.

    A command that the group has already stays: it performs the operation with more options than follow from it.
    """
    for operation in operations:
        words = (operation.command or "").split()
        if words[:-1] == path.split() and words[-1] not in group.commands:
            group.add_command(derive_command(operation), words[-1])


def derive_command(operation: Operation) -> click.Command:
    """The command of an operation."""
    kind = ListCommand if isinstance(operation, Listing) else NodeCommand
    parameters = [one for field in operation.fields for one in _parameters(operation, field)]
    parameters += [_clearing(field) for field in operation.fields if field.option.clear is not None]
    if operation.file is not None:
        parameters.append(
            click.Argument([_FILE], metavar=operation.file, type=click.Path(path_type=Path, allow_dash=True))
        )

    @click.pass_obj
    def run(call: Call, /, **given: Any) -> None:  # noqa: ANN401 - what click parsed
        from assay.surfaces.cli.perform import follow, perform, show, sign

        where = {name: given.pop(name) for name in ("tenant", "credential", "node", "idempotency_key")}
        output = given.pop("output", None) if operation.gives is Content else None
        signer = load_signer(given.pop("key_file", None), given.pop("key_passphrase", None))
        if isinstance(operation, Stream):
            follow(call, operation, _values(operation, given), most=given.pop("count"), **where)
            return
        values = _values(operation, given)
        if signer is not None:
            values |= sign(call, operation, values, signer, **where)
        show(call, operation, values, perform(call, operation, values, **where), output=output)

    return kind(
        name=(operation.command or operation.name).split()[-1],
        params=[*parameters, *_common(operation)],
        callback=run,
        help=operation.description,
        short_help=operation.summary,
    )


def _parameters(operation: Operation, field: Field) -> list[click.Parameter]:
    if operation.file is not None and field.place is not Place.PATH:
        return []
    if field.place in _UNSHOWN or field.option.hidden:
        return []
    if field.option.form == "flat":
        return [_option(one) for one in flat_fields(field)]
    return [_parameter(operation, field)]


def flat_fields(field: Field) -> list[Field]:
    """The fields of a struct, each as a field of its own: a filter is given by options."""
    kind, _ = _plain(field.info.type)
    return [
        Field(info, field.place, marker_of(info, Option) or Option(), description_of(info)) for info in fields(kind)
    ]


def _parameter(operation: Operation, field: Field) -> click.Parameter:
    option, name = field.option, field.info.name
    if field.place is Place.DOCUMENT:
        document = operation.document or Document()
        return click.Argument([name], metavar=document.metavar, type=click.Path(path_type=Path, allow_dash=True))
    if option.form == "text_argument":
        place = click.Path(path_type=Path, allow_dash=True)
        return click.Argument([name], metavar=option.metavar, type=place, required=field.info.required)
    if field.place is Place.PATH or option.form in ("argument", "key"):
        kind, is_list = click_type(field.info.type)
        metavar = option.metavar or name.removesuffix("_id").upper()
        return click.Argument(
            [name], metavar=metavar, type=kind, nargs=-1 if is_list else 1, required=field.info.required
        )
    return _option(field)


def _option(field: Field) -> click.Option:  # noqa: PLR0911 - one return for each form
    option, info = field.option, field.info
    flag = option.flag or "--" + info.name.replace("_", "-")
    names = [flag, info.name]
    told: dict[str, Any] = {"help": field.description, "required": info.required}
    default = None if info.required else info.default
    if option.form in ("span", "until"):
        is_seconds = option.form == "span" and isinstance(default, int)
        return click.Option(names, type=SPAN, **_defaulting(f"{default}s" if is_seconds else None), **told)
    if option.form == "number":
        return click.Option(names, type=WHOLE_NUMBER, metavar=option.metavar or "N", **told)
    if option.form in SECRET_FORMS:
        return click.Option([f"{flag}-stdin", info.name], is_flag=True, help=field.description)
    if option.form in ("pairs", "file_pairs"):
        return click.Option(names, nargs=2, multiple=True, metavar=option.metavar, help=field.description)
    if option.form in ("file", "text"):
        return click.Option(names, type=click.Path(path_type=Path, allow_dash=True), metavar=option.metavar, **told)
    kind, is_list = click_type(info.type)
    if kind is click.BOOL:
        switch = f"{flag}/--no-{flag[2:]}" if default else flag
        return click.Option([switch, info.name], is_flag=True, default=None, help=field.description)
    if isinstance(default, Enum):
        default = default.value
    is_shown = isinstance(default, int | str) and not isinstance(default, bool) and default != ""
    shown = _defaulting(default if is_shown else None)
    return click.Option(names, type=kind, multiple=is_list, metavar=option.metavar, **shown, **told)


def _clearing(field: Field) -> click.Option:
    return click.Option([str(field.option.clear), _clear_name(field)], is_flag=True, help=f"Clear {field.name}.")


def _clear_name(field: Field) -> str:
    return f"clear_{field.info.name}"


def _defaulting(value: object) -> dict[str, Any]:
    """A default that click shows; none at all where there is none, which a required option would take for one."""
    return {} if value is None else {"default": value, "show_default": True}


def click_type(kind: Any) -> tuple[click.ParamType[Any], bool]:  # noqa: ANN401 - any type
    """How a text of this type is read, and whether it may be repeated; what has no form of its own is JSON."""
    plain, meta = _plain(kind)
    if get_origin(plain) is tuple:
        return click_type(get_args(plain)[0])[0], True
    return _single(plain, meta), False


def _single(plain: Any, meta: Meta | None) -> click.ParamType[Any]:  # noqa: ANN401 - any type
    if plain is int and meta is not None:
        return click.IntRange(min=_whole(meta.ge), max=_whole(meta.le))
    if get_origin(plain) is Literal:
        return click.Choice([str(one) for one in get_args(plain)], case_sensitive=False)
    if isinstance(plain, EnumType):
        return click.Choice(list(map(str, plain.__members__.values())), case_sensitive=False)
    is_object = isinstance(plain, type) and issubclass(plain, Struct)
    is_json = is_object or get_origin(plain) in (dict, list) or plain in (dict, list, Any)
    return JSON_TEXT if is_json else {bool: click.BOOL, int: click.INT, float: click.FLOAT}.get(plain, click.STRING)


def _whole(limit: float | None) -> int | None:
    return None if limit is None else int(limit)


class _WholeNumber(click.ParamType[int]):
    """A whole number, as 5 or 0x5."""

    name = "integer"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return int(str(value), 0)
        except ValueError:
            self.fail(f"expected a whole number such as 5 or 0x5, got `{str(value)[:80]}`", param, ctx)


WHOLE_NUMBER = _WholeNumber()


class _JsonText(click.ParamType[Any]):
    """A JSON value."""

    name = "json"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401, ARG002
        return parse_json(str(value)) if isinstance(value, str) else value


JSON_TEXT = _JsonText()


def _plain(kind: Any) -> tuple[Any, Meta | None]:  # noqa: ANN401 - any type
    """The one type that is meant where a value may also be absent, with its limits."""
    if get_origin(kind) is Annotated:
        inner, meta = _plain(get_args(kind)[0])
        own = next((one for one in get_args(kind)[1:] if isinstance(one, Meta)), None)
        return inner, meta if own is None or (own.ge is None and own.le is None) else own
    if get_origin(kind) in (Union, UnionType):
        named = [one for one in get_args(kind) if one not in (NoneType, msgspec.UnsetType)]
        return _plain(named[0]) if len(named) == 1 else (str, None)
    supertype = getattr(kind, "__supertype__", None)
    return _plain(supertype) if supertype is not None else (kind, None)


def _values(operation: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, as the request has it; what was left out is left to the request's own defaults."""
    values: dict[str, Any] = {} if operation.file is None else _object(_content(given[_FILE]))
    for field in operation.fields:
        name = field.info.name
        if operation.file is not None and field.place is not Place.PATH:
            continue
        if field.option.form == "flat":
            chosen = {one.info.name: given.get(one.info.name) for one in flat_fields(field)}
            values[name] = {part: value for part, value in chosen.items() if value is not None}
            continue
        value = given.get(name)
        if given.get(_clear_name(field)):
            if value not in (None, ()):
                raise click.UsageError(f"expected a value or {field.option.clear}, got both")
            values[name] = [] if click_type(field.info.type)[1] else None
            continue
        if value == "none" and NoneType in get_args(_bare(field.info.type)):
            values[name] = None
            continue
        if field.option.form in SECRET_FORMS:
            if value or field.info.required:
                values[name] = read_password(from_stdin=bool(value), confirm=field.option.form == "new_secret")
            continue
        if value is None or value == ():
            continue
        value = _FORMS.get(_form(field), _as_given)(value)
        values[name] = value if field.option.read is None else field.option.read(value)
    return values


def _bare(kind: Any) -> Any:  # noqa: ANN401 - any type
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _object(content: bytes) -> dict[str, Any]:
    found = parse_json(content)
    if not isinstance(found, dict):
        raise FieldsError([FieldProblem(field="", message="expected a JSON object", pointer="")])
    return found


def _form(field: Field) -> str:
    return "file" if field.place is Place.DOCUMENT else field.option.form


def _as_given(value: Any) -> Any:  # noqa: ANN401 - what click parsed
    return list(value) if isinstance(value, tuple) else value


def _seconds(value: timedelta) -> int:
    return int(value.total_seconds())


def _from_now(value: timedelta) -> str:
    from assay.adapters.clock import SystemClock
    from assay.kernel.instant import Instant, render_instant

    return render_instant(Instant(SystemClock().now() + value))


def _content(value: Path) -> bytes:
    if str(value) == "-":
        return sys.stdin.buffer.read()
    from assay.surfaces.cli.text_file import read_bytes

    return read_bytes(value, largest=_LARGEST_FILE)


def _files(value: tuple[tuple[str, str], ...]) -> dict[str, bytes]:
    return {name: _content(Path(place)) for name, place in value}


def _text(value: Path) -> str:
    if str(value) == "-":
        return sys.stdin.read()
    from assay.surfaces.cli.text_file import read_text

    return read_text(value, largest=_LARGEST_TEXT)


_FORMS: Mapping[str, Callable[[Any], Any]] = {
    "span": _seconds,
    "until": _from_now,
    "file": _content,
    "key": read_key_text,
    "text": _text,
    "pairs": dict,
    "file_pairs": _files,
    "text_argument": _text,
}


def common_options(operation: Operation) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a command that is written by hand with the options that every command of an operation has."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        known: list[click.Parameter] = getattr(function, "__click_params__", [])
        function.__click_params__ = [*known, *reversed(_common(operation))]  # type: ignore[attr-defined]  # click's own
        return function

    return add


def _common(operation: Operation) -> list[click.Parameter]:
    """Who asks, of which node, in which tenant."""
    options: list[click.Parameter] = [
        click.Option(["--tenant"], metavar="NAME", help="The tenant; else the one of assay.toml."),
        click.Option(
            ["--credential", "--session", "credential"],
            envvar=["ASSAY_CREDENTIAL", "ASSAY_SESSION"],
            metavar="TOKEN",
            help="An API key or a session token; better in ASSAY_CREDENTIAL, where other users cannot see it.",
        ),
        click.Option(
            ["--node"], envvar="ASSAY_NODE", metavar="URL", help="A node elsewhere; else the one of the folder."
        ),
    ]
    if operation.prepared_by is not None:
        options += _own_key()
    if isinstance(operation, Stream):
        options.append(click.Option(["--count"], type=click.IntRange(min=1), metavar="N", help="End after so many."))
    if operation.gives is Content:
        place = click.Path(path_type=Path, dir_okay=False)
        options.append(click.Option(["--output"], type=place, metavar="FILE", help="Else standard output."))
    key = click.Option(["--idempotency-key"], metavar="KEY", help="Apply this change once under this key.")
    key.expose_value = operation.writes
    return [*options, *([key] if operation.writes else [_absent("idempotency_key")])]


def _own_key() -> list[click.Parameter]:
    """The key of a person's own, which signs in place of the node's review key."""
    return [
        click.Option(
            ["--key", "key_file"],
            type=click.Path(path_type=Path, dir_okay=False),
            help="Your registered key, which then signs instead of the node's review key.",
        ),
        click.Option(["--key-passphrase"], envvar="ASSAY_REVIEWER_PASSPHRASE", hidden=True),
    ]


def _absent(name: str) -> click.Option:
    """A value that every command passes on, and that this one has no option for."""
    return click.Option([f"--{name.replace('_', '-')}", name], hidden=True)
