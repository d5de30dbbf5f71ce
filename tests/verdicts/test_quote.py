"""A TPM's quote says which weights were measured, or it is refused; real quotes, good and bad, are the vectors."""

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.kernel.digest import Digest, digest_of
from assay.verdicts.errors import QuoteError
from assay.verdicts.quote import WeightQuote, measured_register, parse_quoted, verify_quote
from tests.contract._kit import refused
from tests.raising import raises

VECTOR: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors/verdicts/quote/swtpm.json").read_text())
KEY = VECTOR["attestation_key"].encode()
WEIGHTS = Digest(VECTOR["model_weight_hash"])
NONCE = bytes.fromhex(VECTOR["nonce"])


def _quote(case: dict[str, str]) -> WeightQuote:
    return WeightQuote(
        model_weight_hash=WEIGHTS,
        register=12,
        message=case["message"],
        signature=case["signature"],
        attestation_key=VECTOR["attestation_key"],
    )


GOOD = _quote(VECTOR["good"])
MESSAGE = bytes.fromhex(GOOD.message)


def _pem(key: ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey) -> bytes:
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.clause("ski", "9.3")
def test_a_real_quote_is_accepted() -> None:
    quoted = verify_quote(GOOD, attestation_key=KEY, weights=WEIGHTS, nonce=NONCE)
    assert (quoted.registers, quoted.nonce, quoted.restart_count) == ((12,), "00112233", 0)
    assert verify_quote(GOOD, attestation_key=KEY) == quoted


@pytest.mark.parametrize("case", VECTOR["bad"], ids=lambda case: case["name"])
def test_a_true_word_about_something_else_is_refused(case: dict[str, str]) -> None:
    """Each is signed by the same TPM and key, and none says that these weights alone were measured."""
    with refused(case["code"]):
        verify_quote(_quote(case), attestation_key=KEY)


def test_other_weights_another_question_and_another_register_are_refused() -> None:
    other = digest_of(b"other weights")
    with refused("quote.mismatch"):
        verify_quote(GOOD, attestation_key=KEY, weights=other)
    with refused("quote.mismatch"):
        verify_quote(replace(GOOD, model_weight_hash=other), attestation_key=KEY)
    with refused("quote.mismatch"):
        verify_quote(GOOD, attestation_key=KEY, nonce=b"another")
    with refused("quote.mismatch"):
        verify_quote(replace(GOOD, register=13), attestation_key=KEY)


@pytest.mark.parametrize(
    "key",
    [
        b"no key",
        _pem(ec.derive_private_key(7, ec.SECP256R1()).public_key()),
        _pem(ec.derive_private_key(7, ec.SECP384R1()).public_key()),
        _pem(ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key()),
    ],
    ids=["no key", "another", "another curve", "another kind"],
)
def test_only_the_key_that_was_given_counts(key: bytes) -> None:
    """The quote brings a key along, which is never asked."""
    with refused("quote.signature"):
        verify_quote(GOOD, attestation_key=key)


@given(st.integers(0, len(MESSAGE) - 1), st.integers(1, 255))
def test_no_byte_of_a_quote_can_be_changed(at: int, by: int) -> None:
    altered = bytearray(MESSAGE)
    altered[at] ^= by
    with refused("quote.signature"):
        verify_quote(replace(GOOD, message=altered.hex()), attestation_key=KEY)


@given(st.integers(0, len(MESSAGE) - 1))
def test_a_quote_that_is_cut_short_or_goes_on_is_malformed(size: int) -> None:
    for message in (MESSAGE[:size], MESSAGE + b"\0"):
        with raises(QuoteError.malformed):
            parse_quoted(message)


@given(st.binary(max_size=150))
def test_reading_whatever_is_given_ends_in_an_answer(content: bytes) -> None:
    for message in (content, MESSAGE[:6] + content):
        try:
            parse_quoted(message)
        except QuoteError:
            continue


@pytest.mark.parametrize("field", ["message", "signature"])
def test_what_is_no_hex_is_malformed(field: str) -> None:
    with refused("quote.malformed"):
        verify_quote(replace(GOOD, **{field: "xy"}), attestation_key=KEY)


def test_a_weight_hash_that_is_none_is_refused() -> None:
    with refused("form.digest"):
        verify_quote(replace(GOOD, model_weight_hash=Digest("sha256:00")), attestation_key=KEY)


def test_the_register_of_a_measurement_is_the_one_that_a_tpm_computes() -> None:
    """Read from the TPM after `tpm2_pcrextend` of the SHA-256 of `x`."""
    assert (
        measured_register(digest_of(b"x")).hex() == "7f85193790de75e46b70bfec3614098f47332a6993dabac6e38ad35f47df5da4"
    )
