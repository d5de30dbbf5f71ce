"""HTTP message signatures: one form, every part of it bound, and the RFC's own example holds."""

from base64 import b64decode
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.identity.signed_request import (
    CONTENT_DIGEST,
    REQUEST_SKEW,
    SIGNATURE,
    SIGNATURE_INPUT,
    has_content_digest,
    parse_signed_request,
    render_content_digest,
    sign_request,
    signature_base,
    verify_fresh,
    verify_signed_request,
)
from assay.kernel.errors import Error
from assay.kernel.instant import Instant
from assay.kernel.key import key_id_of
from assay.kernel.signature import verify_ed25519

_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
_PUBLIC = _KEY.public_key().public_bytes_raw()
_AT = Instant(datetime(2026, 3, 1, 12, tzinfo=UTC))
_URI = "https://assay.example/log/entries?x=1"
_NONCE = "b3k2pp5k7z-50gnw"


def _headers(body: bytes = b"{}", *, method: str = "POST", uri: str = _URI) -> dict[str, str]:
    return dict(
        sign_request(_KEY.sign, key_id_of(_PUBLIC), method=method, target_uri=uri, body=body, nonce=_NONCE, at=_AT)
    )


def test_the_example_of_the_rfc_holds() -> None:
    """RFC 9421, B.2.6: its key, its message, its signature; the base is built as everybody builds it."""
    public_key = b64decode("JrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=")
    components = [
        ("date", "Tue, 20 Apr 2021 02:07:55 GMT"),
        ("@method", "POST"),
        ("@path", "/foo"),
        ("@authority", "example.com"),
        ("content-type", "application/json"),
        ("content-length", "18"),
    ]
    parameters = (
        '("date" "@method" "@path" "@authority" "content-type" "content-length")'
        ';created=1618884473;keyid="test-key-ed25519"'
    )
    signature = b64decode("wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==")
    verify_ed25519(public_key, signature_base(components, parameters), signature)


def test_the_digest_of_the_rfc_holds() -> None:
    """RFC 9530, appendix: the body `{"hello": "world"}` and a line feed."""
    assert render_content_digest(b'{"hello": "world"}\n') == "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"
    assert has_content_digest("sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:", b'{"hello": "world"}\n')
    assert not has_content_digest("sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:", b"{}")


@given(
    body=st.binary(max_size=64),
    method=st.sampled_from(["GET", "POST"]),
    path=st.from_regex(r"/[a-z0-9%?=&]{0,20}", fullmatch=True),
)
def test_what_was_signed_is_what_is_verified(body: bytes, method: str, path: str) -> None:
    """And nothing else: another method, address or digest is refused under the same signature."""
    uri = f"https://assay.example{path}"
    request = parse_signed_request(method, uri, _headers(body, method=method, uri=uri))
    verify_signed_request(request, _PUBLIC)
    for change in (
        {"method": "PUT"},
        {"target_uri": uri + "x"},
        {"content_digest": render_content_digest(body + b"x")},
        {"input": replace(request.input, text=request.input.text.replace("created=", "created=1"))},
    ):
        with pytest.raises(Error, match=r"signature"):
            verify_signed_request(replace(request, **change), _PUBLIC)


def test_an_idempotency_key_and_a_condition_are_covered_where_they_are_there() -> None:
    """Nobody in between adds, changes or removes one; a request without them is signed as ever."""
    conditions = {"idempotency-key": "k-1", "if-match": '"abc"'}
    made = sign_request(
        _KEY.sign,
        key_id_of(_PUBLIC),
        method="POST",
        target_uri=_URI,
        body=b"",
        nonce=_NONCE,
        at=_AT,
        headers=conditions,
    )
    whole = {**made, **conditions}
    verify_signed_request(parse_signed_request("POST", _URI, whole), _PUBLIC)
    assert '"content-digest" "idempotency-key" "if-match"' in made["signature-input"]
    changed = parse_signed_request("POST", _URI, {**whole, "if-match": "*"})
    with pytest.raises(Error) as caught:
        verify_signed_request(changed, _PUBLIC)
    assert caught.value.code == "signature.invalid"
    without = {name: value for name, value in whole.items() if name != "idempotency-key"}
    for headers in (without, {**_headers(), "idempotency-key": "added"}):
        with pytest.raises(Error) as caught:
            parse_signed_request("POST", _URI, headers)
        assert caught.value.code == "identity.signature_form"


def test_another_key_did_not_sign_it() -> None:
    other = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()
    with pytest.raises(Error) as caught:
        verify_signed_request(parse_signed_request("POST", _URI, _headers()), other)
    assert caught.value.code == "signature.invalid"


_COVERED = '("@method" "@target-uri" "content-digest")'
_KEY_ID = key_id_of(_PUBLIC)


@pytest.mark.parametrize(
    "given",
    [
        "",
        "assay",
        f'assay=("@method" "@target-uri");created=1;keyid="{_KEY_ID}";nonce="{_NONCE}"',
        f'assay=("@target-uri" "@method" "content-digest");created=1;keyid="{_KEY_ID}";nonce="{_NONCE}"',
        f'assay={_COVERED};keyid="{_KEY_ID}";nonce="{_NONCE}"',
        f'assay={_COVERED};created=1;nonce="{_NONCE}"',
        f'assay={_COVERED};created=1;keyid="{_KEY_ID}"',
        f'assay={_COVERED};created=1;created=2;keyid="{_KEY_ID}";nonce="{_NONCE}"',
        f'assay={_COVERED};created="1";keyid="{_KEY_ID}";nonce="short"',
        f'assay={_COVERED};created=999999999999;keyid="{_KEY_ID}";nonce="{_NONCE}"',
        f'assay={_COVERED};created="x";keyid="{_KEY_ID}";nonce="{_NONCE}"',
        f'assay={_COVERED};created=1;keyid="test";nonce="{_NONCE}"',
        f'assay={_COVERED};created=1;keyid="{_KEY_ID}";nonce="{_NONCE}";alg="rsa-pss-sha512"',
        f'assay={_COVERED};created=1;keyid="{_KEY_ID}";nonce="{_NONCE}";expires=9',
        f'a={_COVERED};created=1;keyid="{_KEY_ID}";nonce="{_NONCE}", b={_COVERED};created=1',
    ],
)
def test_any_other_form_is_refused(given: str) -> None:
    """What is covered is never a choice of the sender, and no parameter is missing, doubled or unknown."""
    with pytest.raises(Error) as caught:
        parse_signed_request("POST", _URI, {**_headers(), SIGNATURE_INPUT: given})
    assert caught.value.code in {"identity.signature_form", "form.id"}


@pytest.mark.parametrize(
    "change",
    [
        {SIGNATURE: ""},
        {SIGNATURE: "other=:AAAA:"},
        {SIGNATURE: "assay=:!!!!:"},
        {CONTENT_DIGEST: ""},
        {CONTENT_DIGEST: "sha-256=:x:\nfoo"},
    ],
)
def test_a_header_that_is_missing_or_broken_is_refused(change: dict[str, str]) -> None:
    with pytest.raises(Error) as caught:
        parse_signed_request("POST", _URI, {**_headers(), **change})
    assert caught.value.code == "identity.signature_form"


@pytest.mark.parametrize(("seconds", "is_fresh"), [(0, True), (300, True), (-300, True), (301, False), (-301, False)])
def test_a_request_is_of_now_or_refused(seconds: int, is_fresh: bool) -> None:  # noqa: FBT001  an expectation
    """Five minutes either way: clocks differ, and a nonce is remembered as long."""
    assert timedelta(seconds=300) == REQUEST_SKEW
    request, at = parse_signed_request("POST", _URI, _headers()), Instant(_AT + timedelta(seconds=seconds))
    if is_fresh:
        verify_fresh(request, at=at)
        return
    with pytest.raises(Error) as caught:
        verify_fresh(request, at=at)
    assert caught.value.code == "identity.stale_request"
