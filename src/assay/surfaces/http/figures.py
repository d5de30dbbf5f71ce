"""Figures for Prometheus, in a registry of their own."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from assay.flows.review.answer_desk import DeskAnswer
from assay.flows.review.answer_review import Answered
from assay.flows.tools import Tools
from assay.flows.truth.compile_truth import CompiledTruth
from assay.kernel.ids import TenantId
from assay.kernel.ledger import Receipt
from assay.ports.database import Unit
from assay.ports.ledger_store import KeptCheckpoint
from assay.surfaces.http.ski_figures import SkiFigures

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


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

    def count_observations(self, tenant_id: TenantId, **outcomes: int) -> None:
        """So many were `recorded`, so many `repeated`, so many `refused`; whichever door they came in by."""
        for outcome, count in outcomes.items():
            self.observations.labels(tenant=tenant_id, outcome=outcome).inc(count)

    def count_vote(self, answered: Answered, compiled: CompiledTruth | None) -> None:
        """A person's vote, and the state that it made; whichever door it came in by."""
        tenant_id = answered.receipt.tenant_id
        self.votes.labels(tenant=tenant_id, vote_type=answered.answer.choice.upper()).inc()
        self.states.labels(tenant=tenant_id, cause="vote").inc(compiled is not None and compiled.is_new)

    def notice(self, value: object) -> None:
        """Count what an operation returned, by its type: receipts of notes, and of answers on the desk, votes."""
        if isinstance(value, Receipt):
            self.appends.labels(tenant=value.tenant_id).inc()
        if isinstance(value, DeskAnswer) and value.recount is not None:
            self.count_vote(value.answered, value.recount.compiled)


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
        for tenant, count, kept in self._tools.database.read(_ledgers):
            entries.add_metric([tenant], count)
            if kept is not None:
                size.add_metric([tenant], kept.size)
                age.add_metric([tenant], (now - kept.signed_at).total_seconds())
        yield from (entries, size, age)


def _ledgers(unit: Unit) -> list[tuple[str, int, KeptCheckpoint | None]]:
    ledger = unit.ledger
    return [(one, ledger.head(one).sequence_number, ledger.find_checkpoint(one)) for one in ledger.tenants()]
