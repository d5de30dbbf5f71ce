"""Graphs, telemetry and verdicts."""

from assay.facts.kinds import Fact, Folded, Projected, Table
from assay.ports.graph_store import GraphActivation, GraphVersion, RecordedReview
from assay.ports.telemetry_store import BufferedText, KnownTelemetry, TelemetryDrop
from assay.ports.verdict_store import CoveredSubject, EgressNote, StableRule, VerdictRow

FACTS: tuple[Fact, ...] = ()
TABLES = (
    Table("graph_version", Projected(GraphVersion), pending=True),
    Table("graph_review", Projected(RecordedReview), pending=True),
    Table("graph_activation", Projected(GraphActivation), pending=True),
    Table("telemetry", Projected(KnownTelemetry), pending=True),
    Table("telemetry_buffer", Projected(BufferedText), pending=True),
    Table("telemetry_drop", Projected(TelemetryDrop), pending=True),
    Table("verdict_index", Projected(VerdictRow), pending=True),
    Table("egress_note", Projected(EgressNote), pending=True),
    Table("coverage", Folded(CoveredSubject), pending=True),
    Table("rule_stability", Folded(StableRule), pending=True),
)
