"""A service tells its registry that it is there, lives, and leaves; a registry that is down is waited for.

announce (until it is heard) -> heartbeats, with jitter -> announce anew at half the lease -> offline
"""

import threading
from dataclasses import dataclass, field

import httpx
import structlog

from assay.kernel.canonical import canonicalize
from assay.kernel.errors import Error
from assay.ports.registry_store import ServiceMemory
from assay.ports.signer import Signer
from assay.registry.announce import AnnounceEvent, draft_announce, sign_announce
from assay.registry.lease import DEFAULT_TTL_HOURS
from assay.surfaces.forja.service import Service

_log = structlog.get_logger("assay.forja")
_SEQUENCE = "announce"
_HEARD = 300
_FIRST_WAIT = 1.0
_LONGEST_WAIT = 60.0
_GOODBYE_SECONDS = 2.0


@dataclass(slots=True, eq=False)
class Announcer:
    """One for each worker; the instance is the worker, and its sequence comes from the memory that all share."""

    service: Service
    registry_url: str
    base_url: str
    signer: Signer | None = None
    heartbeat_seconds: float = 60.0
    ttl_hours: int = DEFAULT_TTL_HOURS
    stopping: threading.Event = field(default_factory=threading.Event)
    _is_heard: bool = field(default=False, init=False)

    def run(self) -> None:
        """Until `stopping` is set; every failure is waited out, longer each time."""
        wait, rounds = _FIRST_WAIT, 0
        with httpx.Client(timeout=5.0, trust_env=False) as client:
            while not self.stopping.is_set():
                event = self._next_event(rounds)
                if self._tell(client, event):
                    self._is_heard, rounds, wait = True, rounds + 1, _FIRST_WAIT
                    self.stopping.wait(self._jittered(self.heartbeat_seconds))
                else:
                    self._is_heard = False
                    self.stopping.wait(self._jittered(wait))
                    wait = min(wait * 2, _LONGEST_WAIT)

    def leave(self) -> None:
        """Offline, if we were ever heard; a registry that does not answer finds out by itself."""
        if not self._is_heard:
            return
        with httpx.Client(timeout=_GOODBYE_SECONDS, trust_env=False) as client:
            self._tell(client, AnnounceEvent.OFFLINE)
        self._is_heard = False

    def _next_event(self, rounds: int) -> AnnounceEvent:
        if not self._is_heard:
            return AnnounceEvent.ANNOUNCE
        half_lease = max(1, int(self.ttl_hours * 3600 / 2 / self.heartbeat_seconds))
        return AnnounceEvent.UPDATE if rounds % half_lease == 0 else AnnounceEvent.HEARTBEAT

    def _tell(self, client: httpx.Client, event: AnnounceEvent) -> bool:
        """Whether it was heard; neither a registry nor a memory that is away ends the announcing."""
        try:
            answer = client.post(self.registry_url, content=self._message(event), headers=_JSON)
        except (Error, httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            _log.warning("announce", announced=event.value, problem=type(error).__name__)
            return False
        if answer.status_code >= _HEARD:
            _log.warning("announce", announced=event.value, status=answer.status_code, answer=answer.text[:200])
        return answer.status_code < _HEARD

    def _message(self, event: AnnounceEvent) -> bytes:
        service = self.service
        document = draft_announce(
            service.manifest,
            event,
            base_url=self.base_url,
            instance_id=service.worker_id,
            sequence=_next_number(service.memory, service),
            at=service.clock.now(),
            ttl_hours=self.ttl_hours,
        )
        if self.signer is None:
            return canonicalize(document)
        return sign_announce(document, key_id=self.signer.key_id, sign=self.signer.sign)

    def _jittered(self, seconds: float) -> float:
        """Between four fifths and six fifths: workers that started together do not call together for ever."""
        share = int.from_bytes(self.service.entropy.token(2), "big") / 0xFFFF
        return seconds * (0.8 + 0.4 * share)


_JSON = {"content-type": "application/json"}


def _next_number(memory: ServiceMemory, service: Service) -> int:
    return memory.write(lambda store: store.count_up(service.tenant_id, service.manifest.service, _SEQUENCE))
