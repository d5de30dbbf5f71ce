"""Root causes and pairs as one person may see them: an output below their floor is withheld there, too (PRAMANA 14.6).

item -> the answers behind it -> below the viewer's floor? the item without the output, and without what follows from it
Whom it was shown to when it was asked does not matter: floors are raised, and people join.
"""

from collections.abc import Sequence

from msgspec import UNSET
from msgspec.structs import replace

from assay.delivery.level import Level, is_below
from assay.delivery.pair import TrainingPair
from assay.delivery.workitem import WorkItem
from assay.flows.delivery.answer_record import AnswerRecord
from assay.flows.delivery.delivery_entry import read_text
from assay.identity.principal import Principal
from assay.kernel.ids import TenantId
from assay.ports.database import Unit
from assay.ports.delivery_store import DeliveredAnswer

WITHHELD = "withheld: the output is below your floor"


def is_hidden(unit: Unit, tenant_id: TenantId, item: WorkItem, viewer: Principal | None) -> bool:
    """Whether an answer behind the item is below the viewer's floor; never without a viewer (the operator)."""
    return item.item_id in hidden_items(unit, tenant_id, (item,), viewer)


def hidden_items(
    unit: Unit, tenant_id: TenantId, items: Sequence[WorkItem], viewer: Principal | None
) -> frozenset[str]:
    """The ids of those of them that are hidden; their answers are read with a few questions, however many."""
    floor = 0 if viewer is None else viewer.authenticity_level_floor
    if not floor:
        return frozenset()
    named = (one.answer_id for item in items for one in item.contexts if one.answer_id is not None)
    rows = unit.delivery.find_answers(tenant_id, named)
    below = {row.answer_id for row in rows if is_below(_level(row), floor)}
    return frozenset(item.item_id for item in items if any(one.answer_id in below for one in item.contexts))


def without_output(item: WorkItem) -> WorkItem:
    """A case and a plugin's hypothesis go with it: the output follows from the one, and the other may quote it."""
    return replace(item, original_response=WITHHELD, case=None, plugin_id=None, purva_paksha=None)


def pair_without_output(pair: TrainingPair, item: WorkItem) -> TrainingPair:
    learned = replace(pair.input, original_response=WITHHELD, purva_paksha=UNSET)
    return replace(pair, input=learned if item.case is None else replace(learned, query=WITHHELD))


def _level(row: DeliveredAnswer) -> Level:
    return read_text(row.text, AnswerRecord).annotation.authenticity_level
