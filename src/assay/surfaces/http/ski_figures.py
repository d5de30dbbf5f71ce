"""The figures that SKI names, read from the ledger when somebody looks."""

from collections import Counter
from collections.abc import Iterator
from threading import Lock

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from assay.flows.node_facts import count_verdicts, is_graph_verified, ledger_facts
from assay.flows.tools import Tools
from assay.flows.verdicts.coverage import check_agreement
from assay.flows.verdicts.sovereignty import count_egress
from assay.kernel.ids import TenantId
from assay.verdicts.envelope import Verdict


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
        self._counted = {one.tenant_id: one.size for one in ledger_facts(tools)}
        self._checked: dict[TenantId, int] = {}

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        attempts = count_egress(self._tools)
        yield CounterMetricFamily("ski_egress_attempts", "Attempts to leave the perimeter", value=attempts)
        with self._lock:
            tenants = self._count()
            yield self._verdict_counts()
            yield self._gap_counts()
        yield from self._graphs(tenants)

    def _count(self) -> tuple[TenantId, ...]:
        found = count_verdicts(self._tools, self._counted, self._checked)
        for tenant_id, counts in found.items():
            self._verdicts.setdefault(tenant_id, Counter()).update(counts.final)
            self._gaps[tenant_id] += counts.gaps
            self._counted[tenant_id] = self._checked[tenant_id] = counts.through
        return tuple(found)

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
            is_verified = is_graph_verified(self._tools, tenant_id)
            if is_verified is not None:
                verified.add_metric([tenant_id], is_verified)
        yield from (agreement, verified)
