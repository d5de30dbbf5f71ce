"""One request as the rulings see it: what proves the caller, and what power it asks for.

headers -> credential, wish; the middleware keeps them where a decorated action finds them
"""

from contextvars import ContextVar
from dataclasses import dataclass

from assay.kernel.errors import Error
from assay.registry.action import ActionRequest, request_of
from assay.registry.errors import InvalidRuleError
from assay.surfaces.forja.reply import Scope

__all__ = ["CURRENT", "Call", "wish_of"]

_BEARER = b"bearer "
_LONGEST = 512


@dataclass(slots=True, eq=False)
class Call:
    """A request in flight; `refusal` is what an action was refused with, `by_agent` who turned out to ask."""

    scope: Scope
    refusal: Error | None = None
    by_agent: bool = False

    def header(self, name: bytes) -> bytes | None:
        return next((value for key, value in self.scope["headers"] if key == name), None)

    def credential(self) -> str | None:
        """Of `Authorization: Bearer …` or `x-api-key`; both at once prove nothing."""
        bearer, key = self.header(b"authorization"), self.header(b"x-api-key")
        if (bearer is None) == (key is None):
            return None
        if bearer is not None:
            key = bearer[len(_BEARER) :].strip() if bearer.lower().startswith(_BEARER) else b""
        text = (key or b"").decode("latin-1")
        return text if 0 < len(text) <= _LONGEST else None

    def request(self, action_id: str) -> ActionRequest:
        """What is asked for, with the wish in `x-forja-tier` and `x-forja-mask`."""
        return wish_of(action_id, self.header(b"x-forja-tier"), self.header(b"x-forja-mask"))

    @property
    def says_agent(self) -> bool:
        return self.by_agent or self.header(b"x-forja-agent") is not None


CURRENT: ContextVar[Call | None] = ContextVar("assay_forja_call", default=None)


def wish_of(action_id: str, tier: bytes | None, mask: bytes | None) -> ActionRequest:
    return request_of(action_id, tier=_number(tier), mask=_number(mask))


def _number(value: bytes | None) -> int | None:
    if value is None:
        return None
    try:
        return int(value.decode("ascii"), 0)
    except ValueError as error:
        raise InvalidRuleError(f"expected a whole number, got `{value[:40].decode('latin-1')}`") from error
