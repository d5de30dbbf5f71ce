"""How a message reaches a webhook: one attempt, and what came of it."""

from typing import Protocol

from msgspec import Struct


class Sent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`problem` is empty for a message that was taken, which any status of 200 to 299 says."""

    status: int | None
    problem: str = ""

    @property
    def is_taken(self) -> bool:
        return not self.problem


class WebhookSender(Protocol):
    def send(self, url: str, body: bytes, headers: dict[str, str]) -> Sent:
        """Never raises for an endpoint that is away, refuses, or may not be reached."""
        ...
