"""How a registry and a checker reach a service: one request and its answer as it came, or a subscription."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from assay.kernel.conformance import Fetched


class ServiceClient(Protocol):
    def request(
        self, method: str, url: str, *, content: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Fetched | None:
        """The answer, whatever its status; None for a service that cannot be reached. Redirects are not followed."""
        ...


class Listening(Protocol):
    """A subscription that goes on beside whoever opened it."""

    def received(self, enough: Callable[[tuple[bytes, ...]], bool], *, seconds: float) -> tuple[bytes, ...]:
        """What came until it was enough or the time was over, each event's `data` as it came."""
        ...


class StreamClient(ServiceClient, Protocol):
    def listen(self, url: str, headers: dict[str, str]) -> AbstractContextManager[Listening]:
        """Subscribe to server-sent events; when this returns it is heard, or nothing will ever come."""
        ...
