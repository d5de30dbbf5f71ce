"""Actions: ruled on, logged, then run; deny by default.

caller + wish -> decide -> (tier 2 and above: log, with the switch looked at in the same commit) -> run
"""

from typing import Any

import msgspec

from assay.flows.errors.identity import NotSignedInError
from assay.kernel.canonical import canonical_json
from assay.kernel.ids import PrincipalId
from assay.ports.registry_store import LoggedAction, ServiceStore
from assay.ports.service_desk import Caller
from assay.registry.action import ActionRequest, Grant, Tier, grant_of, request_of
from assay.registry.errors import DeniedError, TierClosedError
from assay.registry.tier import ActionLog, Refusal, Ruling, check_execution, decide, default_tier, log_action, require
from assay.surfaces.forja.call import Call
from assay.surfaces.forja.service import Service

_NOBODY = Grant(principal_id=PrincipalId("nobody:anonymous"), trust_mask=0, action_tier=0)
# These are told to everybody: they say nothing about who would be allowed.
_TOLD_TO_ALL = frozenset({Refusal.SELF_ESCALATION, Refusal.UNDECLARED})


class Gate:
    """The one way to an action of a service, for its decorated functions and for the endpoints."""

    __slots__ = ("service",)

    def __init__(self, service: Service) -> None:
        self.service = service

    def find_caller(self, call: Call) -> Caller | None:
        credential = call.credential()
        if credential is None:
            return None
        caller = self.service.desk.find_caller(credential, at=self.service.clock.now())
        call.by_agent = caller is not None and not caller.principal.is_person()
        return caller

    def get_caller(self, call: Call) -> Caller:
        caller = self.find_caller(call)
        if caller is None:
            raise NotSignedInError("expected a valid API key or session token, got none")
        return caller

    def rule(self, call: Call, action_id: str, *, tier: int | None = None, mask: int | None = None) -> Ruling:
        """The ruling on a request as it stands; an escalation is counted before anything is answered."""
        return self._ruled(call, request_of(action_id, tier=tier, mask=mask))[0]

    def rule_route(self, call: Call) -> None:
        """A route that declares no action, by its method: raises where a machine's tier, or the switch, leaves less.

        Who is not known here is no agent of ours, and people are who sets things right again.
        """
        caller = self.find_caller(call)
        if caller is None or caller.principal.is_person():
            return
        method, path = call.scope["method"], call.scope["path"]
        tier = default_tier(method, path)
        active = min(self.service.power().active_tier, caller.principal.action_tier)
        if tier == Tier.OFF:
            raise DeniedError.undeclared(f"{method[:16]} `{path[:80]}` has tier 0, which is off for every machine")
        if tier > active:
            raise TierClosedError(f"{method[:16]} `{path[:80]}` needs tier {tier}, active is {active}")

    def begin(self, call: Call, action_id: str, parameters: object) -> LoggedAction | None:
        """Everything before an action runs; raises the refusal. From tier 2 on it returns what was logged."""
        ruling, grant, request = self._ruled(call, call.request(action_id))
        require(ruling)
        if not ruling.log_first:
            return None
        told = _canonical(parameters)
        logged = self.service.memory.write(lambda store: self._log(store, grant, request, told))
        action = self.service.power().actions[action_id]
        log = msgspec.json.decode(logged.text, type=ActionLog)
        require(check_execution(action, log, by=grant.principal_id, parameters=told, at=self.service.clock.now()))
        return logged

    def _ruled(self, call: Call, request: ActionRequest) -> tuple[Ruling, Grant, ActionRequest]:
        caller = self.find_caller(call)
        grant = _NOBODY if caller is None else grant_of(caller.principal)
        ruling = decide(grant, self.service.power(), request)
        if ruling.counted:
            self.service.count_attempt()
        if caller is None and ruling.refusal not in _TOLD_TO_ALL:
            raise NotSignedInError("expected a valid API key or session token, got none")
        return ruling, grant, request

    def _log(self, store: ServiceStore, grant: Grant, request: ActionRequest, parameters: Any) -> LoggedAction:  # noqa: ANN401 - any JSON
        """Refuses what the switch, as it stands in this very commit, no longer allows."""
        at = self.service.clock.now()
        log = log_action(grant, self.service.power_in(store), request, parameters=parameters, at=at)
        logged = LoggedAction(
            log_id="act_" + self.service.entropy.token(16).hex(),
            service_id=log.service_id,
            action_id=log.action_id,
            principal_id=log.principal_id,
            parameters_hash=log.parameters_hash,
            text=canonical_json(log),
            logged_at=at,
        )
        store.log_action(self.service.tenant_id, logged)
        return logged


def _canonical(parameters: object) -> object:
    """Parameters as they have canonical bytes; what has none is told by its kind, since a log must not fail on a type.

    A body of the framework's own kind is told by its fields: two bookings are two different requests.
    """
    dump = getattr(parameters, "model_dump", None)
    try:
        told = dump(mode="json") if callable(dump) else msgspec.to_builtins(parameters, str_keys=True)
        canonical_json(told)
    except Exception:  # noqa: BLE001 - a foreign type may fail in any way when it is asked for its fields
        return _part_by_part(parameters)
    return told


def _part_by_part(parameters: object) -> object:
    if isinstance(parameters, dict):
        return {str(name): _canonical(value) for name, value in parameters.items()}
    if isinstance(parameters, list | tuple):
        return [_canonical(value) for value in parameters]
    return f"({type(parameters).__name__})"
