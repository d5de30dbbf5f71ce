"""What the routes of API keys and of `why` take and send, as types; no web framework is needed for it."""

from typing import Annotated

from msgspec import Meta, Struct

from assay.flows.identity.inspect_principal import ListedApiKey
from assay.identity.access import Requirement
from assay.identity.credential import ApiKeyPrefix
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.surfaces.fields import Moment, PrincipalName

__all__ = ["IssueKey", "IssuedKey", "KeyPage", "RevokeKey", "RotateKey", "Why"]

_YEAR = 366 * 24 * 3600
Scopes = Annotated[tuple[str, ...], Meta(min_length=1, max_length=64)]


class IssueKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose, for what, and until when. `*` is everything that the principal may do; without `expires_at` no end."""

    principal_id: PrincipalName
    scopes: Scopes
    expires_at: Moment | None = None


class RotateKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long the old key works beside the new one."""

    overlap_seconds: Annotated[int, Meta(ge=0, le=_YEAR)] = 24 * 3600


class RevokeKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why; it is recorded."""

    reason: Annotated[str, Meta(min_length=1, max_length=2000)]


class IssuedKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new key. `api_key` is shown in this answer and never again, and null where the same request is sent again."""

    api_key: str | None
    prefix: ApiKeyPrefix
    principal_id: PrincipalId
    scopes: tuple[str, ...]
    issued_at: Instant
    expires_at: Instant | None


class KeyPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[ListedApiKey, ...]
    next: str | None


class Why(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`allowed` is what the door would say; each requirement says whether it is met, and what would change it."""

    principal_id: str
    action: str
    on: str | None
    allowed: bool
    requirements: tuple[Requirement, ...]
