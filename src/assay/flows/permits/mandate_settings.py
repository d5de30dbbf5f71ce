"""Which mandates one person may sign alone."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class MandateSettings:
    """Beyond any of these a mandate needs two people; the budget is in units of the argument that it sums."""

    single_count: int = 20
    single_span: timedelta = timedelta(days=31)
    single_budget: int = 100
