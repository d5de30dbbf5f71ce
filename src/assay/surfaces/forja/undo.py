"""Undoing what was logged: by a person alone (FRJ-009), on record before it is undone, and not twice.

log id + session token -> check_rollback -> RollbackLog, durable -> undo -> (where that failed: said so, and free again)
"""

from collections.abc import Callable

import msgspec

from assay.identity.finding import CredentialFinding, CredentialState
from assay.identity.principal import Principal
from assay.kernel.canonical import canonical_json
from assay.kernel.ids import PrincipalId
from assay.ports.registry_store import LoggedAction, ServiceStore
from assay.registry.errors import DeniedError, RegistryError
from assay.registry.tier import ActionLog, RollbackLog, check_rollback, require
from assay.surfaces.forja.service import Service

Undo = Callable[[LoggedAction], object]
_ACTION, _BEGUN, _FAILED = "act_", "undo_", "undo_failed_"


def roll_back(service: Service, log_id: str, token: str, find_undo: Callable[[str], Undo | None]) -> object:
    """What `undo` of that action gives. Its end is not known after a crash: then a person looks, and nothing is run."""
    logged = service.memory.read(lambda store: store.find_action(service.tenant_id, log_id))
    by = _person(service, logged, token)
    if logged is None or not log_id.startswith(_ACTION):
        raise DeniedError.undeclared(f"no action was logged as `{log_id[:80]}`")
    undo = find_undo(logged.action_id)
    if undo is None:
        raise RegistryError.unknown_action(f"`{logged.action_id}` has no rollback in code; follow its descriptor")
    attempt = service.memory.write(lambda store: _begin(service, store, logged, by))
    try:
        return undo(logged)
    except BaseException:
        service.memory.write(lambda store: _note(service, store, logged, by, f"{_FAILED}{attempt}_"))
        raise


def _person(service: Service, logged: LoggedAction | None, token: str) -> PrincipalId:
    """Asked first, so that nobody else learns what was logged."""
    at = service.clock.now()
    caller = service.desk.find_caller(token, at=at)
    shown = caller is not None and caller.is_session
    state = CredentialState.VALID if shown else CredentialState.UNKNOWN
    principal: Principal | None = None if caller is None else caller.principal
    action = "(unknown)" if logged is None else logged.action_id
    require(check_rollback(action, by=principal, token=CredentialFinding(state=state, reason="by the desk"), at=at))
    assert principal is not None  # noqa: S101 - required just before
    return principal.id


def _begin(service: Service, store: ServiceStore, logged: LoggedAction, by: PrincipalId) -> int:
    """The number of this attempt; refused while the one before it is not known to have failed."""
    attempt = 1
    while store.find_action(service.tenant_id, f"{_BEGUN}{attempt}_{logged.log_id}") is not None:
        if store.find_action(service.tenant_id, f"{_FAILED}{attempt}_{logged.log_id}") is None:
            raise RegistryError.already_undone(f"`{logged.log_id}` was undone before, or its undoing was interrupted")
        attempt += 1
    _note(service, store, logged, by, f"{_BEGUN}{attempt}_")
    return attempt


def _note(service: Service, store: ServiceStore, logged: LoggedAction, by: PrincipalId, prefix: str) -> None:
    at = service.clock.now()
    tier = msgspec.json.decode(logged.text, type=ActionLog).tier
    log = RollbackLog(
        log_id=logged.log_id,
        service_id=logged.service_id,
        action_id=logged.action_id,
        tier=tier,
        undone_by=by,
        has_failed=prefix.startswith(_FAILED),
        logged_at=at,
    )
    row = LoggedAction(
        log_id=prefix + logged.log_id,
        service_id=logged.service_id,
        action_id=logged.action_id,
        principal_id=by,
        parameters_hash=logged.parameters_hash,
        text=canonical_json(log),
        logged_at=at,
    )
    store.log_action(service.tenant_id, row)
