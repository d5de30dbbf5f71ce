"""An API key ends."""

from assay.flows.errors.identity import CredentialEndedError
from assay.flows.identity.identity_entry import api_key_revoked
from assay.flows.known import get_api_key
from assay.flows.tools import Tools
from assay.identity.credential import ApiKeyPrefix, ApiKeyRecord, ApiKeyRevocation
from assay.identity.credential import revoke_api_key as make_revocation
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant, render_instant
from assay.ports.database import Unit

__all__ = ["require_live_api_key", "revoke_api_key", "revoke_in"]


def revoke_api_key(
    tools: Tools, tenant_id: TenantId, prefix: ApiKeyPrefix, *, reason: str, by: PrincipalId, at: Instant
) -> ApiKeyRevocation:
    """Void from now on; a key whose end was set for later, by a rotation, ends now instead."""
    return tools.database.write(lambda unit: revoke_in(unit, tenant_id, prefix, reason=reason, by=by, at=at))


def revoke_in(
    unit: Unit, tenant_id: TenantId, prefix: ApiKeyPrefix, *, reason: str, by: PrincipalId, at: Instant
) -> ApiKeyRevocation:
    """The same as part of a larger unit of work."""
    record = get_api_key(unit, tenant_id, prefix)
    require_live_api_key(unit, record, at)
    revocation = make_revocation(record, at=at, by=by, reason=reason)
    unit.identity.revoke_api_key(revocation)
    unit.ledger.append(api_key_revoked(record, revocation, at=at))
    return revocation


def require_live_api_key(unit: Unit, record: ApiKeyRecord, at: Instant) -> None:
    """Raise if the key has already ended; nothing more can then be done with it."""
    ends = [fact.revoked_at for fact in unit.identity.api_key_revocations(record.prefix)]
    if record.expires_at is not None:
        ends.append(record.expires_at)
    if ends and min(ends) <= at:
        raise CredentialEndedError(f"API key `{record.prefix}` ended at {render_instant(min(ends))}")
