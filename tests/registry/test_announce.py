"""A service says that it is there, and nobody else can say it for it."""

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.instant import Instant, render_instant
from assay.kernel.key import key_id_of
from assay.registry.announce import (
    AnnounceEvent,
    AnnounceFinding,
    AnnouncePolicy,
    AnnounceRefusal,
    Origin,
    ReceivedAnnounce,
    draft_announce,
    follow_announce,
    judge_announce,
    parse_announce,
    sign_announce,
)
from assay.registry.errors import InvalidAnnounceError, RefusedAnnounceError
from assay.registry.lease import DEFAULT_TTL_HOURS, Lease, Presence, evict, presence_at
from tests.identity.people import NOON, later
from tests.registry.codex import make_manifest

_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
_OTHER = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
_SERVICE = "portwatch-backend"


def _raw(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


_KEYS = {_SERVICE: frozenset({_raw(_KEY)})}


def _document(
    event: AnnounceEvent = AnnounceEvent.ANNOUNCE,
    sequence: int = 1,
    at: Instant = NOON,
    **more: Any,  # noqa: ANN401  any member
) -> dict[str, Any]:
    drafted = draft_announce(
        make_manifest(), event, base_url="https://port.example", instance_id="i-1", sequence=sequence, at=at
    )
    return {name: value for name, value in (drafted | more).items() if value is not None}


def _signed(key: Ed25519PrivateKey = _KEY, **document: Any) -> ReceivedAnnounce:  # noqa: ANN401  any member
    return parse_announce(sign_announce(_document(**document), key_id=key_id_of(_raw(key)), sign=key.sign))


def _unsigned(**document: Any) -> ReceivedAnnounce:  # noqa: ANN401  any member
    return parse_announce(json.dumps(_document(**document)))


def _judge(received: ReceivedAnnounce, lease: Lease | None = None, **changes: Any) -> AnnounceFinding:  # noqa: ANN401  any argument
    arguments: dict[str, Any] = {
        "keys": _KEYS,
        "leases": {} if lease is None else {lease.instance_id: lease},
        "origin": Origin.REMOTE,
        "policy": AnnouncePolicy(),
        "now": NOON,
    }
    return judge_announce(received, **(arguments | changes))


def _lease(received: ReceivedAnnounce | None = None, **changes: Any) -> Lease:  # noqa: ANN401  any argument
    heard = received or _signed()
    return follow_announce(None, heard, _judge(heard, **changes), at=NOON)


@pytest.mark.clause("forja", "announce")
def test_a_signed_announce_grants_a_lease_of_a_week() -> None:
    lease = _lease()
    assert (lease.service_id, lease.instance_id, lease.sequence) == (_SERVICE, "i-1", 1)
    assert lease.expires_at == later(hours=DEFAULT_TTL_HOURS)
    assert lease.key_id == key_id_of(_raw(_KEY))
    assert presence_at(lease, later(hours=167)) is Presence.LIVE
    assert presence_at(lease, later(hours=168)) is Presence.EXPIRED


def test_the_announce_of_another_implementation_is_read() -> None:
    """It has no instance, sequence or address; its port stands in for the instance."""
    plain = _unsigned(base_url=None, instance_id=None, sequence=None, ttl_hours=None)
    assert (plain.announce.instance_id, plain.announce.sequence) == ("port-4080", None)
    assert plain.announce.ttl_hours == DEFAULT_TTL_HOURS
    assert _judge(plain, keys={}, origin=Origin.LISTED).accepted
    lease = _lease(plain, keys={}, origin=Origin.LISTED)
    again = _judge(plain, lease, keys={}, origin=Origin.LISTED)
    assert again.refusal is AnnounceRefusal.REPLAYED
    newer = _unsigned(base_url=None, instance_id=None, sequence=None, at=later(seconds=1))
    assert _judge(newer, lease, keys={}, origin=Origin.LISTED).accepted


def test_an_announce_may_be_timed_to_the_nanosecond() -> None:
    """As the clocks of other languages tell it; a signature is over the text as it came."""
    finer = _signed(announced_at=f"{render_instant(NOON).removesuffix('Z')}.000000999Z")
    assert finer.announce.announced_at == NOON
    assert _judge(finer).accepted


def test_unsigned_counts_only_from_listed_networks() -> None:
    plain = _unsigned(base_url=None)
    assert _judge(plain, keys={}).refusal is AnnounceRefusal.UNSIGNED
    assert _judge(plain, keys={}, origin=Origin.LISTED).accepted


def test_an_unsigned_announce_names_no_other_host_than_its_sender() -> None:
    """Else anybody in a listed network could have us fetch from a machine of their choice."""
    for url in ("http://169.254.169.254/latest", "http://10.0.0.9:1", "http://127.0.0.1.example", "http://10.0.0.8@x"):
        told = _unsigned(base_url=url)
        found = _judge(told, keys={}, origin=Origin.LISTED, address="10.0.0.8")
        assert found.refusal is AnnounceRefusal.FOREIGN_ADDRESS
    own = _unsigned(base_url="http://10.0.0.8:4080")
    assert _judge(own, keys={}, origin=Origin.LISTED, address="10.0.0.8").accepted
    assert _judge(own, keys={}, origin=Origin.LISTED).refusal is AnnounceRefusal.FOREIGN_ADDRESS
    assert _judge(_signed(), address="10.0.0.8").accepted


@pytest.mark.parametrize(
    ("address", "url"),
    [("10.0.0.8", "http://10.0.0.8:4080"), ("2001:db8::1", "http://[2001:db8::1]:4080"), (None, None)],
)
def test_a_service_without_an_address_is_where_it_announced_from(address: str | None, url: str | None) -> None:
    told = _unsigned(base_url=None)
    found = _judge(told, keys={}, origin=Origin.LISTED, address=address)
    assert follow_announce(None, told, found, at=NOON, address=address).base_url == url


@pytest.mark.parametrize("event", list(AnnounceEvent))
def test_who_signs_is_never_heard_unsigned(event: AnnounceEvent) -> None:
    """Not even from a listed network: leaving the signature out would be the easiest forgery of all."""
    forged = _unsigned(event=event, sequence=9)
    assert _judge(forged, origin=Origin.LISTED).refusal is AnnounceRefusal.SPOOFED
    assert _judge(forged, _lease(), keys={}, origin=Origin.LISTED).refusal is AnnounceRefusal.SPOOFED


def test_only_a_known_key_of_this_service_counts() -> None:
    """A key inside the message never vouches for it, and another service's key is a stranger's."""
    assert _judge(_signed(_OTHER)).refusal is AnnounceRefusal.UNKNOWN_KEY
    assert _judge(_signed(), keys={"other-service": _KEYS[_SERVICE]}).refusal is AnnounceRefusal.UNKNOWN_KEY


def test_a_changed_announce_is_refused() -> None:
    content = sign_announce(_document(), key_id=key_id_of(_raw(_KEY)), sign=_KEY.sign)
    changed = parse_announce(content.replace(b"https://port.example", b"https://evil.example"))
    assert _judge(changed).refusal is AnnounceRefusal.BAD_SIGNATURE
    borrowed = sign_announce(_document(), key_id=key_id_of(_raw(_KEY)), sign=_OTHER.sign)
    assert _judge(parse_announce(borrowed)).refusal is AnnounceRefusal.BAD_SIGNATURE


@pytest.mark.parametrize(("seconds", "accepted"), [(300, True), (301, False), (-300, True), (-301, False)])
def test_a_clock_too_far_from_ours_is_refused(seconds: int, accepted: bool) -> None:  # noqa: FBT001  a parameter
    """Old messages are refused with it, so that what must be remembered against replays stays small."""
    finding = _judge(_signed(at=later(seconds=seconds)))
    assert finding.accepted is accepted
    assert accepted or finding.refusal is AnnounceRefusal.CLOCK_SKEW


@given(sequences=st.lists(st.integers(0, 6), min_size=1, max_size=12))
def test_a_sequence_only_grows(sequences: list[int]) -> None:
    """Whatever arrives in whatever order, a number is taken once, and never below one that was taken."""
    lease: Lease | None = None
    taken: list[int] = []
    for sequence in sequences:
        received = _signed(sequence=sequence)
        finding = _judge(received, lease)
        if finding.accepted:
            lease = follow_announce(lease, received, finding, at=NOON)
            taken.append(sequence)
        else:
            assert finding.refusal is AnnounceRefusal.REPLAYED
    assert taken == sorted(set(taken))
    assert taken[0] == sequences[0]


def test_a_numbered_instance_must_go_on_counting() -> None:
    assert _judge(_signed(sequence=None), _lease()).refusal is AnnounceRefusal.REPLAYED


@pytest.mark.clause("forja", "announce")
def test_offline_ends_the_lease_and_an_old_message_does_not_bring_it_back() -> None:
    lease = _lease()
    leaving = _signed(event=AnnounceEvent.OFFLINE, sequence=2)
    gone = follow_announce(lease, leaving, _judge(leaving, lease), at=later(seconds=2))
    assert presence_at(gone, later(seconds=2)) is Presence.OFFLINE
    assert _judge(_signed(), gone).refusal is AnnounceRefusal.REPLAYED
    back = _signed(sequence=3)
    again = follow_announce(gone, back, _judge(back, gone), at=later(seconds=3))
    assert presence_at(again, later(seconds=3)) is Presence.LIVE


def test_a_spoofed_offline_is_refused() -> None:
    """By another known key, or for an instance that never was."""
    both = {_SERVICE: frozenset({_raw(_KEY), _raw(_OTHER)})}
    forged = _signed(_OTHER, event=AnnounceEvent.OFFLINE, sequence=2)
    assert _judge(forged, _lease(), keys=both).refusal is AnnounceRefusal.SPOOFED
    for event in (AnnounceEvent.OFFLINE, AnnounceEvent.HEARTBEAT):
        assert _judge(_signed(event=event)).refusal is AnnounceRefusal.UNKNOWN_INSTANCE
    rotated = _signed(_OTHER, event=AnnounceEvent.UPDATE, sequence=2)
    assert _judge(rotated, _lease(), keys=both).accepted


def test_a_heartbeat_shows_life_and_does_not_prolong() -> None:
    lease = _lease()
    beat = _signed(event=AnnounceEvent.HEARTBEAT, sequence=2, at=later(minutes=1))
    alive = follow_announce(lease, beat, _judge(beat, lease), at=later(minutes=1))
    assert (alive.expires_at, alive.heard_at, alive.beats) == (lease.expires_at, later(minutes=1), True)
    assert presence_at(lease, later(hours=1)) is Presence.LIVE
    assert presence_at(alive, later(minutes=6)) is Presence.LIVE
    assert presence_at(alive, later(minutes=7)) is Presence.SILENT


def test_the_dead_are_evicted_by_time_alone() -> None:
    lease = _lease()
    short = follow_announce(None, *_accepted(_signed(ttl_hours=1)), at=NOON)
    assert evict([lease, short], later(hours=2)) == ((lease,), (short,))
    assert evict([lease, short], NOON) == ((lease, short), ())


def _accepted(received: ReceivedAnnounce) -> tuple[ReceivedAnnounce, AnnounceFinding]:
    return received, _judge(received)


def test_nothing_follows_from_what_was_refused() -> None:
    forged = _unsigned()
    with pytest.raises(RefusedAnnounceError):
        follow_announce(None, forged, _judge(forged), at=NOON)


@pytest.mark.parametrize(
    ("changes", "pointers"),
    [
        ({"event": "explode"}, ["/event"]),
        ({"forja": "9"}, ["/forja"]),
        ({"service": {"id": "x"}}, ["/service/port", "/service/domain", "/service/version"]),
        ({"service": None, "announced_at": None}, ["/service", "/announced_at"]),
        ({"announced_at": "noon", "ttl_hours": 0}, ["/announced_at", "/ttl_hours"]),
        ({"sequence": -1, "instance_id": "a b"}, ["/instance_id", "/sequence"]),
        ({"capabilities": {"can_fly": []}}, ["/capabilities/can_fly"]),
        ({"base_url": "javascript:x", "colour": 1}, ["/colour"]),
        ({"base_url": "javascript:x"}, ["/base_url"]),
        ({"capabilities": {"emits": ["e\u0301"]}}, ["/capabilities/emits/0"]),
    ],
)
def test_every_mistake_has_its_pointer(changes: dict[str, Any], pointers: list[str]) -> None:
    with pytest.raises(InvalidAnnounceError) as caught:
        _unsigned(**changes)
    assert [problem.pointer for problem in caught.value.problems] == pointers


@pytest.mark.parametrize("content", [b"", b"[]", b'{"a":1,"a":1}'])
def test_what_is_no_object_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidAnnounceError):
        parse_announce(content)
