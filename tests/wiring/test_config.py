"""Configuration: strict, complete, and every problem at once."""

from pathlib import Path

import pytest

from assay.config import BadConfigError, parse_config
from assay.wiring import FolderInUseError, NoNodeError, init_node, load_config, open_node

FOUNDER = f"sha256:{'0' * 64}"
GOOD = f'[node]\norigin = "log.example"\nfounder = "{FOUNDER}"\n'


def test_the_defaults_are_the_strict_choice() -> None:
    config = parse_config(GOOD, {})
    assert config.http.host == "127.0.0.1"
    assert config.trust.anchors == ()
    assert config.database.url == "sqlite:assay.db"


def test_the_environment_wins_over_the_file() -> None:
    config = parse_config(GOOD, {"ASSAY_HTTP_PORT": "9000", "ASSAY_TENANT": "acme", "OTHER": "x"})
    assert (config.http.port, config.node.tenant) == (9000, "acme")


def test_a_file_in_another_encoding_is_refused_as_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "assay.toml").write_bytes(GOOD.encode() + "# für".encode("latin-1"))
    with pytest.raises(BadConfigError) as refused:
        load_config(tmp_path)
    assert [problem.field for problem in refused.value.problems] == ["assay.toml"]


def test_what_is_shown_of_a_configuration_has_no_password() -> None:
    config = parse_config(GOOD, {"ASSAY_DATABASE_URL": "postgresql://assay_app:SECRET@db/assay"})
    assert "SECRET" not in f"{config!r} {config}"


def test_what_a_node_is_made_with_stands_in_its_file_as_it_was_given(tmp_path: Path) -> None:
    init_node(tmp_path / "node", database='sqlite:a\\n"b.db')
    assert load_config(tmp_path / "node").database.url == 'sqlite:a\\n"b.db'
    assert (tmp_path / "node" / 'a\\n"b.db').is_file()


def test_every_problem_is_listed_before_the_refusal() -> None:
    text = """
    witness_threshold = 2
    [node]
    origin = "two words"
    founder = "the first one"
    tenant = "ACME"
    [database]
    url = "mysql://x"
    [http]
    port = 70000
    [trust]
    anchors = ["nonsense"]
    [keys]
    ledger = "pkcs11:token/key"
    [[witnesses]]
    name = "w"
    url = "ftp://w"
    public_key = "zz"
    """
    with pytest.raises(BadConfigError) as refused:
        parse_config(text, {})
    assert [problem.field for problem in refused.value.problems] == [
        "node.tenant",
        "node.origin",
        "node.founder",
        "database.url",
        "http.port",
        "trust.anchors[0]",
        "keys.pkcs11_module",
        "witness_threshold",
        "witnesses[0].public_key",
        "witnesses[0].url",
    ]


def test_unknown_keys_and_wrong_types_fail_in_every_section() -> None:
    with pytest.raises(BadConfigError) as refused:
        parse_config('[node]\norigin = "x"\ncolour = "red"\n[http]\nport = "many"\n[nonsense]\na = 1\n', {})
    assert {problem.field for problem in refused.value.problems} == {
        "node.colour",
        "node.founder",
        "http.port",
        "nonsense",
    }


def test_every_problem_is_told_at_once_with_its_place() -> None:
    """Several in one section, in a table within, in a list, in the environment, of form and of meaning."""
    text = f"""
    {GOOD}
    [http]
    host = 3
    rate_seconds = "often"
    [models.general]
    backend = "nobody"
    url = 4
    [[witnesses]]
    name = "w"
    url = "https://w.example"
    public_key = 4
    [database]
    url = "mysql:"
    """
    with pytest.raises(BadConfigError) as refused:
        parse_config(text, {"ASSAY_HTTP_PORT": "many"})
    fields = sorted(problem.field for problem in refused.value.problems)
    assert fields == [
        "ASSAY_HTTP_PORT",
        "database.url",
        "http.host",
        "http.rate_seconds",
        "models.general.backend",
        "models.general.url",
        "witnesses[0].public_key",
    ]


def test_proxies_that_are_believed_are_addresses_or_networks() -> None:
    text = GOOD + '\n[http]\ntrusted_proxies = ["10.0.0.0/8", "::1", "proxy.example", "10.0.0.0/40"]\n'
    with pytest.raises(BadConfigError) as refused:
        parse_config(text, {})
    fields = [problem.field for problem in refused.value.problems]
    assert fields == ["http.trusted_proxies[2]", "http.trusted_proxies[3]"]


@pytest.mark.parametrize(
    "text", ['"a.b" = 1\n', '"node.x" = 1\n', '"a[0]" = 1\n', '[http]\n"host.x" = 1\n', '"" = 1\n']
)
def test_names_that_look_like_paths_are_refused_too(text: str) -> None:
    with pytest.raises(BadConfigError, match="unknown key"):
        parse_config(text + GOOD, {})


@pytest.mark.parametrize("name", ["", ".", "origin.x", "x.tenant", "x[0]", "node", "node.origin"])
@pytest.mark.parametrize("table", ["", "[node]\n", "[http]\n", "[models.general]\n"])
def test_no_name_of_a_key_keeps_the_reading_from_its_end(name: str, table: str) -> None:
    with pytest.raises(BadConfigError):
        parse_config(f'{table}"{name}" = 1\n', {"ASSAY_HTTP_PORT": "many"})


def test_a_key_that_was_told_as_wrong_is_not_told_as_missing() -> None:
    with pytest.raises(BadConfigError) as refused:
        parse_config("[node]\norigin = 1\n", {})
    assert [problem.field for problem in refused.value.problems] == ["node.origin", "node.founder"]


def test_what_a_key_may_be_is_told_and_every_key_that_is_missing() -> None:
    """Nobody looks up the names of a closed set, or learns of the second missing key after the first was given."""
    text = f'{GOOD}[ski]\nsovereignty = "lax"\n[models.general]\nbackend = "gpt"\n[oidc]\nissuer = 1\n'
    with pytest.raises(BadConfigError) as refused:
        parse_config(text, {})
    told = {problem.field: problem.message for problem in refused.value.problems}
    assert told["ski.sovereignty"] == "expected strict, advisory, got `lax`"
    assert told["models.general.backend"] == "expected llamacpp, openai-compatible, ollama, vllm, got `gpt`"
    assert {"oidc.issuer", "oidc.client_id", "oidc.redirect_url"} <= set(told)


def test_a_key_of_a_wrong_form_hides_no_other() -> None:
    """What another key says wrongly by itself is told at once, in its section and in that of the missing name."""
    text = "[node]\ntenant = 'ACME'\nscore_seconds = -1\n[http]\nhost = 3\nport = 70000\n"
    with pytest.raises(BadConfigError) as refused:
        parse_config(text, {})
    assert {problem.field for problem in refused.value.problems} == {
        "node.origin",
        "node.founder",
        "node.tenant",
        "node.score_seconds",
        "http.host",
        "http.port",
    }


def test_what_may_be_wrong_only_because_of_another_key_is_not_told() -> None:
    """The judge needs a model, and one is there as soon as its own problem is mended."""
    text = f"""
    witness_threshold = 1
    {GOOD}
    [models.general]
    backend = "nobody"
    [ski]
    reasoner = "general"
    [claims]
    judge = "model"
    [[witnesses]]
    name = "w"
    url = "https://w.example"
    public_key = 4
    """
    with pytest.raises(BadConfigError) as refused:
        parse_config(text, {})
    assert {problem.field for problem in refused.value.problems} == {
        "models.general.backend",
        "witnesses[0].public_key",
    }


def test_a_key_that_is_none_hides_nothing_beside_it() -> None:
    with pytest.raises(BadConfigError) as refused:
        parse_config(f"{GOOD}[http]\nprot = 1\nport = 70000\n", {})
    assert [problem.field for problem in refused.value.problems] == ["http.prot", "http.port"]


@pytest.mark.parametrize("text", ["not toml", "", "[http]\nport = 1\n"])
def test_a_file_that_cannot_be_one_is_refused(text: str) -> None:
    with pytest.raises(BadConfigError, match=r"assay\.toml|expected a section"):
        parse_config(text, {})


def test_a_node_is_made_only_in_a_folder_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FolderInUseError, match="expected an empty or new folder"):
        init_node(tmp_path)
    with pytest.raises(NoNodeError, match="assay init"), open_node(tmp_path):
        pass


def test_private_keys_are_readable_by_their_owner_alone(tmp_path: Path) -> None:
    home = tmp_path / "node"
    init_node(home, origin="log.example", tenant="acme")
    assert {path.stat().st_mode & 0o777 for path in (home / "keys").glob("*.key")} == {0o600}
    assert load_config(home, {}).node.origin == "log.example"


@pytest.mark.parametrize("url", ["Postgresql://u:SECRET@h/x", "host=h password=SECRET", "SECRET", "post gres:SECRET"])
def test_an_address_that_is_no_address_is_refused_without_repeating_it(url: str) -> None:
    """It may be one with a password in it, misspelt."""
    with pytest.raises(BadConfigError, match="ASSAY_DATABASE_URL") as refused:
        parse_config(GOOD, {"ASSAY_DATABASE_URL": url})
    assert "SECRET" not in str(refused.value)


def test_an_address_with_a_password_in_the_file_is_refused_without_repeating_it() -> None:
    text = f"""
    {GOOD}
    [http]
    public_url = "https://u:SECRET@h.example"
    cors_origins = ["https:/u:SECRET@h.example"]
    [oidc]
    issuer = "https://u:SECRET@h.example"
    client_id = "node"
    redirect_url = "https://SECRET@h.example"
    prefix = "user"
    """
    with pytest.raises(BadConfigError) as refused:
        parse_config(text, {})
    fields = {problem.field for problem in refused.value.problems}
    assert fields == {"http.public_url", "http.cors_origins[0]", "oidc.issuer", "oidc.redirect_url"}
    assert str(refused.value).count("got `…@h.example`") == len(fields)
    assert "SECRET" not in str(refused.value)


def test_how_far_clocks_may_differ_is_configured_and_never_more_than_a_day() -> None:
    told = parse_config(GOOD + "[truth]\nclock_ahead_seconds = 60\nclock_behind_seconds = 0\n", {}).truth
    assert (told.clock_ahead_seconds, told.clock_behind_seconds) == (60, 0)
    with pytest.raises(BadConfigError) as refused:
        parse_config(GOOD + "[truth]\nclock_ahead_seconds = -1\nclock_behind_seconds = 86401\n", {})
    assert [one.field for one in refused.value.problems] == ["truth.clock_ahead_seconds", "truth.clock_behind_seconds"]


def test_domains_of_truth_keys_can_be_added_and_kaoris_own_cannot_be_changed(tmp_path: Path) -> None:
    """Every wrong one is listed; a right one reaches the flows."""
    added = '[truth.domains]\ncity = "h3"\n'
    assert parse_config(GOOD + added, {}).truth.domains == {"city": "h3"}
    with pytest.raises(BadConfigError) as refused:
        parse_config(GOOD + '[truth.domains]\nearth = "meta"\nCity = "h3"\nroads = "grid"\n', {})
    assert [problem.field for problem in refused.value.problems] == [
        "truth.domains.earth",
        "truth.domains.City",
        "truth.domains.roads",
    ]
    init_node(tmp_path / "node")
    file = tmp_path / "node" / "assay.toml"
    file.write_text(file.read_text() + added)
    with open_node(tmp_path / "node", writable=False) as (tools, _):
        assert tools.domain_systems == {"city": "h3"}


def test_sub_categories_of_root_causes_can_be_listed(tmp_path: Path) -> None:
    """Every wrong list is told; a right one reaches the flows, and none at all leaves a reviewer free."""
    added = '[delivery.sub_categories]\nrouting = ["wrong service"]\n'
    with pytest.raises(BadConfigError) as refused:
        parse_config(GOOD + '[delivery.sub_categories]\nrouting = [" "]\nrule = ["old", "old"]\n', {})
    told = [problem.field for problem in refused.value.problems]
    assert told == ["delivery.sub_categories.routing", "delivery.sub_categories.rule"]
    init_node(tmp_path / "node")
    file = tmp_path / "node" / "assay.toml"
    with open_node(tmp_path / "node", writable=False) as (tools, _):
        assert tools.delivery.sub_categories is None
    file.write_text(file.read_text() + added)
    with open_node(tmp_path / "node", writable=False) as (tools, _):
        assert tools.delivery.sub_categories == {"A": ("wrong service",), "B": (), "C": ()}


def test_a_registry_hears_unsigned_announces_only_where_the_operator_says_so() -> None:
    assert parse_config(GOOD, {}).registry.unsigned_networks == ()
    told = parse_config(GOOD + "[registry]\nunsigned_networks = ['127.0.0.0/8']\nmax_skew_seconds = 60\n", {}).registry
    assert (told.unsigned_networks, told.max_skew_seconds) == (("127.0.0.0/8",), 60)
    with pytest.raises(BadConfigError) as refused:
        parse_config(GOOD + "[registry]\nunsigned_networks = ['here']\nservice_networks = ['10.0.0.0/40']\n", {})
    fields = [problem.field for problem in refused.value.problems]
    assert fields == ["registry.unsigned_networks[0]", "registry.service_networks[0]"]
    for seconds in (0, -1, 86_401):
        with pytest.raises(BadConfigError) as refused:
            parse_config(f"{GOOD}[registry]\nmax_skew_seconds = {seconds}\n", {})
        assert [problem.field for problem in refused.value.problems] == ["registry.max_skew_seconds"]
