"""The registry of a node: announces in, and who can do what out; one ASGI application without a framework.

POST announce switch switch/restore;   GET services?needs=&tier=&answers=&does=&domain= services/{id}[/explain] network
"""

import asyncio
import ipaddress
import threading
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import msgspec
import structlog
from msgspec import Struct

from assay.flows.errors import NotSignedInError
from assay.flows.fire_switch import fire_switch
from assay.flows.leases import load_leases, parse_lease
from assay.flows.receive_announce import receive_announce
from assay.flows.service_desk import NodeDesk
from assay.flows.tools import Tools
from assay.flows.watch_service import load_index, watch_services
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import TenantId
from assay.ports.service_client import ServiceClient
from assay.registry.announce import AnnouncePolicy, Origin
from assay.registry.discover import Index
from assay.registry.errors import UnknownServiceError
from assay.registry.lease import presence_at
from assay.registry.manifest import DEFAULT_PREFIX
from assay.registry.network import network_state
from assay.registry.permission import mask_of, parse_mask
from assay.registry.trip import Fired
from assay.surfaces.forja.call import Call
from assay.surfaces.forja.errors import BadRequestError, ForjaFaultError, NoEndpointError, NotYoursError
from assay.surfaces.forja.reply import Receive, Reply, Scope, Send, parse_body, problem, read_body, send_reply

__all__ = ["RegistryApp"]

_log = structlog.get_logger("assay.registry")
_FRESH_SECONDS = 1.0


class _FiredTold(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    fired: Fired


class _RestoreTold(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    fired: Fired
    human_session_token: str


@dataclass(slots=True, eq=False)
class RegistryApp:
    """Reading is open, as the protocol has it; an announce proves itself by its signature."""

    tools: Tools
    tenant_id: TenantId
    policy: AnnouncePolicy = field(default_factory=AnnouncePolicy)
    prefix: str = DEFAULT_PREFIX
    _index: Index | None = field(default=None, init=False)
    _loaded: float = field(default=0.0, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(receive)
        await send_reply(send, await asyncio.to_thread(self._answer, scope, body))

    def watch(self, client: ServiceClient) -> None:
        """One round: ask every service, evict the dead, and answer from what was found."""
        for seen in watch_services(self.tools, self.tenant_id, client, at=self.tools.clock.now()):
            _log.info("watched", service=seen.service_id, listed=seen.entry is not None, reason=seen.reason)
        with self._lock:
            self._index = None

    def index(self) -> Index:
        """A snapshot that is at most a second old."""
        with self._lock:
            if self._index is None or time.monotonic() - self._loaded > _FRESH_SECONDS:
                self._index = self.tools.database.read(lambda unit: load_index(unit.registry, self.tenant_id))
                self._loaded = time.monotonic()
            return self._index

    def _answer(self, scope: Scope, body: bytes | None) -> Reply:
        try:
            return self._dispatch(scope, body)
        except Error as error:
            if error.blame is Blame.OURS:
                _log.error("fault", code=error.code, message=str(error))
            return problem(error)
        except Exception as error:  # noqa: BLE001 - a caller gets a problem, and the log the rest
            _log.exception("fault")
            return problem(ForjaFaultError(f"{type(error).__name__}: {error}"))

    def _dispatch(self, scope: Scope, body: bytes | None) -> Reply:
        if body is None:
            raise BadRequestError("expected a smaller body")
        method, rest = scope["method"], "/" + scope["path"].removeprefix(self.prefix).strip("/")
        asked = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        if (method, rest) == ("POST", "/announce"):
            return self._announce(scope, body)
        if (method, rest) == ("POST", "/switch"):
            return self._tell_fired(scope, body)
        if (method, rest) == ("POST", "/switch/restore"):
            return self._restore(body)
        if (method, rest) == ("GET", "/services"):
            return _json(self._services(asked))
        if (method, rest) == ("GET", "/network"):
            return self._network()
        if method == "GET" and rest.startswith("/services/"):
            name, _, what = rest.removeprefix("/services/").partition("/")
            return self._explain(name, asked) if what == "explain" else self._service(name)
        raise NoEndpointError(f"there is no endpoint {method[:16]} `{scope['path'][:200]}`")

    def _announce(self, scope: Scope, body: bytes) -> Reply:
        at = self.tools.clock.now()
        lease = receive_announce(self.tools, self.tenant_id, body, origin=_origin(scope), policy=self.policy, at=at)
        return Reply(status=202, content=msgspec.json.encode(lease))

    def _tell_fired(self, scope: Scope, body: bytes) -> Reply:
        """By the service itself, proved by its API key: nobody else opens questions about it."""
        told, at = parse_body(body, _FiredTold), self.tools.clock.now()
        credential = Call(scope).credential() or ""
        caller = NodeDesk(tools=self.tools, tenant_id=self.tenant_id).find_caller(credential, at=at)
        if caller is None:
            raise NotSignedInError("expected a valid API key, got none")
        if caller.principal.id != f"service:{told.fired.service_id}":
            raise NotYoursError(f"`{caller.principal.id}` does not speak for `{told.fired.service_id[:80]}`")
        ticket = fire_switch(self.tools, self.tenant_id, told.fired, at=at)
        return Reply(status=202, content=msgspec.json.encode({"ticket_id": ticket.id}))

    def _restore(self, body: bytes) -> Reply:
        """By the person whose session token it is; an answer like any other at this node's desk."""
        told, at = parse_body(body, _RestoreTold), self.tools.clock.now()
        desk = NodeDesk(tools=self.tools, tenant_id=self.tenant_id)
        caller = desk.find_caller(told.human_session_token, at=at)
        if caller is None:
            raise NotSignedInError("expected a person's session token, got none that is valid")
        return _json(desk.restore(told.fired, credential=told.human_session_token, at=at))

    def _services(self, asked: dict[str, list[str]]) -> dict[str, Any]:
        index = self.index()
        domain = asked.get("domain", [None])[0]
        if "answers" in asked:
            found = index.who_answers(asked["answers"][0], domain=domain)
        elif "does" in asked:
            found = index.who_does(asked["does"][0], domain=domain)
        else:
            found = index.who_can(_needs(asked), tier=_tier(asked))
            found = found if domain is None else tuple(one for one in found if index.entries[one].domain == domain)
        return {"services": found}

    def _explain(self, name: str, asked: dict[str, list[str]]) -> Reply:
        return _json(self.index().explain(name, _needs(asked), tier=_tier(asked)))

    def _service(self, name: str) -> Reply:
        held = self.tools.database.read(lambda unit: unit.registry.leases(self.tenant_id, name))
        if not held:
            raise UnknownServiceError(f"no service `{name[:80]}` was ever announced here")
        at, entry = self.tools.clock.now(), self.index().entries.get(name)
        instances = [
            {
                "lease": parse_lease(one),
                "presence": presence_at(parse_lease(one), at),
                "announce": msgspec.Raw(one.announce.encode()),
            }
            for one in held
        ]
        return _json({"service_id": name, "listed": entry is not None, "entry": entry, "instances": instances})

    def _network(self) -> Reply:
        leases = self.tools.database.read(lambda unit: load_leases(unit.registry, self.tenant_id))
        return _json(network_state(self.index(), leases, at=self.tools.clock.now()))


def _origin(scope: Scope) -> Origin:
    """As the socket says; a proxy's header is nobody's word."""
    host = (scope.get("client") or ("",))[0]
    try:
        return Origin.LOOPBACK if ipaddress.ip_address(host).is_loopback else Origin.REMOTE
    except ValueError:
        return Origin.REMOTE


def _needs(asked: dict[str, list[str]]) -> int:
    """Bits by name (`BOOK,MANIFEST`) or as one number."""
    text = asked.get("needs", ["0"])[0]
    try:
        return parse_mask(int(text, 0))
    except ValueError:
        return mask_of(text.split(","))


def _tier(asked: dict[str, list[str]]) -> int:
    text = asked.get("tier", ["0"])[0]
    if text not in {"0", "1", "2", "3"}:
        raise BadRequestError(f"expected a tier of 0 to 3, got `{text[:20]}`")
    return int(text)


def _json(document: object) -> Reply:
    return Reply(content=msgspec.json.encode(document))
