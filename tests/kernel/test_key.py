"""Trust starts at the operator's anchors, follows endorsements that were in force, and ends at retirements."""

import json
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import permutations

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from assay.kernel.errors import KeyUseError, TypeFormError
from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant, NaiveDatetimeError
from assay.kernel.key import (
    Endorsement,
    KeyPurpose,
    KeyRecord,
    KeyRecordError,
    KeyRing,
    Retirement,
    RetirementDraft,
    RotationError,
    SigningMethod,
    TrustAnchors,
    endorsement_message,
    hmac_key_id_of,
    key_id_of,
    parse_anchor,
    parse_anchors,
    parse_public_key,
    record_for,
    retirement_message,
    rotate,
    seal_endorsement,
    seal_retirement,
    trusted_keys,
    verify_endorsement,
    verify_retirement,
)
from assay.kernel.signature import InvalidSignatureError, MalformedKeyError, MalformedSignatureError, sign_hmac
from tests.kernel._seed_signer import SeedSigner

_A, _B, _C, _D = (SeedSigner(seed) for seed in (1, 2, 3, 4))
_DAY = timedelta(days=1)


def _at(day: int) -> Instant:
    return Instant(datetime(2026, 1, 1, tzinfo=UTC) + day * _DAY)


def _record(
    signer: SeedSigner,
    *,
    purpose: KeyPurpose = KeyPurpose.LEDGER,
    start: int = 0,
    end: int | None = None,
) -> KeyRecord:
    return record_for(signer, purpose=purpose, valid_from=_at(start), valid_until=None if end is None else _at(end))


def _endorse(record: KeyRecord, by: SeedSigner) -> Endorsement:
    return seal_endorsement(record, endorsed_by=by.key_id, signature=by.sign(endorsement_message(record)))


def _retire(key: SeedSigner, by: SeedSigner, *, day: int, reason: str = "lost") -> Retirement:
    draft = RetirementDraft(key_id=key.key_id, valid_until=_at(day), reason=reason)
    return seal_retirement(draft, endorsed_by=by.key_id, signature=by.sign(retirement_message(draft)))


def _trust(*signers: SeedSigner) -> TrustAnchors:
    return TrustAnchors(public_keys=frozenset(signer.public_key for signer in signers))


def _code(ring: KeyRing, signer: SeedSigner, day: int, purpose: KeyPurpose | None = None) -> str:
    with pytest.raises(KeyUseError) as caught:
        ring.get(signer.key_id, _at(day), purpose=purpose)
    return caught.value.code


class TestNames:
    """A key id names the key's bytes."""

    def test_a_key_id_is_the_hash_of_the_raw_public_key(self) -> None:
        """RFC 8032 TEST 1's public key, hashed by hand with SHA-256."""
        raw = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
        assert key_id_of(raw) == "sha256:" + sha256(raw).hexdigest()

    def test_an_hmac_key_id_names_the_secret_without_revealing_it(self) -> None:
        secret = b"s" * 32
        check = sign_hmac(secret, b"assay/key-check/v1\n")
        assert hmac_key_id_of(secret) == "sha256:" + sha256(check).hexdigest()
        assert hmac_key_id_of(secret) != "sha256:" + sha256(secret).hexdigest()

    def test_a_short_secret_has_no_key_id(self) -> None:
        with pytest.raises(KeyUseError, match="at least 32 bytes"):
            hmac_key_id_of(b"s" * 31)


class TestTexts:
    """People write keys in four forms."""

    def test_every_form_gives_the_same_raw_bytes(self) -> None:
        raw = _A.public_key
        pem = Ed25519PublicKey.from_public_bytes(raw).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        for text in (raw.hex(), raw.hex().upper(), b64encode(raw).decode(), pem.decode(), _vkey("log.example", raw)):
            assert parse_public_key(f" {text}\n") == raw
            assert parse_anchor(text) == raw

    def test_an_anchor_may_be_a_key_id_alone(self) -> None:
        assert parse_anchor(_A.key_id) == _A.key_id
        anchors = parse_anchors([_A.key_id, _B.public_key.hex()])
        assert anchors == TrustAnchors(public_keys=frozenset({_B.public_key}), key_ids=frozenset({_A.key_id}))
        assert anchors.all_key_ids == {_A.key_id, _B.key_id}

    def test_a_published_verifier_key_is_read(self) -> None:
        """The Go checksum database's own verifier key, as its clients ship it."""
        text = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"
        assert parse_public_key(text).hex() == "ce3372d75ad1ee5ecdaf8727293d4b111d87eb37531d7c86d4d3003f0eb809fc"

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "00",
            "zz" * 32,
            "sha256:00",
            "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
            b64encode(bytes(31)).decode(),
            b64encode(bytes(31) + b"\x02").decode()[:-2] + "J=",
            "name+00000000+" + b64encode(b"\x01" + _A.public_key).decode(),
            "name+00000000+" + b64encode(b"\x02" + _A.public_key).decode(),
        ],
    )
    def test_anything_else_is_refused(self, text: str) -> None:
        with pytest.raises(MalformedKeyError):
            parse_public_key(text)

    def test_a_public_key_of_another_kind_is_refused(self) -> None:
        pem = (
            generate_private_key(SECP256R1()).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        )
        with pytest.raises(MalformedKeyError, match="Ed25519"):
            parse_public_key(pem.decode())

    def test_a_private_key_given_by_mistake_is_not_repeated(self) -> None:
        """An error ends up in logs."""
        private = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32)
        pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        with pytest.raises(MalformedKeyError) as caught:
            parse_public_key(pem)
        assert pem.splitlines()[1] not in str(caught.value)

    def test_a_malformed_key_id_is_refused(self) -> None:
        with pytest.raises(TypeFormError):
            parse_anchor("sha256:00")


class TestRecords:
    """A record may lie about its dates but never about its key."""

    def test_a_record_survives_the_wire(self) -> None:
        endorsement = _endorse(_record(_A, end=9), _A)
        assert msgspec.json.decode(msgspec.json.encode(endorsement), type=Endorsement) == endorsement

    @pytest.mark.parametrize(
        ("field", "value", "code"),
        [
            ("key_id", _B.key_id, "key.record"),
            ("key_id", "nobody", "form.id"),
            ("replaces", "nobody", "form.id"),
            ("public_key", None, "key.record"),
            ("public_key", "00" * 31, "key.record"),
            ("public_key", _A.public_key.hex().upper(), "key.record"),
            ("public_key", "00" * 32, "key.weak"),
            ("method", "local_hmac", "key.record"),
            ("valid_until", "2025-12-31T00:00:00Z", "key.record"),
            ("valid_from", "2026-01-01T00:00:00", "form.naive_datetime"),
            ("valid_until", "2026-01-02T00:00:00", "form.naive_datetime"),
        ],
    )
    def test_a_record_that_contradicts_itself_is_refused(self, field: str, value: str | None, code: str) -> None:
        fields = json.loads(msgspec.json.encode(_record(_A))) | {field: value}
        with pytest.raises((KeyUseError, TypeFormError)) as caught:
            msgspec.convert(fields, KeyRecord)
        assert caught.value.code == code

    def test_unknown_fields_are_refused(self) -> None:
        fields = json.loads(msgspec.json.encode(_record(_A))) | {"admin": True}
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(fields, KeyRecord)

    def test_an_hmac_record_holds_no_public_key(self) -> None:
        record = _hmac_record()
        assert record.raw_public_key is None
        with pytest.raises(KeyRecordError):
            msgspec.structs.replace(record, public_key=_A.public_key.hex())

    def test_a_key_is_valid_from_its_start_up_to_but_not_at_its_end(self) -> None:
        record = _record(_A, start=1, end=3)
        assert [record.is_valid_at(_at(day)) for day in range(5)] == [False, True, True, False, False]

    def test_a_retirement_needs_an_instant(self) -> None:
        with pytest.raises(NaiveDatetimeError):
            RetirementDraft(
                key_id=_A.key_id,
                valid_until=Instant(datetime(2026, 1, 1)),  # noqa: DTZ001 - naive is the point
                reason="x",
            )

    def test_an_endorsement_covers_every_field_of_the_record(self) -> None:
        endorsement = _endorse(_record(_A, end=9), _B)
        verify_endorsement(endorsement, _B.public_key)
        for change in (
            {"purpose": KeyPurpose.WITNESS},
            {"valid_from": _at(1)},
            {"valid_until": None},
            {"replaces": _C.key_id},
        ):
            forged = msgspec.structs.replace(endorsement, record=msgspec.structs.replace(endorsement.record, **change))
            with pytest.raises(InvalidSignatureError):
                verify_endorsement(forged, _B.public_key)

    def test_a_retirement_covers_every_field(self) -> None:
        retirement = _retire(_A, _B, day=3)
        verify_retirement(retirement, _B.public_key)
        for change in ({"valid_until": _at(4)}, {"reason": "other"}, {"key_id": _C.key_id}):
            with pytest.raises(InvalidSignatureError):
                verify_retirement(msgspec.structs.replace(retirement, **change), _B.public_key)

    def test_an_endorsement_signature_is_hex(self) -> None:
        broken = msgspec.structs.replace(_endorse(_record(_A), _A), signature="zz")
        with pytest.raises(MalformedSignatureError):
            verify_endorsement(broken, _A.public_key)


class TestAnchors:
    """Nobody is trusted unless the operator says so."""

    def test_no_anchor_trusts_nobody(self) -> None:
        ring = trusted_keys(TrustAnchors(), [_endorse(_record(_A), _A), _endorse(_record(_B), _A)])
        assert ring.records == {}
        assert ring.find(_A.key_id, _at(1)) is None
        assert _code(ring, _A, 1) == "key.unknown"

    def test_an_anchor_is_trusted_at_any_time_and_for_any_purpose(self) -> None:
        ring = trusted_keys(_trust(_A), [])
        record = ring.get(_A.key_id, _at(-5000), purpose=KeyPurpose.TRUTH)
        assert (record.purpose, record.raw_public_key) == (KeyPurpose.ANCHOR, _A.public_key)

    def test_an_anchor_is_limited_by_its_own_signed_record(self) -> None:
        ring = trusted_keys(_trust(_A), [_endorse(_record(_A, start=1, end=3), _A)])
        assert ring.get(_A.key_id, _at(1)).purpose is KeyPurpose.LEDGER
        assert _code(ring, _A, 0) == "key.not_yet_valid"
        assert _code(ring, _A, 3) == "key.expired"
        assert _code(ring, _A, 1, KeyPurpose.TRUTH) == "key.purpose"

    def test_a_self_signed_record_of_another_signature_limits_nothing(self) -> None:
        forged = msgspec.structs.replace(_endorse(_record(_A, end=1), _B), endorsed_by=_A.key_id)
        assert trusted_keys(_trust(_A), [forged]).find(_A.key_id, _at(5)) is not None

    def test_an_anchor_known_by_id_takes_its_bytes_from_a_record(self) -> None:
        anchors = TrustAnchors(key_ids=frozenset({_A.key_id}))
        assert trusted_keys(anchors, []).records == {}
        ring = trusted_keys(anchors, [_endorse(_record(_A), _A), _endorse(_record(_B), _A)])
        assert ring.get(_B.key_id, _at(1)).raw_public_key == _B.public_key

    def test_an_anchor_that_is_an_hmac_key_vouches_for_nobody(self) -> None:
        record = _hmac_record()
        offered = Endorsement(record=record, endorsed_by=record.key_id, signature="00" * 64)
        assert trusted_keys(TrustAnchors(key_ids=frozenset({record.key_id})), [offered]).records == {}

    def test_a_bad_anchor_is_refused(self) -> None:
        with pytest.raises(KeyUseError):
            TrustAnchors(public_keys=frozenset({bytes(32)}))
        with pytest.raises(TypeFormError):
            TrustAnchors(key_ids=frozenset({KeyId("me")}))


class TestChains:
    """Endorsements lead from key to key, in any order."""

    def test_a_chain_is_followed_in_any_order(self) -> None:
        chain = [
            _endorse(_record(_B, start=1), _A),
            _endorse(_record(_C, start=2), _B),
            _endorse(_record(_D, start=3), _C),
        ]
        rings = [trusted_keys(_trust(_A), order) for order in permutations(chain)]
        assert all(ring == rings[0] for ring in rings)
        assert rings[0].get(_D.key_id, _at(3)) == chain[2].record

    def test_a_cycle_that_no_anchor_reaches_gives_nothing(self) -> None:
        cycle = [_endorse(_record(_B), _C), _endorse(_record(_C), _B), _endorse(_record(_D), _D)]
        assert set(trusted_keys(_trust(_A), cycle).records) == {_A.key_id}

    def test_a_cycle_that_an_anchor_reaches_ends(self) -> None:
        cycle = [_endorse(_record(_B), _A), _endorse(_record(_C), _B), _endorse(_record(_B), _C)]
        assert set(trusted_keys(_trust(_A), cycle).records) == {_A.key_id, _B.key_id, _C.key_id}

    def test_an_endorsement_by_a_key_out_of_force_gives_nothing(self) -> None:
        """The endorser has to be valid at the moment the new key becomes valid."""
        short = _endorse(_record(_B, start=1, end=3), _A)
        for start, trusted in ((0, False), (1, True), (2, True), (3, False)):
            ring = trusted_keys(_trust(_A), [short, _endorse(_record(_C, start=start), _B)])
            assert (_C.key_id in ring.records) is trusted

    def test_a_key_does_not_lengthen_its_own_life(self) -> None:
        offered = [_endorse(_record(_B, end=3), _A), _endorse(_record(_B, end=None), _B)]
        assert _code(trusted_keys(_trust(_A), offered), _B, 4) == "key.expired"

    def test_a_forged_or_damaged_endorsement_is_passed_over(self) -> None:
        good = _endorse(_record(_B), _A)
        forged = msgspec.structs.replace(_endorse(_record(_C), _D), endorsed_by=_A.key_id)
        damaged = msgspec.structs.replace(_endorse(_record(_D), _A), signature="not hex")
        assert set(trusted_keys(_trust(_A), [forged, damaged, good]).records) == {_A.key_id, _B.key_id}

    def test_nobody_is_endorsed_into_an_anchor(self) -> None:
        offered = [
            _endorse(_record(_B, purpose=KeyPurpose.ANCHOR), _A),
            _endorse(_record(_A, purpose=KeyPurpose.ANCHOR), _A),
        ]
        ring = trusted_keys(_trust(_A), offered)
        assert set(ring.records) == {_A.key_id}
        assert len(ring.records[_A.key_id]) == 1

    @pytest.mark.parametrize(
        ("endorser", "endorsed", "trusted"),
        [
            (KeyPurpose.LEDGER, KeyPurpose.REVIEW, True),
            (KeyPurpose.REVIEW, KeyPurpose.REVIEW, True),
            (KeyPurpose.REVIEW, KeyPurpose.LEDGER, False),
            (KeyPurpose.REVIEWER, KeyPurpose.REVIEW, False),
        ],
    )
    def test_only_anchors_and_ledger_keys_endorse_other_purposes(
        self, endorser: KeyPurpose, endorsed: KeyPurpose, *, trusted: bool
    ) -> None:
        """Otherwise one reviewer's key could make itself the ledger's."""
        offered = [_endorse(_record(_B, purpose=endorser), _A), _endorse(_record(_C, purpose=endorsed), _B)]
        assert (_C.key_id in trusted_keys(_trust(_A), offered).records) is trusted

    def test_an_hmac_key_can_be_endorsed_but_endorses_nobody(self) -> None:
        record = _hmac_record()
        by_hmac = Endorsement(record=_record(_B), endorsed_by=record.key_id, signature="00" * 64)
        ring = trusted_keys(_trust(_A), [_endorse(record, _A), by_hmac])
        assert set(ring.records) == {_A.key_id, record.key_id}

    def test_a_key_endorsed_twice_is_valid_in_both_spans(self) -> None:
        offered = [_endorse(_record(_B, start=0, end=2), _A), _endorse(_record(_B, start=4, end=6), _A)]
        ring = trusted_keys(_trust(_A), offered)
        assert [ring.find(_B.key_id, _at(day)) is not None for day in range(7)] == [
            True,
            True,
            False,
            False,
            True,
            True,
            False,
        ]
        assert _code(ring, _B, 3) == "key.expired"


class TestRetirements:
    """A retirement only ever shortens."""

    def test_a_retired_key_is_valid_before_and_not_after(self) -> None:
        ring = trusted_keys(_trust(_A), [_endorse(_record(_B), _A)], [_retire(_B, _A, day=5)])
        assert ring.get(_B.key_id, _at(4)).valid_until == _at(5)
        assert _code(ring, _B, 5) == "key.expired"

    def test_the_earliest_of_several_ends_holds_in_any_order(self) -> None:
        ends = [_retire(_B, _A, day=5), _retire(_B, _B, day=3), _retire(_B, _A, day=7)]
        rings = [trusted_keys(_trust(_A), [_endorse(_record(_B), _A)], order) for order in permutations(ends)]
        assert all(ring == rings[0] for ring in rings)
        assert rings[0].records[_B.key_id][0].valid_until == _at(3)

    def test_a_retirement_does_not_lengthen(self) -> None:
        ring = trusted_keys(_trust(_A), [_endorse(_record(_B, end=2), _A)], [_retire(_B, _A, day=9)])
        assert _code(ring, _B, 2) == "key.expired"

    def test_what_a_retired_key_endorsed_later_falls_with_it(self) -> None:
        offered = [_endorse(_record(_B), _A), _endorse(_record(_C, start=2), _B), _endorse(_record(_D, start=6), _B)]
        ring = trusted_keys(_trust(_A), offered, [_retire(_B, _A, day=5)])
        assert set(ring.records) == {_A.key_id, _B.key_id, _C.key_id}

    @pytest.mark.parametrize("day", [1, 4, 9])
    def test_a_replaced_key_retires_none_of_its_successors(self, day: int) -> None:
        """Whoever stole it could otherwise take the node's new key away, with any date."""
        second = msgspec.structs.replace(_record(_B, start=2), replaces=_A.key_id)
        third = msgspec.structs.replace(_record(_C, start=3), replaces=_B.key_id)
        offered = [_endorse(second, _A), _endorse(third, _B), _endorse(_record(_D), _A)]
        attempts = [_retire(_B, _A, day=day), _retire(_C, _A, day=day)]
        ring = trusted_keys(_trust(_A), offered, [_retire(_A, _A, day=5), *attempts])
        assert [ring.records[key.key_id][0].valid_until for key in (_B, _C)] == [None, None]
        # The other way round it holds, and so does the end of a key that replaces nobody.
        ring = trusted_keys(_trust(_A), offered, [_retire(_A, _C, day=5), _retire(_D, _A, day=4)])
        assert [ring.records[key.key_id][0].valid_until for key in (_A, _D)] == [_at(5), _at(4)]

    def test_keys_that_name_each_other_as_replaced_end_the_search(self) -> None:
        one = msgspec.structs.replace(_record(_B), replaces=_C.key_id)
        other = msgspec.structs.replace(_record(_C), replaces=_B.key_id)
        offered = [_endorse(one, _A), _endorse(other, _A)]
        assert trusted_keys(_trust(_A), offered, [_retire(_B, _A, day=3)]).records[_B.key_id][0].valid_until == _at(3)

    def test_an_anchor_can_retire_itself(self) -> None:
        ring = trusted_keys(_trust(_A), [], [_retire(_A, _A, day=5)])
        assert ring.find(_A.key_id, _at(4)) is not None
        assert _code(ring, _A, 5) == "key.expired"

    def test_a_key_retired_before_it_began_was_never_valid(self) -> None:
        ring = trusted_keys(_trust(_A), [_endorse(_record(_B, start=5), _A)], [_retire(_B, _A, day=1)])
        assert all(ring.find(_B.key_id, _at(day)) is None for day in range(10))

    def test_strangers_and_lesser_keys_retire_nobody(self) -> None:
        offered = [_endorse(_record(_B), _A), _endorse(_record(_C, purpose=KeyPurpose.REVIEW), _A)]
        forged = msgspec.structs.replace(_retire(_B, _D, day=1), endorsed_by=_A.key_id)
        for attempt in (_retire(_B, _D, day=1), _retire(_B, _C, day=1), forged, _retire(_D, _A, day=1)):
            assert trusted_keys(_trust(_A), offered, [attempt]).find(_B.key_id, _at(5)) is not None

    def test_an_hmac_key_retires_nobody(self) -> None:
        record = _hmac_record()
        draft = RetirementDraft(key_id=record.key_id, valid_until=_at(1), reason="x")
        attempt = seal_retirement(draft, endorsed_by=record.key_id, signature=bytes(64))
        ring = trusted_keys(_trust(_A), [_endorse(record, _A)], [attempt])
        assert ring.find(record.key_id, _at(5)) is not None


class TestMemory:
    """A node asks the same of its own keys all day."""

    def test_signatures_are_checked_once_and_again_as_soon_as_anything_differs(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        own, other = _endorse(_record(_A, start=3), _A), _endorse(_record(_B, start=3), _A)
        ring = trusted_keys(_trust(_A), [own, other])
        forged = msgspec.structs.replace(other, signature=own.signature)
        assert _code(trusted_keys(_trust(_A), [own, forged]), _B, 4) == "key.unknown"
        assert _code(trusted_keys(_trust(_B), [own]), _A, 4) == "key.unknown"
        assert _code(trusted_keys(_trust(_A), [own, other], [_retire(_B, _A, day=4)]), _B, 4) == "key.expired"

        def refuse(*_: object) -> None:
            pytest.fail("a signature that was checked is checked again")

        monkeypatch.setattr("assay.kernel.key.verify_endorsement", refuse)
        assert trusted_keys(_trust(_A), [own, other]) == ring
        assert ring.find(_B.key_id, _at(4)) == other.record


class TestRotation:
    """The old key and the new one are valid together for a while."""

    def test_rotation_overlaps(self) -> None:
        old = _record(_A)
        rotation = rotate(old, _B, at=_at(10), overlap=2 * _DAY)
        assert rotation.record == record_for(_B, purpose=KeyPurpose.LEDGER, valid_from=_at(10), replaces=_A.key_id)
        retirement = seal_retirement(
            rotation.retirement, endorsed_by=_A.key_id, signature=_A.sign(retirement_message(rotation.retirement))
        )
        ring = trusted_keys(_trust(_A), [_endorse(old, _A), _endorse(rotation.record, _A)], [retirement])
        days = {day: [ring.find(s.key_id, _at(day)) is not None for s in (_A, _B)] for day in (9, 10, 11, 12)}
        assert days == {9: [True, False], 10: [True, True], 11: [True, True], 12: [False, True]}

    def test_rotation_does_not_lengthen_the_old_key(self) -> None:
        rotation = rotate(_record(_A, end=11), _B, at=_at(10), overlap=5 * _DAY)
        assert rotation.retirement.valid_until == _at(11)

    def test_a_rotation_without_overlap_is_believed_too(self) -> None:
        """The old key vouches in its last moment: it is valid when the new one begins, and not a tick longer."""
        rotation = rotate(_record(_A), _B, at=_at(10), overlap=timedelta(0))
        assert rotation.retirement.valid_until - _at(10) == timedelta(microseconds=1)

    @pytest.mark.parametrize(
        ("old", "new", "day", "overlap"),
        [(_record(_A), _A, 1, _DAY), (_record(_A), _B, 1, -_DAY), (_record(_A, end=1), _B, 1, _DAY)],
        ids=["itself", "negative overlap", "gap"],
    )
    def test_a_rotation_that_cannot_work_is_refused(
        self, old: KeyRecord, new: SeedSigner, day: int, overlap: timedelta
    ) -> None:
        with pytest.raises(RotationError) as caught:
            rotate(old, new, at=_at(day), overlap=overlap)
        assert caught.value.code == "key.rotation"


def _hmac_record() -> KeyRecord:
    return KeyRecord(
        key_id=hmac_key_id_of(b"s" * 32),
        method=SigningMethod.LOCAL_HMAC,
        purpose=KeyPurpose.TRUTH,
        public_key=None,
        valid_from=_at(0),
    )


def _vkey(name: str, raw: bytes) -> str:
    typed = b"\x01" + raw
    key_hash = sha256(name.encode() + b"\n" + typed).hexdigest()[:8]
    return f"{name}+{key_hash}+{b64encode(typed).decode()}"
