"""What the registry of questions and the queue of training hold (PRAMANA 12.6, 12.8)."""

from msgspec import Struct

from assay.delivery.query import QueryType
from assay.flows.delivery.register_query import load_queries
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.ports.database import Unit

__all__ = ["TrainingQueue", "list_queries", "show_queue"]


class TrainingQueue(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many pairs wait for a job, how many make one, and how many jobs there were."""

    waiting: int
    batch_size: int
    jobs: int


def list_queries(tools: Tools, tenant_id: TenantId) -> tuple[QueryType, ...]:
    """Each kind of question in force, by slug, with the level that its answers should reach."""
    found = tools.database.read(lambda unit: load_queries(unit, tenant_id))
    return tuple(found.types[slug] for slug in found.can_answer())


def show_queue(tools: Tools, tenant_id: TenantId) -> TrainingQueue:
    def work(unit: Unit) -> TrainingQueue:
        jobs = unit.delivery.jobs(tenant_id)
        taken = jobs[-1].through if jobs else 0
        waiting = len(unit.delivery.pairs(tenant_id, after=taken))
        return TrainingQueue(waiting=waiting, batch_size=tools.delivery.pair_batch, jobs=len(jobs))

    return tools.database.read(work)
