"""What flows refuse, beyond what the rooms and ports they call refuse.

FlowError                     flow.refused
├── NotFoundError             flow.not_found
├── RolledBackError           ledger.rolled_back
├── ForkedLedgerError         ledger.forked
├── MarkError                 ledger.mark
├── NoCheckpointError         proof.no_checkpoint
├── NothingToEraseError       ledger.nothing_to_erase
├── WitnessRefusedError       witness.refused
└── NotSignedInError          identity.not_signed_in
"""

from assay.kernel.errors import Blame, Error

__all__ = [
    "FlowError",
    "ForkedLedgerError",
    "MarkError",
    "NoCheckpointError",
    "NotFoundError",
    "NotSignedInError",
    "NothingToEraseError",
    "RolledBackError",
    "WitnessRefusedError",
]


class FlowError(Error):
    """A journey ended early."""

    code = "flow.refused"
    blame = Blame.ANSWER


class NotFoundError(FlowError):
    """What was asked for is not there."""

    code = "flow.not_found"


class RolledBackError(FlowError):
    """The database ends before a checkpoint that was signed for it: entries were lost or taken away."""

    code = "ledger.rolled_back"
    blame = Blame.OURS


class ForkedLedgerError(FlowError):
    """The database is not the one a checkpoint was signed for: its tree has another root."""

    code = "ledger.forked"
    blame = Blame.OURS


class MarkError(FlowError):
    """A verification mark is not one this node made."""

    code = "ledger.mark"
    blame = Blame.INPUT


class NoCheckpointError(FlowError):
    """No signed checkpoint covers the entry yet."""

    code = "proof.no_checkpoint"


class NothingToEraseError(FlowError):
    """The entry has no such erasable value, or it was erased before."""

    code = "ledger.nothing_to_erase"


class WitnessRefusedError(FlowError):
    """A witness did not cosign."""

    code = "witness.refused"


class NotSignedInError(FlowError):
    """No valid credential was shown."""

    code = "identity.not_signed_in"
