"""What a service declares is what it serves, or it is not listed; who is gone is not listed either."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.flows.registry.receive_announce import receive_announce
from assay.flows.registry.watch_service import Watched, load_fleet, load_index, watch_services
from assay.kernel.canonical import canonicalize
from assay.kernel.conformance import Fetched
from assay.kernel.instant import Instant
from assay.kernel.key import key_id_of
from assay.kernel.ledger import EntryKind
from assay.registry.announce import AnnounceEvent, AnnouncePolicy, Origin, draft_announce, sign_announce
from assay.registry.open_manifest import sign_manifest
from assay.registry.permission import mask_of
from tests.acting import register_service
from tests.contract._kit import refused
from tests.flows._people import ADMIN, TENANT
from tests.registry.codex import codex, make_manifest
from tests.surfaces.forja._service import House, opened_house

_NAME = "portwatch-backend"
_NEEDS = mask_of(["ALERT_ACK"])


class Reached:
    """Implements `ServiceClient` on a service of this process; can be away, or serve another manifest than it has."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.is_away = False
        self.gone: set[int | None] = set()
        self.codex: bytes | None = None
        self.trust: bytes | None = None

    def request(
        self, method: str, url: str, *, content: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Fetched | None:
        if self.is_away or urlsplit(url).port in self.gone:
            return None
        if url.endswith("/codex.json") and self.codex is not None:
            return Fetched(status=200, content=self.codex)
        if url.endswith("/trust") and self.trust is not None and urlsplit(url).port == 1:
            return Fetched(status=200, content=self.trust)
        answer = self.house.call(method, urlsplit(url).path, content=content, headers=headers)
        return Fetched(status=answer.status_code, content=answer.content)


@pytest.fixture
def reached(tmp_path: Path) -> Iterator[Reached]:
    with opened_house(tmp_path, "plain") as house:
        announce(house, AnnounceEvent.ANNOUNCE, 1, house.desk.at(seconds=1))
        yield Reached(house)


def announce(
    house: House,
    event: AnnounceEvent,
    sequence: int,
    at: Instant,
    *,
    instance: str = "i1",
    signer: Ed25519PrivateKey | None = None,
    **changes: Any,  # noqa: ANN401  any member of the manifest
) -> None:
    """Each instance is reached where its name says."""
    url, manifest = f"http://127.0.0.1:{instance.removeprefix('i')}", make_manifest(**changes)
    document = draft_announce(manifest, event, base_url=url, instance_id=instance, sequence=sequence, at=at)
    content = canonicalize(document)
    if signer is not None:
        content = sign_announce(document, key_id=key_id_of(signer.public_key().public_bytes_raw()), sign=signer.sign)
    receive_announce(
        house.desk.tools,
        TENANT,
        content,
        origin=Origin.LISTED,
        address="127.0.0.1",
        policy=AnnouncePolicy(),
        at=at,
    )


def _watch(reached: Reached, **length: float) -> Watched:
    (seen,) = watch_services(reached.house.desk.tools, TENANT, reached, at=reached.house.desk.at(**length))
    return seen


def _who_can(reached: Reached, tier: int) -> tuple[str, ...]:
    index = reached.house.desk.read(lambda unit: load_index(unit.registry, TENANT))
    return index.who_can(_NEEDS, tier=tier)


@pytest.mark.clause("forja", "discovery")
def test_an_announced_service_is_listed_after_a_look_with_the_tier_that_is_active(reached: Reached) -> None:
    assert _who_can(reached, 0) == ()
    assert _watch(reached, seconds=2).reason == "served as declared"
    assert _who_can(reached, 2) == (_NAME,)
    reached.house.fail(60)
    _watch(reached, seconds=3)
    assert (_who_can(reached, 2), _who_can(reached, 1)) == ((), (_NAME,))


def test_a_service_that_serves_something_else_than_it_declares_is_not_listed(reached: Reached) -> None:
    _watch(reached, seconds=2)
    reached.codex = codex(can_answer=["vessel.ukc-status"], actions=None)
    assert "state.sync" in _watch(reached, seconds=3).reason
    assert _who_can(reached, 0) == ()
    reached.codex = codex(service="somebody-else")
    assert _watch(reached, seconds=4).entry is None
    reached.codex = None
    _watch(reached, seconds=5)
    assert _who_can(reached, 0) == (_NAME,)


@pytest.mark.clause("forja", "announce")
def test_who_is_away_offline_or_expired_is_not_listed(reached: Reached) -> None:
    _watch(reached, seconds=2)
    reached.is_away = True
    assert _watch(reached, seconds=3).entry is None
    assert _who_can(reached, 0) == ()
    reached.is_away = False
    _watch(reached, seconds=4)
    announce(reached.house, AnnounceEvent.OFFLINE, 2, reached.house.desk.at(seconds=5))
    assert _watch(reached, seconds=6).reason == "offline or expired"
    assert _who_can(reached, 0) == ()
    announce(reached.house, AnnounceEvent.ANNOUNCE, 3, reached.house.desk.at(seconds=7))
    _watch(reached, seconds=8)
    assert _who_can(reached, 0) == (_NAME,)
    assert _watch(reached, hours=169).reason == "offline or expired"
    assert _who_can(reached, 0) == ()


def test_each_change_of_the_index_is_an_entry_and_a_look_that_changes_nothing_is_none(reached: Reached) -> None:
    desk = reached.house.desk
    assert _watch(reached, seconds=2).changed
    assert not _watch(reached, seconds=3).changed
    reached.codex = codex(can_answer=["\u0000\u202e"], actions=None)
    assert _watch(reached, seconds=4).changed
    (listed,) = desk.entries(EntryKind.SERVICE_LISTED)
    (left,) = desk.entries(EntryKind.SERVICE_UNLISTED)
    assert (listed["service_id"], listed["entry"]["tier"]) == (_NAME, 3)
    assert (left["entry"], left["reason"].isprintable()) == (None, True)
    revision, index = desk.read(lambda unit: load_fleet(unit, TENANT, known=None))
    assert (revision, index is not None and len(index)) == (
        desk.read(lambda unit: unit.ledger.head(TENANT)).sequence_number,
        0,
    )
    assert desk.read(lambda unit: load_fleet(unit, TENANT, known=revision)) == (revision, None)


@pytest.mark.clause("forja", "discovery")
def test_another_instance_speaks_for_the_service_where_the_liveliest_is_away(reached: Reached) -> None:
    announce(reached.house, AnnounceEvent.ANNOUNCE, 1, reached.house.desk.at(seconds=2), instance="i2")
    for gone in ({2}, {1}):
        reached.gone = set(gone)
        assert _watch(reached, seconds=3).reason == "served as declared"
    reached.gone = {1, 2}
    assert _watch(reached, seconds=4).reason == "nothing answers where it was announced"
    assert _who_can(reached, 0) == ()


@pytest.mark.clause("forja", "announce")
def test_the_lease_of_who_is_gone_is_kept_for_a_day_and_then_forgotten(reached: Reached) -> None:
    """So long an old message finds its number used; then it is too old to be believed anyway."""
    desk = reached.house.desk
    announce(reached.house, AnnounceEvent.OFFLINE, 2, desk.at(seconds=5))
    _watch(reached, hours=23)
    with refused("registry.not_believed"):
        announce(reached.house, AnnounceEvent.ANNOUNCE, 1, desk.at(seconds=6))
    _watch(reached, hours=25)
    assert desk.read(lambda unit: unit.registry.leases(TENANT)) == ()


@pytest.mark.clause("forja", "discovery")
def test_a_service_that_lists_more_than_it_announced_is_not_listed(reached: Reached) -> None:
    """The announce is what the service signs; whoever answers at its address may be somebody else."""
    house = reached.house
    announce(house, AnnounceEvent.UPDATE, 2, house.desk.at(seconds=2), can_do=["ALERT_ACK"], actions=None)
    assert _watch(reached, seconds=3).reason.startswith("announce.sync")
    announce(house, AnnounceEvent.UPDATE, 3, house.desk.at(seconds=4), can_do=[], can_answer=[], actions=None)
    assert _watch(reached, seconds=5).reason == "served as declared"


@pytest.mark.clause("forja", "discovery")
def test_a_manifest_with_a_signature_that_does_not_hold_is_not_listed(reached: Reached) -> None:
    house, key = reached.house, Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    raw = key.public_key().public_bytes_raw()
    register_service(house.desk.tools, TENANT, _NAME, raw, by=ADMIN, at=house.desk.at(seconds=1))
    announce(house, AnnounceEvent.UPDATE, 2, house.desk.at(seconds=2), signer=key)
    signed = sign_manifest(codex(), key_id=key_id_of(raw), sign=key.sign)
    reached.codex = signed
    assert _watch(reached, seconds=3).reason == "served as declared"
    reached.codex = signed.replace(b"acknowledge an alert", b"acknowledge any alert")
    assert _watch(reached, seconds=4).reason.startswith("codex.signature")
    stranger = Ed25519PrivateKey.from_private_bytes(bytes(32))
    strange = key_id_of(stranger.public_key().public_bytes_raw())
    reached.codex = sign_manifest(codex(), key_id=strange, sign=stranger.sign)
    assert _watch(reached, seconds=5).reason.startswith("codex.signature")


@pytest.mark.clause("forja", "discovery")
def test_whatever_one_service_answers_the_others_are_looked_at(reached: Reached) -> None:
    house = reached.house
    announce(house, AnnounceEvent.ANNOUNCE, 1, house.desk.at(seconds=2), instance="i2", service="another")
    trust = json.loads(house.call("GET", "/api/v2/forja/trust").content)
    bare = {**trust["action_tiers"][-2], "rollback_descriptor": {"method": "manual", "description": ""}}
    for tier, rule in ((bare, "FRJ-008"), (7, "trust.shape")):
        trust["action_tiers"][-2] = tier
        reached.trust = json.dumps(trust).encode()
        seen = watch_services(house.desk.tools, TENANT, reached, at=house.desk.at(seconds=3))
        assert [one.service_id for one in seen] == ["another", _NAME]
        assert rule in seen[1].reason
    real = reached.request

    def broken(method: str, url: str, **options: Any) -> Fetched | None:  # noqa: ANN401  as the real one
        if urlsplit(url).port == 1:
            raise RuntimeError
        return real(method, url, **options)

    reached.request = broken  # type: ignore[method-assign]  # a client with a fault of its own
    seen = watch_services(house.desk.tools, TENANT, reached, at=house.desk.at(seconds=4))
    assert "answers where" in seen[0].reason
    assert seen[1].reason == "could not be judged: RuntimeError"
