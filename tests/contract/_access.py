"""Rows of the door: signing keys, nonces, failed logins."""

from datetime import timedelta

from assay.identity.signing_key import SigningKeyEnd, SigningKeyRecord, end_signing_key, register_signing_key
from assay.identity.throttle import Failures, address_subject
from assay.kernel.digest import digest_of
from assay.kernel.instant import Instant
from assay.ports.access_store import UsedNonce
from assay.ports.database import Unit
from tests.contract._kit import AT
from tests.contract._people import add_signer, end_credential
from tests.contract._records import ACME, BOB, later, person

__all__ = ["PUBLIC_KEYS", "end_of", "failures", "fill_access", "nonce", "signing_key"]

# Two points of edwards25519 (RFC 8032, 7.1, tests 1 and 2).
PUBLIC_KEYS = (
    bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"),
    bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"),
)


def signing_key(number: int = 0) -> SigningKeyRecord:
    return register_signing_key(person(), PUBLIC_KEYS[number], scopes=("*",), at=AT, by=BOB)


def end_of(record: SigningKeyRecord) -> SigningKeyEnd:
    return end_signing_key(record, at=later(1), by=BOB, reason="lost")


def nonce(text: str = "n" * 16, *, minutes: int = 5) -> UsedNonce:
    key_id = signing_key().key_id
    return UsedNonce(key_id=key_id, nonce=text, signed_hash=digest_of(b"signature"), expires_at=later(minutes))


def failures(count: int = 1, **length: float) -> Failures:
    return Failures(count=count, failed_at=Instant(AT + timedelta(**length)))


def fill_access(unit: Unit) -> None:
    """One row at least in every table."""
    add_signer(unit, signing_key())
    end_credential(unit, end_of(signing_key()))
    unit.access.use_nonce(nonce())
    unit.access.put_failures(address_subject("192.0.2.1"), failures())
    assert unit.access.signing_keys(ACME, person().id)
