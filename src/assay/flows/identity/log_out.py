"""A person ends the session whose token they hold."""

from assay.flows.identity.authenticate import authenticate_in, require_session
from assay.flows.identity.identity_entry import session_revoked
from assay.flows.known import get_session
from assay.flows.tools import Tools
from assay.identity.session import SessionRevocation, parse_session_id, revoke_session
from assay.kernel.instant import Instant
from assay.ports.database import Unit

__all__ = ["log_out"]


def log_out(tools: Tools, token: str, *, at: Instant) -> SessionRevocation:
    """Void from now on; a token that is not live is refused like any other, so that nothing is learnt from it."""

    def work(unit: Unit) -> SessionRevocation:
        proved = authenticate_in(unit, token, at=at)
        require_session(proved)
        record = get_session(unit, parse_session_id(proved.credential_id))
        revocation = revoke_session(record, at=at, by=proved.principal.id, reason="logged out")
        unit.identity.revoke_session(revocation)
        unit.ledger.append(session_revoked(record, revocation, at=at))
        return revocation

    return tools.database.write(work)
