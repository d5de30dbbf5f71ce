"""An API key is replaced; for a while both work, so that nobody is locked out during the change."""

from datetime import timedelta

from assay.flows.identity.identity_entry import api_key_issued, api_key_revoked
from assay.flows.identity.revoke_api_key import require_live_api_key
from assay.flows.known import get_api_key, get_principal
from assay.flows.tools import Tools
from assay.identity.authorise import require_active
from assay.identity.credential import API_KEY_ENTROPY_BYTES, ApiKeyPrefix, ApiKeyRecord
from assay.identity.credential import rotate_api_key as make_successor
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit

__all__ = ["rotate_api_key", "rotate_in"]


def rotate_api_key(
    tools: Tools, tenant_id: TenantId, prefix: ApiKeyPrefix, *, overlap: timedelta, by: PrincipalId, at: Instant
) -> tuple[str, ApiKeyRecord]:
    """The successor's text to show once and its record; the old key ends `overlap` later. An ended key has no heir."""
    entropy = tools.entropy.token(API_KEY_ENTROPY_BYTES)
    return tools.database.write(
        lambda unit: rotate_in(unit, tenant_id, prefix, entropy=entropy, overlap=overlap, by=by, at=at)
    )


def rotate_in(
    unit: Unit,
    tenant_id: TenantId,
    prefix: ApiKeyPrefix,
    *,
    entropy: bytes,
    overlap: timedelta,
    by: PrincipalId,
    at: Instant,
) -> tuple[str, ApiKeyRecord]:
    """The same as part of a larger unit of work."""
    old = get_api_key(unit, tenant_id, prefix)
    require_live_api_key(unit, old, at)
    principal = get_principal(unit, tenant_id, old.principal_id)
    require_active(principal, at)
    text, record, end = make_successor(old, principal, entropy=entropy, at=at, overlap=overlap, by=by)
    unit.identity.add_api_key(record)
    unit.ledger.append(api_key_issued(record, by=by))
    unit.identity.revoke_api_key(end)
    unit.ledger.append(api_key_revoked(old, end, at=at))
    return text, record
