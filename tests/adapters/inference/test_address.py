"""A model is on this machine, or where the operator says in so many words that the deployment is."""

import pytest

from assay.adapters.inference.address import parse_address
from assay.ports.model import ModelAddressError


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
        ("https://127.9.8.7/prefix/", "https://127.9.8.7/prefix"),
        ("http://[::1]:11434", "http://[::1]:11434"),
        ("http://localhost:11434", "http://127.0.0.1:11434"),
        ("http://LOCALHOST", "http://127.0.0.1"),
    ],
)
def test_loopback_is_inside(text: str, url: str) -> None:
    """`localhost` is replaced, so that a hosts file cannot make it another machine."""
    assert parse_address(text).url == url
    assert parse_address(text).socket is None


def test_a_socket_is_inside() -> None:
    assert parse_address("unix:/run/model.sock").socket == "/run/model.sock"


@pytest.mark.parametrize(
    "text",
    [
        "http://10.0.0.5:8000",
        "http://0.0.0.0:8000",
        "http://models.example",
        "http://127.0.0.1.models.example",
        "http://127.1:80",
        "http://2130706433",
        "http://[::ffff:10.0.0.5]",
        "http://localhost.example",
    ],
)
def test_elsewhere_is_outside_unless_exactly_this_address_is_tagged(text: str) -> None:
    with pytest.raises(ModelAddressError) as caught:
        parse_address(text, deployment_local=[text + "/", "http://10.0.0", "http://10.0.0.5"])
    assert caught.value.code == "model.address"
    assert parse_address(text, deployment_local=[text]).url == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "127.0.0.1:80",
        "ftp://127.0.0.1",
        "http://",
        "http://user@127.0.0.1",
        "http://127.0.0.1@models.example",
        "http://127.0.0.1/?a=b",
        "http://127.0.0.1/#a",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:0",
        "http://[::1",
        " http://127.0.0.1",
        "unix:run/model.sock",
        "unix:",
    ],
)
def test_what_is_no_plain_address_is_refused_even_if_tagged(text: str) -> None:
    with pytest.raises(ModelAddressError):
        parse_address(text, deployment_local=[text])
