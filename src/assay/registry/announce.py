"""Announces: a service says that it is there, has changed, or is leaving; nobody else can say it for it.

announce -> parse_announce -> judge_announce (keys, skew, sequence, origin) -> follow_announce -> Lease
Signed with a key that is known for the service; unsigned ones count only from networks that the operator lists.
"""

import re
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from enum import StrEnum

from msgspec import Struct

from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest, digest_of
from assay.kernel.errors import Error
from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant, render_instant
from assay.kernel.json_text import JsonValue
from assay.kernel.key import key_id_of
from assay.kernel.signature import SignedKind, parse_signature_hex, signing_message, verify_ed25519
from assay.registry._read import Fields, Reader
from assay.registry._read_manifest import URL_FORM, read_signature
from assay.registry.action import ACTION_FORM
from assay.registry.errors import InvalidAnnounceError, RefusedAnnounceError
from assay.registry.lease import DEFAULT_TTL_HOURS, Lease, end_lease, note_heartbeat
from assay.registry.manifest import SERVICE_FORM, DocumentSignature, Manifest

_HOST = re.compile(
    r"https?://(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<host>[^/?#@:\[\]]+))(?::[0-9]{1,5})?(?=[/?#]|\Z)", re.ASCII
)
_INSTANCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+-]{0,63}", re.ASCII)
_REQUIRED = ("forja", "event", "service", "announced_at")
_KNOWN = (*_REQUIRED, "capabilities", "ttl_hours", "base_url", "instance_id", "sequence", "signature")
_LISTS = ("can_answer", "can_do", "emits")
_IDENTITY = {"id": SERVICE_FORM, "domain": SERVICE_FORM, "version": _VERSION}
_MAX_SEQUENCE = 2**53 - 1
_LONGEST_TTL = 24 * 366


class AnnounceEvent(StrEnum):
    """The three of the protocol, and ours: HEARTBEAT shows life and never prolongs the lease."""

    ANNOUNCE = "announce"
    UPDATE = "update"
    OFFLINE = "offline"
    HEARTBEAT = "heartbeat"


class Announce(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one instance of a service says; other implementations send no instance, sequence or address."""

    event: AnnounceEvent
    service_id: str
    port: int
    domain: str
    version: str
    can_answer: tuple[str, ...]
    can_do: tuple[str, ...]
    emits: tuple[str, ...]
    announced_at: Instant
    ttl_hours: int
    base_url: str | None
    instance_id: str
    sequence: int | None


class ReceivedAnnounce(Struct, frozen=True, kw_only=True):
    """An announce with the canonical bytes (`ski-3.0`) that its signature covers."""

    announce: Announce
    canonical: bytes
    signature: DocumentSignature | None

    @property
    def content_hash(self) -> Digest:
        return digest_of(self.canonical)


class Origin(StrEnum):
    """Where the connection came from, as the socket says and never as the message says.

    LISTED is a network from which the operator accepts unsigned announces.
    """

    LISTED = "listed"
    REMOTE = "remote"


class AnnouncePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far a sender's clock may be from ours."""

    max_skew_seconds: int = 300


class AnnounceRefusal(StrEnum):
    """Stable reasons; surfaces show them."""

    BAD_SIGNATURE = "registry.bad_signature"
    CLOCK_SKEW = "registry.clock_skew"
    FOREIGN_ADDRESS = "registry.foreign_address"
    REPLAYED = "registry.replayed"
    REVOKED_KEY = "registry.revoked_key"
    SPOOFED = "registry.spoofed"
    UNKNOWN_INSTANCE = "registry.unknown_instance"
    UNKNOWN_KEY = "registry.unknown_key"
    UNSIGNED = "registry.unsigned_announce"


class AnnounceFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Accepted, with the key that vouched for it; or refused, with its reason."""

    reason: str
    refusal: AnnounceRefusal | None = None
    key_id: KeyId | None = None

    @property
    def accepted(self) -> bool:
        return self.refusal is None


def parse_announce(content: bytes | str) -> ReceivedAnnounce:
    """Read an announce; refuses with every problem at once. Nothing about it is believed yet."""
    reader = Reader()
    fields = reader.document(content)
    if not reader.problems:
        reader.require(fields, _REQUIRED, ())
        reader.refuse_unknown(fields, _KNOWN, ())
    announce = None if reader.problems else _announce(reader, fields)
    signature = None if reader.problems else read_signature(reader, fields)
    if announce is None or reader.problems:
        raise InvalidAnnounceError(reader.problems)
    return ReceivedAnnounce(announce=announce, canonical=_unsigned_bytes(fields), signature=signature)


def draft_announce(
    manifest: Manifest,
    event: AnnounceEvent,
    *,
    base_url: str,
    instance_id: str,
    sequence: int,
    at: Instant,
    ttl_hours: int = DEFAULT_TTL_HOURS,
) -> dict[str, JsonValue]:
    """The document to sign and send; the sequence grows with every message of an instance."""
    return {
        "forja": "0.2",
        "event": str(event),
        "service": {
            "id": manifest.service,
            "port": manifest.port,
            "domain": manifest.domain,
            "version": manifest.version,
        },
        "capabilities": {
            "can_answer": list(manifest.can_answer),
            "can_do": list(manifest.can_do),
            "emits": list(manifest.emits),
        },
        "announced_at": render_instant(at),
        "ttl_hours": ttl_hours,
        "base_url": base_url,
        "instance_id": instance_id,
        "sequence": sequence,
    }


def sign_announce(document: Mapping[str, JsonValue], *, key_id: KeyId, sign: Callable[[bytes], bytes]) -> bytes:
    """The document with this key's signature over its canonical bytes."""
    bare = {name: value for name, value in document.items() if name != "signature"}
    value = sign(signing_message(SignedKind.ANNOUNCE, canonicalize(bare))).hex()
    return canonicalize(bare | {"signature": {"algorithm": "ed25519", "key_id": key_id, "value_hex": value}})


def judge_announce(
    received: ReceivedAnnounce,
    *,
    keys: Mapping[str, frozenset[bytes]],
    leases: Mapping[str, Lease],
    origin: Origin,
    policy: AnnouncePolicy,
    now: Instant,
    revoked: Collection[KeyId] = (),
    address: str | None = None,
) -> AnnounceFinding:
    """Whether to believe it; `keys` are those known for each service, `leases` those of this service by instance.

    `revoked` are those of the keys that count for nothing any more; a service that has no other is heard by none.
    A service that has a known key, or was ever announced with one, is never heard unsigned: leaving the signature out
    would be the easiest forgery of all. `address` is where the connection came from: an unsigned announce may name no
    other host, so that nobody makes us fetch from a machine of their choice.
    """
    announce = received.announce
    signature = received.signature
    if signature is not None and signature.key_id in revoked:
        return _no(AnnounceRefusal.REVOKED_KEY, f"`{signature.key_id}` of `{announce.service_id}` was revoked")
    vouched = _vouched(received, keys.get(announce.service_id, frozenset()), leases, origin, address)
    if not vouched.accepted:
        return vouched
    skew = abs(now - announce.announced_at)
    if skew > timedelta(seconds=policy.max_skew_seconds):
        return _no(
            AnnounceRefusal.CLOCK_SKEW, f"announced {skew} away from our clock, allowed {policy.max_skew_seconds} s"
        )
    return _in_order(received, leases, vouched)


def lists_agree(announce: Announce, manifest: Manifest) -> bool:
    """Whether what was announced is what codex.json lists; the order of a list says nothing."""
    pairs = ((announce.can_answer, manifest.can_answer), (announce.can_do, manifest.can_do))
    return all(set(told) == set(listed) for told, listed in pairs)


def follow_announce(
    lease: Lease | None,
    received: ReceivedAnnounce,
    finding: AnnounceFinding,
    *,
    at: Instant,
    address: str | None = None,
) -> Lease:
    """The lease after an accepted message, whichever of the four it was.

    A service that names no `base_url` is at the address it announced from, on its port.
    """
    if not finding.accepted:
        raise RefusedAnnounceError(finding.reason)
    announce = received.announce
    if lease is not None and announce.event is AnnounceEvent.HEARTBEAT:
        return note_heartbeat(lease, sequence=announce.sequence, announced_at=announce.announced_at, at=at)
    if lease is not None and announce.event is AnnounceEvent.OFFLINE:
        return end_lease(lease, sequence=announce.sequence, announced_at=announce.announced_at, at=at)
    return Lease(
        service_id=announce.service_id,
        instance_id=announce.instance_id,
        base_url=announce.base_url or _sender_url(address, announce.port),
        key_id=finding.key_id,
        sequence=announce.sequence,
        announce_hash=received.content_hash,
        announced_at=announce.announced_at,
        expires_at=Instant(at + timedelta(hours=announce.ttl_hours)),
        heard_at=at,
        beats=lease is not None and lease.beats,
    )


def _host_of(url: str) -> str | None:
    """The host of a URL that names no user; None where it cannot be read."""
    found = _HOST.match(url)
    return None if found is None else found["six"] or found["host"]


def _sender_url(address: str | None, port: int) -> str | None:
    if address is None:
        return None
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def _vouched(
    received: ReceivedAnnounce,
    known: frozenset[bytes],
    leases: Mapping[str, Lease],
    origin: Origin,
    address: str | None,
) -> AnnounceFinding:
    signature, service = received.signature, received.announce.service_id
    if signature is None:
        return _unsigned(received.announce, known, leases, origin, address)
    raw = next((raw for raw in known if key_id_of(raw) == signature.key_id), None)
    if raw is None:
        return _no(AnnounceRefusal.UNKNOWN_KEY, f"`{signature.key_id}` is no known key of `{service}`")
    try:
        message = signing_message(SignedKind.ANNOUNCE, received.canonical)
        verify_ed25519(raw, message, parse_signature_hex(signature.value_hex))
    except Error as error:
        return _no(AnnounceRefusal.BAD_SIGNATURE, str(error))
    return AnnounceFinding(reason=f"signed by `{signature.key_id}`", key_id=signature.key_id)


def _unsigned(
    announce: Announce, known: frozenset[bytes], leases: Mapping[str, Lease], origin: Origin, address: str | None
) -> AnnounceFinding:
    service = announce.service_id
    if known or any(lease.key_id is not None for lease in leases.values()):
        return _no(AnnounceRefusal.SPOOFED, f"`{service}` signs its announces, and this one is not signed")
    if origin is not Origin.LISTED:
        return _no(
            AnnounceRefusal.UNSIGNED,
            f"expected a signed announce of `{service}`, got an unsigned one from no network of "
            "`registry.unsigned_networks`",
        )
    if announce.base_url is not None and _host_of(announce.base_url) != (address or ""):
        return _no(
            AnnounceRefusal.FOREIGN_ADDRESS,
            f"expected `base_url` at the sender's address, got `{announce.base_url[:80]}`: sign the announce to name "
            "another host",
        )
    return AnnounceFinding(reason="unsigned, from a network that the operator lists")


def _in_order(received: ReceivedAnnounce, leases: Mapping[str, Lease], vouched: AnnounceFinding) -> AnnounceFinding:
    """One instance counts upwards; without a number its time does, and the same moment twice is a replay."""
    announce = received.announce
    lease = leases.get(announce.instance_id)
    if lease is None:
        if announce.event in {AnnounceEvent.OFFLINE, AnnounceEvent.HEARTBEAT}:
            return _no(AnnounceRefusal.UNKNOWN_INSTANCE, f"`{announce.instance_id}` never announced itself")
        return vouched
    last = lease.sequence
    if last is not None and (announce.sequence is None or announce.sequence <= last):
        return _no(AnnounceRefusal.REPLAYED, f"expected a sequence above {last}, got {announce.sequence}")
    if last is None and announce.announced_at <= lease.announced_at:
        return _no(AnnounceRefusal.REPLAYED, f"expected a time after {render_instant(lease.announced_at)}")
    if lease.key_id != vouched.key_id and announce.event is AnnounceEvent.OFFLINE and lease.key_id is not None:
        return _no(AnnounceRefusal.SPOOFED, f"`{announce.instance_id}` was announced with another key")
    return vouched


def _announce(reader: Reader, fields: Fields) -> Announce | None:
    service = reader.members(fields["service"], ("service",))
    reader.refuse_unknown(service, ("id", "port", "domain", "version"), ("service",))
    reader.require(service, ("id", "port", "domain", "version"), ("service",))
    told = reader.members(fields.get("capabilities", {}), ("capabilities",))
    reader.refuse_unknown(told, _LISTS, ("capabilities",))
    reader.choice(reader.text(fields, "forja", ()), ("0.2",), ("forja",))
    event = reader.choice(reader.text(fields, "event", ()), AnnounceEvent, ("event",))
    at = reader.instant(fields, "announced_at", ())
    ttl = reader.integer(fields, "ttl_hours", (), low=1, high=_LONGEST_TTL)
    port = reader.integer(service, "port", ("service",), low=1, high=65535)
    identity = {name: reader.text(service, name, ("service",), form) for name, form in _IDENTITY.items()}
    lists = {name: reader.names(told, name, ("capabilities",), ACTION_FORM) for name in _LISTS}
    base_url = reader.text(fields, "base_url", (), URL_FORM)
    instance = reader.text(fields, "instance_id", (), _INSTANCE)
    sequence = reader.integer(fields, "sequence", (), low=0, high=_MAX_SEQUENCE)
    if reader.problems or at is None or event is None or port is None:
        return None
    return Announce(
        event=AnnounceEvent(event),
        service_id=identity["id"] or "",
        port=port,
        domain=identity["domain"] or "",
        version=identity["version"] or "",
        announced_at=at,
        ttl_hours=DEFAULT_TTL_HOURS if ttl is None else ttl,
        base_url=base_url,
        instance_id=instance or f"port-{port}",
        sequence=sequence,
        **lists,
    )


def _unsigned_bytes(fields: Fields) -> bytes:
    """What a signature covers; a document whose members are all known has canonical bytes."""
    return canonicalize({name: value for name, value in fields.items() if name != "signature"})


def _no(refusal: AnnounceRefusal, reason: str) -> AnnounceFinding:
    return AnnounceFinding(reason=reason, refusal=refusal)
