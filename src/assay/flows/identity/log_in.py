"""A person proves who they are by a password, and gets a session for a short time."""

from datetime import timedelta

from assay.flows.errors.identity import NotSignedInError
from assay.flows.identity.begin_session import begin_session
from assay.flows.tools import Tools
from assay.identity.credential import PasswordRecord
from assay.identity.principal import Principal
from assay.identity.session import DEFAULT_SESSION_LIFETIME, SESSION_ENTROPY_BYTES, SessionRecord
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit

__all__ = ["log_in"]

_REFUSAL = "expected a person of this tenant and that person's password, got something else"


def log_in(
    tools: Tools,
    tenant_id: TenantId,
    principal_id: PrincipalId,
    password: str,
    *,
    lifetime: timedelta = DEFAULT_SESSION_LIFETIME,
    at: Instant,
) -> tuple[str, SessionRecord]:
    """The token to show once, and what is kept. Who is unknown, disabled or wrong gets one answer, after equal work."""
    known = tools.database.read(lambda unit: unit.identity.find_password(tenant_id, principal_id))
    matched = tools.passwords.verify(None if known is None else known.encoded, password)
    if not matched:
        raise NotSignedInError(_REFUSAL)
    entropy = tools.entropy.token(SESSION_ENTROPY_BYTES)

    def work(unit: Unit) -> tuple[str, SessionRecord]:
        person = _find_person(unit, tenant_id, principal_id, known, at)
        if person is None:
            raise NotSignedInError(_REFUSAL)
        return begin_session(unit, person, entropy=entropy, lifetime=lifetime, proved_by="password", at=at)

    return tools.database.write(work)


def _find_person(
    unit: Unit, tenant_id: TenantId, principal_id: PrincipalId, checked: PasswordRecord | None, at: Instant
) -> Principal | None:
    """The person, if still active and if the password that was checked still is the one in force."""
    person = unit.identity.find_principal(tenant_id, principal_id)
    if person is None or not person.is_active(at):
        return None
    return person if unit.identity.find_password(tenant_id, principal_id) == checked else None
