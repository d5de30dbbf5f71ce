"""The one layer around a service: its own endpoints answered, every other outcome counted, nothing changed.

A response passes through byte for byte. The one answer that is ours is that of an action which was refused.
"""

from assay.registry.health import classify
from assay.surfaces.forja.app import ForjaApp
from assay.surfaces.forja.call import CURRENT, Call
from assay.surfaces.forja.reply import App, Message, Receive, Scope, Send, problem, send_reply
from assay.surfaces.forja.service import Service

__all__ = ["CountingMiddleware"]

_BROKE = 500


class CountingMiddleware:
    """Pure ASGI; counting never waits, and never fails a request."""

    __slots__ = ("_app", "_forja", "_service")

    def __init__(self, app: App, *, service: Service, forja: ForjaApp) -> None:
        self._app = app
        self._service = service
        self._forja = forja

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._forja.serves(scope["path"]):
            await self._forja(scope, receive, send)
            return
        await _Counted(self._app, self._service, scope).run(receive, send)


class _Counted:
    """One request: its status is noted as it passes."""

    __slots__ = ("_app", "_call", "_send", "_service", "_started", "_status")

    def __init__(self, app: App, service: Service, scope: Scope) -> None:
        self._app, self._service = app, service
        self._call = Call(scope)
        self._status = _BROKE
        self._started = False

    async def run(self, receive: Receive, send: Send) -> None:
        self._send = send
        token = CURRENT.set(self._call)
        try:
            await self._app(self._call.scope, receive, self._pass)
        except Exception:
            # The application's own exception goes on to whoever handles it; only a refusal of ours ends here.
            if not self._is_refused():
                self._status = _BROKE
                raise
        finally:
            CURRENT.reset(token)
            if not self._is_refused():
                self._count()
        if self._is_refused():
            await self._refuse()

    def _is_refused(self) -> bool:
        """A response that has begun cannot be taken back; then the application's own exception says what happened."""
        return self._call.refusal is not None and not self._started

    async def _pass(self, message: Message) -> None:
        if self._is_refused():
            return  # what a framework makes of the refusal is not shown: its code would be lost
        if message["type"] == "http.response.start":
            self._status, self._started = message["status"], True
        await self._send(message)

    async def _refuse(self) -> None:
        assert self._call.refusal is not None  # noqa: S101 - asked just before
        reply = problem(self._call.refusal)
        self._status = reply.status
        self._count()
        await send_reply(self._send, reply)

    def _count(self) -> None:
        outcome = classify(self._status, self._call.scope["path"])
        if outcome is not None:
            self._service.observe(outcome, is_agent=self._call.says_agent)
