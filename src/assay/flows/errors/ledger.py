"""What flows about the ledger, its keys, proofs, witnesses and reports refuse."""

from assay.flows.errors import FlowError
from assay.kernel.errors import Blame


class RolledBackError(FlowError):
    """The database ends before a checkpoint that was signed for it: entries were lost or taken away."""

    code = "ledger.rolled_back"
    blame = Blame.OURS


class ForkedLedgerError(FlowError):
    """The database is not the one a checkpoint was signed for: its tree has another root."""

    code = "ledger.forked"
    blame = Blame.OURS


class OtherDatabaseError(FlowError):
    """The database that the configuration names is empty, or another node's: it does not know this node's first key."""

    code = "ledger.other_database"
    blame = Blame.USAGE


class OwnKeyError(FlowError):
    """A key that the configuration names is not one this node may sign with now."""

    code = "key.not_own"
    blame = Blame.USAGE


class NoCheckpointError(FlowError):
    """No signed checkpoint covers the entry yet."""

    code = "proof.no_checkpoint"


class OwnProofError(FlowError):
    """The proof that was to be signed in another form does not hold by the node's own keys: the database is damaged."""

    code = "proof.not_own"
    blame = Blame.OURS


class NoWitnessesError(FlowError):
    """Witnesses were asked for in a form of proof that cannot carry their word."""

    code = "proof.no_witnesses"
    blame = Blame.USAGE


class ReportError(FlowError):
    """A text is no audit report, or its rows do not say what their entries say."""

    code = "proof.report"
    blame = Blame.INPUT


class ReportSizeError(FlowError):
    """A report would be longer than is made here; ask for less, or have the command make it."""

    code = "report.size"
    blame = Blame.USAGE


class NothingToEraseError(FlowError):
    """The entry has no such erasable value, or it was erased before."""

    code = "ledger.nothing_to_erase"


class WitnessRefusedError(FlowError):
    """A witness did not cosign."""

    code = "witness.refused"


class WitnessContradictsError(WitnessRefusedError):
    """A witness has seen another history of this node than the one in its database."""

    code = "witness.contradicts"


class ContradictedError(FlowError):
    """A witness contradicts this node, so it accepts no writes."""

    code = "witness.contradicted"
    blame = Blame.OURS


class NoIndexError(FlowError):
    """No index that a checkpoint covers was logged yet, so nothing shows that a search is complete."""

    code = "search.no_index"


class SearchSizeError(FlowError):
    """A search finds more entries than one proof holds."""

    code = "search.size"
    blame = Blame.USAGE


class DamagedIndexError(FlowError):
    """An index beside the ledger is not the one that was logged; a full audit says where."""

    code = "search.damaged_index"
    blame = Blame.OURS
