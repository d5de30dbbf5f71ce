"""What each tool takes; the schemas that agents read are these types'."""

from typing import Annotated, Any

from msgspec import Meta, Struct

_Name = Annotated[str, Meta(min_length=1, max_length=1024)]


class Evaluate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One telemetry record."""

    record: Annotated[
        dict[str, Any], Meta(description="telemetry_id, timestamp with an offset, subject, measurement, jurisdiction?")
    ]


class Coverage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The coverage register."""

    subject: Annotated[str | None, Meta(description="only this subject")] = None


class ShowVerdict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record that was judged."""

    telemetry_id: _Name


class ShowTruth(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A truth key."""

    truthkey: _Name
    known_at: Annotated[str | None, Meta(description="what was known at this instant (RFC 3339)")] = None
