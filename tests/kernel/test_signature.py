"""Signatures hold for one key and exactly one message; weak keys and second spellings are refused."""

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.kernel.signature import (
    InvalidSignatureError,
    MalformedKeyError,
    MalformedSignatureError,
    ShortSecretError,
    SignatureLengthError,
    SignedKind,
    WeakKeyError,
    _verify_remembered,
    load_public_key,
    parse_signature_hex,
    sign_hmac,
    signing_message,
    verify_ed25519,
    verify_hmac,
)
from tests.kernel._seed_signer import SeedSigner

_VECTORS = Path(__file__).parent.parent / "vectors"
_RFC8032 = json.loads((_VECTORS / "ed25519/rfc8032.json").read_text())["cases"]
_RFC4231 = json.loads((_VECTORS / "hmac/rfc4231.json").read_text())["cases"]
_SMALL = json.loads((_VECTORS / "ed25519/small_order.json").read_text())
# RFC 8032, 5.1: the field, the curve constant, and the order of the base point.
_P = 2**255 - 19
_D = 37095705934669439343138083508754565189542113879843219016388785533085940283555
_L = 2**252 + 27742317777372353535851937790883648493


def _name(case: dict[str, str]) -> str:
    return case["name"]


@pytest.mark.parametrize("case", _RFC8032, ids=_name)
def test_the_signatures_of_rfc_8032_hold(case: dict[str, str]) -> None:
    """The five published vectors verify, and their secret keys give the same signatures here."""
    public_key, message, signature = (bytes.fromhex(case[name]) for name in ("public_key", "message", "signature"))
    verify_ed25519(public_key, message, signature)
    assert Ed25519PrivateKey.from_private_bytes(bytes.fromhex(case["secret_key"])).sign(message) == signature


@pytest.mark.parametrize("case", _RFC8032, ids=_name)
@pytest.mark.parametrize("position", [0, 31, 32, 63])
def test_a_signature_with_one_changed_bit_is_refused(case: dict[str, str], position: int) -> None:
    changed = bytearray.fromhex(case["signature"])
    changed[position] ^= 1
    with pytest.raises(InvalidSignatureError) as caught:
        verify_ed25519(bytes.fromhex(case["public_key"]), bytes.fromhex(case["message"]), bytes(changed))
    assert caught.value.code == "signature.invalid"


def test_a_signature_over_other_bytes_or_by_another_key_is_refused() -> None:
    signer = SeedSigner(1)
    signature = signer.sign(b"pay 10")
    for key, message in ((signer.public_key, b"pay 11"), (SeedSigner(2).public_key, b"pay 10")):
        with pytest.raises(InvalidSignatureError):
            verify_ed25519(key, message, signature)


def test_what_holds_is_worked_out_once_and_what_does_not_is_refused_each_time() -> None:
    signer = SeedSigner(2)
    signature = signer.sign(b"pay 11")
    before = _verify_remembered.cache_info()
    for _ in range(3):
        verify_ed25519(signer.public_key, b"pay 11", signature)
        with pytest.raises(InvalidSignatureError):
            verify_ed25519(signer.public_key, b"pay 99", signature)
    after = _verify_remembered.cache_info()
    assert (after.hits - before.hits, after.misses - before.misses) == (2, 1 + 3)


def test_a_long_message_is_verified_and_not_kept() -> None:
    signer, message = SeedSigner(2), bytes(100_000)
    before = _verify_remembered.cache_info()
    verify_ed25519(signer.public_key, message, signer.sign(message))
    with pytest.raises(InvalidSignatureError):
        verify_ed25519(signer.public_key, message + b"!", signer.sign(message))
    assert _verify_remembered.cache_info() == before


def test_a_signature_has_one_spelling() -> None:
    """S plus the group order fits the same equation: a second signature that nobody made (RFC 8032 5.1.7)."""
    signer = SeedSigner(1)
    signature = signer.sign(b"once")
    twin = int.from_bytes(signature[32:], "little") + _L
    with pytest.raises(InvalidSignatureError):
        verify_ed25519(signer.public_key, b"once", signature[:32] + twin.to_bytes(32, "little"))


@pytest.mark.parametrize("size", [0, 32, 63, 65])
def test_a_signature_of_another_length_is_refused(size: int) -> None:
    with pytest.raises(SignatureLengthError, match=f"expected 64 bytes of Ed25519 signature, got {size}") as caught:
        verify_ed25519(SeedSigner(1).public_key, b"m", bytes(size))
    assert caught.value.code == "signature.length"


@pytest.mark.parametrize("text", _SMALL["weak"])
def test_a_key_of_small_order_is_refused(text: str) -> None:
    """Under such a key a signature of zeros holds for some messages, so it would prove nothing."""
    with pytest.raises(WeakKeyError) as caught:
        load_public_key(bytes.fromhex(text))
    assert caught.value.code == "key.weak"
    y = int.from_bytes(bytes.fromhex(text), "little") % 2**255
    assert _eight_times(_recover_x(y), y) == (0, 1)


@pytest.mark.parametrize("text", _SMALL["not_canonical"])
def test_a_key_with_a_second_spelling_is_refused(text: str) -> None:
    with pytest.raises(MalformedKeyError) as caught:
        load_public_key(bytes.fromhex(text))
    assert caught.value.code == "key.malformed"


def test_a_key_off_the_curve_is_refused() -> None:
    """No x goes with y = 2; the library itself would load it."""
    with pytest.raises(MalformedKeyError, match="canonical point"):
        load_public_key((2).to_bytes(32, "little"))


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_key_of_another_length_is_refused(size: int) -> None:
    with pytest.raises(MalformedKeyError, match=f"got {size}"):
        load_public_key(bytes(size))


def test_a_message_of_one_kind_is_no_message_of_another() -> None:
    """No two kinds share a message, even for a payload that imitates the other's prefix."""
    assert signing_message(SignedKind.KEY, b"{}") == b"assay/key/v1\n{}"
    heads = {signing_message(kind, b"") for kind in SignedKind}
    assert len(heads) == len(SignedKind)
    assert not any(a != b and a.startswith(b) for a in heads for b in heads)


@pytest.mark.parametrize("text", ["", "0", "0G", "AB", "ab ", " ab", "ab\n", "٠٠"])
def test_a_signature_is_written_in_lower_case_hex_alone(text: str) -> None:
    assert parse_signature_hex("00ff") == b"\x00\xff"
    with pytest.raises(MalformedSignatureError) as caught:
        parse_signature_hex(text)
    assert caught.value.code == "signature.malformed"


@pytest.mark.parametrize("case", _RFC4231, ids=_name)
def test_the_hmacs_of_rfc_4231_hold(case: dict[str, str]) -> None:
    """Keys shorter than our minimum are given with the zero padding that HMAC adds by itself (RFC 2104)."""
    key, message = bytes.fromhex(case["key"]).ljust(64, b"\x00"), bytes.fromhex(case["message"])
    assert sign_hmac(key, message).hex() == case["hmac"]
    verify_hmac(key, message, bytes.fromhex(case["hmac"]))


def test_an_hmac_by_another_secret_or_over_other_bytes_is_refused() -> None:
    tag = sign_hmac(b"s" * 32, b"m")
    for secret, message in ((b"t" * 32, b"m"), (b"s" * 32, b"n")):
        with pytest.raises(InvalidSignatureError):
            verify_hmac(secret, message, tag)


def test_a_shortened_hmac_is_refused() -> None:
    with pytest.raises(SignatureLengthError):
        verify_hmac(b"s" * 32, b"m", sign_hmac(b"s" * 32, b"m")[:16])


@pytest.mark.parametrize("size", [0, 4, 31])
def test_a_secret_that_could_be_guessed_is_refused(size: int) -> None:
    with pytest.raises(ShortSecretError) as caught:
        sign_hmac(bytes(size), b"m")
    assert caught.value.code == "key.short_secret"


def _recover_x(y: int) -> int:
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    root = pow(square, (_P + 3) // 8, _P)
    return root if root * root % _P == square else root * pow(2, (_P - 1) // 4, _P) % _P


def _eight_times(x: int, y: int) -> tuple[int, int]:
    for _ in range(3):
        t = _D * x * x * y * y % _P
        x, y = 2 * x * y * pow(1 + t, -1, _P) % _P, (y * y + x * x) * pow(1 - t, -1, _P) % _P
    return x, y
