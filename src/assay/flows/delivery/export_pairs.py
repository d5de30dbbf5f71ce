"""Training pairs for trainers elsewhere: the specified JSON, chat lines, or preferences."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

from assay.delivery.pair import TrainingPair, render_chat, render_pairs, render_preferences
from assay.delivery.workitem import WorkItem
from assay.flows.delivery.delivery_entry import read_text
from assay.flows.delivery.item_sight import is_hidden, pair_without_output
from assay.flows.errors import NotFoundError
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.kernel.ids import TenantId
from assay.ports.database import Database, Unit
from assay.ports.delivery_store import StoredPair

__all__ = ["PairFormat", "captured_pairs", "export_pairs"]


class PairFormat(StrEnum):
    JSON = "json"  # PRAMANA 10.4, one array
    CHAT = "chat"  # JSON lines of conversations
    PREFERENCES = "preferences"  # JSON lines of chosen over rejected


_RENDERERS: Mapping[PairFormat, Callable[[Iterable[TrainingPair]], bytes]] = MappingProxyType(
    {PairFormat.JSON: render_pairs, PairFormat.CHAT: render_chat, PairFormat.PREFERENCES: render_preferences}
)


def export_pairs(
    tools: Tools, tenant_id: TenantId, form: PairFormat = PairFormat.JSON, *, viewer: Principal | None = None
) -> bytes:
    """All pairs of the tenant, in the order of their capture; outputs below the viewer's floor are left out of them.

    No viewer is the operator of the node's folder, who exports for trainers.
    """
    if viewer is None or not viewer.authenticity_level_floor:
        return _RENDERERS[form](captured_pairs(tools.database, tenant_id))

    def look(unit: Unit) -> tuple[TrainingPair, ...]:
        return tuple(_seen(unit, tenant_id, row, viewer) for row in unit.delivery.pairs(tenant_id))

    return _RENDERERS[form](tools.database.read(look))


def _seen(unit: Unit, tenant_id: TenantId, row: StoredPair, viewer: Principal) -> TrainingPair:
    pair, asked = read_text(row.text, TrainingPair), unit.delivery.find_asked(tenant_id, row.item_id)
    if asked is None:
        raise NotFoundError(f"tenant `{tenant_id}` asked nobody about `{row.item_id[:80]}`")
    item = read_text(asked.text, WorkItem)
    return pair_without_output(pair, item) if is_hidden(unit, tenant_id, item, viewer) else pair


def captured_pairs(database: Database, tenant_id: TenantId) -> tuple[TrainingPair, ...]:
    """The pairs themselves: read in a unit that cannot write, so that a plugin may be given this and no more."""
    rows = database.read(lambda unit: unit.delivery.pairs(tenant_id))
    return tuple(read_text(row.text, TrainingPair) for row in rows)
