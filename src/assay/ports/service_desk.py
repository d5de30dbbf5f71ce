"""Who stands behind a service: a node that knows its callers, and has people who restore a fired switch."""

from typing import Protocol

from msgspec import Struct

from assay.identity.principal import Principal
from assay.kernel.instant import Instant
from assay.registry.trip import Fired, Restored


class Caller(Struct, frozen=True, kw_only=True):
    """A proved principal; `is_session` says that a person is there now."""

    principal: Principal
    is_session: bool


class ServiceDesk(Protocol):
    """Every method may wait for a disk or a network, and fails with a coded error; a no is a coded error too."""

    def find_caller(self, credential: str, *, at: Instant) -> Caller | None:
        """None for every credential that proves nobody."""
        ...

    def find_principal(self, principal_id: str, *, asked_by: Caller) -> Principal | None:
        """Another principal of the caller's tenant; None where there is none, or the caller may not look."""
        ...

    def tell_fired(self, fired: Fired, *, at: Instant) -> None:
        """Put the firing on record and before people; telling it twice is telling it once."""
        ...

    def facts(self, service_id: str) -> tuple[Fired | Restored, ...]:
        """What is on record about the switch of a service, in order."""
        ...

    def find_restored(self, fired: Fired) -> Restored | None:
        """Whether people have restored this firing meanwhile."""
        ...

    def restore(self, fired: Fired, *, credential: str, at: Instant) -> Restored:
        """Restore the switch, by the live session of a person who may."""
        ...
