"""An administrator keeps the API keys of their tenant: in their own session, proved again in the commit that acts.

session -> admin of the tenant -> issue, rotate or revoke + entry, in one commit
"""

from collections.abc import Sequence
from datetime import timedelta

from assay.flows.identity.issue_api_key import issue_in
from assay.flows.identity.prove_admin import prove_admin
from assay.flows.identity.revoke_api_key import revoke_in
from assay.flows.identity.rotate_api_key import rotate_in
from assay.flows.tools import Tools
from assay.identity.credential import API_KEY_ENTROPY_BYTES, ApiKeyPrefix, ApiKeyRecord, ApiKeyRevocation
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.ports.database import Unit

__all__ = ["issue_key_as_admin", "revoke_key_as_admin", "rotate_key_as_admin"]


def issue_key_as_admin(
    tools: Tools,
    principal_id: PrincipalId,
    *,
    scopes: Sequence[str],
    expires_at: Instant | None = None,
    credential: str,
    at: Instant,
) -> tuple[str, ApiKeyRecord]:
    """The text to show once, and what is kept; for a principal of the administrator's own tenant."""
    entropy = tools.entropy.token(API_KEY_ENTROPY_BYTES)

    def work(unit: Unit) -> tuple[str, ApiKeyRecord]:
        admin = prove_admin(unit, credential, at)
        return issue_in(
            unit,
            admin.tenant_id,
            principal_id,
            entropy=entropy,
            scopes=scopes,
            expires_at=expires_at,
            by=admin.id,
            at=at,
        )

    return tools.database.write(work)


def rotate_key_as_admin(
    tools: Tools, prefix: ApiKeyPrefix, *, overlap: timedelta, credential: str, at: Instant
) -> tuple[str, ApiKeyRecord]:
    """The successor's text to show once and its record; the old key ends `overlap` later."""
    entropy = tools.entropy.token(API_KEY_ENTROPY_BYTES)

    def work(unit: Unit) -> tuple[str, ApiKeyRecord]:
        admin = prove_admin(unit, credential, at)
        return rotate_in(unit, admin.tenant_id, prefix, entropy=entropy, overlap=overlap, by=admin.id, at=at)

    return tools.database.write(work)


def revoke_key_as_admin(
    tools: Tools, prefix: ApiKeyPrefix, *, reason: str, credential: str, at: Instant
) -> ApiKeyRevocation:
    """Void from now on."""

    def work(unit: Unit) -> ApiKeyRevocation:
        admin = prove_admin(unit, credential, at)
        return revoke_in(unit, admin.tenant_id, prefix, reason=reason, by=admin.id, at=at)

    return tools.database.write(work)
