"""Figures for Prometheus, in a registry of their own."""

from collections import Counter as Counts
from collections.abc import Iterator
from threading import Lock
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from assay.flows.node_facts import count_verdicts, is_graph_verified, ledger_facts
from assay.flows.review.answer_desk import DeskAnswer
from assay.flows.tools import Tools
from assay.flows.trust.record_signal import Signalled
from assay.flows.truth.compile_all import CompiledState
from assay.flows.truth.observe import Observed
from assay.flows.truth.votes import VoteReceipt, WindowReceipt
from assay.flows.verdicts.coverage import check_agreement
from assay.flows.verdicts.sovereignty import count_egress
from assay.identity.caller import Caller
from assay.kernel.ids import TenantId
from assay.kernel.ledger import Receipt
from assay.operations.kinds import Operation
from assay.operations.truth import OBSERVATIONS_RECORD
from assay.verdicts.envelope import Verdict

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class SkiFigures(Collector):
    """Verdicts are counted since the process began, whoever recorded them; gaps over the whole ledger.

    A held verdict is counted when it has become final. Each entry is looked at once: what is later taken away from the
    middle of the ledger is found by `assay ledger verify`, not here.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._lock = Lock()
        self._verdicts: dict[TenantId, Counts[str]] = {}
        self._gaps: Counts[TenantId] = Counts()
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
            self._verdicts.setdefault(tenant_id, Counts()).update(counts.final)
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


class Metrics:
    """Counted by the routes themselves; the database's own figures, in `stored`, are read when somebody looks."""

    def __init__(self, tools: Tools) -> None:
        self.registry = CollectorRegistry()
        self.stored = CollectorRegistry()
        self.appends = Counter(
            "assay_appends", "Entries appended over HTTP and acknowledged", ["tenant"], registry=self.registry
        )
        self.problems = Counter("assay_problems", "Problems answered, by code", ["code"], registry=self.registry)
        self.round_failures = Counter(
            "assay_round_failures",
            "Housekeeping that failed, by round and code",
            ["round", "code"],
            registry=self.registry,
        )
        self.witness_lag = Gauge(
            "assay_witness_lag_entries",
            "Entries that a witness has not cosigned yet",
            ["tenant", "witness"],
            registry=self.registry,
        )
        self.observations = Counter(
            "assay_observations",
            "Observations that came in, by what became of them",
            ["tenant", "outcome"],
            registry=self.registry,
        )
        self.scores = Counter(
            "assay_ai_scores",
            "Questions to engines about observations, by stage and code of what they could not answer",
            ["tenant", "stage", "code"],
            registry=self.registry,
        )
        self.votes = Counter("assay_votes", "Votes that were cast", ["tenant", "vote_type"], registry=self.registry)
        self.states = Counter(
            "assay_truth_states",
            "Truth states that were appended, by what made us compile",
            ["tenant", "cause"],
            registry=self.registry,
        )
        self.stuck_keys = Gauge(
            "assay_truth_stuck_keys",
            "Keys that the last round could not compile",
            ["tenant", "round"],
            registry=self.registry,
        )
        self.signals = Counter("assay_signals", "Trust signals handed in", ["tenant", "kind"], registry=self.registry)
        self.requests = Histogram(
            "assay_http_request_seconds",
            "Time to answer, by route",
            ["method", "route", "status"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.operations = Histogram(
            "assay_operation_seconds",
            "Time to perform an operation, by its name and the code of its refusal",
            ["operation", "code"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.evaluations = Histogram(
            "ski_evaluation_duration_seconds",
            "Time to judge one record, its commit included",
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.stored.register(_NodeFigures(tools))
        self.stored.register(SkiFigures(tools))

    def count_operation(self, operation: str, code: str, seconds: float) -> None:
        """Count an operation, through whichever door it came."""
        self.operations.labels(operation=operation, code=code).observe(seconds)

    def notice(self, operation: Operation, caller: Caller, value: Any) -> None:  # noqa: ANN401 - any result
        """Count what an operation returned, through whichever door it came."""
        tenant_id = caller.tenant_id
        if isinstance(value, Receipt):
            self.appends.labels(tenant=value.tenant_id).inc()
        elif isinstance(value, DeskAnswer) and value.recount is not None:
            compiled = value.recount.compiled
            self._count_vote(tenant_id, value.answered.answer.choice, compiled is not None and compiled.is_new)
        elif isinstance(value, VoteReceipt):
            self._count_vote(tenant_id, value.vote_type, value.state is not None)
        elif isinstance(value, Observed):
            self._count_observations(tenant_id, recorded=value.is_new, repeated=not value.is_new)
        elif operation is OBSERVATIONS_RECORD:
            counts = Counts(line.status for line in value)
            outcomes = {"recorded": counts["recorded"], "repeated": counts["known"], "refused": counts["refused"]}
            self._count_observations(tenant_id, **outcomes)
        elif isinstance(value, CompiledState):
            self.states.labels(tenant=tenant_id, cause="request").inc(value.is_new)
        elif isinstance(value, WindowReceipt):
            self.states.labels(tenant=tenant_id, cause="request").inc(value.state is not None)
        elif isinstance(value, Signalled):
            self.signals.labels(tenant=tenant_id, kind=value.kind.value).inc(value.is_new)

    def _count_observations(self, tenant_id: TenantId, **outcomes: int) -> None:
        for outcome, count in outcomes.items():
            self.observations.labels(tenant=tenant_id, outcome=outcome).inc(count)

    def _count_vote(self, tenant_id: TenantId, choice: str, is_new: bool) -> None:  # noqa: FBT001 - of the state
        self.votes.labels(tenant=tenant_id, vote_type=choice.upper()).inc()
        self.states.labels(tenant=tenant_id, cause="vote").inc(is_new)


class _NodeFigures(Collector):
    """Figures that the database knows: nothing is kept twice, so nothing can disagree."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def describe(self) -> list[Metric]:
        # Without this the registry would read the database just to learn the names.
        return []

    def collect(self) -> Iterator[Metric]:
        facts = self._tools.database.facts()
        yield CounterMetricFamily("assay_commits", "Durable commits", value=facts.commits)
        yield CounterMetricFamily("assay_writes", "Writes that commits covered", value=facts.writes)
        yield GaugeMetricFamily("assay_queue_length", "Writes waiting for a commit", value=facts.queue_length)
        yield from self._checkpoints()

    def _checkpoints(self) -> Iterator[Metric]:
        entries = GaugeMetricFamily("assay_ledger_entries", "Entries of the ledger", labels=["tenant"])
        size = GaugeMetricFamily("assay_checkpoint_size", "Entries the newest checkpoint covers", labels=["tenant"])
        age = GaugeMetricFamily("assay_checkpoint_age_seconds", "Age of the newest checkpoint", labels=["tenant"])
        now = self._tools.clock.now()
        for tenant, count, kept in ledger_facts(self._tools):
            entries.add_metric([tenant], count)
            if kept is not None:
                size.add_metric([tenant], kept.size)
                age.add_metric([tenant], (now - kept.signed_at).total_seconds())
        yield from (entries, size, age)
