"""Who looks after a tenant's people and keys: its administrator, there in person, proved in the commit that acts."""

from assay.flows.identity.authenticate import authenticate_in, require_session
from assay.identity.authorise import require_role
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.instant import Instant
from assay.ports.database import Unit


def prove_admin(unit: Unit, credential: str, at: Instant) -> Principal:
    """A key that makes keys or people would outlive every rotation, so only a person who is there now may."""
    proved = authenticate_in(unit, credential, at=at)
    require_session(proved)
    require_role(proved.principal, [BuiltInRole.ADMIN])
    return proved.principal
