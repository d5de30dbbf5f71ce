"""What a service declares is what it serves, or it leaves the index; who is gone leaves it too.

leases -> evict -> fetch codex, STATE, TRUST, SENSE -> conform -> entry with the tier that is active now
A round looks at every service again and writes only what has changed, in one commit with its entries. Whatever one
service answers, the others are looked at.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import NamedTuple

import msgspec
from msgspec import Struct

from assay.flows.registry.gather_evidence import fetch_documents
from assay.flows.registry.leases import parse_lease
from assay.flows.registry.registry_entry import listing_entry
from assay.flows.registry.service_keys import live_keys
from assay.flows.tools import Tools
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.registry_store import RegistryStore
from assay.ports.service_client import ServiceClient
from assay.registry.action import is_tier
from assay.registry.announce import lists_agree, parse_announce
from assay.registry.conform import Evidence, Profile, check_service
from assay.registry.discover import Index, ServiceEntry, build_index, entry_of
from assay.registry.documents import SenseDocument, parse_document
from assay.registry.lease import Lease, Presence, evict, presence_at
from assay.registry.manifest import Manifest, OpenedManifest
from assay.registry.open_manifest import open_manifest, verify_manifest

# Looks at a time: one service that does not answer costs its own patience, not everybody's.
_LOOKERS = 8
# So long the lease of who is gone is kept: its sequence refuses a replay, which the allowed skew ends much earlier.
_KEPT = timedelta(days=1)
_LISTINGS = (EntryKind.SERVICE_LISTED, EntryKind.SERVICE_UNLISTED)


class Watched(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a look at one service found; `entry` is None for one that is not in the index now."""

    service_id: str
    entry: ServiceEntry | None
    reason: str
    changed: bool = False


class _Instance(NamedTuple):
    """What is held of one instance, and the keys that are known for its service."""

    lease: Lease
    announce: str
    keys: tuple[bytes, ...]


class _Look(NamedTuple):
    entry: ServiceEntry | None
    reason: str
    reached: bool = True


def load_index(store: RegistryStore, tenant_id: TenantId) -> Index:
    """The snapshot as it stands; whoever asks often keeps it."""
    return build_index(_entries(store, tenant_id).values())


def find_fleet(tools: Tools, tenant_id: TenantId, *, known: int | None) -> tuple[int, Index | None]:
    """As `load_fleet`, as things are now."""
    return tools.database.read(lambda unit: load_fleet(unit, tenant_id, known=known))


def load_fleet(unit: Unit, tenant_id: TenantId, *, known: int | None) -> tuple[int, Index | None]:
    """The revision, which is the number of the newest entry about it, and the index if `known` is another one."""
    newest = (unit.ledger.find_latest(tenant_id, kind) for kind in _LISTINGS)
    revision = max(number or 0 for number in newest)
    return revision, None if revision == known else load_index(unit.registry, tenant_id)


def watch_services(tools: Tools, tenant_id: TenantId, client: ServiceClient, *, at: Instant) -> tuple[Watched, ...]:
    """One round: whoever serves what they declare is in the index afterwards, and nobody else is."""
    held = tools.database.read(lambda unit: _instances(unit.registry, tenant_id))
    kept, gone = evict([one.lease for one in held], at)
    staying = set(map(id, kept))
    found = _look_at_all([one for one in held if id(one.lease) in staying], client, at)
    listed = tools.database.read(lambda unit: _entries(unit.registry, tenant_id))
    left = sorted({lease.service_id for lease in gone} | listed.keys() - found.keys())
    looks = {**{name: _Look(None, "offline or expired") for name in left}, **found}
    forgotten = [lease for lease in gone if at - (lease.offline_at or lease.expires_at) > _KEPT]
    changed = {name for name, look in looks.items() if look.entry != listed.get(name)}
    if changed or forgotten:
        tools.database.write(lambda unit: _settle(unit, tenant_id, looks, forgotten, at))
    return tuple(
        Watched(service_id=name, entry=look.entry, reason=look.reason, changed=name in changed)
        for name, look in looks.items()
    )


def _settle(unit: Unit, tenant_id: TenantId, looks: dict[str, _Look], forgotten: list[Lease], at: Instant) -> None:
    """Against the index as it stands in this commit; each change is an entry."""
    listed = _entries(unit.registry, tenant_id)
    changes = {name: look for name, look in looks.items() if look.entry != listed.get(name)}
    for name, look in changes.items():
        unit.record(listing_entry(tenant_id, name, look.entry, look.reason, at=at))
        if look.entry is None:
            unit.registry.drop_entry(tenant_id, name)
    for lease in forgotten:
        unit.registry.drop_lease(tenant_id, lease.service_id, lease.instance_id)


def _entries(store: RegistryStore, tenant_id: TenantId) -> dict[str, ServiceEntry]:
    rows = store.entries(tenant_id)
    return {row.service_id: msgspec.json.decode(row.text, type=ServiceEntry) for row in rows}


def _instances(store: RegistryStore, tenant_id: TenantId) -> list[_Instance]:
    held = store.leases(tenant_id)
    keys = {name: live_keys(store, tenant_id, name) for name in {one.service_id for one in held}}
    return [_Instance(parse_lease(one), one.announce, keys[one.service_id]) for one in held]


def _look_at_all(instances: Iterable[_Instance], client: ServiceClient, at: Instant) -> dict[str, _Look]:
    """What a look at each service found, by service, in the order of their names."""
    of_service: dict[str, list[_Instance]] = {}
    for one in instances:
        of_service.setdefault(one.lease.service_id, []).append(one)
    names = sorted(of_service)
    with ThreadPoolExecutor(max_workers=_LOOKERS, thread_name_prefix="assay-look") as pool:
        looks = pool.map(lambda name: _look_at(of_service[name], client, at), names)
        return dict(zip(names, looks, strict=True))


def _look_at(instances: list[_Instance], client: ServiceClient, at: Instant) -> _Look:
    """The liveliest instance first; another one speaks for the service only where the one before is not there."""

    def liveliness(one: _Instance) -> tuple[bool, Instant]:
        return presence_at(one.lease, at) is Presence.LIVE, one.lease.heard_at

    missed = []
    for one in sorted(instances, key=liveliness, reverse=True):
        look = _look_safely(one, client, at)
        if look.reached:
            return look
        missed.append(look)
    return missed[0]


def _look_safely(instance: _Instance, client: ServiceClient, at: Instant) -> _Look:
    try:
        return _look(instance, client, at)
    except Exception as error:  # noqa: BLE001 - one strange service must not keep the round from all others
        code = error.code if isinstance(error, Error) else type(error).__name__
        return _Look(None, f"could not be judged: {code}")


def _look(instance: _Instance, client: ServiceClient, at: Instant) -> _Look:
    lease = instance.lease
    if lease.base_url is None:
        return _Look(None, "no address was announced", reached=False)
    evidence = fetch_documents(client, lease.base_url)
    if evidence.codex is None:
        return _Look(None, "nothing answers where it was announced", reached=False)
    report = check_service(evidence, Profile.STANDARD, at=at)
    if not report.passed:
        first = report.failures[0]
        return _Look(None, _printable(f"{first.rule} {first.where}: {first.message}"[:500]))
    opened = open_manifest(evidence.codex.content)
    return _doubt(instance, opened) or _entry(opened.manifest, evidence)


def _doubt(instance: _Instance, opened: OpenedManifest) -> _Look | None:
    """Whether somebody else answers there, or something else than was announced and signed for."""
    manifest, name = opened.manifest, instance.lease.service_id
    if manifest.service != name:
        return _Look(None, f"`{manifest.service}` answers where `{name}` was announced")
    told = parse_announce(instance.announce).announce
    if (told.can_answer or told.can_do) and not lists_agree(told, manifest):
        return _Look(None, "announce.sync: codex.json lists something else than was announced")
    if opened.signature is not None and instance.keys:
        try:
            verify_manifest(opened, instance.keys)
        except Error as error:
            return _Look(None, f"codex.signature: {error}")
    return None


def _entry(manifest: Manifest, evidence: Evidence) -> _Look:
    try:
        sense = parse_document(evidence.sense.content if evidence.sense else b"", SenseDocument)
    except msgspec.DecodeError:
        return _Look(None, "sense.shape: SENSE cannot be read, so the active tier is not known")
    if not is_tier(sense.security.current_trust_tier):
        return _Look(None, f"expected a tier of 0 to 3 in SENSE, got {sense.security.current_trust_tier}")
    return _Look(entry_of(manifest, tier=sense.security.current_trust_tier), "served as declared")


def _printable(text: str) -> str:
    """What strangers wrote goes on record without anything that a database or a terminal would stumble over."""
    return "".join(one if one.isprintable() else "?" for one in text)
