"""Signals and policies of trust."""

from assay.facts.kinds import Fact, Projected, Table, Transient
from assay.ports.trust_store import FoldMark, LoggedSignal, RegisteredPolicy

FACTS: tuple[Fact, ...] = ()
TABLES = (
    Table("trust_signal", Projected(LoggedSignal), pending=True),
    Table("trust_policy", Projected(RegisteredPolicy), pending=True),
    Table("trust_mark", Transient("not examined yet", row=FoldMark), pending=True),
)
