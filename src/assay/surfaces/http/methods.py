"""HEAD wherever there is GET (RFC 9110 9.3.2), and OPTIONS that names every method of a path.

HEAD -> the route of GET, as far as its headers;   OPTIONS -> `Allow` of all routes of the path
"""

from functools import cached_property

from litestar import Litestar
from litestar.enums import ScopeType
from litestar.types import LifeSpanReceive, LifeSpanScope, LifeSpanSend, Message, Receive, Scope, Send

from assay.surfaces.credential import VARY

# Where a scope says that HEAD was asked for: a signature is over the method as it was sent.
HEAD_KEY = "assay.is_head"
# With whatever any answer here varies: in what form, to whom, and whether another page may read it.
_VARY = f"accept, origin, {VARY}".encode()
_NO_BODY: Message = {"type": "http.response.body", "body": b"", "more_body": False}


def allow_of(methods: set[str]) -> str:
    """The `Allow` header of a path with these methods."""
    return ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))


def _varying(send: Send) -> Send:
    """An answer to a page of another origin varies with more than that: Litestar would put `Origin` in the place of all
    that it says itself, and a browser would show one person what another was told.
    """

    async def tell(message: Message) -> None:
        if message["type"] == "http.response.start":
            others = [pair for pair in message.get("headers", ()) if pair[0].lower() != b"vary"]
            message["headers"] = [*others, (b"vary", _VARY)]
        await send(message)

    return tell


class NodeApp(Litestar):
    """Litestar, which by itself has neither."""

    async def __call__(
        self, scope: Scope | LifeSpanScope, receive: Receive | LifeSpanReceive, send: Send | LifeSpanSend
    ) -> None:
        if self.cors_config is not None and scope["type"] == ScopeType.HTTP:
            send = _varying(send)  # type: ignore[arg-type]  # only a request is of this type
        method = scope.get("method")
        if method == "HEAD":
            await self._head(scope, receive, send)  # type: ignore[arg-type]  # only a request has a method
        elif method == "OPTIONS":
            await self._options(scope, receive, send)  # type: ignore[arg-type]  # as above
        else:
            await super().__call__(scope, receive, send)

    async def _head(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What GET would answer, but for the body; a stream ends where it would begin."""
        is_told = False

        async def hear() -> Message:
            return {"type": "http.disconnect"} if is_told else await receive()  # type: ignore[return-value]  # or what is received

        async def tell(message: Message) -> None:
            nonlocal is_told
            if message["type"] == "http.response.start" and not is_told:
                is_told = True
                await send(message)
                await send(_NO_BODY)

        state = {**scope.get("state", {}), HEAD_KEY: True}
        await super().__call__({**scope, "method": "GET", "state": state}, hear, tell)  # type: ignore[arg-type]  # a scope as it was

    async def _options(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Litestar names the methods of the first route of a path alone."""

        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = self._methods.get(scope.get("path_template", ""))
                others = [pair for pair in message["headers"] if known is None or pair[0].lower() != b"allow"]
                allow = [] if known is None else [(b"allow", known.encode())]
                message["headers"] = [*others, *allow]
            await send(message)

        await super().__call__(scope, receive, tell)

    @cached_property
    def _methods(self) -> dict[str, str]:
        """By the template of a path."""
        found: dict[str, set[str]] = {}
        for route in self.routes:
            found.setdefault(route.path_format, set()).update(getattr(route, "methods", ()))
        return {path: allow_of(methods) for path, methods in found.items() if methods}
