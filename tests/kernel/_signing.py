"""Keys of tests, from fixed seeds, and logs signed with them."""

from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.kernel.checkpoint import Checkpoint, SignedCheckpoint, log_key, render_checkpoint_body, seal_checkpoint
from assay.kernel.cosignature import cosignature_line, cosignature_message
from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant, parse_instant
from assay.kernel.key import KeyPurpose, KeyRecord, SigningMethod, key_id_of
from assay.kernel.merkle import Frontier, leaf_hash
from assay.kernel.note import NoteSignature, note_signature

ORIGIN = "example.org/assay/acme"
SIGNED_AT = parse_instant("2026-03-01T12:00:00Z")


@dataclass(frozen=True)
class TestKey:
    """A private key that anyone can rebuild."""

    __test__ = False
    seed: bytes

    @property
    def private(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.seed)

    @property
    def public(self) -> bytes:
        return self.private.public_key().public_bytes_raw()

    @property
    def key_id(self) -> KeyId:
        return key_id_of(self.public)

    def sign(self, message: bytes) -> bytes:
        return self.private.sign(message)

    def record(self, valid_from: str, valid_until: str | None = None, replaces: KeyId | None = None) -> KeyRecord:
        return KeyRecord(
            key_id=self.key_id,
            method=SigningMethod.ED25519,
            purpose=KeyPurpose.LEDGER,
            public_key=self.public.hex(),
            valid_from=parse_instant(valid_from),
            valid_until=None if valid_until is None else parse_instant(valid_until),
            replaces=replaces,
        )


LOG = TestKey(b"L" * 32)
OTHER = TestKey(b"O" * 32)
WITNESS = TestKey(b"W" * 32)
SECOND_WITNESS = TestKey(b"V" * 32)


def head(leaves: Sequence[bytes], *, origin: str = ORIGIN, signed_at: Instant | None = SIGNED_AT) -> Checkpoint:
    """The checkpoint of a log that holds these records."""
    root = Frontier().extend([leaf_hash(leaf) for leaf in leaves]).root()
    return Checkpoint(origin=origin, size=len(leaves), root=root, signed_at=signed_at)


def log_line(checkpoint: Checkpoint, key: TestKey = LOG) -> NoteSignature:
    return note_signature(log_key(checkpoint.origin, key.public), key.sign(render_checkpoint_body(checkpoint)))


def signed(checkpoint: Checkpoint, key: TestKey = LOG) -> SignedCheckpoint:
    return seal_checkpoint(checkpoint, [log_line(checkpoint, key)])


def cosign(note: SignedCheckpoint, name: str, key: TestKey, at: str = "2026-03-01T12:00:05Z") -> NoteSignature:
    moment = parse_instant(at)
    signature = key.sign(cosignature_message(note.note.body, moment))
    return cosignature_line(name, key.public, moment, signature)
