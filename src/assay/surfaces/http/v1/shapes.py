"""What `/api/v1` sends and takes, as types; a client reads answers by the same. No web framework is needed for it."""

from typing import Any

from msgspec import Struct

from assay.identity.principal import Principal
from assay.kernel.instant import Instant


class ObservationItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An observation as it is kept, with its place."""

    observation_id: str
    observation_hash: str
    truthkey: str
    reporter_id: str
    received_at: Instant
    sequence_number: int
    observation: dict[str, Any]


class ObservationPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[ObservationItem, ...]
    next: str | None


class StateItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signed state, and what age has left of it; the state itself never changes."""

    truthkey: str
    version: int
    sequence_number: int
    compiled_at: Instant
    confidence_now: float
    is_expired: bool
    is_stale: bool
    state: dict[str, Any]


class StatePage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[StateItem, ...]
    next: str | None


class CompiledState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The state in force; `is_new` is false where nothing new was to be said."""

    version: int
    sequence_number: int
    is_new: bool
    state: dict[str, Any]


class PrincipalPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[Principal, ...]
    next: str | None
