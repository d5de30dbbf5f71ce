"""The tenants of a node, and the keys of others that its operator trusts."""

from msgspec import Struct

from assay.flows.request import Page, Paged, cut_named
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.ids import KeyId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import key_id_of
from assay.ports.database import Unit


class ListTenants(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class TenantItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tenant with the size of its ledger; the time of the newest checkpoint is null where there is none."""

    tenant_id: TenantId
    entries: int
    checkpoint_at: Instant | None


class ListAnchors(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class AnchorItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A trusted key; the public key, in hex, is null where the operator named the key by its id alone."""

    key_id: KeyId
    public_key: str | None


def tenants(tools: Tools, caller: Caller, request: ListTenants) -> Page[TenantItem]:
    """List tenants with the size of each ledger: every tenant for the node's operator, else the caller's own.

    A tenant comes into being with its first entry, such as `assay principal add --tenant NAME` writes.
    """

    def look(unit: Unit) -> Page[TenantItem]:
        names = unit.ledger.tenants() if caller.is_local else (caller.tenant_id,)
        page = cut_named("tenants", sorted(names), request.cursor, request.limit, str)
        return Page(items=tuple(_item(unit, name) for name in page.items), next=page.next)

    return tools.database.read(look)


def _item(unit: Unit, tenant_id: TenantId) -> TenantItem:
    kept = unit.ledger.find_checkpoint(tenant_id)
    size = unit.ledger.head(tenant_id).sequence_number
    return TenantItem(tenant_id=tenant_id, entries=size, checkpoint_at=None if kept is None else kept.signed_at)


def anchors(tools: Tools, caller: Caller, request: ListAnchors) -> Page[AnchorItem]:  # noqa: ARG001 - for every caller
    """List the keys of others that this node trusts for their documents; without any, nobody else is trusted."""
    raw = {key_id_of(key): key.hex() for key in tools.anchors.public_keys}
    found = [AnchorItem(key_id=one, public_key=raw.get(one)) for one in sorted(tools.anchors.all_key_ids)]
    return cut_named("anchors", found, request.cursor, request.limit, lambda one: one.key_id)
