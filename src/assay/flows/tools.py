"""What flows work with; wiring fills it once, and it never leaves the process."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from assay.claims.guardian import BuiltInGuardian, Guardian
from assay.claims.oversight.exchange import KeptWatches
from assay.flows.delivery.delivery_settings import DeliverySettings
from assay.flows.identity.oidc_settings import OidcSettings
from assay.flows.ledger.tile_shelf import TileShelf
from assay.flows.permits.mandate_settings import MandateSettings
from assay.flows.review.desk_settings import DeskSettings
from assay.flows.tenant_locks import TenantLocks
from assay.flows.trust.fold_shelf import FoldShelf
from assay.flows.verdicts.shelves import (
    CoverageShelf,
    EgressShelf,
    GraphShelf,
    MeasuredShelf,
    SkiSettings,
    StabilityShelf,
    SubjectLocks,
)
from assay.flows.vouched import VouchedRows
from assay.identity.principal import Principal
from assay.kernel.ids import KeyId, TenantId
from assay.kernel.key import TrustAnchors
from assay.ports.checkpoint_memory import CheckpointMemory
from assay.ports.clock import Clock
from assay.ports.damage import DamageLog
from assay.ports.database import Database
from assay.ports.egress import EgressGuard
from assay.ports.ids import Entropy
from assay.ports.latch import Latch
from assay.ports.mark_memory import MarkMemory
from assay.ports.measured_boot import MeasuredBoot
from assay.ports.password import Passwords
from assay.ports.pool import Pools
from assay.ports.reasoner import KeptReasoners, LocalReasoner
from assay.ports.signer import Signer
from assay.ports.validator import Engines
from assay.ports.weight_files import WeightFiles
from assay.ports.witness import Witness
from assay.ports.witness_standing import WitnessStanding
from assay.registry.action import Tier


def _every_tier(_principal: Principal) -> int:
    return Tier.FULL


if TYPE_CHECKING:
    from assay.flows.claims.estimate import Estimator


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """One node: its database, its keys, its clock, and whom it trusts.

    `founder` is the root of its own keys; `anchors` are for the documents of others. A node that was founded before it
    could compile truth has no `truth_signer` until one is added. `domain_systems` are domains of truth keys beyond
    Kaori's four, with the spatial system of each. `roles` are those beyond the built-in ones. Verdicts need a
    `reasoner`, and in strict mode a `guard`; with a `boot`, weights are measured before they judge. `kept` are the
    models that judged before, for replays. `weights` is where those of other models than the shipped one lie.
    `latch` remembers a fired switch that could not be stored. `damage` is what this process has met of it.
    With `oidc`, people may log in by way of an identity provider.
    `pools` are workers for many keys at once, `engines` what judges observations.
    `guardians` are all asked about each bundle of claims; without one, none passes. `estimator` asks the general model
    how uncertain it is, where the operator named one.
    `clock_skew` is how far the clock may be behind the newest entry while observations and signals are taken in,
    `reporter_skew` how far a reporter's clock may be ahead of it.
    """

    database: Database
    clock: Clock
    entropy: Entropy
    pools: Pools
    ledger_signer: Signer
    review_signer: Signer
    transcript_signer: Signer
    checkpoints: CheckpointMemory
    marks: MarkMemory
    passwords: Passwords
    founder: KeyId
    anchors: TrustAnchors
    origin: str
    witnesses: tuple[Witness, ...] = ()
    witness_threshold: int = 0
    standing: WitnessStanding = field(default_factory=WitnessStanding)
    damage: DamageLog = field(default_factory=DamageLog)
    truth_signer: Signer | None = None
    domain_systems: Mapping[str, str] = field(default_factory=dict)
    roles: tuple[str, ...] = ()
    ski: SkiSettings = field(default_factory=SkiSettings)
    delivery: DeliverySettings = field(default_factory=DeliverySettings)
    desk: DeskSettings = field(default_factory=DeskSettings)
    mandates: MandateSettings = field(default_factory=MandateSettings)
    oidc: OidcSettings | None = None
    reasoner: LocalReasoner | None = None
    kept: KeptReasoners | None = None
    engines: Engines | None = None
    guard: EgressGuard | None = None
    weights: WeightFiles | None = None
    latch: Latch | None = None
    guardians: tuple[Guardian, ...] = (BuiltInGuardian(),)
    estimator: "Estimator | None" = None
    boot: MeasuredBoot | None = None
    measured: MeasuredShelf = field(default_factory=MeasuredShelf)
    graphs: GraphShelf = field(default_factory=GraphShelf)
    subjects: SubjectLocks = field(default_factory=SubjectLocks)
    stability: StabilityShelf = field(default_factory=StabilityShelf)
    gaps: CoverageShelf = field(default_factory=CoverageShelf)
    tiles: TileShelf = field(default_factory=TileShelf)
    watches: KeptWatches = field(default_factory=KeptWatches)
    clock_skew: timedelta = timedelta(minutes=5)
    reporter_skew: timedelta = timedelta(minutes=5)
    folds: FoldShelf = field(default_factory=FoldShelf)
    vouched: VouchedRows = field(default_factory=VouchedRows)
    egress: EgressShelf = field(default_factory=EgressShelf)
    checkpointing: TenantLocks = field(default_factory=TenantLocks)
    # What the node's own switch leaves to a principal now.
    tier_left: Callable[[Principal], int] = _every_tier
    # A report is made whole in memory; a server, which others rely on, makes none of more entries than this.
    most_report_bytes: int | None = None

    def origin_of(self, tenant_id: TenantId) -> str:
        """The name a tenant's checkpoints are signed under: no two logs share one."""
        return f"{self.origin}/{tenant_id}"
