"""One exchange with the provider: to a checked address, within a time and a size, and no redirect is followed."""

import asyncio
from collections.abc import Collection, Mapping

import httpx

from assay.adapters.outgoing import OutgoingGuard, Target, UnreachableAddressError, pin
from assay.identity.errors import IdTokenError
from assay.kernel.errors import Error
from assay.kernel.json_text import Limits, parse_json
from assay.ports.oidc import ProviderError

_LARGEST = 1024 * 1024
_SECONDS = 10.0
_OK, _BAD_REQUEST = 200, 400


class ProviderFetch:
    """JSON of the provider's addresses. `hosts` are those that the operator allows inside, or without https.

    A document may name further addresses: each is looked up and checked like the first, so that no document leads us
    to a machine inside. `seconds` are for a whole exchange from the connection on, however steadily an answer drips.
    """

    def __init__(self, *, hosts: Collection[str] = (), seconds: float = _SECONDS) -> None:
        self._guard = OutgoingGuard(hosts=hosts, needs_https=True)
        self._seconds = seconds

    def get(self, url: str) -> dict[str, object]:
        return self._exchange("GET", url, None, {})

    def post(self, url: str, form: Mapping[str, str], headers: Mapping[str, str]) -> dict[str, object]:
        return self._exchange("POST", url, form, headers)

    def _exchange(
        self, method: str, url: str, form: Mapping[str, str] | None, headers: Mapping[str, str]
    ) -> dict[str, object]:
        try:
            target = self._guard.find_target(url)
            content = asyncio.run(self._send(method, url, target, form, headers))
            document = parse_json(content, limits=Limits(max_depth=32))
        except (UnreachableAddressError, httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            # Not the error's own words: an address may carry what was sent to it.
            raise ProviderError(f"no answer of the identity provider: {type(error).__name__}") from None
        except (ProviderError, IdTokenError):
            raise
        except Error as error:
            raise ProviderError(f"the identity provider did not answer with JSON: {error.code}") from None
        if not isinstance(document, dict):
            raise ProviderError("expected a JSON object of the identity provider, got another value")
        return dict(document)

    async def _send(
        self, method: str, url: str, target: Target, form: Mapping[str, str] | None, headers: Mapping[str, str]
    ) -> bytes:
        pinned, host, name = pin(url, target)
        named = {"host": host, "user-agent": "assay", "accept": "application/json"}
        async with (
            asyncio.timeout(self._seconds),
            httpx.AsyncClient(
                timeout=None,  # noqa: S113 - all of it together has one
                trust_env=False,
                follow_redirects=False,
            ) as client,
            client.stream(
                method,
                pinned,
                data=None if form is None else dict(form),
                headers={**headers, **named},
                extensions={"sni_hostname": name},
            ) as response,
        ):
            return await _read(response)


async def _read(response: httpx.Response) -> bytes:
    if response.status_code == _BAD_REQUEST:
        # RFC 6749, 5.2: the provider is well, and does not take what the browser brought.
        raise IdTokenError("expected a code that the identity provider takes, got another")
    if response.status_code != _OK:
        raise ProviderError(f"expected status 200 of the identity provider, got {response.status_code}")
    parts, size = [], 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > _LARGEST:
            raise ProviderError(f"expected at most {_LARGEST} bytes of the identity provider, got more")
        parts.append(part)
    return b"".join(parts)
