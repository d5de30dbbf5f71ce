"""The environment: every setting has a variable, named after its place in the file, and it wins over the file.

    `[http] port` -> ASSAY_HTTP_PORT; environment -> read_environment -> Given, with everything that is wrong with it

Text, numbers, `true` and `false` are given as they are, lists and tables as the file has them after the `=`.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, get_args, get_origin

from msgspec import Struct
from msgspec.structs import fields

from assay.identity.problem import Problem, when

_PREFIX = "ASSAY_"

# Names besides the rule's own: the specification's two, and a short one for what is asked for most.
ALIASES: Mapping[str, tuple[str, ...]] = {
    "ASSAY_TENANT": ("node", "tenant"),
    "SKI_SOVEREIGNTY": ("ski", "sovereignty"),
    "SKI_RUNTIME_VERSION": ("ski", "runtime_version"),
}

# What begins like a setting and is none, with what it is; anything else that begins so is a mistake.
OTHERS: Mapping[str, str] = {
    "ASSAY_HOME": "the node's folder",
    "ASSAY_KEY_PASSPHRASE": "opens the key files",
    "ASSAY_PKCS11_PIN": "opens the token that holds the keys",
    "ASSAY_MODEL_TOKEN": "what the model's server wants",
    "ASSAY_OIDC_CLIENT_SECRET": "what the identity provider wants",
    "ASSAY_SESSION": "the session of the person who gives a command",
    "ASSAY_NODE": "the address of the node that a command asks",
    "ASSAY_CREDENTIAL": "the API key or session with which a command asks",
    "ASSAY_AGENT_KEY": "the API key of the agent as which `assay check` attacks",
    "ASSAY_REVIEWER_PASSPHRASE": "opens the reviewer's own key file",
    "ASSAY_ADMIN_PASSWORD": "the database owner's, for `deploy/compose.yaml`",
    "ASSAY_APP_PASSWORD": "the node's own at the database, for `deploy/compose.yaml`",
    "ASSAY_TEST_SCALE": "how large the numbers in tests are",
    "ASSAY_RECORD": "tests write their recorded answers anew",
    "ASSAY_BENCH_OBSERVATIONS": "how many observations a measurement takes in",
}
PEER_TOKENS = "ASSAY_PEER_TOKEN_"

_NUMBERS: Mapping[type, str] = {int: "a whole number", float: "a number", bool: "`true` or `false`"}
_INDEX = re.compile(r"(?:\[\d+\])?", re.ASCII)


class Setting(NamedTuple):
    """One key of the file: its place, and its type as the class has it."""

    place: tuple[str, ...]
    kind: Any

    @property
    def path(self) -> str:
        return ".".join(self.place)

    @property
    def variable(self) -> str:
        return _PREFIX + "_".join(self.place).upper()

    @property
    def is_collection(self) -> bool:
        """A list or a table, which a variable has in the notation of the file."""
        return any(get_origin(one) in {tuple, dict} for one in (self.kind, *get_args(self.kind)))


class Given(NamedTuple):
    """What the environment says: each value by its place, the variable that said it, and what is wrong already."""

    values: Mapping[tuple[str, ...], object]
    variables: Mapping[str, Setting]
    problems: tuple[Problem, ...]

    def named(self, problem: Problem) -> Problem:
        """The problem by the variable that caused it, without its text: the environment is where secrets are."""
        for variable, setting in self.variables.items():
            rest = problem.field.removeprefix(setting.path)
            if problem.field.startswith(setting.path) and rest[:1] in {"", ".", "["}:
                return Problem(field=variable + _within(rest, setting), message=_untold(problem.message, setting))
        return problem


def struct_of(kind: Any) -> type[Struct] | None:  # noqa: ANN401 - a type, as annotations write it
    """The class of a table, or of each table of a list; none for a single value."""
    found = [one for one in (kind, *get_args(kind)) if isinstance(one, type) and issubclass(one, Struct)]
    return found[0] if found else None


def variables_of(struct: type[Struct]) -> dict[str, Setting]:
    """The variable of every setting, and after them the other names that some have."""
    own = {one.variable: one for one in _settings_of(struct, ())}
    by_place = {one.place: one for one in own.values()}
    return own | {alias: by_place[place] for alias, place in ALIASES.items()}


def _settings_of(struct: type[Struct], above: tuple[str, ...]) -> Iterator[Setting]:
    for one in fields(struct):
        setting, below = Setting((*above, one.encode_name), one.type), struct_of(one.type)
        # A list of tables is one setting: a variable cannot say which of them it means.
        if below is None or setting.is_collection:
            yield setting
        else:
            yield from _settings_of(below, setting.place)


def read_environment(known: Mapping[str, Setting], environment: Mapping[str, str]) -> Given:
    """Every value that the environment has for a setting; unknown names and text that cannot be read are problems."""
    variables = {variable: one for variable, one in known.items() if variable in environment}
    values = dict[tuple[str, ...], object]()
    problems = [*_unknown_problems(known, environment), *_twice_problems(variables, environment)]
    for variable, setting in variables.items():
        try:
            values[setting.place] = _value(environment[variable], setting)
        except (ValueError, RecursionError):
            # Told by its place, as those of the file are, until all are known.
            problems.append(Problem(field=setting.path, message="expected a list or table as in assay.toml"))
    return Given(values, variables, tuple(problems))


def _value(text: str, setting: Setting) -> object:
    if not setting.is_collection:
        return text
    read = tomllib.loads(f"value = {text}")
    if read.keys() != {"value"}:
        raise ValueError("expected one value, got further lines")
    return read["value"]


def _unknown_problems(known: Mapping[str, Setting], environment: Mapping[str, str]) -> Iterator[Problem]:
    ours = [name for name in environment if name.startswith(_PREFIX) and not name.startswith(PEER_TOKENS)]
    for name in sorted(set(ours) - known.keys() - OTHERS.keys()):
        from difflib import get_close_matches  # noqa: PLC0415 - only who misspelt one pays for it

        close = get_close_matches(name, [*known, *OTHERS], n=1, cutoff=0.8)
        hint = f", perhaps `{close[0]}`" if close else ""
        shown = name[:80].encode("ascii", "backslashreplace").decode()
        yield Problem(field=shown, message=f"expected the variable of a setting{hint}")


def _twice_problems(variables: Mapping[str, Setting], environment: Mapping[str, str]) -> tuple[Problem, ...]:
    """Two names of one setting may both be there when they agree; else nobody can say which was meant."""
    problems: tuple[Problem, ...] = ()
    for alias in ALIASES.keys() & variables.keys():
        own = variables[alias].variable
        differs = own in variables and environment[own] != environment[alias]
        problems += when(differs, alias, f"expected what `{own}` says, which sets the same, got another value")
    return problems


def _within(rest: str, setting: Setting) -> str:
    """Where in a list the problem is; a key that the variable's own text named is not repeated."""
    found, below = _INDEX.match(rest), struct_of(setting.kind)
    index = found[0] if found else ""
    name = rest.removeprefix(index).removeprefix(".")
    return f"{index}.{name}" if below is not None and name in below.__struct_fields__ else index


def _untold(message: str, setting: Setting) -> str:
    """A number may be shown; of text only what was expected."""
    words = [_NUMBERS[one] for one in (setting.kind, *get_args(setting.kind)) if one in _NUMBERS]
    expected, got, value = message.partition(", got ")
    if not got or (words and not setting.is_collection and value != "`str`"):
        return message
    if words and not setting.is_collection:
        return f"expected {words[0]}, got other text"
    return f"{expected}, got another value"
