"""Contracts, observations and compiled states."""

from assay.facts.kinds import Fact, Folded, Projected, Table
from assay.ports.truth_store import FrozenTrust, ReleasedContract, SilverState, TruthRecord

FACTS: tuple[Fact, ...] = ()
TABLES = (
    Table("truth_contract", Projected(ReleasedContract), pending=True),
    Table("truth_record", Projected(TruthRecord), pending=True),
    Table("trust_snapshot", Projected(FrozenTrust), pending=True),
    Table("truth_state", Projected(SilverState), pending=True),
    Table("truth_due", Folded(None), columns=("tenant_id", "truthkey", "version", "due_at"), pending=True),
)
