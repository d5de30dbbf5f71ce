"""Who may: a credential becomes a principal that holds one of the roles asked for, in this unit of work."""

from collections.abc import Iterable

from assay.flows.identity.authenticate import authenticate_in
from assay.identity.authorise import require_role
from assay.identity.principal import Principal
from assay.kernel.instant import Instant
from assay.ports.database import Unit


def admit_principal(unit: Unit, credential: str, *, any_of: Iterable[str] | None = None, at: Instant) -> Principal:
    """The principal, or `identity.not_signed_in`, or `identity.role_missing`; None asks for no role at all."""
    principal = authenticate_in(unit, credential, at=at).principal
    if any_of is not None:
        require_role(principal, any_of)
    return principal
