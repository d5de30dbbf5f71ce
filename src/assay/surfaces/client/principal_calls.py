"""Every call about the keys of principals, and those that change a principal; as `calls` has the rest.

Changes are made in an administrator's own session.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import asdict

from assay.flows.identity.inspect_principal import ListedApiKey
from assay.identity.credential import ApiKeyRevocation
from assay.identity.principal import Principal, PrincipalChange, PrincipalKind
from assay.review.ticket import Ticket
from assay.surfaces.client.call import Call, Given, Listing, content_of, path, query
from assay.surfaces.http.v1 import key_shapes
from assay.surfaces.http.v1.principal_shapes import AskTier

__all__ = [
    "add_principal",
    "amend_principal",
    "disable_principal",
    "issue_key",
    "key",
    "keys",
    "request_tier",
    "revoke_key",
    "rotate_key",
]


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
    return _change(
        Principal, {**named, **{one: value for one, value in given.items() if value is not UNSET}}, "principals"
    )


def amend_principal(principal_id: str, change: PrincipalChange) -> Call[Principal]:
    """The next version. A tier is asked for with `request_tier`, and `disable_principal` disables."""
    return _change(Principal, change, "principals", principal_id, "amend")


def disable_principal(principal_id: str) -> Call[Principal]:
    """Nothing is allowed any more; what was done before stays as it was."""
    return _change(Principal, None, "principals", principal_id, "disable")


def request_tier(principal_id: str, to_tier: int, *, reason: str) -> Call[Ticket]:
    """Ask that somebody else's tier changes; the ticket is a second person's to answer."""
    return _change(Ticket, AskTier(to_tier=to_tier, reason=reason), "principals", principal_id, "tier")


def keys(*, principal_id: str | None = None, limit: int = 100) -> Listing[ListedApiKey]:
    """API keys by prefix, the ended ones too; never a secret."""
    return Listing(path=path("keys"), page=key_shapes.KeyPage, query=query(principal_id=principal_id, limit=limit))


def key(prefix: str) -> Call[ListedApiKey]:
    """One API key."""
    return Call(method="GET", path=path("keys", prefix), answer=ListedApiKey)


def issue_key(principal_id: str, *, scopes: Sequence[str], expires_at: str | None = None) -> Call[key_shapes.IssuedKey]:
    """Issue a key, as an administrator in their own session.

    `api_key` is None where the first answer was lost on its way: nobody has that key, so revoke it and issue another.
    """
    wanted = key_shapes.IssueKey(principal_id=principal_id, scopes=tuple(scopes), expires_at=expires_at)
    return _change(key_shapes.IssuedKey, wanted, "keys")


def rotate_key(prefix: str, *, overlap_seconds: int = 24 * 3600) -> Call[key_shapes.IssuedKey]:
    """The successor of a key; the old one ends after the overlap."""
    wanted = key_shapes.RotateKey(overlap_seconds=overlap_seconds)
    return _change(key_shapes.IssuedKey, wanted, "keys", prefix, "rotate")


def revoke_key(prefix: str, *, reason: str) -> Call[ApiKeyRevocation]:
    """End a key now."""
    return _change(ApiKeyRevocation, key_shapes.RevokeKey(reason=reason), "keys", prefix, "revoke")


def _change(answer: Any, given: Given | None, *parts: str) -> Call[Any]:  # noqa: ANN401 - any type
    content = None if given is None else content_of(given)
    return Call(method="POST", path=path(*parts), answer=answer, content=content)
