"""Key records: a key, what it may sign, from when until when, and the signed notes that start and end it.

A key id names the key itself (`sha256:` of its bytes), so a record can lie about its dates but never about its key.
"""

import re
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from assay.kernel.canonical import canonicalize
from assay.kernel.digest import digest_of
from assay.kernel.errors import KeyUseError
from assay.kernel.ids import KeyId, parse_key_id
from assay.kernel.instant import Instant, instant_of, render_instant
from assay.kernel.signature import (
    SignedKind,
    load_public_key,
    parse_signature_hex,
    sign_hmac,
    signing_message,
    verify_ed25519,
)

_CHECK_LABEL = b"assay/key-check/v1\n"
_TICK = timedelta(microseconds=1)
_HEX_KEY = re.compile(r"[0-9a-f]{64}", re.ASCII)


class SigningMethod(StrEnum):
    """How a signature is checked (Kaori 11.4 `signing_method`); a token or service that signs Ed25519 is `ed25519`."""

    ED25519 = "ed25519"
    LOCAL_HMAC = "local_hmac"


class KeyPurpose(StrEnum):
    """What a key may sign. `ANCHOR` is a key the operator gave without a record: good for all, endorsed by none."""

    ANCHOR = "anchor"
    GRAPH = "graph"
    LEDGER = "ledger"
    REVIEW = "review"
    REVIEWER = "reviewer"
    TRANSCRIPT = "transcript"
    TRUTH = "truth"
    WITNESS = "witness"


class KeyRecordError(KeyUseError):
    """A key record contradicts itself."""

    code = "key.record"


class RotationError(KeyUseError):
    """A rotation would leave a gap, or replace a key with itself."""

    code = "key.rotation"


class KeyHolder(Protocol):
    """What anyone may know about a key; every signer is one."""

    @property
    def key_id(self) -> KeyId: ...

    @property
    def method(self) -> SigningMethod: ...

    @property
    def public_key(self) -> bytes | None: ...


class KeyRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key with its purpose and validity: from `valid_from`, up to and not including `valid_until`."""

    key_id: KeyId
    method: SigningMethod
    purpose: KeyPurpose
    public_key: str | None
    valid_from: Instant
    valid_until: Instant | None = None
    replaces: KeyId | None = None

    def __post_init__(self) -> None:
        parse_key_id(self.key_id)
        if self.replaces is not None:
            parse_key_id(self.replaces)
        _require_key_form(self)
        if self.valid_until is not None and instant_of(self.valid_until) < instant_of(self.valid_from):
            raise KeyRecordError(
                f"expected `valid_until` at or after {render_instant(self.valid_from)}, "
                f"got {render_instant(self.valid_until)}"
            )
        instant_of(self.valid_from)

    @property
    def raw_public_key(self) -> bytes | None:
        return None if self.public_key is None else bytes.fromhex(self.public_key)

    def is_valid_at(self, at: Instant) -> bool:
        return self.valid_from <= at and (self.valid_until is None or at < self.valid_until)


class Endorsement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record that another key (or, at the start, the key itself) vouches for."""

    record: KeyRecord
    endorsed_by: KeyId
    signature: str


class RetirementDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The end of a key's validity, before anyone signed it."""

    key_id: KeyId
    valid_until: Instant
    reason: str

    def __post_init__(self) -> None:
        parse_key_id(self.key_id)
        instant_of(self.valid_until)


class Retirement(RetirementDraft, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The signed end of a key's validity; it can only shorten, never lengthen."""

    endorsed_by: KeyId
    signature: str


class Rotation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The successor's record and the predecessor's end; both are still to be signed."""

    record: KeyRecord
    retirement: RetirementDraft


def key_id_of(public_key: bytes) -> KeyId:
    """`sha256:` of the raw 32-byte public key."""
    load_public_key(public_key)
    return KeyId(digest_of(public_key))


def hmac_key_id_of(secret: bytes) -> KeyId:
    """`sha256:` of the HMAC of a fixed label under the secret: names the secret and does not reveal it.

    Whoever can guess the secret can confirm the guess, so short secrets are refused.
    """
    return KeyId(digest_of(sign_hmac(secret, _CHECK_LABEL)))


def endorsement_message(record: KeyRecord) -> bytes:
    return signing_message(SignedKind.KEY, canonicalize(record))


def seal_endorsement(record: KeyRecord, *, endorsed_by: KeyId, signature: bytes) -> Endorsement:
    return Endorsement(record=record, endorsed_by=endorsed_by, signature=signature.hex())


def verify_endorsement(endorsement: Endorsement, public_key: bytes) -> None:
    """Raise unless this key signed the record; whether the key may endorse is for `trusted_keys` to say."""
    signature = parse_signature_hex(endorsement.signature)
    verify_ed25519(public_key, endorsement_message(endorsement.record), signature)


def retirement_message(draft: RetirementDraft) -> bytes:
    body = {"key_id": draft.key_id, "reason": draft.reason, "valid_until": draft.valid_until}
    return signing_message(SignedKind.RETIREMENT, canonicalize(body))


def seal_retirement(draft: RetirementDraft, *, endorsed_by: KeyId, signature: bytes) -> Retirement:
    return Retirement(
        key_id=draft.key_id,
        valid_until=draft.valid_until,
        reason=draft.reason,
        endorsed_by=endorsed_by,
        signature=signature.hex(),
    )


def verify_retirement(retirement: Retirement, public_key: bytes) -> None:
    verify_ed25519(public_key, retirement_message(retirement), parse_signature_hex(retirement.signature))


def record_for(
    holder: KeyHolder,
    *,
    purpose: KeyPurpose,
    valid_from: Instant,
    valid_until: Instant | None = None,
    replaces: KeyId | None = None,
) -> KeyRecord:
    public_key = holder.public_key
    return KeyRecord(
        key_id=holder.key_id,
        method=holder.method,
        purpose=purpose,
        public_key=None if public_key is None else public_key.hex(),
        valid_from=valid_from,
        valid_until=valid_until,
        replaces=replaces,
    )


def rotate(old: KeyRecord, new: KeyHolder, *, at: Instant, overlap: timedelta) -> Rotation:
    """The successor starts at `at`; the predecessor stays valid for `overlap` more, but never beyond its own end.

    Without an overlap it ends one microsecond after the successor began, since it must be valid when it vouches.
    Refuses a negative overlap, a predecessor that is not valid at `at`, and a key that would replace itself.
    """
    if new.key_id == old.key_id:
        raise RotationError(f"expected a new key, got `{old.key_id}` again")
    if overlap < timedelta(0):
        raise RotationError(f"expected an overlap of zero or more, got {overlap}")
    if not old.is_valid_at(at):
        raise RotationError(f"expected `{old.key_id}` to be valid at {render_instant(at)}, its end is a gap")
    # The predecessor must be valid when its successor begins, or its endorsement would not count: at least one tick.
    end = Instant(at + max(overlap, _TICK))
    return Rotation(
        record=record_for(new, purpose=old.purpose, valid_from=at, replaces=old.key_id),
        retirement=RetirementDraft(
            key_id=old.key_id,
            valid_until=end if old.valid_until is None else min(end, old.valid_until),
            reason=f"rotated to {new.key_id}",
        ),
    )


def _require_key_form(record: KeyRecord) -> None:
    """INVARIANT: an Ed25519 record holds the key its id names; an HMAC record holds none."""
    if record.method is SigningMethod.LOCAL_HMAC:
        if record.public_key is not None:
            raise KeyRecordError("expected no public key in a `local_hmac` record, got one")
        return
    if record.public_key is None or _HEX_KEY.fullmatch(record.public_key) is None:
        raise KeyRecordError(f"expected a public key of 64 lower-case hex digits, got `{str(record.public_key)[:80]}`")
    named = key_id_of(bytes.fromhex(record.public_key))
    if named != record.key_id:
        raise KeyRecordError(f"expected key id `{named}` of its public key, got `{record.key_id}`")
