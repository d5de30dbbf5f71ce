"""One request as the rulings see it: what proves the caller, and what power it asks for.

headers -> credential, wish; the middleware keeps them where a decorated action finds them
"""

from contextvars import ContextVar
from dataclasses import dataclass

from assay.flows.errors.identity import NotSignedInError
from assay.kernel.errors import Error
from assay.registry.action import ActionRequest, request_of
from assay.registry.errors import RegistryError
from assay.surfaces.credential import credential_in
from assay.surfaces.forja.reply import Scope


@dataclass(slots=True, eq=False)
class Call:
    """A request in flight; `refusal` is what an action was refused with, `by_agent` who turned out to ask."""

    scope: Scope
    refusal: Error | None = None
    by_agent: bool = False

    def header(self, name: bytes) -> bytes | None:
        return next((value for key, value in self.scope["headers"] if key == name), None)

    def credential(self) -> str | None:
        """Of `Authorization: Bearer …` or `x-api-key`; two at once prove nothing, nor does a header that is odd."""
        try:
            return credential_in(self._texts)
        except NotSignedInError:
            return None

    def _texts(self, name: str) -> list[str]:
        wanted = name.encode()
        return [value.decode("latin-1") for key, value in self.scope["headers"] if key == wanted]

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
        raise RegistryError.invalid_rule(f"expected a whole number, got `{value[:40].decode('latin-1')}`") from error
