"""How a registry and a checker reach a service: one request, one answer as it came."""

from typing import Protocol

from assay.kernel.conformance import Fetched

__all__ = ["ServiceClient"]


class ServiceClient(Protocol):
    def request(
        self, method: str, url: str, *, content: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Fetched | None:
        """The answer, whatever its status; None for a service that cannot be reached. Redirects are not followed."""
        ...
