"""What observers are asked for under a contract, as data for any screen, and whether a payload answers that.

contract -> form: questions, evidence, kind of place;  payload + form -> nothing, or every member of a wrong kind
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.truth._contract_form import FormField, Widget
from assay.truth.contract import Contract, DerivationStrategy, EvidencePolicy
from assay.truth.errors import TruthError
from assay.truth.key import SpatialSystem

_KINDS: Mapping[Widget, tuple[tuple[type, ...], str]] = {
    Widget.CHOICE: ((str,), "a text"),
    Widget.NUMBER: ((int, float), "a number"),
    Widget.SLIDER: ((int, float), "a number"),
    Widget.TEXT: ((str,), "a text"),
    Widget.TOGGLE: ((bool,), "true or false"),
}
_WIDGETS = {"boolean": Widget.TOGGLE, "integer": Widget.NUMBER, "number": Widget.NUMBER}


class ObservationForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`place` is the member that says where: `geo`, or `artifact` for what has no place."""

    claim_type: str
    claim_type_hash: str
    title: str
    place: str
    fields: tuple[FormField, ...]
    evidence: EvidencePolicy


def form_of(contract: Contract) -> ObservationForm:
    """The form that `ui_schema` asks for; without one, a question for each path that the claim is derived from."""
    title, asked = contract.ui_schema.get("title"), contract.form_fields or tuple(_derived(contract))
    return ObservationForm(
        claim_type=contract.id,
        claim_type_hash=contract.claim_type_hash,
        title=title if isinstance(title, str) else contract.id,
        place="artifact" if contract.truthkey.spatial_system is SpatialSystem.META else "geo",
        fields=tuple(_with_options(contract, field) for field in asked),
        evidence=contract.evidence,
    )


def verify_payload(contract: Contract, payload: Mapping[str, object]) -> None:
    """Raise `truth.payload_form` with every member that is not of the kind that the contract's form asks for.

    What the form does not ask for is not looked at, and null says nothing.
    """
    problems = [problem for field in contract.form_fields for problem in _problems(field, payload)]
    if problems:
        raise TruthError.payload_form("; ".join(problems))


def _problems(field: FormField, payload: Mapping[str, object]) -> Iterator[str]:
    value, (kinds, expected) = _look_up(payload, field.name), _KINDS[field.widget]
    if value is None:
        if field.required:
            yield f"expected `{field.name}`, got nothing"
    elif type(value) not in kinds:
        yield f"expected {expected} as `{field.name}`, got {type(value).__name__}"
    elif field.options and value not in field.options:
        yield f"expected one of {', '.join(field.options)} as `{field.name}`, got `{str(value)[:80]}`"


def _look_up(payload: object, path: str) -> object:
    value = payload
    for name in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def _derived(contract: Contract) -> Iterator[FormField]:
    for path in dict.fromkeys(rule.path for rule in contract.claim_derivation.values()):
        described = _described(contract, path)
        widget = Widget.CHOICE if "enum" in described else _WIDGETS.get(str(described.get("type")), Widget.TEXT)
        yield FormField(name=path, widget=widget)


def _with_options(contract: Contract, field: FormField) -> FormField:
    """A choice that names none offers what the claim may say: to help whoever fills it in, and refusing nothing."""
    allowed = _described(contract, field.name).get("enum", ())
    texts = tuple(one for one in allowed if isinstance(one, str))
    return replace(field, options=texts) if field.widget is Widget.CHOICE and not field.options else field


def _described(contract: Contract, path: str) -> Mapping[str, Any]:
    """The schema of a claim's member that is derived from this path; a count says nothing of what it counts."""
    properties: Any = contract.schema.get("properties", {})
    for name, rule in contract.claim_derivation.items():
        described = properties.get(name)
        if rule.path == path and rule.strategy is not DerivationStrategy.COUNT and isinstance(described, Mapping):
            return described
    return {}
