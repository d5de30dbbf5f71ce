"""Configuration: one frozen value, read once by wiring from `assay.toml` and the environment.

    text + environment -> parse_config -> Config, or every problem at once; one module for each part of the file

Unknown keys and variables fail, defaults are the strict choice, and what is bad is refused with every problem it has.
May import: ports, rooms, review, identity, kernel.
"""

import re
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, get_args, get_type_hints

from msgspec import Struct, ValidationError, convert
from msgspec.structs import fields

from assay.config.claims import ClaimsConfig, claims_problems
from assay.config.delivery import DeliveryConfig, delivery_problems
from assay.config.desk import (
    MandatesConfig,
    RegistryConfig,
    ReviewConfig,
    mandates_problems,
    registry_problems,
    review_problems,
)
from assay.config.environment import Given, Setting, read_environment, struct_of, variables_of
from assay.config.http import HttpConfig, http_problems
from assay.config.identity import IdentityConfig, identity_problems
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

_UNKNOWN = "unknown key"
_ABSENT = "expected a value, got none"
_NOT_NAMED = re.compile(r"Invalid enum value ['\"]?(.*?)['\"]?", re.DOTALL)
_NO_NODE: Mapping[str, str] = {"origin": "any", "founder": f"sha256:{'0' * 64}"}
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
    identity: IdentityConfig = IdentityConfig()
    claims: ClaimsConfig = ClaimsConfig()
    delivery: DeliveryConfig = DeliveryConfig()
    review: ReviewConfig = ReviewConfig()
    mandates: MandatesConfig = MandatesConfig()
    registry: RegistryConfig = RegistryConfig()
    oidc: OidcConfig | None = None


# Environment variable -> the setting that it sets; the environment wins over the file.
ENVIRONMENT: Mapping[str, Setting] = variables_of(Config)

# What is judged by what stands elsewhere, and so may be wrong only because that could not be read.
_JOINT = frozenset(
    {
        "claims.encoder",
        "claims.judge",
        "claims.judge_url",
        "delivery.plugin",
        "delivery.plugin_url",
        "keys.pkcs11_module",
        "models.general.model",
        "models.general.url",
        "models.general.weights",
        "models.general.weights_hash",
        "oidc.principals",
        "review.longest_lease_seconds",
        "ski.reasoner",
        "ski.replies",
        "ski.runtime_version",
        "ski.sovereignty",
        "witness_threshold",
    }
)
_READ_BY_OTHERS = frozenset({"models", "witnesses"})


def parse_config(text: str, environment: Mapping[str, str]) -> Config:
    """Read the file's text and the environment into one value, or refuse with every problem found in either.

    Where the file is no TOML, of the environment only names and forms are judged: the rest may depend on the file.
    """
    given = read_environment(ENVIRONMENT, environment)
    problems = list(given.problems)
    document = _read_file(text, problems)
    config = _convert_sound(_merged(document or {}, given, problems, is_whole=document is not None), problems)
    if document is None:
        # What the environment leaves out may be in the file.
        problems = [one for one in problems if one.message != _ABSENT or given.named(one) != one]
    else:
        problems += _further_problems(config, problems)
    if problems:
        raise BadConfigError(tuple(given.named(one) for one in problems))
    return config


def _read_file(text: str, problems: list[Problem]) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        problems.append(Problem(field="assay.toml", message=f"not TOML: {error}"))
        return None


def _merged(document: dict[str, Any], given: Given, problems: list[Problem], *, is_whole: bool) -> dict[str, Any]:
    """The file's document with what the environment says in its place."""
    for place, value in given.values.items():
        _table_at(document, place[:-1], problems)[place[-1]] = value
    if is_whole and "node" not in document:
        problems.append(Problem(field="node", message="expected a section with `origin` and `founder`, got none"))
    if not is_whole:
        document["node"] = {**_NO_NODE, **document.get("node", {})}
    return {"node": dict(_NO_NODE), **document}


def _table_at(document: dict[str, Any], place: tuple[str, ...], problems: list[Problem]) -> dict[str, Any]:
    """The table at this place, made where there is none; something else that the file has there is told and goes."""
    table = document
    for depth, step in enumerate(place, start=1):
        found = table.setdefault(step, {})
        if not isinstance(found, dict):
            message = f"expected a table, got {type(found).__name__}"
            problems.append(Problem(field=".".join(place[:depth]), message=message))
            found = table[step] = {}
        table = found
    return table


def _further_problems(config: Config, problems: list[Problem]) -> list[Problem]:
    """What sound keys say wrongly, except where that may be so only because another key was not sound."""
    # A key that is none changes no other.
    broken = {_section_of(one) for one in problems if one.message != _UNKNOWN}
    told = {one.field for one in problems}
    doubtful = broken | (_JOINT if broken & _READ_BY_OTHERS else frozenset())
    return [
        one
        for one in _problems(config)
        if one.field not in told and not (one.field in _JOINT and {one.field, _section_of(one)} & doubtful)
    ]


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
    table, struct = _value_at(rest, place), struct_of(_type_at(place))
    names = [missing[1]]
    if isinstance(table, dict) and struct is not None:
        names = [one.encode_name for one in fields(struct) if one.required and one.encode_name not in table]
    return tuple(Problem(field=f"{place}.{name}", message=_ABSENT) for name in names)


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
        struct = struct_of(kind)
        kind = None if struct is None else get_type_hints(struct).get(step)
    return kind


def _value_at(document: dict[str, Any], place: str) -> object:
    found: object = document
    for step in place.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def _take_out(document: dict[str, Any], place: str) -> None:
    """Remove what is at the place, up to the nearest table: an element of a list goes with its list.

    A node without a name keeps the rest that it says.
    """
    node = document["node"]
    if place == "node" and isinstance(node, dict) and not _NO_NODE.keys() <= node.keys():
        document["node"] = {**_NO_NODE, **node}
        return
    # A key before the first table may have a name like the path of another.
    steps = [place] if place in document else place.partition("[")[0].split(".")
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
        *identity_problems(config.identity),
        *witness_problems(config.witnesses, config.witness_threshold),
        *model_problems(config.models),
        *ski_problems(config.ski, has_model=has_model),
        *claims_problems(config.claims, has_model=has_model),
        *delivery_problems(config.delivery, tenant=config.node.tenant, has_model=has_model),
        *registry_problems(config.registry),
        *review_problems(config.review),
        *mandates_problems(config.mandates),
    )
