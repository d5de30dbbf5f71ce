"""Keys: who may sign what, from when until when, and why we believe it.

operator's anchors + endorsements - retirements -> trusted_keys -> KeyRing -> the record of a key at an instant

Trust starts at the operator's anchors only; the key inside a document never vouches for that document.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

import msgspec

from assay.kernel._key_record import (
    Endorsement,
    KeyHolder,
    KeyPurpose,
    KeyRecord,
    KeyRecordError,
    Retirement,
    RetirementDraft,
    Rotation,
    RotationError,
    SigningMethod,
    endorsement_message,
    hmac_key_id_of,
    key_id_of,
    record_for,
    retirement_message,
    rotate,
    seal_endorsement,
    seal_retirement,
    verify_endorsement,
    verify_retirement,
)
from assay.kernel._key_text import parse_anchor, parse_public_key
from assay.kernel.errors import KeyUseError, SignatureError
from assay.kernel.ids import KeyId, parse_key_id
from assay.kernel.instant import Instant, render_instant
from assay.kernel.signature import load_public_key

__all__ = [
    "Endorsement",
    "ExpiredKeyError",
    "FutureKeyError",
    "KeyHolder",
    "KeyPurpose",
    "KeyPurposeError",
    "KeyRecord",
    "KeyRecordError",
    "KeyRing",
    "Retirement",
    "RetirementDraft",
    "Rotation",
    "RotationError",
    "SigningMethod",
    "TrustAnchors",
    "UnknownKeyError",
    "endorsement_message",
    "hmac_key_id_of",
    "key_id_of",
    "parse_anchor",
    "parse_anchors",
    "parse_public_key",
    "record_for",
    "retirement_message",
    "rotate",
    "seal_endorsement",
    "seal_retirement",
    "trusted_keys",
    "verify_endorsement",
    "verify_retirement",
]

# An anchor without a record is valid since ever: the operator, and not a date, says when to stop believing it.
_ALWAYS = Instant(datetime(1, 1, 1, tzinfo=UTC))
_VOUCHES_FOR_ALL = (KeyPurpose.ANCHOR, KeyPurpose.LEDGER)
_Records = dict[KeyId, tuple[KeyRecord, ...]]


class UnknownKeyError(KeyUseError):
    """No anchor leads to this key."""

    code = "key.unknown"


class FutureKeyError(KeyUseError):
    """A key was used before it became valid."""

    code = "key.not_yet_valid"


class ExpiredKeyError(KeyUseError):
    """A key was used at or after the end of its validity."""

    code = "key.expired"


class KeyPurposeError(KeyUseError):
    """A trusted key was used for something it was not endorsed for."""

    code = "key.purpose"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustAnchors:
    """The keys an operator chose to believe, as raw public keys or as key ids; none given means nobody is trusted."""

    public_keys: frozenset[bytes] = frozenset()
    key_ids: frozenset[KeyId] = frozenset()

    def __post_init__(self) -> None:
        for raw in self.public_keys:
            load_public_key(raw)
        for key_id in self.key_ids:
            parse_key_id(key_id)

    @property
    def all_key_ids(self) -> frozenset[KeyId]:
        return self.key_ids | {key_id_of(raw) for raw in self.public_keys}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRing:
    """Every record an anchor leads to, by key id; retirements are already applied."""

    records: Mapping[KeyId, tuple[KeyRecord, ...]] = field(default_factory=dict)

    def find(self, key_id: KeyId, at: Instant, *, purpose: KeyPurpose | None = None) -> KeyRecord | None:
        """The record under which the key may be used at that instant (for that purpose), or None."""
        usable = (r for r in self.records.get(key_id, ()) if r.is_valid_at(at) and _serves(r, purpose))
        return next(usable, None)

    def get(self, key_id: KeyId, at: Instant, *, purpose: KeyPurpose | None = None) -> KeyRecord:
        """As `find`, but absence is an error that says why."""
        found = self.find(key_id, at, purpose=purpose)
        if found is None:
            raise _why_not(self.records.get(key_id, ()), key_id, at, purpose)
        return found


def trusted_keys(
    anchors: TrustAnchors,
    endorsements: Iterable[Endorsement],
    retirements: Iterable[Retirement] = (),
) -> KeyRing:
    """Follow endorsements from the anchors and from nowhere else; the order of the inputs does not matter.

    An endorsement counts if its signature holds and its endorser is trusted, is valid when the new key becomes
    valid, and may endorse: anchors and ledger keys any purpose, other keys their own. Only an anchor vouches for
    itself, which limits it. What does not count is passed over, since a bundle may carry keys of others.
    A retirement counts if the key itself signed it, or a key that might have endorsed it and that it does not replace:
    a key that was replaced, perhaps because it was stolen, retires none of its successors. A retirement shortens
    validity, and the chains are then followed again under the shortened dates.
    """
    return _ring_of(anchors, tuple(dict.fromkeys(endorsements)), tuple(retirements))


# A node asks this of its own few keys with nearly every piece of work, and signatures cost more than the rest of it.
# What follows is a function of all that is given: it is remembered by that, and by nothing else.
@lru_cache(maxsize=16)
def _ring_of(anchors: TrustAnchors, offered: tuple[Endorsement, ...], retirements: tuple[Retirement, ...]) -> KeyRing:
    widest = _follow(anchors, offered, {})
    ends = _accepted_ends(widest, retirements)
    return KeyRing(records=_follow(anchors, offered, ends) if ends else widest)


def parse_anchors(texts: Iterable[str]) -> TrustAnchors:
    """Read what an operator gave; each text is one `parse_anchor` reads, and one bad text refuses all."""
    parsed = [parse_anchor(text) for text in texts]
    return TrustAnchors(
        public_keys=frozenset(key for key in parsed if isinstance(key, bytes)),
        key_ids=frozenset(key for key in parsed if not isinstance(key, bytes)),
    )


def _follow(anchors: TrustAnchors, offered: Sequence[Endorsement], ends: Mapping[KeyId, Instant]) -> _Records:
    """The least set that holds the anchors and whatever its members endorse; being a set, cycles add nothing."""
    by_endorser: defaultdict[KeyId, list[Endorsement]] = defaultdict(list)
    for endorsement in offered:
        by_endorser[endorsement.endorsed_by].append(endorsement)
    found: set[KeyRecord] = set()
    waiting = [_ended(record, ends) for record in _anchor_records(anchors, offered)]
    while waiting:
        endorser = waiting.pop()
        if endorser in found:
            continue
        found.add(endorser)
        backed = (e.record for e in by_endorser[endorser.key_id] if _counts(e, endorser))
        waiting.extend(_ended(record, ends) for record in backed)
    return _by_key_id(found)


def _anchor_records(anchors: TrustAnchors, offered: Sequence[Endorsement]) -> list[KeyRecord]:
    """An anchor's own signed records if it has any, else one without limits."""
    raw_keys = {key_id_of(raw): raw for raw in anchors.public_keys}
    # A key id fixes the key's bytes, so an anchor known by id alone may take them from any record.
    for record in (e.record for e in offered):
        if record.key_id in anchors.key_ids and record.raw_public_key is not None:
            raw_keys[record.key_id] = record.raw_public_key
    own: defaultdict[KeyId, list[KeyRecord]] = defaultdict(list)
    for e in offered:
        if e.endorsed_by == e.record.key_id and e.endorsed_by in raw_keys and _is_signed(e, raw_keys[e.endorsed_by]):
            own[e.endorsed_by].append(e.record)
    return [r for key_id, raw in raw_keys.items() for r in own[key_id] or [_unlimited(key_id, raw)]]


def _unlimited(key_id: KeyId, raw: bytes) -> KeyRecord:
    return KeyRecord(
        key_id=key_id,
        method=SigningMethod.ED25519,
        purpose=KeyPurpose.ANCHOR,
        public_key=raw.hex(),
        valid_from=_ALWAYS,
    )


def _counts(endorsement: Endorsement, endorser: KeyRecord) -> bool:
    record, raw = endorsement.record, endorser.raw_public_key
    return (
        record.key_id != endorser.key_id
        and raw is not None
        and endorser.is_valid_at(record.valid_from)
        and _may_endorse(endorser, record)
        and _is_signed(endorsement, raw)
    )


def _may_endorse(endorser: KeyRecord, record: KeyRecord) -> bool:
    return endorser.purpose in _VOUCHES_FOR_ALL or endorser.purpose is record.purpose


def _is_signed(endorsement: Endorsement, raw: bytes) -> bool:
    # Nobody but the operator makes an anchor, so no signature gives that purpose.
    if endorsement.record.purpose is KeyPurpose.ANCHOR:
        return False
    try:
        verify_endorsement(endorsement, raw)
    except SignatureError:
        return False
    return True


def _accepted_ends(widest: _Records, retirements: Iterable[Retirement]) -> dict[KeyId, Instant]:
    """The earliest end of each key; signers are judged without dates, since on a doubt the earlier end holds."""
    ends: dict[KeyId, Instant] = {}
    for retirement in retirements:
        if _is_retired_by(retirement, widest):
            known = ends.get(retirement.key_id, retirement.valid_until)
            ends[retirement.key_id] = min(known, retirement.valid_until)
    return ends


def _is_retired_by(retirement: Retirement, widest: _Records) -> bool:
    signers, targets = widest.get(retirement.endorsed_by, ()), widest.get(retirement.key_id, ())
    itself = retirement.endorsed_by == retirement.key_id
    allowed = itself or any(_may_endorse(signer, target) for signer in signers for target in targets)
    allowed = allowed and bool(signers) and (itself or not _replaces(targets, retirement.endorsed_by, widest))
    # A key id fixes the key's bytes, so all records of the signer hold the same key.
    raw = signers[0].raw_public_key if allowed else None
    if raw is None:
        return False
    try:
        verify_retirement(retirement, raw)
    except SignatureError:
        return False
    return True


def _replaces(targets: Sequence[KeyRecord], key_id: KeyId, widest: _Records) -> bool:
    """Whether one of these keys replaces that one, directly or through later rotations."""
    waiting, seen = [target.replaces for target in targets], set[KeyId]()
    while waiting:
        before = waiting.pop()
        if before == key_id:
            return True
        if before is not None and before not in seen:
            seen.add(before)
            waiting.extend(record.replaces for record in widest.get(before, ()))
    return False


def _ended(record: KeyRecord, ends: Mapping[KeyId, Instant]) -> KeyRecord:
    end = ends.get(record.key_id)
    if end is None or (record.valid_until is not None and record.valid_until <= end):
        return record
    return msgspec.structs.replace(record, valid_until=max(end, record.valid_from))


def _by_key_id(found: Iterable[KeyRecord]) -> _Records:
    records: defaultdict[KeyId, list[KeyRecord]] = defaultdict(list)
    for record in sorted(
        found, key=lambda r: (r.valid_from, r.purpose, r.valid_until is None, r.valid_until, r.replaces or "")
    ):
        records[record.key_id].append(record)
    return {key_id: tuple(group) for key_id, group in records.items()}


def _serves(record: KeyRecord, purpose: KeyPurpose | None) -> bool:
    return purpose is None or record.purpose in (purpose, KeyPurpose.ANCHOR)


def _why_not(records: Sequence[KeyRecord], key_id: KeyId, at: Instant, purpose: KeyPurpose | None) -> KeyUseError:
    if not records:
        return UnknownKeyError(f"expected a key an anchor leads to, got `{key_id}`")
    serving = [record for record in records if _serves(record, purpose)]
    if not serving:
        return KeyPurposeError(f"expected a key for `{purpose}`, got `{key_id}` for `{records[0].purpose}`")
    if all(at < record.valid_from for record in serving):
        first = min(record.valid_from for record in serving)
        return FutureKeyError(f"`{key_id}` is valid from {render_instant(first)}, got {render_instant(at)}")
    return ExpiredKeyError(f"`{key_id}` is not valid any more at {render_instant(at)}")
