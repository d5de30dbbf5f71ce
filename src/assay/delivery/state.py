"""STATE as PRAMANA 7.1 has it: what this system can answer and do, and which strands it checks; open to everyone."""

from enum import StrEnum
from typing import Literal

from msgspec import Struct

from assay.delivery.annotate import PRAMANA_VERSION
from assay.delivery.query import QueryRegistry
from assay.delivery.strand import CORE_REGISTRY, StrandId, StrandRegistry


class ServiceStatus(StrEnum):
    ONLINE = "online"
    DEGRADED = "degraded"
    OFFLINE = "offline"


class PramanaState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The seven members of the text and no other."""

    service: str
    version: str
    status: ServiceStatus
    can_answer: tuple[str, ...]
    can_do: tuple[str, ...]
    strands_supported: tuple[StrandId, ...]
    pramana_version: Literal["1.0"] = PRAMANA_VERSION


def state_of(
    queries: QueryRegistry,
    *,
    service: str,
    version: str,
    status: ServiceStatus,
    can_do: tuple[str, ...] = (),
    registry: StrandRegistry = CORE_REGISTRY,
) -> PramanaState:
    """Each slug is a query type of the registry; every strand that is checked is named, `x-` ones by their prefix."""
    return PramanaState(
        service=service,
        version=version,
        status=status,
        can_answer=queries.can_answer(),
        can_do=can_do,
        strands_supported=registry.ids(),
    )
