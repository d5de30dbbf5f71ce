"""A login from the network: throttled by account and by address before any password is looked at.

count the attempt -> refuse, or log in -> take the count back

INVARIANT: an attempt is counted, durably, before its password is checked. Many guesses at once are thereby many
attempts, and neither a restart nor a second process forgets them.
"""

import math
from datetime import timedelta

from assay.flows.errors.identity import NotSignedInError, ThrottledError
from assay.flows.identity.log_in import log_in
from assay.flows.tools import Tools
from assay.identity.session import DEFAULT_SESSION_LIFETIME, SessionRecord
from assay.identity.throttle import (
    ACCOUNT,
    ADDRESS,
    Failures,
    Throttle,
    account_subject,
    add_failure,
    address_subject,
    free_at,
)
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit

__all__ = ["attempt_log_in"]

_Subjects = tuple[tuple[Digest, Throttle], ...]


def attempt_log_in(
    tools: Tools,
    tenant_id: TenantId,
    principal_id: PrincipalId,
    password: str,
    *,
    address: str,
    lifetime: timedelta = DEFAULT_SESSION_LIFETIME,
    at: Instant,
) -> tuple[str, SessionRecord]:
    """A session, `identity.not_signed_in`, or `identity.throttled` with the time to wait, also for unknown people."""
    subjects: _Subjects = ((account_subject(tenant_id, principal_id), ACCOUNT), (address_subject(address), ADDRESS))
    tools.database.write(lambda unit: _count(unit, subjects, at))
    try:
        opened = log_in(tools, tenant_id, principal_id, password, lifetime=lifetime, at=at)
    except NotSignedInError:
        raise
    except Exception:
        # The password was not judged, so nobody failed.
        tools.database.write(lambda unit: _take_back(unit, subjects))
        raise
    tools.database.write(lambda unit: _succeeded(unit, subjects))
    return opened


def _count(unit: Unit, subjects: _Subjects, at: Instant) -> None:
    unit.access.forget_failures(before=Instant(at - max(ACCOUNT.forgotten_after, ADDRESS.forgotten_after)))
    known = [(subject, throttle, unit.access.find_failures(subject)) for subject, throttle in subjects]
    waits = [
        end - at for _, throttle, failures in known if (end := free_at(failures, throttle)) is not None and end > at
    ]
    if waits:
        raise ThrottledError(seconds=math.ceil(max(waits).total_seconds()))
    for subject, throttle, failures in known:
        unit.access.put_failures(subject, add_failure(failures, throttle, at=at))


def _succeeded(unit: Unit, subjects: _Subjects) -> None:
    """The account is clear: its owner may have mistyped before. Of the address only this attempt is taken back."""
    (account, _), (address, _) = subjects
    unit.access.clear_failures(account)
    _take_one_back(unit, address)


def _take_back(unit: Unit, subjects: _Subjects) -> None:
    for subject, _ in subjects:
        _take_one_back(unit, subject)


def _take_one_back(unit: Unit, subject: Digest) -> None:
    failures = unit.access.find_failures(subject)
    if failures is None or failures.count <= 1:
        unit.access.clear_failures(subject)
        return
    unit.access.put_failures(subject, Failures(count=failures.count - 1, failed_at=failures.failed_at))
