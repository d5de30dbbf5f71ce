"""What earlier conclusions suggest about a new root cause; kept up to date pair by pair, and asked for by nobody else.

pairs captured since the last look -> learnt -> a guess for the item, which goes on its ticket beside everything else
"""

from assay.delivery.suggestion import CategorySuggestion
from assay.delivery.workitem import WorkItem
from assay.flows.delivery.category_shelf import CategoryShelf
from assay.kernel.ids import TenantId
from assay.ports.database import Unit


def suggest_category(
    shelf: CategoryShelf, unit: Unit, tenant_id: TenantId, item: WorkItem
) -> CategorySuggestion | None:
    """None until people have concluded enough. From the same texts as a pair is learnt and measured by."""
    contexts = [f"{one.outcome} {one.query_context or ''}" for one in item.contexts]
    texts = [item.judged, item.original_response, *contexts]
    return shelf.up_to_date(unit, tenant_id).suggest(item.rule.rule_id, texts)
