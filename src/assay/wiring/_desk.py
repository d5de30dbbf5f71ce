"""How the review desk is run, as the configuration has it."""

from datetime import timedelta

from assay.config import Config
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
