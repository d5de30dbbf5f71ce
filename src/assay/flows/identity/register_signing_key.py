"""A principal gets a public key to sign its requests with, or loses it; no secret is ever ours."""

from collections.abc import Sequence

from assay.flows.errors import NotFoundError
from assay.flows.errors.identity import CredentialEndedError, CredentialExistsError
from assay.flows.identity.identity_entry import signing_key_added, signing_key_ended
from assay.flows.known import get_principal
from assay.flows.tools import Tools
from assay.identity.authorise import require_active
from assay.identity.credential import EVERY_SCOPE
from assay.identity.signing_key import SigningKeyEnd, SigningKeyRecord
from assay.identity.signing_key import end_signing_key as make_end
from assay.identity.signing_key import register_signing_key as make_record
from assay.kernel.ids import KeyId, PrincipalId, TenantId
from assay.kernel.instant import Instant, render_instant
from assay.ports.database import Unit

__all__ = ["end_signing_key", "register_signing_key"]


def register_signing_key(
    tools: Tools,
    tenant_id: TenantId,
    principal_id: PrincipalId,
    public_key: bytes,
    *,
    scopes: Sequence[str] = (EVERY_SCOPE,),
    expires_at: Instant | None = None,
    by: PrincipalId,
    at: Instant,
) -> SigningKeyRecord:
    """One key proves one principal: a key that is known already, in whatever tenant, is refused."""

    def work(unit: Unit) -> SigningKeyRecord:
        principal = get_principal(unit, tenant_id, principal_id)
        require_active(principal, at)
        record = make_record(principal, public_key, scopes=scopes, at=at, by=by, expires_at=expires_at)
        if unit.access.find_signing_key(record.key_id) is not None:
            raise CredentialExistsError(f"`{record.key_id}` is registered already; make a key of its own for each")
        unit.access.add_signing_key(record)
        unit.ledger.append(signing_key_added(record))
        return record

    return tools.database.write(work)


def end_signing_key(
    tools: Tools, tenant_id: TenantId, key_id: KeyId, *, reason: str, by: PrincipalId, at: Instant
) -> SigningKeyEnd:
    """Nothing signed with it counts from now on; another tenant's key does not exist here."""

    def work(unit: Unit) -> SigningKeyEnd:
        record = unit.access.find_signing_key(key_id)
        if record is None or record.tenant_id != tenant_id:
            raise NotFoundError(f"tenant `{tenant_id}` has no signing key `{key_id}`")
        before = unit.access.find_signing_key_end(key_id)
        if before is not None:
            raise CredentialEndedError(f"signing key `{key_id}` ended at {render_instant(before.ended_at)}")
        end = make_end(record, at=at, by=by, reason=reason)
        unit.access.end_signing_key(end)
        unit.ledger.append(signing_key_ended(record, end))
        return end

    return tools.database.write(work)
