"""Suggest the category of a root cause by what people concluded so far; one model for each tenant of this process."""

import threading

from assay.delivery.categorise import CategoryModel
from assay.delivery.pair import TrainingPair
from assay.delivery.suggestion import CategorySuggestion
from assay.delivery.workitem import WorkItem
from assay.flows.delivery.delivery_entry import read_text
from assay.kernel.ids import TenantId
from assay.ports.database import Unit

_AT_ONCE = 500


class CategoryShelf:
    """One model for each tenant of this process, and the entry through which it has learnt."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._models: dict[TenantId, tuple[CategoryModel, int]] = {}

    def up_to_date(self, unit: Unit, tenant_id: TenantId) -> CategoryModel:
        """The model with every pair that this unit of work sees; a pair is learnt once."""
        with self._lock:
            model, through = self._models.get(tenant_id, (CategoryModel(), 0))
            while rows := unit.delivery.pairs(tenant_id, after=through, limit=_AT_ONCE):
                for row in rows:
                    model.learn(read_text(row.text, TrainingPair))
                through = rows[-1].sequence_number
                self._models[tenant_id] = (model, through)
            return model


def suggest_category(
    shelf: CategoryShelf, unit: Unit, tenant_id: TenantId, item: WorkItem
) -> CategorySuggestion | None:
    """None until people have concluded enough. From the same texts as a pair is learnt and measured by."""
    contexts = [f"{one.outcome} {one.query_context or ''}" for one in item.contexts]
    texts = [item.judged, item.original_response, *contexts]
    return shelf.up_to_date(unit, tenant_id).suggest(item.rule.rule_id, texts)
