"""A verdict that stands by a person's word: its token must be about exactly what is served, by that person's key."""

from assay.flows.tools import Tools
from assay.flows.verdicts.stored_verdict import StoredVerdict
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.key import KeyPurpose, KeyRing
from assay.verdicts.envelope import HumanAttestation
from assay.verdicts.govern import verify_attestation


def check_attestation(tools: Tools, ring: KeyRing, tenant_id: TenantId, stored: StoredVerdict) -> str | None:
    """What is wrong with the token of a verdict that was honoured for its sake, or None."""
    token = stored.envelope.human_attestation
    if token is None or not stored.body.ruling.is_honoured:
        return None
    try:
        key = _reviewer_key(tools, ring, tenant_id, token)
        verify_attestation(token, stored.envelope, key, at=token.attested_at)
    except Error as error:
        return f"attestation: {error.code}"
    return None


def _reviewer_key(tools: Tools, ring: KeyRing, tenant_id: TenantId, token: HumanAttestation) -> bytes:
    """The node's review key of that time, or the key that the person had registered."""
    own = ring.find(token.key_id, token.attested_at, purpose=KeyPurpose.REVIEW)
    if own is not None:
        return own.raw_public_key or b""
    history = tools.database.read(lambda unit: unit.identity.principal_history(tenant_id, token.reviewer))
    then = [person.public_key for person in history if person.recorded_at <= token.attested_at]
    return bytes.fromhex((then and then[-1]) or "")
