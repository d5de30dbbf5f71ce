"""What follows outcomes and conclusions by itself: ended windows, questions to people, jobs of training."""

from msgspec import Struct

from assay.flows.delivery.check_batches import LookedAt, check_batches
from assay.flows.delivery.open_rootcause import Asked, ask_people
from assay.flows.delivery.train_pairs import trigger_training
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.trainer import TrainingJob


class Tended(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one round of housekeeping came to."""

    batches: tuple[LookedAt, ...]
    asked: tuple[Asked, ...]
    triggered: tuple[TrainingJob, ...]


def tend_delivery(tools: Tools, tenant_id: TenantId, *, at: Instant) -> Tended:
    """One round; what a crash left undone is found and done by the next. Jobs are taken by `run_training`."""
    batches = check_batches(tools, tenant_id, at=at)
    asked = ask_people(tools, tenant_id, at=at)
    return Tended(batches=batches, asked=asked, triggered=trigger_training(tools, tenant_id, at=at))
