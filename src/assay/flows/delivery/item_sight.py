"""Root causes and pairs as one person may see them: an output below their floor is withheld there, too (PRAMANA 14.6).

item -> the answers behind it -> below the viewer's floor? the item without the output, and without what follows from it
Whom it was shown to when it was asked does not matter: floors are raised, and people join.
"""

from msgspec import UNSET
from msgspec.structs import replace

from assay.delivery.level import is_below
from assay.delivery.pair import TrainingPair
from assay.delivery.workitem import WorkItem
from assay.flows.delivery.answer_record import find_record
from assay.identity.principal import Principal
from assay.kernel.ids import TenantId
from assay.ports.database import Unit

__all__ = ["WITHHELD", "is_hidden", "pair_without_output", "without_output"]

WITHHELD = "withheld: the output is below your floor"


def is_hidden(unit: Unit, tenant_id: TenantId, item: WorkItem, viewer: Principal | None) -> bool:
    """Whether an answer behind the item is below the viewer's floor; never without a viewer (the operator)."""
    floor = 0 if viewer is None else viewer.authenticity_level_floor
    if not floor:
        return False
    named = dict.fromkeys(one.answer_id for one in item.contexts if one.answer_id is not None)
    records = (find_record(unit, tenant_id, answer_id) for answer_id in named)
    return any(one is not None and is_below(one.annotation.authenticity_level, floor) for one in records)


def without_output(item: WorkItem) -> WorkItem:
    """A case and a plugin's hypothesis go with it: the output follows from the one, and the other may quote it."""
    return replace(item, original_response=WITHHELD, case=None, plugin_id=None, purva_paksha=None)


def pair_without_output(pair: TrainingPair, item: WorkItem) -> TrainingPair:
    learned = replace(pair.input, original_response=WITHHELD, purva_paksha=UNSET)
    return replace(pair, input=learned if item.case is None else replace(learned, query=WITHHELD))
