"""Signed notes (C2SP signed-note): a text, a blank line, and one line per signature.

bytes -> parse_note -> Note -> verify_note -> the keys that really signed

A signature line is `— name base64(4 bytes of key hash || signature)`; name and key hash together say which key and
which kind of signature. Lines of keys one does not know are passed over, as the format asks.
"""

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from enum import IntEnum
from hashlib import sha256

from msgspec import Struct

from assay.kernel.errors import CheckpointError, SignatureError
from assay.kernel.signature import SIGNATURE_SIZE, load_public_key, verify_ed25519

# The format asks for at least 16; a log with many witnesses stays far below this.
MAX_SIGNATURES = 128
MAX_NOTE_BYTES = 1 << 20

_KEY_HASH_SIZE = 4
_LINE_START = "— "
# The note may hold no ASCII control character but the line feed.
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")
_KEY_HASH = re.compile(r"[0-9a-f]{8}", re.ASCII)


class MalformedNoteError(CheckpointError):
    """A text is not a signed note."""

    code = "checkpoint.note_form"


class KeyNameError(CheckpointError):
    """A key's name is empty, or holds a space or a plus sign."""

    code = "checkpoint.key_name"


class MalformedVerifierKeyError(CheckpointError):
    """A text is not `name+hash+base64(type || public key)`, or its hash is not that of the key."""

    code = "checkpoint.verifier_key"


class BadNoteSignatureError(CheckpointError):
    """A signature names a key we know, and that key did not make it."""

    code = "checkpoint.signature"


class RepeatedSignatureError(CheckpointError):
    """A key we know appears on two signature lines."""

    code = "checkpoint.repeated_signature"


class UnsignedNoteError(CheckpointError):
    """No key we know has signed."""

    code = "checkpoint.unsigned"


class SignatureType(IntEnum):
    """What a key's signatures cover; the byte is part of the key hash."""

    ED25519 = 0x01  # the note's text
    COSIGNATURE = 0x04  # a time and the note's text (C2SP tlog-cosignature)


class VerifierKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An Ed25519 key under the name and for the kind of signature it is trusted for."""

    name: str
    public_key: bytes
    type: SignatureType = SignatureType.ED25519

    def __post_init__(self) -> None:
        _require_name(self.name)
        load_public_key(self.public_key)

    @property
    def key_hash(self) -> bytes:
        """The first four bytes of SHA-256(name || 0x0A || type || public key): a hint, not a proof."""
        return sha256(b"%b\n%c%b" % (self.name.encode(), self.type, self.public_key)).digest()[:_KEY_HASH_SIZE]


class NoteSignature(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One signature line as it was read; nothing about it is verified."""

    name: str
    key_hash: bytes
    signature: bytes


class Note(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signed note as it was received; `text` ends in a line feed and is what was signed."""

    text: str
    signatures: tuple[NoteSignature, ...]
    received: bytes

    @property
    def body(self) -> bytes:
        return self.text.encode()


def parse_note(received: bytes) -> Note:
    """Split text from signatures; refuses everything the format does not allow, and verifies nothing."""
    if len(received) > MAX_NOTE_BYTES:
        raise MalformedNoteError(f"expected a note of at most {MAX_NOTE_BYTES} bytes, got {len(received)}")
    decoded = _decode(received)
    # The text may hold empty lines; the last one is where the signatures begin.
    text, blank, lines = decoded.rpartition("\n\n")
    if not blank:
        raise MalformedNoteError("expected a blank line between the text and its signatures, got none")
    return Note(text=text + "\n", signatures=parse_signature_lines(lines), received=received)


def render_note(body: bytes, signatures: Sequence[NoteSignature]) -> bytes:
    """Exactly what `parse_note` reads; a text that could not be read back is refused."""
    rendered = body + b"\n" + "".join(map(render_signature_line, signatures)).encode()
    if parse_note(rendered).body != body:
        raise MalformedNoteError("expected a text that ends in a line feed")
    return rendered


def parse_signature_lines(lines: str) -> tuple[NoteSignature, ...]:
    """Read one or more signature lines, as at the end of a note or in the answer of a witness."""
    if not lines.endswith("\n"):
        raise MalformedNoteError("expected the last signature line to end in a line feed")
    rows = lines[:-1].split("\n")
    if len(rows) > MAX_SIGNATURES:
        raise MalformedNoteError(f"expected at most {MAX_SIGNATURES} signatures, got {len(rows)}")
    return tuple(_parse_line(row) for row in rows)


def render_signature_line(signature: NoteSignature) -> str:
    return f"{_LINE_START}{signature.name} {render_base64(signature.key_hash + signature.signature)}\n"


def note_signature(key: VerifierKey, signature: bytes) -> NoteSignature:
    """The signature line of a key; whoever signed vouches that it is over the right message."""
    return NoteSignature(name=key.name, key_hash=key.key_hash, signature=signature)


def find_signature(note: Note, key: VerifierKey) -> NoteSignature | None:
    """The line of this key; two of them are refused, since they cannot both be meant."""
    found = [line for line in note.signatures if line.name == key.name and line.key_hash == key.key_hash]
    if len(found) > 1:
        raise RepeatedSignatureError(f"expected one signature of `{key.name}`, got {len(found)}")
    return found[0] if found else None


def verify_note(note: Note, keys: Iterable[VerifierKey]) -> tuple[VerifierKey, ...]:
    """The keys that signed the text, at least one; a bad signature of any known key refuses the whole note."""
    signers = []
    for key in keys:
        line = find_signature(note, key) if key.type is SignatureType.ED25519 else None
        if line is not None:
            _verify_line(line, key, note.body)
            signers.append(key)
    if not signers:
        names = ", ".join(f"`{line.name}`" for line in note.signatures[:4])
        raise UnsignedNoteError(f"expected a signature of a known key, got only those of {names}")
    return tuple(signers)


def parse_verifier_key(text: str) -> VerifierKey:
    """Read `name+hash+base64(type || public key)`."""
    parts = text.split("+", 2)
    if len(parts) != 3 or _KEY_HASH.fullmatch(parts[1]) is None:  # noqa: PLR2004 - name, hash, key
        raise MalformedVerifierKeyError(f"expected `name+8 hex digits+base64`, got `{text[:120]}`")
    key = _parse_key_material(parts[0], parse_base64(parts[2], MalformedVerifierKeyError))
    if key.key_hash.hex() != parts[1]:
        raise MalformedVerifierKeyError(f"expected key hash {key.key_hash.hex()} for `{key.name}`, got {parts[1]}")
    return key


def render_verifier_key(key: VerifierKey) -> str:
    return f"{key.name}+{key.key_hash.hex()}+{render_base64(bytes([key.type]) + key.public_key)}"


def parse_base64(text: str, error: type[CheckpointError] = MalformedNoteError) -> bytes:
    """Standard base64 with padding, and only the one text that stands for these bytes."""
    try:
        decoded = b64decode(text, validate=True)
    except (binascii.Error, ValueError) as cause:
        raise error(f"expected base64, got `{text[:80]}`") from cause
    if render_base64(decoded) != text:
        raise error(f"expected canonical base64, got `{text[:80]}`")
    return decoded


def render_base64(raw: bytes) -> str:
    return b64encode(raw).decode()


def _decode(received: bytes) -> str:
    try:
        text = received.decode()
    except UnicodeDecodeError as cause:
        raise MalformedNoteError(f"expected UTF-8, got byte {received[cause.start]:#04x}") from cause
    control = _CONTROL.search(text)
    if control is not None:
        raise MalformedNoteError(f"expected no control character but line feed, got {control.group()!r}")
    return text


def _parse_line(row: str) -> NoteSignature:
    name, space, blob = row.removeprefix(_LINE_START).partition(" ")
    if not row.startswith(_LINE_START) or not space:
        raise MalformedNoteError(f"expected `— name base64`, got `{row[:80]}`")
    _require_name(name)
    raw = parse_base64(blob)
    if len(raw) <= _KEY_HASH_SIZE:
        raise MalformedNoteError(f"expected a key hash and a signature of `{name}`, got {len(raw)} bytes")
    return NoteSignature(name=name, key_hash=raw[:_KEY_HASH_SIZE], signature=raw[_KEY_HASH_SIZE:])


def _verify_line(line: NoteSignature, key: VerifierKey, message: bytes) -> None:
    try:
        verify_ed25519(key.public_key, message, line.signature)
    except SignatureError as error:
        raise BadNoteSignatureError(f"`{key.name}` did not make its signature: {error}") from error


def _parse_key_material(name: str, raw: bytes) -> VerifierKey:
    known = {int(kind) for kind in SignatureType}
    if len(raw) != SIGNATURE_SIZE // 2 + 1 or raw[0] not in known:
        raise MalformedVerifierKeyError(f"expected a known type and 32 bytes of `{name}`, got {len(raw)} bytes")
    return VerifierKey(name=name, public_key=raw[1:], type=SignatureType(raw[0]))


def _require_name(name: str) -> None:
    if not name or "+" in name or any(character.isspace() for character in name):
        raise KeyNameError(f"expected a name without spaces and `+`, got `{name[:80]}`")
