"""How the review desk is run, and which mandates one person may sign, as the configuration has it."""

from datetime import timedelta

from assay.config import Config
from assay.flows.permits.mandate_settings import MandateSettings
from assay.flows.review.desk_settings import DeskSettings
from assay.kernel.ids import parse_principal_id
from assay.review.kind import TicketKind


def desk_settings(config: Config) -> DeskSettings:
    review = config.review
    return DeskSettings(
        lease=timedelta(seconds=review.lease_seconds),
        longest_lease=timedelta(seconds=review.longest_lease_seconds),
        escalate_before=timedelta(seconds=review.escalate_before_seconds),
        escalate_roles=review.escalate_roles,
        escalate_persons=tuple(parse_principal_id(one) for one in review.escalate_persons),
        grace={TicketKind(kind): timedelta(seconds=seconds) for kind, seconds in review.grace_seconds.items()},
        bulk_grace=timedelta(seconds=review.bulk_grace_seconds),
    )


def mandate_settings(config: Config) -> MandateSettings:
    mandates = config.mandates
    return MandateSettings(
        single_count=mandates.single_count,
        single_span=timedelta(days=mandates.single_days),
        single_budget=mandates.single_budget,
    )
