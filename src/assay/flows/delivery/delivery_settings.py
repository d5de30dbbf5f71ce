"""What an operator settles about delivery; wiring fills it from the configuration, and it never changes after."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from assay.delivery.answerer import Answerer
from assay.delivery.pair import DEFAULT_BATCH
from assay.delivery.plugin import Category
from assay.delivery.strand import CORE_REGISTRY, PROOF_THRESHOLD_PCT, StrandId, StrandRegistry
from assay.delivery.trigger import TriggerRule
from assay.flows.delivery.categories import CategoryShelf
from assay.flows.shared_unit import SharedUnit
from assay.flows.time_limit import PLACES
from assay.kernel.ids import PrincipalId, TenantId
from assay.ports.answerer import StrandCheck
from assay.ports.plugin import PluginPost
from assay.ports.trainer import Trainer


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliverySettings:
    """`service` is the name under which this node answers; `answerers` are by name, frozen when the node starts.

    `answerers` are those that a program added; those of the configuration serve the tenants that it names
    (`tenant_answerers`), peers too: a tenant never uses the agreement or the token of another.

    `sub_categories` are those that a conclusion may name, by category; None is any.
    """

    service: str = "assay"
    trigger: TriggerRule = field(default_factory=TriggerRule)
    strands: StrandRegistry = CORE_REGISTRY
    checks: Mapping[StrandId, StrandCheck] = field(default_factory=lambda: MappingProxyType({}))
    proof_threshold_pct: float = PROOF_THRESHOLD_PCT
    strand_seconds: float = 2.0
    answer_seconds: float = 30.0
    answers_at_once: int = PLACES
    pair_batch: int = DEFAULT_BATCH
    answerers: Mapping[str, Answerer] = field(default_factory=lambda: MappingProxyType({}))
    tenant_answerers: Mapping[TenantId, Mapping[str, Answerer]] = field(default_factory=lambda: MappingProxyType({}))
    sub_categories: Mapping[Category, tuple[str, ...]] | None = None
    plugin: PluginPost | None = None
    trainer: Trainer | None = None
    categories: CategoryShelf = field(default_factory=CategoryShelf)
    reports: SharedUnit = field(default_factory=SharedUnit)

    def answerers_of(self, tenant_id: TenantId) -> Mapping[str, Answerer]:
        """The answerers that answer this tenant's questions, by name."""
        return {**self.tenant_answerers.get(tenant_id, {}), **self.answerers}

    @property
    def principal_id(self) -> PrincipalId:
        """The name under which the node itself asks people."""
        return PrincipalId(f"service:{self.service}")
