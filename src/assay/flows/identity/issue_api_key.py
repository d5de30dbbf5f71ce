"""A principal gets an API key; its text is shown once and kept nowhere."""

from collections.abc import Sequence

from assay.flows.identity.identity_entry import api_key_issued
from assay.flows.known import get_principal
from assay.flows.tools import Tools
from assay.identity.authorise import require_active
from assay.identity.credential import API_KEY_ENTROPY_BYTES, EVERY_SCOPE, ApiKeyRecord
from assay.identity.credential import issue_api_key as make_api_key
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit

__all__ = ["issue_api_key", "issue_in"]


def issue_api_key(
    tools: Tools,
    tenant_id: TenantId,
    principal_id: PrincipalId,
    *,
    scopes: Sequence[str] = (EVERY_SCOPE,),
    expires_at: Instant | None = None,
    by: PrincipalId,
    at: Instant,
) -> tuple[str, ApiKeyRecord]:
    """The text to show once, and what is kept; a disabled principal gets none."""
    entropy = tools.entropy.token(API_KEY_ENTROPY_BYTES)
    return tools.database.write(
        lambda unit: issue_in(
            unit, tenant_id, principal_id, entropy=entropy, scopes=scopes, expires_at=expires_at, by=by, at=at
        )
    )


def issue_in(
    unit: Unit,
    tenant_id: TenantId,
    principal_id: PrincipalId,
    *,
    entropy: bytes,
    scopes: Sequence[str],
    expires_at: Instant | None,
    by: PrincipalId,
    at: Instant,
) -> tuple[str, ApiKeyRecord]:
    """The same as part of a larger unit of work."""
    principal = get_principal(unit, tenant_id, principal_id)
    require_active(principal, at)
    text, record = make_api_key(principal, entropy=entropy, scopes=scopes, at=at, expires_at=expires_at)
    unit.identity.add_api_key(record)
    unit.ledger.append(api_key_issued(record, by=by))
    return text, record
