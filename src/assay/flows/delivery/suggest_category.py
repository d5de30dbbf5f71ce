"""What earlier conclusions suggest about a new root cause; kept up to date pair by pair, and asked for by nobody else.

pairs captured since the last look -> learnt -> a guess for the item, which goes on its ticket beside everything else
"""

from assay.delivery.categorise import measure_pairs
from assay.delivery.pair import TrainingPair
from assay.delivery.suggestion import CategorySuggestion, HeldOut
from assay.delivery.workitem import WorkItem
from assay.flows.delivery.category_shelf import CategoryShelf
from assay.flows.delivery.delivery_entry import read_text
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.ports.database import Unit

__all__ = ["measure_categories", "suggest_category"]


def suggest_category(
    shelf: CategoryShelf, unit: Unit, tenant_id: TenantId, item: WorkItem
) -> CategorySuggestion | None:
    """None until people have concluded enough. From the same texts as a pair is learnt and measured by."""
    contexts = [f"{one.outcome} {one.query_context or ''}" for one in item.contexts]
    texts = [item.judged, item.original_response, *contexts]
    return shelf.up_to_date(unit, tenant_id).suggest(item.rule.rule_id, texts)


def measure_categories(tools: Tools, tenant_id: TenantId) -> HeldOut:
    """How good such guesses are over all pairs of the tenant, each guessed from those before it."""
    rows = tools.database.read(lambda unit: unit.delivery.pairs(tenant_id))
    return measure_pairs(read_text(row.text, TrainingPair) for row in rows)
