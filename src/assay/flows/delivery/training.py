"""Training pairs for trainers: export them, show the queue, and measure guesses of categories (PRAMANA 10.4, 12.6)."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated

from msgspec import Meta, Struct

from assay.delivery.categorise import measure_pairs
from assay.delivery.pair import TrainingPair, render_chat, render_pairs, render_preferences
from assay.delivery.suggestion import HeldOut
from assay.delivery.workitem import WorkItem
from assay.flows.delivery.delivery_entry import read_text
from assay.flows.delivery.item_sight import is_hidden, pair_without_output
from assay.flows.errors import NotFoundError
from assay.flows.request import Content, Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import Principal
from assay.kernel.ids import TenantId
from assay.ports.database import Database, Unit
from assay.ports.delivery_store import StoredPair

LINES = "application/x-ndjson"


class PairFormat(StrEnum):
    JSON = "json"  # PRAMANA 10.4, one array
    CHAT = "chat"  # JSON lines of conversations
    PREFERENCES = "preferences"  # JSON lines of chosen over rejected


_RENDERERS: Mapping[PairFormat, Callable[[Iterable[TrainingPair]], bytes]] = MappingProxyType(
    {PairFormat.JSON: render_pairs, PairFormat.CHAT: render_chat, PairFormat.PREFERENCES: render_preferences}
)


class ExportPairs(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: Annotated[
        PairFormat,
        Meta(description="`json` as specified, `chat` as conversations, `preferences` as chosen over rejected."),
    ] = PairFormat.JSON


class ShowQueue(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole queue of the tenant."""


class MeasureCategories(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All pairs of the tenant."""


class TrainingQueue(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many pairs wait for a job, how many make one, and how many jobs there were."""

    waiting: int
    batch_size: int
    jobs: int


def training_pairs(tools: Tools, caller: Caller, request: ExportPairs) -> Content:
    """Export all training pairs in the order of their capture; outputs below the caller's floor are left out."""
    tenant_id, viewer = caller.tenant_id, caller.principal
    media_type = "application/json" if request.format is PairFormat.JSON else LINES
    if not viewer.authenticity_level_floor:
        body = _RENDERERS[request.format](captured_pairs(tools.database, tenant_id))
        return Content(body=body, media_type=media_type)

    def work(unit: Unit) -> tuple[TrainingPair, ...]:
        return tuple(_seen(unit, tenant_id, row, viewer) for row in unit.delivery.pairs(tenant_id))

    return Content(body=_RENDERERS[request.format](tools.database.read(work)), media_type=media_type)


def training_queue(tools: Tools, caller: Caller, request: ShowQueue) -> TrainingQueue:  # noqa: ARG001 - asks nothing
    """Show how many training pairs wait, how many make a job, and how many jobs there were."""

    def work(unit: Unit) -> TrainingQueue:
        jobs = unit.delivery.jobs(caller.tenant_id)
        taken = jobs[-1].through if jobs else 0
        waiting = len(unit.delivery.pairs(caller.tenant_id, after=taken))
        return TrainingQueue(waiting=waiting, batch_size=tools.delivery.pair_batch, jobs=len(jobs))

    return tools.database.read(work)


def measure_categories(tools: Tools, caller: Caller, request: MeasureCategories) -> HeldOut:  # noqa: ARG001 - as above
    """Measure the guesses of categories that root causes show: each pair is guessed from those before it."""
    return measure_pairs(captured_pairs(tools.database, caller.tenant_id))


def _seen(unit: Unit, tenant_id: TenantId, row: StoredPair, viewer: Principal) -> TrainingPair:
    pair, asked = read_text(row.text, TrainingPair), unit.delivery.find_asked(tenant_id, row.item_id)
    if asked is None:
        raise NotFoundError(f"tenant `{tenant_id}` asked nobody about `{row.item_id[:80]}`")
    item = read_text(asked.text, WorkItem)
    return pair_without_output(pair, item) if is_hidden(unit, tenant_id, item, viewer) else pair


def captured_pairs(database: Database, tenant_id: TenantId) -> tuple[TrainingPair, ...]:
    """Read the pairs in a unit that cannot write, so that a plugin may be given this and no more."""
    rows = database.read(lambda unit: unit.delivery.pairs(tenant_id))
    return tuple(read_text(row.text, TrainingPair) for row in rows)
