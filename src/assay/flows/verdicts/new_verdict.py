"""What was just recorded, as it is read back later: out of the bytes that went into the entries.

prepared verdicts + receipts of their durable entries -> Decided
INVARIANT: equal to `read_verdict.decided_of` of the same record, byte for byte; a test holds it to that.
"""

from collections.abc import Sequence

from assay.flows.verdicts.read_verdict import Decided, RuleVerdict
from assay.flows.verdicts.verdict_entry import PreparedVerdict
from assay.kernel.ledger import Draft, Receipt
from assay.kernel.read_back import read_back
from assay.verdicts.envelope import Envelope
from assay.verdicts.govern import Standing, strictest
from assay.verdicts.telemetry import Telemetry


def newly_decided(telemetry: Telemetry, verdicts: Sequence[PreparedVerdict], receipts: Sequence[Receipt]) -> Decided:
    """The verdicts of a record whose commit is durable; the caller has waited for it."""
    return Decided(
        telemetry_id=telemetry.telemetry_id,
        telemetry_hash=telemetry.telemetry_hash,
        subject=verdicts[0].row.subject,
        as_of=telemetry.timestamp,
        overall=strictest(one.ruling for one in verdicts),
        verdicts=tuple([_rule_verdict(*pair) for pair in zip(verdicts, receipts, strict=True)]),
        is_new=True,
    )


def _rule_verdict(prepared: PreparedVerdict, receipt: Receipt) -> RuleVerdict:
    """A held one has neither verdict nor envelope to serve, only its ticket."""
    ruling = prepared.ruling
    is_held = ruling.standing is Standing.HELD
    return RuleVerdict(
        rule_id=prepared.row.rule_id,
        tier=ruling.tier,
        standing=ruling.standing,
        verdict=None if is_held else ruling.verdict,
        reason=ruling.reason,
        sequence_number=receipt.sequence_number,
        entry_hash=receipt.entry_hash,
        recorded_at=receipt.timestamp,
        ticket_id=None if prepared.ticket is None else prepared.ticket.id,
        envelope=None if is_held else _envelope(prepared.draft),
    )


def _envelope(draft: Draft) -> Envelope | None:
    """From the canonical bytes: a number that was 20.0 here is 20 for whoever reads the entry."""
    return None if draft.verdict is None else read_back(draft.verdict.llm_transcript, Envelope)
