"""Services over HTTP: short patience, no redirects, and no more of an answer than a document can be."""

from types import TracebackType
from typing import Self

import httpx

from assay.kernel.conformance import Fetched

__all__ = ["HttpServiceClient"]

_LARGEST_ANSWER = 1024 * 1024


class HttpServiceClient:
    """Implements `ports.service_client.ServiceClient`; use it in a `with`."""

    def __init__(self, *, timeout: float = 5.0) -> None:
        self._client = httpx.Client(timeout=timeout, follow_redirects=False, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()

    def request(
        self, method: str, url: str, *, content: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Fetched | None:
        try:
            with self._client.stream(method, url, content=content, headers=headers) as answer:
                return _read(answer)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError):
            return None


def _read(answer: httpx.Response) -> Fetched | None:
    parts, size = [], 0
    for part in answer.iter_bytes():
        size += len(part)
        if size > _LARGEST_ANSWER:
            return None
        parts.append(part)
    return Fetched(status=answer.status_code, content=b"".join(parts))
