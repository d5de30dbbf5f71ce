"""Training pairs for trainers elsewhere: the specified JSON, chat lines, or preferences."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

from assay.delivery.pair import TrainingPair, render_chat, render_pairs, render_preferences
from assay.flows.delivery.delivery_entry import read_text
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.ports.database import Database

__all__ = ["PairFormat", "captured_pairs", "export_pairs"]


class PairFormat(StrEnum):
    JSON = "json"  # PRAMANA 10.4, one array
    CHAT = "chat"  # JSON lines of conversations
    PREFERENCES = "preferences"  # JSON lines of chosen over rejected


_RENDERERS: Mapping[PairFormat, Callable[[Iterable[TrainingPair]], bytes]] = MappingProxyType(
    {PairFormat.JSON: render_pairs, PairFormat.CHAT: render_chat, PairFormat.PREFERENCES: render_preferences}
)


def export_pairs(tools: Tools, tenant_id: TenantId, form: PairFormat = PairFormat.JSON) -> bytes:
    """All pairs of the tenant, in the order of their capture."""
    return _RENDERERS[form](captured_pairs(tools.database, tenant_id))


def captured_pairs(database: Database, tenant_id: TenantId) -> tuple[TrainingPair, ...]:
    """The pairs themselves: read in a unit that cannot write, so that a plugin may be given this and no more."""
    rows = database.read(lambda unit: unit.delivery.pairs(tenant_id))
    return tuple(read_text(row.text, TrainingPair) for row in rows)
