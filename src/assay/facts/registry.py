"""Services, their keys, switches and tiers."""

from assay.facts.kinds import Fact, Projected, Table, Transient
from assay.ports.registry_store import (
    ChangedTier,
    HeldLease,
    IndexedService,
    LoggedAction,
    ProofRecord,
    RegisteredKey,
    RevokedKey,
    SwitchFact,
    WorkerCounts,
)

FACTS: tuple[Fact, ...] = ()
TABLES = (
    Table("switch_fact", Projected(SwitchFact), pending=True),
    Table("service_key", Projected(RegisteredKey), pending=True),
    Table("service_key_end", Projected(RevokedKey), pending=True),
    Table("service_entry", Projected(IndexedService), pending=True),
    Table("service_proof", Projected(ProofRecord), pending=True),
    Table("tier_change", Projected(ChangedTier), pending=True),
    Table("service_worker", Transient("not examined yet", row=WorkerCounts), pending=True),
    Table(
        "service_counter",
        Transient("not examined yet"),
        columns=("tenant_id", "service_id", "name", "number"),
        pending=True,
    ),
    Table("service_action", Projected(LoggedAction), pending=True),
    Table("service_lease", Transient("not examined yet", row=HeldLease), pending=True),
)
