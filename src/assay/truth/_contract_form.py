"""The form that a contract gives to observers: which payload members are asked for, and of what kind each is."""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from msgspec import Struct, convert

from assay.truth._read import Complaint, Found, read_fields
from assay.truth.forms import PayloadPath
from assay.truth.problem import ProblemCode


class Widget(StrEnum):
    """How a member is asked for, which says what kind of value answers."""

    CHOICE = "choice"
    NUMBER = "number"
    SLIDER = "slider"
    TEXT = "text"
    TOGGLE = "toggle"


class FormField(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question; `options` are the only answers of a `choice`, where it names some."""

    name: PayloadPath
    widget: Widget
    label: str = ""
    help: str = ""
    placeholder: str = ""
    required: bool = False
    options: tuple[str, ...] = ()

    def complaints(self) -> Iterator[Complaint]:
        if self.options and self.widget is not Widget.CHOICE:
            message = f"expected options for `choice` and for nothing else, got them for `{self.widget}`"
            yield Complaint("options", ProblemCode.AGREEMENT, message)
        if len(set(self.options)) < len(self.options):
            yield Complaint("options", ProblemCode.DUPLICATE, "expected each option once, got one twice")


class _Form(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    fields: tuple[FormField, ...] = ()

    def complaints(self) -> Iterator[Complaint]:
        names = [field.name for field in self.fields]
        if len(set(names)) < len(names):
            yield Complaint("fields", ProblemCode.DUPLICATE, "expected each member once, got one twice")


def form_problems(ui_schema: Mapping[str, object]) -> Iterator[Found]:
    """Of `fields`; whatever else is in the block is its author's own, and passed on as it is."""
    problems: list[Found] = []
    fields = {name: part for name, part in ui_schema.items() if name == "fields"}
    read_fields(fields, _Form, problems)
    whole = not problems and convert(fields, _Form)
    told = [Found((one.field,), one.code, one.message) for one in whole.complaints()] if whole else []
    for one in [*problems, *told]:
        yield Found(("ui_schema", *one.path), one.code, one.message)


def read_form(ui_schema: Mapping[str, object]) -> tuple[FormField, ...]:
    """The questions of a block that was found sound."""
    return convert({"fields": ui_schema.get("fields", ())}, _Form).fields
