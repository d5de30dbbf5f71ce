"""One HTTP exchange with a model's server: bounded in time and size, and given up when nobody waits any more."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from time import monotonic
from urllib.parse import urlsplit

import httpx
import msgspec

from assay.adapters.inference.address import Address
from assay.adapters.inference.backend import Patience
from assay.adapters.outgoing import OutgoingGuard, UnreachableAddressError, is_literal, pin
from assay.ports.model import (
    ModelError,
    ModelOversizeError,
    ModelReplyError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnavailableError,
)

SMALL_REPLY = 1 << 20
_GLANCE_SECONDS = 0.05
# How long one of several addresses is tried; the whole exchange has a deadline of its own.
_NEXT_SECONDS = 2.0
_SHOWN = 200
_REFUSALS = range(400, 500)
_NOT_NOW = frozenset({408, 425, 429})


class Exchange:
    """Asks one server. Neither a proxy nor a redirect is followed: both lead where the operator did not point.

    Calls block, and must not be made on the thread of a running event loop.
    """

    def __init__(self, address: Address, *, token: str | None = None) -> None:
        self._address = address
        # The operator named the host, so it may be inside; what it means is looked up once for each exchange.
        self._guard = None if address.socket else OutgoingGuard(hosts=(urlsplit(address.url).hostname or "",))
        self._headers = {} if token is None else {"authorization": f"Bearer {token}"}

    def get(self, path: str, patience: Patience) -> bytes:
        return self._asked("GET", path, None, patience, SMALL_REPLY)

    def post(self, path: str, body: Mapping[str, object], patience: Patience, *, most_bytes: int) -> bytes:
        return self._asked("POST", path, msgspec.json.encode(body), patience, most_bytes)

    def _asked(self, method: str, path: str, body: bytes | None, patience: Patience, most_bytes: int) -> bytes:
        try:
            status, content = asyncio.run(self._watched(method, path, body, patience, most_bytes))
        except UnreachableAddressError as error:
            raise ModelUnavailableError(str(error)) from error
        except (httpx.HTTPError, OSError) as error:
            raise ModelUnavailableError(f"`{path}` gave no answer: {type(error).__name__}") from error
        if status != httpx.codes.OK:
            raise _refusal(path, status, content)
        return content

    async def _watched(
        self, method: str, path: str, body: bytes | None, patience: Patience, most_bytes: int
    ) -> tuple[int, bytes]:
        """Leaving closes the connection, which is how a server learns that it may stop."""
        answer = asyncio.create_task(self._sent(method, path, body, most_bytes))
        deadline = monotonic() + patience.seconds
        try:
            while not answer.done():
                left = deadline - monotonic()
                if patience.cancelled is not None and patience.cancelled():
                    raise ModelError.cancelled("the caller gave up before the model answered")
                if left <= 0:
                    raise ModelTimeoutError(f"expected an answer within {patience.seconds:.3g} s, got none")
                await asyncio.wait({answer}, timeout=min(left, _GLANCE_SECONDS))
            return await answer
        finally:
            answer.cancel()
            await asyncio.gather(answer, return_exceptions=True)

    async def _sent(self, method: str, path: str, body: bytes | None, most_bytes: int) -> tuple[int, bytes]:
        transport = httpx.AsyncHTTPTransport(uds=self._address.socket, trust_env=False)
        headers = self._headers | {"content-type": "application/json", "accept-encoding": "identity"}
        requests = await self._requests(method, self._address.url + path, body, headers)
        limits = httpx.Timeout(None)
        async with httpx.AsyncClient(
            transport=transport, timeout=limits, trust_env=False, follow_redirects=False
        ) as client:
            for request in requests[:-1]:
                # Nothing was sent to an address that cannot be connected to, so the next one may be asked.
                with suppress(httpx.ConnectError, httpx.ConnectTimeout):
                    request.extensions["timeout"] = {"connect": _NEXT_SECONDS}
                    return await _answer(client, request, most_bytes)
            return await _answer(client, requests[-1], most_bytes)

    async def _requests(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> list[httpx.Request]:
        """One for each checked address of the host; none has a limit of its own: the whole exchange has a deadline."""
        if self._guard is None:
            return [httpx.Request(method, url, content=body, headers=headers)]
        if is_literal(urlsplit(url).hostname or ""):
            targets = self._guard.find_targets(url)
        else:
            # On a thread, so that the deadline counts for it too.
            targets = await asyncio.to_thread(self._guard.find_targets, url)
        return [
            httpx.Request(
                method, to, content=body, headers={**headers, "host": host}, extensions={"sni_hostname": name}
            )
            for to, host, name in (pin(url, one) for one in targets)
        ]


async def _answer(client: httpx.AsyncClient, request: httpx.Request, most_bytes: int) -> tuple[int, bytes]:
    response = await client.send(request, stream=True)
    try:
        return response.status_code, await _bounded(response, most_bytes)
    finally:
        await response.aclose()


async def _bounded(response: httpx.Response, most_bytes: int) -> bytes:
    received = bytearray()
    async for part in response.aiter_raw():
        received += part
        if len(received) > most_bytes:
            raise ModelOversizeError(f"expected at most {most_bytes} bytes, got more")
    return bytes(received)


def _refusal(path: str, status: int, content: bytes) -> ModelError:
    """What a server says about its refusal is shown, on one line and not for long."""
    said = " ".join(content[:_SHOWN].decode(errors="replace").split()).replace("`", "'")
    said = "".join(char if char.isprintable() else "?" for char in said)
    message = f"expected status 200 from `{path}`, got {status}: `{said}`"
    if status in _NOT_NOW or status >= httpx.codes.INTERNAL_SERVER_ERROR:
        return ModelUnavailableError(message)
    return ModelRequestError(message) if status in _REFUSALS else ModelReplyError(message)
