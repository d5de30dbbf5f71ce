"""The environment: one variable for every setting, it wins, and what is wrong with it is told without its text."""

import re
import tomllib
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.config import ENVIRONMENT, BadConfigError, Config, parse_config
from assay.config.environment import ALIASES, OTHERS, PEER_TOKENS, Setting
from assay.identity.problem import Problem

FOUNDER = f"sha256:{'0' * 64}"
GOOD = f'[node]\norigin = "log.example"\nfounder = "{FOUNDER}"\n'
_ROOT = Path(__file__).resolve().parents[2]
# The id of an action, and a variable that the documents tell operators to do without.
_RESTS = ("ASSAY_CHECK_UNDECLARED", "ASSAY_SERVICE_HOST")
_READABLE = {".md", ".py", ".service", ".toml", ".yaml"}

# A whole file in which every table is there.
FULL = f"""
{GOOD}
[models.general]
backend = "ollama"
url = "http://127.0.0.1:1"
model = "m"
[oidc]
issuer = "https://id.example"
client_id = "node"
redirect_url = "https://node.example/auth/oidc/callback"
prefix = "user"
"""


def _problems(environment: dict[str, str], text: str = GOOD) -> dict[str, str]:
    with pytest.raises(BadConfigError) as refused:
        parse_config(text, environment)
    return {one.field: one.message for one in refused.value.problems}


def _value_at(config: Config, setting: Setting) -> object:
    found: Any = config
    for step in setting.place:
        found = getattr(found, step)
    return found


def _kinds(setting: Setting) -> tuple[Any, ...]:
    return (setting.kind, *get_args(setting.kind))


def _is_free(setting: Setting) -> bool:
    """Text of which only its meaning can be wrong, and that perhaps beside another setting."""
    return str in _kinds(setting) and not setting.is_collection


def _example(setting: Setting) -> str:
    """The setting's own value in a whole configuration, as a variable has it."""
    value = msgspec.to_builtins(_value_at(parse_config(FULL, {}), setting))
    if isinstance(value, dict | tuple | list):
        assert not isinstance(value, dict) or not value, "an empty table is written alike in both notations"
        return msgspec.json.encode(value).decode()
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_a_variable_is_named_after_the_place_of_its_setting() -> None:
    assert ENVIRONMENT["ASSAY_NODE_CHECKPOINT_SECONDS"].path == "node.checkpoint_seconds"
    assert ENVIRONMENT["ASSAY_MODELS_GENERAL_URL"].path == "models.general.url"
    assert ENVIRONMENT["ASSAY_WITNESS_THRESHOLD"].path == "witness_threshold"
    assert ENVIRONMENT["ASSAY_WITNESSES"].path == "witnesses"


def test_no_two_settings_have_one_variable_and_none_is_taken_by_something_else() -> None:
    settings = [one for name, one in ENVIRONMENT.items() if name not in ALIASES]
    assert len({one.variable for one in settings}) == len(settings) == len({one.place for one in settings})
    assert not {*ENVIRONMENT} & {*OTHERS}
    assert not [name for name in ENVIRONMENT if name.startswith(PEER_TOKENS)]


def _leaves(schema: dict[str, Any], names: dict[str, Any]) -> Iterator[str]:
    """Each key of the file by its schema, which is made without our walk of the classes; a list ends a path."""
    for key, one in schema.get("properties", {}).items():
        parts = one.get("anyOf", [one])
        below = [names[part["$ref"].rpartition("/")[2]] for part in parts if "$ref" in part]
        tables = [part for part in below if part.get("properties")]
        yield from (f"{key}.{rest}" for table in tables for rest in _leaves(table, names))
        yield from () if tables else (key,)


def test_every_setting_has_a_variable() -> None:
    (schema,), names = msgspec.json.schema_components([Config])
    top = names[schema["$ref"].rpartition("/")[2]]
    assert {one.path for one in ENVIRONMENT.values()} == {*_leaves(top, names)}


@pytest.mark.parametrize("variable", [*ENVIRONMENT])
def test_each_setting_can_be_given_by_its_variable(variable: str) -> None:
    """The same value said by the environment makes the same configuration, and the variable was not ignored."""
    setting, whole = ENVIRONMENT[variable], parse_config(FULL, {})
    if _value_at(whole, setting) is not None:
        assert parse_config(FULL, {variable: _example(setting)}) == whole
    text = "[" if setting.is_collection else "no such"
    fields = [one.field for one in _told({variable: text}, FULL)]
    assert fields or _value_at(parse_config(FULL, {variable: text}), setting) == text
    assert _is_free(setting) or fields == [variable]


def test_the_environment_wins_over_the_file() -> None:
    text = (
        f'{GOOD}tenant = "acme"\n[http]\nport = 1\ncors_origins = ["https://a.example"]\n[truth.domains]\ncity = "h3"\n'
    )
    environment = {
        "ASSAY_NODE_TENANT": "other",
        "ASSAY_HTTP_PORT": "2",
        "ASSAY_HTTP_OPEN_METRICS": "true",
        "ASSAY_HTTP_CORS_ORIGINS": '["https://b.example", "https://c.example"]',
        "ASSAY_TRUTH_DOMAINS": '{road = "meta"}',
        "ASSAY_DELIVERY_PROOF_THRESHOLD_PCT": "99.5",
        "ASSAY_DELIVERY_SUB_CATEGORIES_RULE": '["outdated", "ambiguous"]',
        "ASSAY_DELIVERY_PEERS": '[{name = "p", url = "https://p.example"}]',
    }
    config = parse_config(text, environment)
    assert config.node.tenant == "other"
    assert (config.http.port, config.http.open_metrics) == (2, True)
    assert config.http.cors_origins == ("https://b.example", "https://c.example")
    assert config.truth.domains == {"road": "meta"}
    assert config.delivery.proof_threshold_pct == 99.5
    assert config.delivery.sub_categories.rule == ("outdated", "ambiguous")
    assert [one.name for one in config.delivery.peers] == ["p"]


def test_a_node_can_be_configured_by_the_environment_alone() -> None:
    """Tables that the file does not have are made, the optional ones too."""
    environment = {
        "ASSAY_NODE_ORIGIN": "log.example",
        "ASSAY_NODE_FOUNDER": FOUNDER,
        "ASSAY_MODELS_GENERAL_BACKEND": "ollama",
        "ASSAY_MODELS_GENERAL_URL": "http://127.0.0.1:1",
        "ASSAY_MODELS_GENERAL_MODEL": "m",
    }
    config = parse_config("", environment)
    assert config.node.origin == "log.example"
    assert config.models.general is not None
    assert config.models.general.model == "m"


def test_other_names_of_a_setting_may_agree_and_not_differ() -> None:
    assert parse_config(GOOD, {"ASSAY_TENANT": "a", "ASSAY_NODE_TENANT": "a"}).node.tenant == "a"
    told = _problems({"ASSAY_TENANT": "s3cret", "ASSAY_NODE_TENANT": "b"})
    assert told == {"ASSAY_TENANT": "expected what `ASSAY_NODE_TENANT` says, which sets the same, got another value"}


def test_a_variable_that_is_no_setting_is_told_with_the_nearest_that_is() -> None:
    told = _problems({"ASSAY_HTTP_PROT": "s3cret", "ASSAY_KEY_PASSPHRAS": "s3cret", "ASSAY_": "", "ASSAYER": "x"})
    assert told == {
        "ASSAY_": "expected the variable of a setting",
        "ASSAY_HTTP_PROT": "expected the variable of a setting, perhaps `ASSAY_HTTP_PORT`",
        "ASSAY_KEY_PASSPHRAS": "expected the variable of a setting, perhaps `ASSAY_KEY_PASSPHRASE`",
    }


def test_variables_of_commands_deployment_and_tests_are_no_settings_and_no_problem() -> None:
    environment = dict.fromkeys([*OTHERS, f"{PEER_TOKENS}ACME", "PATH"], "x")
    assert parse_config(GOOD, environment) == parse_config(GOOD, {})


def test_every_variable_that_the_project_reads_is_known() -> None:
    """One that is read somewhere and not known here would keep a node from starting."""
    folders = ("src", "tools", "bench", "deploy", "docs", "tests")
    files = [one for folder in folders for one in (_ROOT / folder).rglob("*") if one.suffix in _READABLE]
    # Not the list itself, its page, and the tests that misspell names.
    own = {"environment.py", "configuration.md", "test_environment.py"}
    files = [one for one in (*files, _ROOT / "Makefile", _ROOT / "README.md") if one.name not in own]
    found = {name for one in files for name in re.findall(r"(?<![A-Z_])ASSAY_[A-Z0-9_]+", one.read_text())}
    unknown = {name for name in found if not name.startswith(PEER_TOKENS)} - {*ENVIRONMENT, *OTHERS, *_RESTS}
    assert {*OTHERS} <= found
    assert not unknown


def test_every_problem_of_file_and_environment_is_told_at_once_each_by_its_name() -> None:
    """Unknown names, wrong types, values out of range, lists that cannot be read, and what the file has wrong."""
    text = f"{GOOD}tenant = 'ACME'\n[http]\nrate_seconds = 0\nprot = 1\n"
    told = _problems(
        {
            "ASSAY_NODE_CHECKPOINT_SECONDS": "-1",
            "ASSAY_NODE_SCORE_SECONDS": "often",
            "ASSAY_HTTP_PORT": "70000",
            "ASSAY_HTTP_OPEN_METRICS": "perhaps",
            "ASSAY_HTTP_CORS_ORIGINS": "https://a.example",
            "ASSAY_TRUST_ANCHORS": '["nonsense"]',
            "ASSAY_DELIVERY_STRAND_SECONDS": "soon",
            "ASSAY_WITNESSES": '[{name = "w", url = "ftp://w", public_key = "zz"}]',
            "SKI_SOVEREIGNTY": "lax",
            "ASSAY_COLOUR": "red",
        },
        text,
    )
    assert told.pop("ASSAY_TRUST_ANCHORS[0]").startswith("expected ")
    assert told.pop("ASSAY_WITNESSES[0].public_key").startswith("expected ")
    assert told == {
        "ASSAY_COLOUR": "expected the variable of a setting",
        "ASSAY_DELIVERY_STRAND_SECONDS": "expected a number, got other text",
        "ASSAY_HTTP_CORS_ORIGINS": "expected a list or table as in assay.toml",
        "ASSAY_HTTP_OPEN_METRICS": "expected `true` or `false`, got other text",
        "ASSAY_HTTP_PORT": "expected 0 to 65535, got 70000",
        "ASSAY_NODE_CHECKPOINT_SECONDS": "expected 0 or more, got -1",
        "ASSAY_NODE_SCORE_SECONDS": "expected a whole number, got other text",
        "ASSAY_WITNESSES[0].url": "expected http(s), got another value",
        "SKI_SOVEREIGNTY": "expected strict, advisory, got another value",
        "http.prot": "unknown key",
        "http.rate_seconds": "expected 1 or more, got 0",
        "node.tenant": "expected a tenant: 1 to 63 of `a-z 0-9 . _ -`, starting with a letter or digit, got `ACME`",
    }


def test_a_file_that_is_no_toml_hides_no_wrong_name_or_form_of_the_environment() -> None:
    told = _problems({"ASSAY_HTTP_PORT": "many", "ASSAY_COLOUR": "red", "ASSAY_SKI_REASONER": "general"}, "not toml")
    assert {*told} == {"assay.toml", "ASSAY_HTTP_PORT", "ASSAY_COLOUR"}


def test_what_may_be_in_a_file_that_is_no_toml_is_not_told_as_missing() -> None:
    environment = {"ASSAY_OIDC_ISSUER": "https://id.example", "ASSAY_NODE_TENANT": "acme", "ASSAY_WITNESSES": "[{}]"}
    assert {*_problems(environment, "not toml")} == {"assay.toml", "ASSAY_WITNESSES[0].name"}


def test_a_table_that_the_file_has_as_something_else_hides_nothing() -> None:
    told = _problems({"ASSAY_HTTP_PORT": "many"}, f"http = 3\n{GOOD}")
    assert told == {"http": "expected a table, got int", "ASSAY_HTTP_PORT": "expected a whole number, got other text"}


@pytest.mark.parametrize(
    "text", ['["a"]\nport = 1', '{a = "h3"}\n[http]\nport = 1', "[" * 5000, "", "[1979-05-27]", "3"]
)
def test_a_list_is_one_value_and_nothing_else(text: str) -> None:
    """What follows it in further lines would set what the variable does not name."""
    assert {*_problems({"ASSAY_HTTP_CORS_ORIGINS": text})} <= {"ASSAY_HTTP_CORS_ORIGINS", "ASSAY_HTTP_CORS_ORIGINS[0]"}


def _secrets(setting: Setting) -> Iterator[str]:
    bare = ("s3cret", "https://u:s3cret@h x", "post gres:s3cret", "s3cret+ S", "pkcs11:s3cret/k", "hmac:s3cret")
    if get_origin(setting.kind) is dict:
        return iter(f'{{"{one}" = "{one}"}}' for one in bare)
    if setting.is_collection:
        tables = (f'[{{"{one}" = 1, name = "{one}", url = "{one}", public_key = "{one}"}}]' for one in bare)
        return iter((*tables, *(f'["{one}", "{one}"]' for one in bare), *bare, *(f'["{one}' for one in bare)))
    return iter(bare)


def _told(environment: dict[str, str], text: str) -> tuple[Problem, ...]:
    try:
        parse_config(text, environment)
    except BadConfigError as refused:
        return refused.problems
    return ()


@pytest.mark.parametrize("variable", [*ENVIRONMENT])
def test_no_text_of_the_environment_is_repeated(variable: str) -> None:
    """Secrets are given there, and sometimes in the wrong variable."""
    for text in _secrets(ENVIRONMENT[variable]):
        for file in (FULL, GOOD, "not toml"):
            assert "s3cret" not in str(_told({variable: text}, file))


@given(value=st.text(min_size=1).filter(lambda text: "\x00" not in text))
def test_of_a_closed_set_only_what_is_in_it_is_taken(value: str) -> None:
    members = ENVIRONMENT["SKI_SOVEREIGNTY"].kind
    assert issubclass(members, StrEnum)
    problems = _told({"SKI_SOVEREIGNTY": value}, GOOD)
    assert bool(problems) is (value not in [one.value for one in members])
    assert all(one.message == "expected strict, advisory, got another value" for one in problems)


@given(port=st.integers())
def test_a_number_means_the_same_in_the_file_and_in_the_environment(port: int) -> None:
    by_file = _told({}, f"{GOOD}[http]\nport = {port}\n")
    by_variable = _told({"ASSAY_HTTP_PORT": str(port)}, GOOD)
    assert [one.message for one in by_file] == [one.message for one in by_variable]
    assert bool(by_variable) is not (0 <= port <= 65535)


@given(origins=st.lists(st.sampled_from(["https://a.example", "http://b.example:1", "nonsense"])))
def test_a_list_means_the_same_in_the_file_and_in_the_environment(origins: list[str]) -> None:
    written = msgspec.json.encode(origins).decode()
    file = f"{GOOD}[http]\ncors_origins = {written}\n"
    assert tomllib.loads(file)["http"]["cors_origins"] == origins
    if "nonsense" not in origins:
        assert parse_config(file, {}) == parse_config(GOOD, {"ASSAY_HTTP_CORS_ORIGINS": written})
        return
    by_file, by_variable = _told({}, file), _told({"ASSAY_HTTP_CORS_ORIGINS": written}, GOOD)
    renamed = [one.field.replace("http.cors_origins", "ASSAY_HTTP_CORS_ORIGINS") for one in by_file]
    assert renamed == [one.field for one in by_variable]
