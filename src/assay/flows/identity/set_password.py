"""A person gets a password; sessions opened with an earlier one end."""

from assay.flows.errors.identity import PasswordFormError
from assay.flows.identity.identity_entry import password_set
from assay.flows.known import get_principal
from assay.flows.tools import Tools
from assay.identity.credential import PasswordRecord
from assay.identity.credential import set_password as password_record
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.password import SALT_BYTES

__all__ = ["LONGEST_PASSWORD", "SHORTEST_PASSWORD", "encode_password", "set_password"]

SHORTEST_PASSWORD = 12
LONGEST_PASSWORD = 1024


def set_password(
    tools: Tools, tenant_id: TenantId, principal_id: PrincipalId, password: str, *, by: PrincipalId, at: Instant
) -> PasswordRecord:
    """Hash before the commit, since it is slow; the ledger learns that a password was set, and nothing of it."""
    encoded = encode_password(tools, password)

    def work(unit: Unit) -> PasswordRecord:
        record = password_record(get_principal(unit, tenant_id, principal_id), encoded, at=at, by=by)
        unit.identity.add_password(record)
        unit.ledger.append(password_set(record))
        return record

    return tools.database.write(work)


def encode_password(tools: Tools, password: str) -> str:
    """Length is what makes a password hard to guess, so length is all we ask for."""
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise PasswordFormError(
            f"expected a password of {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters, got {len(password)}"
        )
    try:
        password.encode()
    except UnicodeEncodeError:
        # Not chained: the cause would carry the password into a traceback.
        raise PasswordFormError("expected a password in UTF-8, got something else") from None
    return tools.passwords.encode(password, salt=tools.entropy.token(SALT_BYTES))
