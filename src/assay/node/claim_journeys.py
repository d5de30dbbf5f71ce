"""Claims: how sure the judge was of a recorded verdict; everything else is an operation of the table."""

from assay.flows.verdicts.estimate_verdict import EstimatedVerdict, JudgeSampling, estimate_verdict, weights_of_verdict
from assay.node.ledger_journeys import LedgerJourneys
from assay.wiring import open_scorer


class ClaimJourneys(LedgerJourneys):
    """Draws replies of the judge again."""

    def estimate_verdict(
        self, telemetry_id: str, *, rule_id: str | None = None, sampling: JudgeSampling | None = None
    ) -> EstimatedVerdict:
        """How sure the judge was of a recorded verdict, by drawing its reply again; exact by seed, not recorded."""
        weights = weights_of_verdict(self.tools, self.tenant_id, telemetry_id, rule_id)
        judge = open_scorer(folder=self.folder, named=weights)
        return estimate_verdict(self.tools, self.tenant_id, telemetry_id, judge, rule_id=rule_id, sampling=sampling)
