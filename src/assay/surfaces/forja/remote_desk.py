"""A node over HTTP as the desk of a service: no access to the node's folder is needed, only its address and a key.

caller's credential -> `GET /whoami` of the node;   firing -> `switch.report` under the service's own key
person's session token -> `switch.restore`;   facts -> `switch.show`
"""

from assay.flows.errors.identity import NotSignedInError
from assay.flows.registry.service_desk import FORJA_SCOPE
from assay.flows.registry.switch import SwitchView
from assay.identity.caller import Via
from assay.identity.credential import covers
from assay.identity.principal import LOCAL_OPERATOR, Principal, PrincipalKind
from assay.identity.risk import RiskTier
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.service_desk import Caller
from assay.registry.trip import Fired, Restored
from assay.surfaces.client import Client, ProblemError

_TIMEOUT = 5.0
_REFUSALS = frozenset({401, 403, 404})


class RemoteCaller(Caller, frozen=True, kw_only=True):
    """A caller whom the node knows, with the credential that the node was asked with."""

    credential: str


class RemoteDesk:
    """Implements `ports.service_desk.ServiceDesk`; `key` is the API key of the service's own principal."""

    def __init__(self, url: str, key: str) -> None:
        self._url = url
        self._own = Client(url, key=key, timeout=_TIMEOUT, retries=1)

    def close(self) -> None:
        self._own.close()

    def find_caller(self, credential: str, *, at: Instant) -> Caller | None:
        """None for a credential that the node refuses; an error where the node does not answer."""
        try:
            with self._as(credential) as client:
                who = client.whoami()
        except (ProblemError, NotSignedInError) as error:
            if _is_refusal(error):
                return None
            raise
        if not covers(who.scopes, FORJA_SCOPE):
            return None
        principal = Principal(
            id=PrincipalId(who.id),
            tenant_id=TenantId(who.tenant_id),
            kind=PrincipalKind(who.kind),
            name=who.name,
            roles=who.roles,
            trust_mask=who.trust_mask,
            action_tier=who.action_tier,
            risk_ceiling=RiskTier[who.risk_ceiling],
            authenticity_level_floor=who.authenticity_level_floor,
            created_at=at,
            recorded_at=at,
            recorded_by=LOCAL_OPERATOR,
        )
        return RemoteCaller(principal=principal, is_session=who.via == Via.SESSION, credential=credential)

    def find_principal(self, principal_id: str, *, asked_by: Caller) -> Principal | None:
        """Asked with the caller's own credential: the node decides whom they may see."""
        if principal_id == asked_by.principal.id:
            return asked_by.principal
        if not isinstance(asked_by, RemoteCaller):
            return None
        try:
            with self._as(asked_by.credential) as client:
                return client.principal(principal_id).principal
        except Error as error:
            if _is_refusal(error):
                return None
            raise

    def tell_fired(self, fired: Fired, *, at: Instant) -> None:
        del at
        self._own.report_firing(fired.service_id, fired=fired)

    def facts(self, service_id: str) -> tuple[Fired | Restored, ...]:
        view: SwitchView = self._own.switch(service_id)
        return tuple(fact for event in view.history for fact in (event.fired, event.restored) if fact is not None)

    def find_restored(self, fired: Fired) -> Restored | None:
        facts = self.facts(fired.service_id)
        if fired not in facts:
            return None
        return next((one for one in facts if isinstance(one, Restored) and one.episode == fired.episode), None)

    def restore(self, fired: Fired, *, credential: str, at: Instant) -> Restored:
        del at
        with self._as(credential) as client:
            return client.restore_switch(fired.service_id, fired=fired)

    def _as(self, credential: str) -> Client:
        return Client(self._url, key=credential, timeout=_TIMEOUT, retries=1)


def _is_refusal(error: Error) -> bool:
    return getattr(getattr(error, "problem", None), "status", None) in _REFUSALS
