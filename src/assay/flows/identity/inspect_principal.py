"""Look at principals: what they may do, since when, and which keys prove them; never a secret or its hash."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import asdict

from assay.flows.known import get_principal
from assay.flows.tools import Tools
from assay.identity.credential import ApiKeyPrefix, ApiKeyRecord, ApiKeyRevocation
from assay.identity.principal import Principal
from assay.identity.signing_key import SigningKeyRecord, check_signing_key
from assay.kernel.ids import KeyId, PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit

__all__ = [
    "ApiKeyView",
    "ListedApiKey",
    "PrincipalView",
    "SigningKeyView",
    "inspect_principal",
    "list_api_keys",
    "list_principals",
]


class ApiKeyView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An API key as its owner may see it; `live` is what a request would find now."""

    prefix: ApiKeyPrefix
    scopes: tuple[str, ...]
    issued_at: Instant
    expires_at: Instant | None
    revoked_at: Instant | None
    live: bool


class ListedApiKey(ApiKeyView, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An API key as it is listed, with the principal that it belongs to."""

    principal_id: PrincipalId


class SigningKeyView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A public key that requests are signed with; `live` is what a request would find now."""

    key_id: KeyId
    scopes: tuple[str, ...]
    added_at: Instant
    expires_at: Instant | None
    ended_at: Instant | None
    live: bool


class PrincipalView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The version in force, every version before it, oldest first, and the keys."""

    principal: Principal
    active: bool
    has_password: bool
    api_keys: tuple[ApiKeyView, ...]
    signing_keys: tuple[SigningKeyView, ...]
    history: tuple[Principal, ...]


def inspect_principal(tools: Tools, tenant_id: TenantId, principal_id: PrincipalId, *, at: Instant) -> PrincipalView:
    def look(unit: Unit) -> PrincipalView:
        principal = get_principal(unit, tenant_id, principal_id)
        keys = unit.identity.api_keys(tenant_id, principal_id)
        return PrincipalView(
            principal=principal,
            active=principal.is_active(at),
            has_password=unit.identity.find_password(tenant_id, principal_id) is not None,
            api_keys=tuple(_view(key, principal, unit.identity.api_key_revocations(key.prefix), at) for key in keys),
            signing_keys=tuple(
                _signing_view(unit, key, principal, at) for key in unit.access.signing_keys(tenant_id, principal_id)
            ),
            history=unit.identity.principal_history(tenant_id, principal_id),
        )

    return tools.database.read(look)


def list_principals(tools: Tools, tenant_id: TenantId) -> tuple[Principal, ...]:
    """The version in force of each, by id."""
    return tools.database.read(lambda unit: unit.identity.principals(tenant_id))


def list_api_keys(
    tools: Tools, tenant_id: TenantId, *, of: PrincipalId | None = None, at: Instant
) -> tuple[ListedApiKey, ...]:
    """Every key of the tenant, or of one principal, the ended ones too; by prefix. Nobody's are none."""

    def look(unit: Unit) -> list[ListedApiKey]:
        found = unit.identity.principals(tenant_id) if of is None else [unit.identity.find_principal(tenant_id, of)]
        known = {one.id: one for one in found if one is not None}
        keys = unit.identity.api_keys_of(tenant_id, known)
        revocations: dict[str, list[ApiKeyRevocation]] = {}
        for fact in unit.identity.api_key_revocations_of(key.prefix for key in keys):
            revocations.setdefault(fact.prefix, []).append(fact)
        return [
            ListedApiKey(
                principal_id=key.principal_id,
                **asdict(_view(key, known[key.principal_id], revocations.get(key.prefix, ()), at)),
            )
            for key in keys
        ]

    return tuple(sorted(tools.database.read(look), key=lambda one: one.prefix))


def _view(key: ApiKeyRecord, principal: Principal, revocations: Iterable[ApiKeyRevocation], at: Instant) -> ApiKeyView:
    revoked_at = min((fact.revoked_at for fact in revocations), default=None)
    ends = [end for end in (key.expires_at, revoked_at) if end is not None]
    return ApiKeyView(
        prefix=key.prefix,
        scopes=key.scopes,
        issued_at=key.issued_at,
        expires_at=key.expires_at,
        revoked_at=revoked_at,
        live=principal.is_active(at) and key.issued_at <= at and all(at < end for end in ends),
    )


def _signing_view(unit: Unit, key: SigningKeyRecord, principal: Principal, at: Instant) -> SigningKeyView:
    end = unit.access.find_signing_key_end(key.key_id)
    return SigningKeyView(
        key_id=key.key_id,
        scopes=key.scopes,
        added_at=key.added_at,
        expires_at=key.expires_at,
        ended_at=None if end is None else end.ended_at,
        live=check_signing_key(key, principal, at=at, end=end).accepted,
    )
