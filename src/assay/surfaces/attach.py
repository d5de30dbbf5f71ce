"""One call into an existing ASGI application: endpoints, outcomes, tiers, announces.

    agent = assay.attach(app, "codex.json")

Starlette (and what is built on it) and Litestar are changed in place; any other ASGI application is wrapped, and
`agent` itself is what is served.
"""

import functools
import inspect
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import structlog

from assay.adapters.clock import OsEntropy, SystemClock
from assay.adapters.keyfile import load_key_file
from assay.adapters.learn_types import learn_types
from assay.adapters.memory_claim import claim_memory
from assay.adapters.service_file import ServiceFile
from assay.kernel.errors import Error
from assay.ports.registry_store import ServiceMemory
from assay.ports.service_desk import ServiceDesk
from assay.registry.action import RollbackMethod
from assay.registry.errors import RegistryError
from assay.registry.lease import DEFAULT_TTL_HOURS
from assay.registry.manifest import DEFAULT_PREFIX, Manifest
from assay.registry.open_manifest import open_manifest
from assay.registry.permission import mask_of
from assay.registry.trip import self_test
from assay.surfaces.forja.act import Gate
from assay.surfaces.forja.announcer import Announcer
from assay.surfaces.forja.app import Emitted, ForjaApp
from assay.surfaces.forja.call import CURRENT, Call
from assay.surfaces.forja.folder_desk import FolderDesk
from assay.surfaces.forja.middleware import CountingMiddleware
from assay.surfaces.forja.nobody import NobodyDesk
from assay.surfaces.forja.remote_desk import RemoteDesk
from assay.surfaces.forja.reply import App, Message, Receive, Scope, Send
from assay.surfaces.forja.service import Service, ServiceRule
from assay.surfaces.forja.threads import in_thread
from assay.surfaces.forja.undo import Undo, roll_back

F = TypeVar("F", bound=Callable[..., Any])
_log = structlog.get_logger("assay.forja")
# In a node's folder: which memory each service has.
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_WSGI_ARGUMENTS = 2
_CLAIMS = "services"


class Agent:
    """A service with its rulings; also an ASGI application, for those that cannot be changed in place."""

    def __init__(
        self, service: Service, forja: ForjaApp, gate: Gate, announcer: Announcer | None, *, rules_routes: bool
    ) -> None:
        self.service = service
        self.gate = gate
        self._rule = gate.rule_route if rules_routes else None
        self._forja = forja
        self._announcer = announcer
        self._undo: dict[str, Undo] = {}
        self._served: App | None = None
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._starting = threading.Lock()
        self._has_ended = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self._served is not None  # noqa: S101 - `attach` has set it
        await self._served(scope, receive, send)

    def action(
        self,
        action_id: str,
        *,
        needs: int | str | Sequence[str] | None = None,
        tier: int | None = None,
        rollback: Undo | None = None,
    ) -> Callable[[F], F]:
        """Run the function only when the caller may; `codex.json` decides, and what is repeated here must agree.

        `needs` are permission bits by name (`"BOOK"`, `["BOOK", "WRITE"]`) or as one number.

        From tier 2 on the request is logged before the function runs. `rollback` undoes one logged action.
        """
        mask = needs if needs is None or isinstance(needs, int) else mask_of(_names(needs))
        self._require_agreement(action_id, mask, tier, rollback)
        if rollback is not None:
            self._undo[action_id] = rollback

        def decorate(function: F) -> F:
            return _guarded(self.gate, action_id, function)

        return decorate

    def roll_back(self, log_id: str, human_session_token: str) -> object:
        """Undo a logged action with its own `rollback`, once; only a person's session token does (FRJ-009).

        Who undid what is in the log before it is undone.
        """
        return roll_back(self.service, log_id, human_session_token, self._undo.get)

    def wrap(self, app: App) -> App:
        return CountingMiddleware(app, service=self.service, forja=self._forja, begin=self._ensure, rule=self._rule)

    def start(self) -> None:
        """Begin the rounds of this worker; a second start changes nothing."""
        with self._starting:
            if self._threads:
                return
            self._has_ended = False
            self._stopping.clear()
            if not self_test(self.service.rule.switch, at=self.service.clock.now()):
                _log.warning("self_test", service=self.service.manifest.service, message="the switch would not fire")
            self._begin("assay-forja", self._rounds)
            if self._announcer is not None:
                self._announcer.stopping.clear()
                self._begin("assay-announce", self._announcer.run)

    def _ensure(self) -> None:
        """With a request: where no lifespan began the rounds, a firing would be stored by nobody."""
        if not self._threads and not self._has_ended:
            self.start()

    def stop(self) -> None:
        """End the rounds, store what this worker knows, and say that it leaves."""
        self._has_ended = True
        self._stopping.set()
        self.service.wake.set()
        if self._announcer is not None:
            self._announcer.stopping.set()
        for thread in self._threads:
            thread.join(timeout=10)
        self._threads = []
        self._meet()
        if self._announcer is not None:
            self._announcer.leave()

    def _begin(self, name: str, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _rounds(self) -> None:
        while not self._stopping.is_set():
            self._meet()
            self.service.wake.wait(self.service.rule.tick_seconds)
            self.service.wake.clear()

    def _meet(self) -> None:
        try:
            self.service.tick()
        except Exception as error:  # noqa: BLE001 - the next round may succeed, and its thread must live to try it
            code = error.code if isinstance(error, Error) else type(error).__name__
            _log.warning("memory", service=self.service.manifest.service, code=code, message=str(error)[:200])

    def _require_agreement(self, action_id: str, needs: int | None, tier: int | None, rollback: Undo | None) -> None:
        declared = self.service.power().actions.get(action_id)
        if declared is None:
            raise RegistryError.unknown_action(f"`{action_id[:80]}` is not declared in codex.json")
        for name, said in (("needs", needs), ("tier", tier)):
            if said is not None and said != getattr(declared, name):
                raise RegistryError.invalid_rule(
                    f"{name} of `{action_id}`: codex.json says {getattr(declared, name)}, the code says {said}"
                )
        if rollback is not None and declared.rollback is None:
            raise RegistryError.invalid_rule(
                f"rollback of `{action_id}`: expected one of {list(RollbackMethod)} in codex.json"
            )


def attach(
    app: Any,  # noqa: ANN401 - any ASGI application
    codex: str | Path,
    *,
    memory: ServiceMemory | str | Path | None = None,
    node: ServiceDesk | str | Path | None = None,
    registry: str | None = None,
    base_url: str | None = None,
    key: str | Path | None = None,
    node_url: str | None = None,
    node_key: str | None = None,
    rule: ServiceRule | None = None,
    prefix: str | None = None,
    on_event: Callable[[Emitted], None] | None = None,
    rule_routes: bool = False,
    heartbeat_seconds: float = 60.0,
    ttl_hours: int = DEFAULT_TTL_HOURS,
) -> Agent:
    """Make an application a service: `codex` says what it is, and is refused with every problem at once.

    `memory` is what all workers share (a file beside `codex`, unless given; a second one is refused); `node` knows the
    callers and restores; `registry` is where it announces itself, signed with the key file `key`. `node_url` is where
    the node is served, if it is: people's tokens go there and nowhere else. `node_key` is the API key that the node
    knows the service by, so that a firing is put to people at once; with both and no `node` the node is asked over
    HTTP, and its folder is not needed. Nothing is allowed without a node. The endpoints are where `codex` says; a
    `prefix` that says otherwise is refused. `on_event` takes events that callers hand in.
    With `rule_routes` also routes without an action are ruled on, for machines that the node knows: by their method.
    """
    _require_asgi(app)
    learn_types()
    path = Path(codex)
    content = path.read_bytes()
    manifest = open_manifest(content).manifest
    shared = _memory(memory, path, manifest, node)
    service = Service(
        manifest=manifest,
        memory=shared,
        latch=shared.latch if isinstance(shared, ServiceFile) else None,
        desk=_desk(node, node_url, node_key),
        clock=SystemClock(),
        entropy=OsEntropy(),
        rule=rule or ServiceRule(),
    )
    gate = Gate(service)
    where = _prefix(manifest, prefix)
    forja = ForjaApp(gate, content, prefix=where, on_event=on_event, find_proof=service.find_proof)
    announcer = _announcer(service, registry, base_url, key, heartbeat_seconds, ttl_hours)
    agent = Agent(service, forja, gate, announcer, rules_routes=rule_routes)
    _install(agent, app)
    return agent


def _require_asgi(app: Any) -> None:  # noqa: ANN401 - any application
    """Raise for an application that takes `(environ, start_response)`, as those of Flask and Django do by default."""
    try:
        taken = inspect.signature(app).parameters.values()
    except (TypeError, ValueError):
        return  # What cannot be looked at is served, and answers for itself.
    required = [one for one in taken if one.kind in _POSITIONAL and one.default is inspect.Parameter.empty]
    if len(required) == _WSGI_ARGUMENTS and not any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in taken):
        name = type(app).__name__ if not hasattr(app, "__name__") else app.__name__
        raise RegistryError.not_asgi(
            f"expected an ASGI application `(scope, receive, send)`, got the WSGI application `{name[:80]}`"
            " `(environ, start_response)`: attach its ASGI form (`asgiref.wsgi.WsgiToAsgi(app)` for Flask,"
            " `django.core.asgi.get_asgi_application()` for Django) and serve what `attach` returns"
        )


def _prefix(manifest: Manifest, given: str | None) -> str:
    """One place for all: crawlers go where codex.json says, and would find nothing elsewhere."""
    places = {name: getattr(manifest, f"forja_{name}") for name in ("state", "trust", "sense", "proof")}
    prefix = manifest.forja_state.removesuffix("/state") if given is None else "/" + given.strip("/")
    wrong = [path for name, path in places.items() if path != f"{prefix}/{name}"]
    if wrong or prefix in {"", "/"}:
        raise RegistryError.invalid_rule(
            f"prefix: expected `{prefix}/state` and so on in codex.json, got `{wrong or prefix}`"
        )
    return prefix


def _memory(
    given: ServiceMemory | str | Path | None, codex: Path, manifest: Manifest, node: ServiceDesk | str | Path | None
) -> ServiceMemory:
    """The file that all workers share; one that names another than those before it at the same node is refused.

    Where the node is no folder, what fired in one memory reaches the others by way of the desk.
    """
    if given is not None and not isinstance(given, str | Path):
        return given
    name = manifest.service
    path = codex.with_name(f"{name}.forja.db") if given is None else Path(given)
    if isinstance(node, str | Path) and not claim_memory(Path(node) / _CLAIMS / name, path):
        told = "the node's folder cannot be written to: a second memory would not be noticed at once"
        _log.warning("memory", service=name, message=told)
    return ServiceFile(path)


def _desk(given: ServiceDesk | str | Path | None, url: str | None, key: str | None) -> ServiceDesk:
    if given is None and url is not None and key is not None:
        return RemoteDesk(url, key)
    if given is None:
        return NobodyDesk()
    return FolderDesk(Path(given), url=url, key=key) if isinstance(given, (str, Path)) else given


def _announcer(
    service: Service,
    registry: str | None,
    base_url: str | None,
    key: str | Path | None,
    heartbeat_seconds: float,
    ttl_hours: int,
) -> Announcer | None:
    if registry is None:
        return None
    manifest = service.manifest
    return Announcer(
        service=service,
        registry_url=registry.rstrip("/") + DEFAULT_PREFIX + "/announce",
        base_url=base_url or manifest.base_url or f"http://127.0.0.1:{manifest.port}",
        signer=None if key is None else load_key_file(Path(key)),
        heartbeat_seconds=heartbeat_seconds,
        ttl_hours=ttl_hours,
    )


def _install(agent: Agent, app: Any) -> None:  # noqa: ANN401 - any ASGI application
    """In place where the framework has a place for it, else around."""
    if hasattr(app, "asgi_handler") and hasattr(app, "on_startup"):
        app.asgi_handler = agent.wrap(app.asgi_handler)
        app.on_startup.append(agent.start)
        app.on_shutdown.append(functools.partial(in_thread, agent.stop))
        agent._served = app  # noqa: SLF001 - its own module
    elif hasattr(app, "add_middleware"):
        app.add_middleware(_InPlace, agent=agent)
        agent._served = app  # noqa: SLF001 - its own module
    else:
        agent._served = _InPlace(app, agent=agent)  # noqa: SLF001 - its own module


class _InPlace:
    """The counting layer with the lifespan chained: our threads begin after the application, and end before it."""

    def __init__(self, app: App, *, agent: Agent) -> None:
        self._app = app
        self._agent = agent
        self._counted = agent.wrap(app)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
        else:
            await self._counted(scope, receive, send)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        takes_part = False

        async def heard() -> Message:
            nonlocal takes_part
            takes_part = True
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await in_thread(self._agent.stop)
            return message

        async def said(message: Message) -> None:
            if message["type"] == "lifespan.startup.complete":
                self._agent.start()
            await send(message)

        try:
            await self._app(scope, heard, said)
        except Exception:
            # Whatever an application raises before it takes part says only that it knows no lifespan (ASGI).
            if takes_part:
                raise
        if not takes_part:
            await self._live_alone(receive, send)

    async def _live_alone(self, receive: Receive, send: Send) -> None:
        """An application that knows no lifespan and said so before it began, as the protocol allows."""
        await receive()
        self._agent.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await in_thread(self._agent.stop)
        await send({"type": "lifespan.shutdown.complete"})


def _names(needs: str | Sequence[str]) -> list[str]:
    return needs.split(",") if isinstance(needs, str) else list(needs)


def _guarded(gate: Gate, action_id: str, function: F) -> F:
    signature = inspect.signature(function)

    def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        call = CURRENT.get() or Call({"headers": []})
        try:
            gate.begin(call, action_id, _parameters(call, signature, args, kwargs))
        except Error as error:
            call.refusal = error
            raise

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def later(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the function's own
            await in_thread(lambda: begin(args, kwargs))
            done: Awaitable[Any] = function(*args, **kwargs)
            return await done

        return later  # type: ignore[return-value]  # the same signature, awaited

    @functools.wraps(function)
    def at_once(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the function's own
        begin(args, kwargs)
        return function(*args, **kwargs)

    return at_once  # type: ignore[return-value]  # the same signature


def _parameters(
    call: Call, signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The request line and the function's arguments: what the log says was asked for."""
    scope = call.scope
    line = {
        "method": scope.get("method"),
        "path": scope.get("path"),
        "query": scope.get("query_string", b"").decode("latin-1"),
    }
    return {"request": line, "arguments": dict(signature.bind(*args, **kwargs).arguments)}
