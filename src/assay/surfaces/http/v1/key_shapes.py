"""What `why` sends."""

from msgspec import Struct

from assay.identity.access import Requirement


class Why(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`allowed` is what the door would say; each requirement says whether it is met, and what would change it."""

    principal_id: str
    action: str
    on: str | None
    allowed: bool
    requirements: tuple[Requirement, ...]
