"""Announces at a node: who signs is believed, and nobody else is."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.adapters.keyfile import KeyFileSigner
from assay.flows.errors import NotFoundError
from assay.flows.registry.receive_announce import AnnounceNotBelievedError, receive_announce
from assay.kernel.canonical import canonicalize
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.registry_store import RevokedKey
from assay.registry.announce import AnnounceEvent, AnnouncePolicy, Origin, draft_announce, sign_announce
from assay.registry.errors import RegistryError
from assay.registry.lease import Lease
from assay.wiring import open_node
from tests.acting import register_service, revoke_service_key
from tests.flows._people import ADMIN, TENANT, Desk, at_once, opened_desk
from tests.raising import raises
from tests.registry.codex import make_manifest

_OWN, _FOREIGN = (KeyFileSigner(Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32)) for n in (1, 2))
_NAME = "portwatch-backend"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path) as opened:
        register_service(opened.tools, TENANT, _NAME, _OWN.public_key or b"", by=ADMIN, at=opened.start)
        yield opened


def _message(
    at: Instant, sequence: int, event: AnnounceEvent = AnnounceEvent.ANNOUNCE, signer: KeyFileSigner | None = _OWN
) -> bytes:
    document = draft_announce(
        make_manifest(), event, base_url="http://127.0.0.1:1", instance_id="i1", sequence=sequence, at=at
    )
    if signer is None:
        return canonicalize(document)
    return sign_announce(document, key_id=signer.key_id, sign=signer.sign)


def _receive(desk: Desk, message: bytes, at: Instant, origin: Origin = Origin.REMOTE) -> Lease:
    return receive_announce(
        desk.tools, TENANT, message, origin=origin, policy=AnnouncePolicy(), at=at, address="127.0.0.1"
    )


def _refusal(desk: Desk, message: bytes, at: Instant, origin: Origin = Origin.REMOTE) -> str:
    with pytest.raises(AnnounceNotBelievedError) as caught:
        _receive(desk, message, at, origin)
    return caught.value.refusal


@pytest.mark.clause("forja", "announce")
def test_a_signed_announce_gives_a_lease_that_ends(desk: Desk) -> None:
    at = desk.at(seconds=1)
    lease = _receive(desk, _message(at, 1), at)
    assert (lease.key_id, lease.expires_at) == (_OWN.key_id, Instant(at + timedelta(hours=168)))
    beat = desk.at(seconds=9)
    after = _receive(desk, _message(beat, 2, AnnounceEvent.HEARTBEAT), beat)
    assert (after.heard_at, after.expires_at, after.beats) == (beat, lease.expires_at, True)
    assert [one["event"] for one in desk.entries(EntryKind.SERVICE_ANNOUNCED)] == ["announce"]


@pytest.mark.clause("forja", "announce")
def test_forgeries_are_refused_and_change_nothing(desk: Desk) -> None:
    """Another key, no key, a used number, an old clock, a changed body: each has its own stable reason."""
    at = desk.at(seconds=1)
    good = _message(at, 5)
    lease = _receive(desk, good, at)
    before, late = desk.head(), desk.at(seconds=2)
    offline = AnnounceEvent.OFFLINE
    assert _refusal(desk, _message(late, 6, offline, _FOREIGN), late) == "registry.unknown_key"
    assert _refusal(desk, _message(late, 6, offline, None), late) == "registry.spoofed"
    assert _refusal(desk, _message(late, 6, offline, None), late, Origin.LISTED) == "registry.spoofed"
    assert _refusal(desk, good, late) == "registry.replayed"
    assert _refusal(desk, _message(late, 4, offline), late) == "registry.replayed"
    assert _refusal(desk, _message(desk.at(hours=1), 6), late) == "registry.clock_skew"
    assert _refusal(desk, good.replace(b'"sequence":5', b'"sequence":6'), late) == "registry.bad_signature"
    assert desk.head() == before
    held = desk.read(lambda unit: unit.registry.leases(TENANT, _NAME))
    assert [one.expires_at for one in held] == [lease.expires_at]


def test_of_two_messages_with_one_number_one_is_believed(desk: Desk) -> None:
    at = desk.at(seconds=1)
    message = _message(at, 7)
    done = at_once([lambda: _receive(desk, message, at)] * 4)
    assert sum(isinstance(one, Lease) for one in done) == 1


@pytest.mark.clause("forja", "announce")
def test_an_unknown_service_is_heard_unsigned_from_this_machine_alone(tmp_path: Path) -> None:
    with opened_desk(tmp_path) as desk:
        at = desk.at(seconds=1)
        message = _message(at, 1, signer=None)
        assert _refusal(desk, message, at) == "registry.unsigned_announce"
        assert _receive(desk, message, at, Origin.LISTED).key_id is None


@pytest.mark.clause("forja", "announce")
def test_a_revoked_key_is_heard_no_more_also_after_a_restart(tmp_path: Path) -> None:
    """Its leases end with it, nothing unsigned takes its place, and it does not become known again."""
    with opened_desk(tmp_path) as desk:
        for signer in (_OWN, _FOREIGN):
            register_service(desk.tools, TENANT, _NAME, signer.public_key or b"", by=ADMIN, at=desk.start)
        at, late = desk.at(seconds=1), desk.at(seconds=2)
        _receive(desk, _message(at, 1), at)
        end = _revoke(desk, "stolen")
        assert _revoke(desk, "once more", minutes=5) == end
        assert desk.read(lambda unit: unit.registry.leases(TENANT, _NAME)) == ()
        [entry] = desk.entries(EntryKind.SERVICE_KEY_REVOKED)
        assert (entry["key_id"], entry["reason"], entry["instances"]) == (_OWN.key_id, "stolen", ["i1"])
    with open_node(tmp_path / "node") as (tools, _):
        again = replace(desk, tools=tools)
        assert _refusal(again, _message(late, 2), late) == "registry.revoked_key"
        beat = _message(late, 3, AnnounceEvent.HEARTBEAT)
        assert _refusal(again, beat, late) == "registry.revoked_key"
        assert _receive(again, _message(late, 2, signer=_FOREIGN), late).key_id == _FOREIGN.key_id
        with raises(RegistryError.key_revoked):
            register_service(tools, TENANT, _NAME, _OWN.public_key or b"", by=ADMIN, at=late)


def _revoke(desk: Desk, reason: str, **length: float) -> RevokedKey:
    at = desk.at(**length)
    return revoke_service_key(desk.tools, TENANT, _NAME, _OWN.key_id, reason=reason, by=ADMIN, at=at)


@pytest.mark.clause("forja", "announce")
def test_a_service_whose_only_key_was_revoked_is_heard_by_nobody(desk: Desk) -> None:
    """Least of all unsigned from this machine, as if it had never had a key."""
    _revoke(desk, "lost")
    at = desk.at(seconds=1)
    assert _refusal(desk, _message(at, 1, signer=None), at, Origin.LISTED) == "registry.spoofed"
    assert _refusal(desk, _message(at, 1), at) == "registry.revoked_key"
    with pytest.raises(NotFoundError):
        revoke_service_key(desk.tools, TENANT, "other", _OWN.key_id, reason="?", by=ADMIN, at=at)


def test_registering_a_key_twice_is_registering_it_once(desk: Desk) -> None:
    again = register_service(desk.tools, TENANT, _NAME, _OWN.public_key or b"", by=ADMIN, at=desk.at(hours=1))
    assert again.registered_at == desk.start
    assert len(desk.entries(EntryKind.SERVICE_KEY_ADDED)) == 1
