"""The one layer around a service: its own endpoints answered, every other outcome counted, nothing changed.

A response passes through byte for byte. The one answer that is ours is that of an action which was refused and that
the application made nothing of.
"""

from collections.abc import Callable

from assay.kernel.errors import Error
from assay.registry.health import outcome_of
from assay.surfaces.forja.app import ForjaApp
from assay.surfaces.forja.call import CURRENT, Call
from assay.surfaces.forja.passing import Passing
from assay.surfaces.forja.reply import App, Message, Receive, Scope, Send, problem, send_reply
from assay.surfaces.forja.service import Service
from assay.surfaces.forja.threads import in_thread

Rule = Callable[[Call], None]
_BROKE = 500


class CountingMiddleware:
    """Pure ASGI; counting never waits, and never fails a request.

    `begin` is called with each request: a server that runs no lifespan has a service all the same. `rule` refuses a
    request before the application sees it, or is None where only declared actions are ruled on.
    """

    __slots__ = ("_app", "_begin", "_forja", "_rule", "_service")

    def __init__(
        self, app: App, *, service: Service, forja: ForjaApp, begin: Callable[[], None], rule: Rule | None = None
    ) -> None:
        self._app = app
        self._service = service
        self._forja = forja
        self._begin = begin
        self._rule = rule

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        self._begin()
        if scope["type"] == "websocket":
            await self._talk(scope, receive, send)
        elif scope["type"] != "http":
            await self._app(scope, receive, send)
        elif self._forja.serves(scope):
            await self._forja(scope, receive, send)
        else:
            await _Counted(self._app, self._service, scope, receive, send).run(self._rule)

    async def _talk(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A websocket counts once, when it ends: failed where the application broke. Its actions are ruled on by what
        it was opened with.
        """
        call, passing = Call(scope), Passing(receive, send)
        token = CURRENT.set(call)
        try:
            await self._app(scope, passing.receive, passing.send)
        except Exception:
            passing.broke()
            raise
        finally:
            CURRENT.reset(token)
            status = passing.status()
            if status is not None:
                self._service.observe(outcome_of(status), is_agent=call.says_agent)


class _Counted:
    """One request: its status is noted as it passes."""

    __slots__ = ("_app", "_call", "_passing", "_send", "_service")

    def __init__(self, app: App, service: Service, scope: Scope, receive: Receive, send: Send) -> None:
        self._app, self._service = app, service
        self._call = Call(scope)
        self._send = send
        self._passing = Passing(receive, send)

    async def run(self, rule: Rule | None) -> None:
        if rule is not None and self._call.credential() is not None:
            self._call.refusal = await in_thread(lambda: _refusal(rule, self._call))
        if self._is_refused():
            await self._refuse()
        else:
            await self._run()

    async def _run(self) -> None:
        token = CURRENT.set(self._call)
        try:
            await self._app(self._call.scope, self._passing.receive, self._pass)
        except Exception:
            # The application's own exception goes on to whoever handles it; only a refusal of ours ends here.
            if not self._is_refused():
                self._passing.broke()
                raise
        else:
            if not self._passing.is_started:
                self._passing.broke()
        finally:
            CURRENT.reset(token)
            if not self._is_refused():
                self._count()
        if self._is_refused():
            await self._refuse()

    def _is_refused(self) -> bool:
        """A response that has begun cannot be taken back; then the application's own exception says what happened."""
        return self._call.refusal is not None and not self._passing.is_started

    async def _pass(self, message: Message) -> None:
        if self._is_refused():
            if message.get("status", _BROKE) >= _BROKE:
                return  # what a framework makes of the refusal is not shown: its code would be lost
            self._call.refusal = None  # the application caught it, and this is its own answer
        await self._passing.send(message)

    async def _refuse(self) -> None:
        assert self._call.refusal is not None  # noqa: S101 - asked just before
        reply = problem(self._call.refusal)
        await send_reply(self._passing.send, reply)
        self._count()

    def _count(self) -> None:
        status = self._passing.status()
        if status is not None:
            self._service.observe(outcome_of(status), is_agent=self._call.says_agent)


def _refusal(rule: Rule, call: Call) -> Error | None:
    try:
        rule(call)
    except Error as error:
        return error
    return None
