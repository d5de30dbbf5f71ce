"""Services of the registry: who is there, what each can do, and the keys that vouch for them.

announce -> leases and entries (`receive_announce`) -> list, show, who can;   operator -> keys: trust, list, revoke
"""

from typing import Annotated

from msgspec import Meta, Struct

from assay.flows.errors import NotFoundError
from assay.flows.identity.authenticate import confirm
from assay.flows.registry.leases import load_leases
from assay.flows.registry.register_service import register_key_in
from assay.flows.registry.revoke_service_key import revoke_key_in
from assay.flows.registry.service_keys import KnownKey, known_keys
from assay.flows.registry.watch_service import load_index
from assay.flows.request import Done, Option, Page, Paged, Reason, Request, cut_named, parse_or_not_found
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.ids import parse_key_id
from assay.kernel.key import parse_public_key
from assay.ports.database import Unit
from assay.ports.registry_store import RegisteredKey, RevokedKey
from assay.registry.discover import ServiceEntry
from assay.registry.lease import Lease, Presence, presence_at
from assay.registry.permission import mask_of

_Service = Annotated[str, Meta(max_length=200, description="The id of a service."), Option(metavar="SERVICE")]


class ListServices(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    domain: Annotated[str | None, Meta(description="Only services of this domain.")] = None
    answers: Annotated[str | None, Meta(description="Only services that answer this kind of question.")] = None
    does: Annotated[str | None, Meta(description="Only services that do this action.")] = None


class ShowService(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    service_id: _Service


class WhoCan(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    bits: Annotated[
        tuple[str, ...],
        Meta(min_length=1, max_length=32, description="Permission bits by name, such as BOOK and MANIFEST."),
        Option(form="argument", metavar="BIT..."),
    ]
    tier: Annotated[int, Meta(ge=0, le=3, description="At least this tier must be active.")] = 0


class ListServiceKeys(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    service_id: _Service


class TrustService(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    service_id: _Service
    public_key: Annotated[
        str,
        Meta(max_length=4096, description="The Ed25519 public key as PEM, hex or base64."),
        Option(form="key", metavar="KEY"),
    ]


class RevokeServiceKey(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    service_id: _Service
    key_id: Annotated[str, Meta(description="The key, as the list of keys shows it."), Option(metavar="KEY_ID")]
    reason: Reason


class ServiceInstance(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of a service's instances, with its presence now."""

    presence: Presence
    lease: Lease


class ServiceView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A service that was announced; `entry` while it is found by `who_can`."""

    service_id: str
    entry: ServiceEntry | None
    instances: tuple[ServiceInstance, ...]


class FoundServices(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ids of services, sorted."""

    services: tuple[str, ...]


def services(tools: Tools, caller: Caller, request: ListServices) -> Page[ServiceEntry]:
    """List the services that were found to serve what they declare, by id."""
    index = tools.database.read(lambda unit: load_index(unit.registry, caller.tenant_id))
    chosen = sorted(
        (
            entry
            for entry in index.entries.values()
            if request.domain in (None, entry.domain)
            and (request.answers is None or request.answers in entry.can_answer)
            and (request.does is None or request.does in entry.can_do)
        ),
        key=lambda entry: entry.id,
    )
    return cut_named("services", chosen, request.cursor, request.limit, lambda entry: entry.id)


def service(tools: Tools, caller: Caller, request: ShowService) -> ServiceView:
    """Show a service and its instances: which are present, and until when they count as present."""
    name = request.service_id

    def look(unit: Unit) -> tuple[tuple[Lease, ...], ServiceEntry | None]:
        leases = load_leases(unit.registry, caller.tenant_id, name)
        return leases, load_index(unit.registry, caller.tenant_id).entries.get(name)

    leases, entry = tools.database.read(look)
    if not leases:
        raise NotFoundError(f"no service `{name[:80]}` was ever announced here")
    instances = tuple(ServiceInstance(presence=presence_at(lease, caller.at), lease=lease) for lease in leases)
    return ServiceView(service_id=name, entry=entry, instances=instances)


def who_can(tools: Tools, caller: Caller, request: WhoCan) -> FoundServices:
    """Find the services that have all of these permission bits, at a tier that is active."""
    bits = [name for text in request.bits for name in text.split(",")]
    index = tools.database.read(lambda unit: load_index(unit.registry, caller.tenant_id))
    return FoundServices(services=tuple(index.who_can(mask_of(bits), tier=request.tier)))


def service_keys(tools: Tools, caller: Caller, request: ListServiceKeys) -> Page[KnownKey]:
    """List the keys that were made known for a service, the revoked ones too."""
    found = tools.database.read(lambda unit: known_keys(unit.registry, caller.tenant_id, request.service_id))
    ordered = sorted(found, key=lambda known: known.key.key_id)
    return cut_named("service_keys", ordered, request.cursor, request.limit, lambda known: known.key.key_id)


def trust_service(tools: Tools, caller: Caller, request: TrustService) -> Done[RegisteredKey]:
    """Make a key known for a service: from then on only what it signs is accepted in that name.

    The same key again changes nothing; a key that was revoked is refused.
    """
    raw = parse_public_key(request.public_key)

    def work(unit: Unit) -> tuple[RegisteredKey, bool]:
        by = confirm(unit, caller).principal.id
        return register_key_in(unit, caller.tenant_id, request.service_id, raw, by=by, at=caller.at)

    key, is_new = tools.database.write(work)
    return Done(value=key, is_new=is_new)


def revoke_service_key(tools: Tools, caller: Caller, request: RevokeServiceKey) -> Done[RevokedKey]:
    """Revoke a key of a service for ever: nothing that it signs is accepted any more, and its leases end.

    Revoking it again changes nothing. A service that goes on needs a new key.
    """
    key_id = parse_or_not_found(parse_key_id, request.key_id, "key")

    def work(unit: Unit) -> tuple[RevokedKey, bool]:
        end = RevokedKey(
            service_id=request.service_id,
            key_id=key_id,
            reason=request.reason,
            by=confirm(unit, caller).principal.id,
            revoked_at=caller.at,
        )
        return revoke_key_in(unit, caller.tenant_id, end)

    end, is_new = tools.database.write(work)
    return Done(value=end, is_new=is_new)
