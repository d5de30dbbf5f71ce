"""What each tool takes; the schemas that agents read are these types'."""

from typing import Annotated

from msgspec import Meta, Struct

_Name = Annotated[str, Meta(min_length=1, max_length=1024)]


class ShowTruth(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A truth key."""

    truthkey: _Name
    known_at: Annotated[str | None, Meta(description="what was known at this instant (RFC 3339)")] = None
