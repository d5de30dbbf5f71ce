"""Configuration: one frozen value, read once by wiring from `assay.toml` and the environment.

    text + environment -> parse_config -> Config, or every problem at once; one module for each part of the file

Unknown keys fail, defaults are the strict choice, and a bad file is refused with every problem it has.
May import: ports, rooms, review, identity, kernel.
"""

import copy
import re
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, get_args, get_type_hints

from msgspec import Struct, ValidationError, convert
from msgspec.structs import fields

from assay.config.claims import ClaimsConfig, claims_problems
from assay.config.delivery import DeliveryConfig, delivery_problems
from assay.config.desk import RegistryConfig, ReviewConfig, registry_problems, review_problems
from assay.config.http import HttpConfig, http_problems
from assay.config.models import ModelsConfig, model_problems
from assay.config.node import (
    DatabaseConfig,
    KeyConfig,
    NodeConfig,
    TrustConfig,
    WitnessConfig,
    anchor_problems,
    database_problems,
    key_problems,
    node_problems,
    witness_problems,
)
from assay.config.oidc import OidcConfig, oidc_problems
from assay.config.ski import SkiConfig, ski_problems
from assay.config.truth import TruthConfig, truth_problems
from assay.identity.problem import Problem, render_problems
from assay.kernel.errors import Blame, Error

__all__ = ["ENVIRONMENT", "BadConfigError", "Config", "parse_config"]

_UNKNOWN = "unknown key"
_NOT_NAMED = re.compile(r"Invalid enum value '(.*)'", re.DOTALL)
_NO_NODE: Mapping[str, str] = {"origin": "any", "founder": "any"}
_UNKNOWN_KEY = re.compile(r"Object contains unknown field `(.*)`")
_MISSING_KEY = re.compile(r"Object missing required field `(.*)`")


class BadConfigError(Error):
    """The configuration cannot be used; the message lists every problem."""

    code = "config.refused"
    blame = Blame.USAGE

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(render_problems(problems))
        self.problems = problems


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything an operator can choose."""

    node: NodeConfig
    database: DatabaseConfig = DatabaseConfig()
    keys: KeyConfig = KeyConfig()
    trust: TrustConfig = TrustConfig()
    witnesses: tuple[WitnessConfig, ...] = ()
    witness_threshold: int = 0
    http: HttpConfig = HttpConfig()
    models: ModelsConfig = ModelsConfig()
    ski: SkiConfig = SkiConfig()
    truth: TruthConfig = TruthConfig()
    claims: ClaimsConfig = ClaimsConfig()
    delivery: DeliveryConfig = DeliveryConfig()
    review: ReviewConfig = ReviewConfig()
    registry: RegistryConfig = RegistryConfig()
    oidc: OidcConfig | None = None


# Environment variable -> where its text goes; the environment wins over the file.
ENVIRONMENT: Mapping[str, tuple[str, str]] = {
    "ASSAY_DATABASE_URL": ("database", "url"),
    "ASSAY_TENANT": ("node", "tenant"),
    "ASSAY_HTTP_HOST": ("http", "host"),
    "ASSAY_HTTP_PORT": ("http", "port"),
    "SKI_SOVEREIGNTY": ("ski", "sovereignty"),
    "SKI_RUNTIME_VERSION": ("ski", "runtime_version"),
}


def parse_config(text: str, environment: Mapping[str, str]) -> Config:
    """Read the file's text and the environment into one value, or refuse with every problem found."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadConfigError((Problem(field="assay.toml", message=f"not TOML: {error}"),)) from error
    config = _convert(_with_environment(document, environment))
    problems = _problems(config)
    if problems:
        raise BadConfigError(problems)
    return config


def _with_environment(document: dict[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    merged = dict(document)
    for variable, (section, field) in ENVIRONMENT.items():
        if variable in environment and isinstance(merged.get(section, {}), dict):
            merged[section] = {**merged.get(section, {}), field: environment[variable]}
    return merged


def _convert(document: dict[str, Any]) -> Config:
    """What the document says; every key of a wrong form is told, and beside them what sound sections say wrongly."""
    rest, problems = copy.deepcopy(document), list[Problem]()
    if "node" not in rest:
        problems.append(Problem(field="node", message="expected a section with `origin` and `founder`, got none"))
        rest["node"] = dict(_NO_NODE)
    config = _convert_sound(rest, problems)
    if problems:
        # What stands beside a problem may be wrong only because of it; a key that is none changes no other.
        broken = {_section_of(one) for one in problems if one.message != _UNKNOWN}
        raise BadConfigError((*problems, *(one for one in _problems(config) if _section_of(one) not in broken)))
    return config


def _convert_sound(rest: dict[str, Any], problems: list[Problem]) -> Config:
    """A conversion names only its first problem: each is noted and taken out, until what is left is sound."""
    while True:
        try:
            return convert(rest, Config, strict=False)
        except ValidationError as error:
            place, message = _place_of(str(error))
            known = {one.field for one in problems}
            # A key that was taken out is missing afterwards: that was told as what was wrong with it.
            problems += [one for one in _told(rest, place, message) if one.field not in known]
            _take_out(rest, place)


def _told(rest: dict[str, Any], place: str, message: str) -> tuple[Problem, ...]:
    """One problem, in our words; where a key is missing, all that are missing beside it."""
    missing = _MISSING_KEY.fullmatch(message)
    if missing is None:
        return (Problem(field=place, message=_plainly(message, place)),)
    table, struct = _value_at(rest, place), _struct_of(_type_at(place))
    names = [missing[1]]
    if isinstance(table, dict) and struct is not None:
        names = [one.encode_name for one in fields(struct) if one.required and one.encode_name not in table]
    return tuple(Problem(field=f"{place}.{name}", message="expected a value, got none") for name in names)


def _section_of(problem: Problem) -> str:
    return problem.field.partition(".")[0].partition("[")[0]


def _place_of(words: str) -> tuple[str, str]:
    """`Expected int, got str - at `$.http.port`` as the key's place and the words; an unknown key is a place too."""
    message, _, path = words.rpartition(" - at `$")
    message, place = (message, path.rstrip("`").lstrip(".")) if message else (words, "")
    unknown = _UNKNOWN_KEY.fullmatch(message)
    if unknown is not None:
        return ".".join(filter(None, (place, unknown[1]))), _UNKNOWN
    return place, message


def _plainly(message: str, place: str) -> str:
    """The library's words in ours; of a name that is none of a closed set, the set is told."""
    named, kind = _NOT_NAMED.fullmatch(message), _type_at(place)
    enums = [one for one in (kind, *get_args(kind)) if isinstance(one, type) and issubclass(one, StrEnum)]
    if named is None or not enums:
        return message[:1].lower() + message[1:]
    return f"expected {', '.join(one.value for one in enums[0])}, got `{named[1][:80]}`"


def _type_at(place: str) -> Any:  # noqa: ANN401 - a type, as annotations write it
    """The type of the key at this place; None where there is no such key, or it is in a list."""
    kind: Any = Config
    for step in place.split("."):
        struct = _struct_of(kind)
        kind = None if struct is None else get_type_hints(struct).get(step)
    return kind


def _struct_of(kind: Any) -> type[Struct] | None:  # noqa: ANN401 - a type, as annotations write it
    found = [one for one in (kind, *get_args(kind)) if isinstance(one, type) and issubclass(one, Struct)]
    return found[0] if found else None


def _value_at(document: dict[str, Any], place: str) -> object:
    found: object = document
    for step in place.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def _take_out(document: dict[str, Any], place: str) -> None:
    """Remove what is at the place, up to the nearest table: an element of a list goes with its list."""
    steps = place.partition("[")[0].split(".")
    table = document
    for step in steps[:-1]:
        if not isinstance(table.get(step), dict):
            break
        table = table[step]
    if steps[-1] in table:
        del table[steps[-1]]
    # A name with dots in it cannot be told from a path: its whole section goes, or all where there is none.
    elif document.pop(steps[0], None) is None:
        document.clear()
    document.setdefault("node", dict(_NO_NODE))


def _problems(config: Config) -> tuple[Problem, ...]:
    has_model = config.models.general is not None
    return (
        *node_problems(config.node),
        *database_problems(config.database),
        *http_problems(config.http),
        *oidc_problems(config.oidc),
        *anchor_problems(config.trust),
        *key_problems(config.keys),
        *truth_problems(config.truth),
        *witness_problems(config.witnesses, config.witness_threshold),
        *model_problems(config.models),
        *ski_problems(config.ski, has_model=has_model),
        *claims_problems(config.claims, has_model=has_model),
        *delivery_problems(config.delivery, has_model=has_model),
        *registry_problems(config.registry),
        *review_problems(config.review),
    )
