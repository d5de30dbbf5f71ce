"""The desk of a service that has no node: it knows nobody, so nothing is allowed and a fired switch stays fired."""

from assay.flows.errors.identity import NotSignedInError
from assay.identity.principal import Principal
from assay.kernel.instant import Instant
from assay.ports.service_desk import Caller
from assay.registry.trip import Fired, Restored


class NobodyDesk:
    """Implements `ports.service_desk.ServiceDesk` in the strict way."""

    def find_caller(self, credential: str, *, at: Instant) -> Caller | None:
        del credential, at
        return None

    def find_principal(self, principal_id: str, *, asked_by: Caller) -> Principal | None:
        del principal_id, asked_by
        return None

    def tell_fired(self, fired: Fired, *, at: Instant) -> None:
        """Nobody is there; the firing stands in the service's own memory."""

    def facts(self, service_id: str) -> tuple[Fired | Restored, ...]:
        del service_id
        return ()

    def find_restored(self, fired: Fired) -> Restored | None:
        del fired
        return None

    def restore(self, fired: Fired, *, credential: str, at: Instant) -> Restored:
        del fired, credential, at
        raise NotSignedInError("this service has no node whose people could restore it")
