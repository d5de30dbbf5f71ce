"""A person who was proved gets a session: the one way, whatever the proof was."""

from datetime import timedelta

from assay.flows.identity.identity_entry import session_issued
from assay.identity.principal import Principal
from assay.identity.session import SessionRecord, open_session
from assay.kernel.instant import Instant
from assay.ports.database import Unit

__all__ = ["begin_session"]


def begin_session(
    unit: Unit, person: Principal, *, entropy: bytes, lifetime: timedelta, proved_by: str, at: Instant
) -> tuple[str, SessionRecord]:
    """The token to show once, and what is kept; row and entry are of the caller's unit of work."""
    token, record = open_session(person, entropy=entropy, at=at, lifetime=lifetime)
    unit.identity.add_session(record)
    unit.ledger.append(session_issued(record, proved_by=proved_by))
    return token, record
