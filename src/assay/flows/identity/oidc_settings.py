"""What logging in by way of an identity provider needs; wiring fills it from the configuration."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from assay.kernel.ids import PrincipalId, TenantId
from assay.ports.oidc import OidcProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcSettings:
    """One provider, for one tenant. `issuers` are the names it may have in its tokens, the first its own."""

    provider: OidcProvider
    issuers: tuple[str, ...]
    client_id: str
    redirect_url: str
    scopes: tuple[str, ...]
    claim: str
    principals: Mapping[str, PrincipalId]
    prefix: str | None
    tenant_id: TenantId
    lifetime: timedelta
    landing: str
