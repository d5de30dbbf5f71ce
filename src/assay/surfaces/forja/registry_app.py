"""The registry of a node: announces in, and who can do what out; one ASGI application without a framework.

POST announce switch switch/restore;   GET services?needs=&tier=&answers=&does=&domain= services/{id}[/explain] network
state, trust, sense, proof and what is below them are those of the node itself
GET fleet (the whole index, with a tag) fleet/watch (its changes, as they happen)
"""

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs

import msgspec
import structlog
from msgspec import Struct

from assay.flows.errors.identity import NotSignedInError
from assay.flows.identity.authenticate import find_caller
from assay.flows.registry.leases import announced_leases, find_leases
from assay.flows.registry.receive_announce import receive_announce
from assay.flows.registry.service_desk import FORJA_SCOPE
from assay.flows.registry.switch import ReportFiring, RestoreSwitch
from assay.flows.registry.watch_service import find_fleet, watch_services
from assay.flows.request import FieldProblem
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import TenantId
from assay.operations.dispatch import Dispatcher
from assay.operations.table import BY_NAME
from assay.ports.service_client import ServiceClient
from assay.registry.announce import AnnouncePolicy, Origin
from assay.registry.discover import Index
from assay.registry.errors import RegistryError
from assay.registry.lease import Lease, presence_at
from assay.registry.manifest import DEFAULT_PREFIX
from assay.registry.network import network_state
from assay.registry.permission import mask_of, parse_mask
from assay.registry.trip import Fired
from assay.surfaces.forja.call import Call
from assay.surfaces.forja.errors import BadRequestError, ForjaError, TooManyWatchersError
from assay.surfaces.forja.fleet_shelf import FleetShelf
from assay.surfaces.forja.fleet_stream import stream_fleet
from assay.surfaces.forja.own import OwnService
from assay.surfaces.forja.reply import (
    Receive,
    Reply,
    Scope,
    Send,
    answer_in_time,
    answer_other,
    parse_body,
    problem,
    send_reply,
)

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_log = structlog.get_logger("assay.registry")
_WATCH = "/fleet/watch"
_POSTED = frozenset({"/announce", "/switch", "/switch/restore"})
_READ = frozenset({"/services", "/network", "/fleet", _WATCH})
_QUESTIONS = ("answers", "does", "domain", "needs", "tier")
_MOST_WRONG = 20
_HANDED_ON = frozenset({b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip"})


class FiredTold(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    fired: Fired


class RestoreTold(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    fired: Fired
    human_session_token: str


class HeardAnnounce(Lease, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The lease after an announce, whether the service is in the index now, and the reason."""

    listed: bool
    reason: str


class FoundServices(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    services: tuple[str, ...]


@dataclass(slots=True, eq=False)
class RegistryApp:
    """Reading is open, as the protocol has it; an announce proves itself by its signature."""

    tools: Tools
    tenant_id: TenantId
    own: OwnService
    policy: AnnouncePolicy = field(default_factory=AnnouncePolicy)
    # From where announces need no signature; none unless the operator lists them.
    unsigned_networks: tuple[Network, ...] = ()
    # Why an announced address is not fetched from; None where it is.
    find_refusal: Callable[[str], str | None] = lambda _url: None
    prefix: str = DEFAULT_PREFIX
    shelf: FleetShelf = field(init=False)

    def __post_init__(self) -> None:
        self.shelf = FleetShelf(self._load, self.tools.entropy.token(4).hex())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.own.forja.has_endpoint(self._rest(scope)):
            await self.own(scope, receive, send)
            return
        if scope["method"] == "GET" and self._rest(scope) == _WATCH:
            await self._watched(scope, receive, send)
            return
        reply = await answer_in_time(receive, lambda body: self._answer(scope, body))
        await send_reply(send, reply, with_content=scope["method"] != "HEAD")

    async def _watched(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await stream_fleet(self.shelf, scope, receive, send)
        except TooManyWatchersError as error:
            await send_reply(send, problem(error))

    def watch(self, client: ServiceClient) -> None:
        """One round: ask every service, evict the dead, and answer from what was found."""
        for seen in watch_services(self.tools, self.tenant_id, client, at=self.tools.clock.now()):
            if seen.changed:
                _log.info("watched", service=seen.service_id, listed=seen.entry is not None, reason=seen.reason)
        self.shelf.refresh()

    def index(self) -> Index:
        """A snapshot that is at most a second old."""
        return self.shelf.index()

    def _load(self, known: int | None) -> tuple[int, Index | None]:
        return find_fleet(self.tools, self.tenant_id, known=known)

    def _rest(self, scope: Scope) -> str:
        return "/" + str(scope["path"]).removeprefix(self.prefix).strip("/")

    def _answer(self, scope: Scope, body: bytes | None) -> Reply:
        try:
            return self._dispatch(scope, body)
        except Error as error:
            if error.blame is Blame.OURS:
                _log.error("fault", code=error.code, message=str(error))
            return problem(error)
        except Exception as error:  # noqa: BLE001 - a caller gets a problem, and the log the rest
            _log.exception("fault")
            return problem(ForjaError.internal(f"{type(error).__name__}: {error}"))

    def _dispatch(self, scope: Scope, body: bytes | None) -> Reply:
        if body is None:
            raise BadRequestError("expected a smaller body")
        method, rest = scope["method"], self._rest(scope)
        found = self._post(rest, scope, body) if method == "POST" else None
        if method in {"GET", "HEAD"}:
            found = self._get(rest, scope, _asked(scope))
        return answer_other(scope, _methods(rest)) if found is None else found

    def _post(self, rest: str, scope: Scope, body: bytes) -> Reply | None:
        if rest == "/announce":
            return self._announce(scope, body)
        if rest == "/switch":
            return self._tell_fired(scope, body)
        return self._restore(body) if rest == "/switch/restore" else None

    def _get(self, rest: str, scope: Scope, asked: dict[str, str]) -> Reply | None:
        if rest == "/services":
            return _json(self._services(asked))
        if rest == "/network":
            return self._network()
        if rest == "/fleet":
            return self._fleet(scope)
        if not rest.startswith("/services/"):
            return None
        name, _, what = rest.removeprefix("/services/").partition("/")
        return self._explain(name, asked) if what == "explain" else self._service(name)

    def _announce(self, scope: Scope, body: bytes) -> Reply:
        at, address = self.tools.clock.now(), _sender(scope)
        origin = Origin.LISTED if self._is_listed(address) else Origin.REMOTE
        lease = receive_announce(
            self.tools, self.tenant_id, body, origin=origin, policy=self.policy, at=at, address=address
        )
        listed = lease.service_id in self.index().entries and lease.offline_at is None
        reason = "served as declared" if listed else self._why_not(lease)
        return _json(HeardAnnounce(**msgspec.structs.asdict(lease), listed=listed, reason=reason), status=202)

    def _is_listed(self, address: str | None) -> bool:
        found = None if address is None else ipaddress.ip_address(address)
        return found is not None and any(found in network for network in self.unsigned_networks)

    def _why_not(self, lease: Lease) -> str:
        """Why a service that was just heard is not in the index."""
        if lease.offline_at is not None:
            return "it said that it leaves"
        if lease.base_url is None:
            return "no address was announced"
        return self.find_refusal(lease.base_url) or "it is listed once a look finds that it serves what it declares"

    def _tell_fired(self, scope: Scope, body: bytes) -> Reply:
        """By the service itself, proved by its API key: nobody else opens questions about it."""
        told = parse_body(body, FiredTold)
        caller = self._caller(Call(scope).credential() or "", "expected a valid API key, got none")
        request = ReportFiring(service_id=told.fired.service_id, fired=told.fired)
        asked = self.dispatch(BY_NAME["switch.report"], caller, request).value
        return Reply(status=202, content=msgspec.json.encode(asked))

    def _restore(self, body: bytes) -> Reply:
        """By the person whose session token it is; an answer like any other at this node's desk."""
        told = parse_body(body, RestoreTold)
        person = self._caller(told.human_session_token, "expected a person's session token, got none that is valid")
        request = RestoreSwitch(service_id=told.fired.service_id, fired=told.fired)
        # The flow refuses with the errors of the protocol: a key, a machine, a person without the role.
        return _json(self.dispatch.perform(BY_NAME["switch.restore"], person, request).value)

    def _caller(self, credential: str, refusal: str) -> Caller:
        """Authenticate; a credential of another tenant, or one not issued for this, is nobody's."""
        found = find_caller(self.tools, credential, at=self.tools.clock.now())
        if found is None or found.tenant_id != self.tenant_id or not found.has_scope(FORJA_SCOPE):
            raise NotSignedInError(refusal)
        return found

    @property
    def dispatch(self) -> Dispatcher:
        return Dispatcher(tools=self.tools)

    def _services(self, asked: dict[str, str]) -> FoundServices:
        """Whoever holds all that is asked for; nothing asked for is everybody."""
        index = self.index()
        found = index.who_can(_needs(asked), tier=_tier(asked))
        for name, find in (("answers", index.who_answers), ("does", index.who_does), ("domain", index.in_domain)):
            if name in asked:
                holding = frozenset(find(asked[name]))
                found = tuple(one for one in found if one in holding)
        return FoundServices(services=tuple(found))

    def _fleet(self, scope: Scope) -> Reply:
        """The whole index; for whoever holds it already, only that it still stands."""
        snapshot = self.shelf.snapshot()
        etag = f'"{self.shelf.place(snapshot.revision)}"'
        if (Call(scope).header(b"if-none-match") or b"").decode("latin-1") == etag:
            return Reply(status=304, etag=etag)
        return Reply(content=msgspec.json.encode(snapshot), etag=etag)

    def _explain(self, name: str, asked: dict[str, str]) -> Reply:
        return _json(self.index().explain(name, _needs(asked), tier=_tier(asked)))

    def _service(self, name: str) -> Reply:
        held = announced_leases(self.tools, self.tenant_id, name)
        if not held:
            raise RegistryError.unknown_service(f"no service `{name[:80]}` was ever announced here")
        at, entry = self.tools.clock.now(), self.index().entries.get(name)
        instances = [
            {"lease": lease, "presence": presence_at(lease, at), "announce": msgspec.Raw(announce.encode())}
            for lease, announce in held
        ]
        return _json({"service_id": name, "listed": entry is not None, "entry": entry, "instances": instances})

    def _network(self) -> Reply:
        leases = find_leases(self.tools, self.tenant_id)
        return _json(network_state(self.index(), leases, at=self.tools.clock.now()))


def _methods(rest: str) -> set[str]:
    """Of an endpoint of the registry; none where there is no such endpoint."""
    if rest in _POSTED:
        return {"POST"}
    return {"GET"} if rest in _READ or rest.startswith("/services/") else set()


def _sender(scope: Scope) -> str | None:
    """The sender's address as the socket says; None behind a proxy, wherever it is and whatever it says."""
    if any(name in _HANDED_ON for name, _ in scope["headers"]):
        return None
    host = (scope.get("client") or ("",))[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def _asked(scope: Scope) -> dict[str, str]:
    """What is asked for, each once; a question that is not understood is not answered with everybody."""
    text = scope.get("query_string", b"").decode("latin-1")
    asked = parse_qs(text, keep_blank_values=True)
    wrong = [name for name, values in asked.items() if name not in _QUESTIONS or len(values) != 1 or not values[0]]
    if wrong:
        told = f"expected each of {', '.join(_QUESTIONS)} at most once and not empty"
        raise BadRequestError.of([FieldProblem(field=name[:40], message=told) for name in wrong[:_MOST_WRONG]])
    return {name: values[0] for name, values in asked.items()}


def _needs(asked: dict[str, str]) -> int:
    """Bits by name (`BOOK,MANIFEST`) or as one number."""
    text = asked.get("needs", "0")
    try:
        return parse_mask(int(text, 0))
    except ValueError:
        return mask_of(text.split(","))


def _tier(asked: dict[str, str]) -> int:
    text = asked.get("tier", "0")
    if text not in {"0", "1", "2", "3"}:
        raise BadRequestError(f"expected a tier of 0 to 3, got `{text[:20]}`")
    return int(text)


def _json(document: object, status: int = 200) -> Reply:
    return Reply(status=status, content=msgspec.json.encode(document))
