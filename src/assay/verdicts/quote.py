"""Measured weights (SKI 9.3): a TPM's signed word about which weights were measured into it, checked offline.

weight hash -> extended into a register -> quote (boot registers, this one and a nonce, signed by the TPM) -> verified

The register holds nothing but one measurement: SHA-256(32 zero bytes, weight hash). So what it says can be computed
from the weight hash alone. In registers 8 to 15 a measurement can never be undone within that boot; 16 and 23 any
program may reset, so a quote of these says what was measured last, and no more. Registers 0 to 7, which firmware and
boot loader extend, are quoted beside it: so the weights chain to the boot that was measured, and whoever enrolled the
machine compares them with those of that day.
The quote is a TPMS_ATTEST (TPM 2.0 Library, Part 2, 10.12.8), big-endian, signed by ECDSA over P-256 with SHA-256.
"""

from hashlib import sha256
from struct import Struct as Layout
from struct import error as LayoutError  # noqa: N812 - the library's name says nothing

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from msgspec import Struct

from assay.kernel.digest import Digest, parse_digest, raw_digest
from assay.verdicts.errors import QuoteError

ZERO_REGISTER = bytes(32)
# What firmware and boot loader measured, from the first instruction on.
BOOT_REGISTERS = tuple(range(8))
_MAGIC = 0xFF544347  # TPM_GENERATED_VALUE: only the TPM itself makes a signed structure that begins so.
_ATTEST_QUOTE = 0x8018
_SHA256_ID = 0x000B
_SIZE = Layout(">H")
_HEAD = Layout(">IH")
# clock, resetCount, restartCount, safe, firmwareVersion
_CLOCK = Layout(">QIIBQ")
_COUNT = Layout(">I")
_SELECTION = Layout(">HB")


class WeightQuote(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A quote as it is kept and handed out: hex, and the attestation key as PEM.

    The key is here so that whoever enrols a machine can see it; it vouches for nothing, and is never used to verify.
    `boot` are the contents of `BOOT_REGISTERS`, which the signature covers; a quote without them tells of no boot.
    """

    model_weight_hash: Digest
    register: int
    message: str
    signature: str
    attestation_key: str
    boot: tuple[str, ...] = ()


class Quoted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a TPM said. `reset_count` counts its boots."""

    nonce: str
    reset_count: int
    restart_count: int
    registers: tuple[int, ...]
    register_hash: str


class _Reader:
    """Reads a structure from its beginning; whatever is too short is malformed."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def take(self, layout: Layout) -> tuple[int, ...]:
        try:
            values: tuple[int, ...] = layout.unpack_from(self._content, self._at)
        except LayoutError as error:
            raise QuoteError.malformed(f"expected a whole quote, got one that ends at byte {self._at}") from error
        self._at += layout.size
        return values

    def take_bytes(self, count: int) -> bytes:
        taken = self._content[self._at : self._at + count]
        if len(taken) != count:
            raise QuoteError.malformed(f"expected {count} more bytes of quote, got {len(taken)}")
        self._at += count
        return taken

    def take_sized(self) -> bytes:
        return self.take_bytes(self.take(_SIZE)[0])

    def require_end(self) -> None:
        if self._at != len(self._content):
            raise QuoteError.malformed(f"expected the quote to end at byte {self._at}, got {len(self._content)}")


def measured_register(weights: Digest) -> bytes:
    """What the register holds when these weights, and nothing else, were measured since it was zero."""
    return sha256(ZERO_REGISTER + raw_digest(weights)).digest()


def parse_quoted(message: bytes) -> Quoted:
    """The fields of a TPMS_ATTEST that is a quote over registers of the SHA-256 bank."""
    reader = _Reader(message)
    magic, kind = reader.take(_HEAD)
    if (magic, kind) != (_MAGIC, _ATTEST_QUOTE):
        raise QuoteError.malformed(f"expected a quote made by a TPM, got {magic:08x} {kind:04x}")
    reader.take_sized()  # the qualified name of the signing key; the key itself is what is believed
    nonce = reader.take_sized()
    _, reset_count, restart_count, _, _ = reader.take(_CLOCK)
    registers = _take_registers(reader)
    register_hash = reader.take_sized()
    reader.require_end()
    return Quoted(
        nonce=nonce.hex(),
        reset_count=reset_count,
        restart_count=restart_count,
        registers=registers,
        register_hash=register_hash.hex(),
    )


def verify_quote(
    quote: WeightQuote, *, attestation_key: bytes, weights: Digest | None = None, nonce: bytes | None = None
) -> Quoted:
    """Raise unless the TPM with this attestation key (PEM) said that exactly the quote's weights were measured.

    With `weights` they must be these; with `nonce` the quote must answer it, which shows that it is not an old one.
    """
    message = _unhexed(quote.message)
    _verify_signature(attestation_key, message, _unhexed(quote.signature))
    quoted = parse_quoted(message)
    boot = _boot(quote)
    _require("registers", (*BOOT_REGISTERS[: len(boot)], quote.register), quoted.registers)
    parse_digest(quote.model_weight_hash)
    _require("weights", weights or quote.model_weight_hash, quote.model_weight_hash)
    _require("nonce", quoted.nonce if nonce is None else nonce.hex(), quoted.nonce)
    expected = sha256(b"".join((*boot, measured_register(quote.model_weight_hash)))).hexdigest()
    _require("measurement", expected, quoted.register_hash)
    return quoted


def _boot(quote: WeightQuote) -> tuple[bytes, ...]:
    boot = tuple(_unhexed(one) for one in quote.boot)
    if len(boot) not in (0, len(BOOT_REGISTERS)) or any(len(one) != len(ZERO_REGISTER) for one in boot):
        raise QuoteError.malformed(
            f"expected {len(BOOT_REGISTERS)} boot registers of 32 bytes, or none, got {len(boot)}"
        )
    return boot


def _take_registers(reader: _Reader) -> tuple[int, ...]:
    (count,) = reader.take(_COUNT)
    if count != 1:
        raise QuoteError.malformed(f"expected registers of one bank, got {count}")
    bank, size = reader.take(_SELECTION)
    if bank != _SHA256_ID:
        raise QuoteError.malformed(f"expected the SHA-256 bank, got {bank:04x}")
    selected = int.from_bytes(reader.take_bytes(size), "little")
    return tuple(number for number in range(size * 8) if selected >> number & 1)


def _verify_signature(attestation_key: bytes, message: bytes, signature: bytes) -> None:
    try:
        key = load_pem_public_key(attestation_key)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise QuoteError.signature("expected an attestation key in PEM, got something else") from error
    if not isinstance(key, EllipticCurvePublicKey) or not isinstance(key.curve, SECP256R1):
        raise QuoteError.signature("expected an attestation key on P-256, got another kind")
    try:
        key.verify(signature, message, ECDSA(SHA256()))
    except InvalidSignature as error:
        raise QuoteError.signature("the quote is not signed by this attestation key") from error


def _unhexed(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise QuoteError.malformed(f"expected hex, got `{ascii(text)[1:-1][:40]}`") from error


def _require(what: str, expected: object, got: object) -> None:
    if expected != got:
        raise QuoteError.mismatch(f"{what}: expected `{expected}`, got `{got}`")
