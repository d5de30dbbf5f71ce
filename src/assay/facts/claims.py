"""Policies of the gates, bundles, decisions and evidence."""

from assay.facts.kinds import Content, Fact, Projected, Table
from assay.ports.claims_store import EvidenceFact, ReceivedBundle, RecordedDecision, ReleasedClaimsPolicy, TakenTurn

FACTS: tuple[Fact, ...] = ()
TABLES = (
    Table("claims_policy", Projected(ReleasedClaimsPolicy), pending=True),
    Table("claims_bundle", Projected(ReceivedBundle), pending=True),
    Table("claims_decision", Projected(RecordedDecision), pending=True),
    Table("claims_turn", Projected(TakenTurn), pending=True),
    Table("claims_evidence", Projected(EvidenceFact), pending=True),
    Table(
        "claims_evidence_content",
        Content("`sha256` of the row of `claims_evidence`, which follows from its entry"),
        columns=("tenant_id", "sha256", "content"),
        pending=True,
    ),
)
