"""The figures that SKI names, read from the ledger when somebody looks."""

from collections import Counter
from collections.abc import Iterator
from threading import Lock

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from assay.flows.tools import Tools
from assay.flows.verdicts.coverage import check_agreement
from assay.flows.verdicts.graphs_in_use import ready_graph
from assay.flows.verdicts.sovereignty import count_egress
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.ports.database import Unit
from assay.verdicts.envelope import Verdict
from assay.verdicts.govern import Standing


class SkiFigures(Collector):
    """Verdicts are counted since the process began, whoever recorded them; gaps over the whole ledger.

    A held verdict is counted when it has become final. Each entry is looked at once: what is later taken away from the
    middle of the ledger is found by `assay ledger verify`, not here.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._lock = Lock()
        self._verdicts: dict[TenantId, Counter[str]] = {}
        self._gaps: Counter[TenantId] = Counter()
        self._counted = tools.database.read(_heads)
        self._checked: dict[TenantId, int] = {}

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        attempts = count_egress(self._tools)
        yield CounterMetricFamily("ski_egress_attempts", "Attempts to leave the perimeter", value=attempts)
        with self._lock:
            tenants = self._tools.database.read(self._look)
            yield self._verdict_counts()
            yield self._gap_counts()
        yield from self._graphs(tenants)

    def _look(self, unit: Unit) -> tuple[TenantId, ...]:
        tenants = unit.ledger.tenants()
        for tenant_id in tenants:
            head = unit.ledger.head(tenant_id).sequence_number
            counts = self._verdicts.setdefault(tenant_id, Counter())
            counted, checked = self._counted.get(tenant_id, 0), self._checked.get(tenant_id, 0)
            for row in unit.verdicts.all(tenant_id, first=counted + 1, last=head):
                counts[row.verdict] += row.standing == Standing.FINAL
            self._gaps[tenant_id] += head - checked - unit.ledger.count(tenant_id, first=checked + 1, last=head)
            self._counted[tenant_id] = self._checked[tenant_id] = head
        return tenants

    def _verdict_counts(self) -> Metric:
        family = CounterMetricFamily("ski_verdicts", "Final verdicts since the start", labels=["tenant", "verdict"])
        for tenant_id, counts in self._verdicts.items():
            for verdict in Verdict:
                family.add_metric([tenant_id, verdict.value], counts[verdict.value])
        return family

    def _gap_counts(self) -> Metric:
        family = CounterMetricFamily("ski_ledger_sequence_gaps", "Entries that are missing", labels=["tenant"])
        for tenant_id, gaps in self._gaps.items():
            family.add_metric([tenant_id], gaps)
        return family

    def _graphs(self, tenants: tuple[TenantId, ...]) -> Iterator[Metric]:
        agreement = GaugeMetricFamily("ski_agreement_rate", "How often the verifier agreed", labels=["tenant"])
        verified = GaugeMetricFamily(
            "ski_kg_signature_verified", "1 if an anchor signed the graph in use", labels=["tenant"]
        )
        for tenant_id in tenants:
            rate = check_agreement(self._tools, tenant_id).agreement_rate
            if rate is not None:
                agreement.add_metric([tenant_id], rate)
            is_verified = _is_verified(self._tools, tenant_id)
            if is_verified is not None:
                verified.add_metric([tenant_id], is_verified)
        yield from (agreement, verified)


def _heads(unit: Unit) -> dict[TenantId, int]:
    return {tenant_id: unit.ledger.head(tenant_id).sequence_number for tenant_id in unit.ledger.tenants()}


def _is_verified(tools: Tools, tenant_id: TenantId) -> bool | None:
    """By the anchors of now; None where no graph is in use."""
    active = tools.database.read(lambda unit: unit.graphs.find_active(tenant_id))
    if active is None:
        return None
    try:
        return ready_graph(tools, tenant_id, active.document_hash).opened.signed_by is not None
    except Error:
        return False
