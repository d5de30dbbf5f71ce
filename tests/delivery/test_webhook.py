"""Webhooks as values: addresses that can be posted to, what is signed, and how long is waited."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from assay.delivery.errors import DeliveryError
from assay.delivery.webhook import (
    MOST_ATTEMPTS,
    Webhook,
    message_id,
    parse_webhook_url,
    pause_after,
    render_webhook_key,
    webhook_headers,
)
from assay.kernel.ids import PrincipalId
from tests.contract._kit import AT
from tests.raising import raises


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "example.org/hook",
        "https://",
        "https://user@example.org/",
        "https://user:word@example.org/",
        "https://example.org/#part",
        "https://example.org:0/",
        "https://example.org:99999/",
        "https://exa mple.org/",
        "https://example.org/\n",
        "https://[::1/",
        "https://example.org/" + "a" * 2000,
    ],
)
def test_an_address_that_hides_something_is_refused(url: str) -> None:
    with raises(DeliveryError.webhook):
        parse_webhook_url(url)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://Example.org", ("https", "example.org", 443)),
        ("http://example.org:8080/a?b=c&d=%20", ("http", "example.org", 8080)),
        ("https://[2001:db8::1]:8443/x", ("https", "2001:db8::1", 8443)),
    ],
)
def test_an_address_leads_to_a_host_and_a_port(url: str, expected: tuple[str, str, int]) -> None:
    assert parse_webhook_url(url) == expected


def _webhook(*types: str) -> Webhook:
    return Webhook(
        webhook_id="whk_1", url="https://example.org/", types=types, added_by=PrincipalId("user:olga"), added_at=AT
    )


def test_types_are_chosen_once_each_and_none_is_all() -> None:
    assert _webhook().wants("rca.closed")
    assert _webhook("rca.closed").wants("rca.closed")
    assert not _webhook("rca.closed").wants("rca.triggered")
    for wrong in (("a", "a"), ("",), ("a\nb",), tuple(str(number) for number in range(101))):
        with raises(DeliveryError.webhook):
            _webhook(*wrong)


def test_a_receiver_verifies_with_the_public_key_alone() -> None:
    """Standard Webhooks `v1a`, checked as a receiver would: Ed25519 over `id.timestamp.body`."""
    key = Ed25519PrivateKey.generate()
    body = b'{"specversion":"1.0"}'
    headers = webhook_headers(message_id("acme.eu", 7), sent=1_700_000_000, body=body, sign=key.sign)
    assert headers["webhook-id"] == "evt_7_acme-eu"
    version, _, text = headers["webhook-signature"].partition(",")
    assert version == "v1a"
    shown = render_webhook_key(key.public_key().public_bytes_raw())
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(shown.removeprefix("whpk_")))
    public.verify(base64.b64decode(text), b"evt_7_acme-eu.1700000000." + body)


@given(st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_max=True))
def test_pauses_grow_and_differ_by_chance_within_bounds(low: float, high: float) -> None:
    """Each longest pause is at least the one before, none is above three hours, and half of each is chance."""
    for attempt in range(1, MOST_ATTEMPTS):
        shortest, longest = pause_after(attempt, chance=0.0), pause_after(attempt, chance=1.0)
        assert longest == 2 * shortest <= 3 * 3600
        assert pause_after(attempt + 1, chance=1.0) >= longest
        first, second = sorted((low, high))
        assert shortest <= pause_after(attempt, chance=first) <= pause_after(attempt, chance=second) <= longest
