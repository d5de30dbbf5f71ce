"""One attempt over HTTP: to the checked address alone, within a time, and no redirect is followed."""

import asyncio
from collections.abc import Collection

import httpx

from assay.adapters.outgoing import OutgoingGuard, Target, UnreachableAddressError, pin
from assay.ports.webhook_sender import Sent

_TAKEN = range(200, 300)
_REDIRECTS = range(300, 400)
_SECONDS = 15.0


class HttpWebhookSender:
    """Implements `ports.webhook_sender.WebhookSender`; `allowed` are hosts inside that the operator lets events go to.

    Each attempt has a connection of its own: a kept one could have been opened before a name moved. `seconds` are for
    all of it from the connection on, however steadily an endpoint drips; looking up the name has the resolver's limit.
    """

    def __init__(self, *, allowed: Collection[str] = (), seconds: float = _SECONDS) -> None:
        self._guard = OutgoingGuard(hosts=allowed, needs_https=True)
        self._seconds = seconds
        # Whom we trust is read once: it takes longer than all the rest of an attempt.
        self._trusted = httpx.create_ssl_context(trust_env=False)

    def send(self, url: str, body: bytes, headers: dict[str, str]) -> Sent:
        try:
            target = self._guard.find_target(url)
            status = asyncio.run(self._post(url, target, body, headers))
        except UnreachableAddressError as error:
            return Sent(status=None, problem=str(error))
        except (httpx.HTTPError, OSError, ValueError) as error:
            return Sent(status=None, problem=f"no answer: {type(error).__name__}")
        if status in _TAKEN:
            return Sent(status=status)
        told = "redirects are not followed, got" if status in _REDIRECTS else "expected a status of 200 to 299, got"
        return Sent(status=status, problem=f"{told} {status}")

    async def _post(self, url: str, target: Target, body: bytes, headers: dict[str, str]) -> int:
        # The certificate is checked against the name, while the connection goes to the address that was checked.
        pinned, host, name = pin(url, target)
        async with (
            # A limit of each read alone would never be reached by headers that come one by one.
            asyncio.timeout(self._seconds),
            httpx.AsyncClient(
                timeout=None,  # noqa: S113 - all of it together has one
                verify=self._trusted,
                trust_env=False,
                follow_redirects=False,
            ) as client,
            client.stream(
                "POST",
                pinned,
                content=body,
                headers={**headers, "host": host, "user-agent": "assay"},
                extensions={"sni_hostname": name},
            ) as response,
        ):
            # What an endpoint says besides its status is nothing to us, and is not read.
            return response.status_code
