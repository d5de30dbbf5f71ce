"""`[oidc]` of the configuration: everything that is wrong is told at once, and nothing loose is taken."""

import pytest

from assay.config import BadConfigError, Config, parse_config

_NODE = '[node]\norigin = "o"\nfounder = "sha256:' + "0" * 64 + '"\n'
_GOOD = {
    "issuer": '"https://id.example/realm"',
    "client_id": '"assay"',
    "redirect_url": '"https://assay.example/auth/oidc/callback"',
    "prefix": '"user"',
}


def _parse(**changes: str) -> Config:
    lines = [f"{name} = {value}" for name, value in {**_GOOD, **changes}.items()]
    return parse_config(_NODE + "[oidc]\n" + "\n".join(lines), {})


def test_a_provider_needs_an_issuer_a_client_and_people() -> None:
    oidc = _parse().oidc
    assert oidc is not None
    assert (oidc.claim, oidc.algorithms, oidc.scopes) == ("sub", ("RS256", "PS256", "ES256", "Ed25519"), ("openid",))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("issuer", '"ftp://id.example"'),
        ("issuer", '"https://id.example?x=1"'),
        ("issuer", '"https://user@id.example"'),
        ("redirect_url", '"/auth/oidc/callback"'),
        ("client_id", '""'),
        ("algorithms", '["HS256"]'),
        ("algorithms", '["none"]'),
        ("algorithms", "[]"),
        ("scopes", '["email"]'),
        ("prefix", '"Not A Prefix"'),
        ("principals", '{ "a" = "nobody" }'),
        ("tenant", '"No Such"'),
        ("landing", '"https://evil.example"'),
        ("landing", '"//evil.example"'),
        ("session_seconds", "0"),
        ("session_seconds", "86400"),
    ],
)
def test_what_is_wrong_is_named_by_its_field(field: str, value: str) -> None:
    with pytest.raises(BadConfigError) as caught:
        _parse(**{field: value})
    assert any(problem.field.startswith(f"oidc.{field}") for problem in caught.value.problems)


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(BadConfigError) as caught:
        _parse(issuer='"x"', redirect_url='"y"', algorithms='["none"]', session_seconds="0")
    assert len(caught.value.problems) == 4


@pytest.mark.parametrize("secret", ["client_secret", "password"])
def test_a_secret_has_no_place_in_the_file(secret: str) -> None:
    with pytest.raises(BadConfigError):
        _parse(**{secret: '"hunter2"'})


@pytest.mark.parametrize("url", ["assay.example", "https://assay.example/path", "https://a.example?x"])
def test_the_public_address_is_an_origin(url: str) -> None:
    with pytest.raises(BadConfigError):
        parse_config(f'{_NODE}[http]\npublic_url = "{url}"\n', {})
