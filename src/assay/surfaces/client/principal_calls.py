"""Every call that changes a principal, in an administrator's own session; as `calls` has the rest."""

from typing import Any

from msgspec import UNSET
from msgspec.structs import asdict

from assay.identity.principal import Principal, PrincipalChange, PrincipalKind
from assay.review.ticket import Ticket
from assay.surfaces.client.call import Call, Given, content_of, path
from assay.surfaces.http.v1.principal_shapes import AskTier

__all__ = ["add_principal", "amend_principal", "disable_principal", "request_tier"]


def add_principal(
    principal_id: str,
    *,
    kind: PrincipalKind | str = PrincipalKind.PERSON,
    name: str = "",
    granted: PrincipalChange | None = None,
) -> Call[Principal]:
    """A person, agent or service joins; a key, a password or an identity provider proves them later."""
    given = asdict(granted or PrincipalChange())
    named = {"principal_id": principal_id, "kind": PrincipalKind(kind), "name": name or principal_id}
    return _post(Principal, {**named, **{one: value for one, value in given.items() if value is not UNSET}})


def amend_principal(principal_id: str, change: PrincipalChange) -> Call[Principal]:
    """The next version. A tier is asked for with `request_tier`, and `disable_principal` disables."""
    return _post(Principal, change, principal_id, "amend")


def disable_principal(principal_id: str) -> Call[Principal]:
    """Nothing is allowed any more; what was done before stays as it was."""
    return _post(Principal, None, principal_id, "disable")


def request_tier(principal_id: str, to_tier: int, *, reason: str) -> Call[Ticket]:
    """Ask that somebody else's tier changes; the ticket is a second person's to answer."""
    return _post(Ticket, AskTier(to_tier=to_tier, reason=reason), principal_id, "tier")


def _post(answer: Any, given: Given | None, *parts: str) -> Call[Any]:  # noqa: ANN401 - any type
    content = None if given is None else content_of(given)
    return Call(method="POST", path=path("principals", *parts), answer=answer, content=content)
