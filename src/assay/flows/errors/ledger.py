"""What flows about the ledger, its keys, proofs, witnesses and reports refuse."""

from assay.flows.errors import FlowError
from assay.kernel.errors import Blame, Code


class LedgerFlowError(FlowError):
    """The ledger, a proof or a search index cannot be used for this."""

    rolled_back = Code(
        "ledger.rolled_back",
        "The database ends before a checkpoint that was signed for it: entries were lost or taken away.",
        Blame.OURS,
    )
    forked = Code(
        "ledger.forked",
        "The database is not the one a checkpoint was signed for: its tree has another root.",
        Blame.OURS,
    )
    key_not_own = Code(
        "key.not_own", "A key that the configuration names is not one this node may sign with now.", Blame.USAGE
    )
    proof_not_own = Code(
        "proof.not_own",
        "The proof that was to be signed in another form does not hold by the node's own keys: "
        "the database is damaged.",
        Blame.OURS,
    )
    proof_no_witnesses = Code(
        "proof.no_witnesses", "Witnesses were asked for in a form of proof that cannot carry their word.", Blame.USAGE
    )
    proof_report = Code(
        "proof.report", "A text is no audit report, or its rows do not say what their entries say.", Blame.INPUT
    )
    report_size = Code(
        "report.size",
        "A report would be longer than is made here; ask for less, or have the command make it.",
        Blame.USAGE,
    )
    nothing_to_erase = Code("ledger.nothing_to_erase", "The entry has no such erasable value, or it was erased before.")
    witness_contradicted = Code(
        "witness.contradicted", "A witness contradicts this node, so it accepts no writes.", Blame.OURS
    )
    search_no_index = Code(
        "search.no_index",
        "No index that a checkpoint covers was logged yet, so nothing shows that a search is complete.",
    )
    search_size = Code("search.size", "A search finds more entries than one proof holds.", Blame.USAGE)
    search_damaged_index = Code(
        "search.damaged_index",
        "An index beside the ledger is not the one that was logged; a full audit says where.",
        Blame.OURS,
    )
    other_log = Code(
        "ledger.other_log", "The place to publish to holds another log, or a later state of this one.", Blame.INPUT
    )
    no_log = Code("ledger.no_log", "There is no tile log, or one that cannot be read.", Blame.INPUT)
    key_in_use = Code(
        "key.in_use", "A key that the node signs with cannot be ended; it is replaced first.", Blame.USAGE
    )
    clock_behind = Code(
        "ledger.clock_behind",
        "The node's clock is behind its own newest entry: it is wrong now, or it was when that entry was written.",
        Blame.OURS,
    )


class OtherDatabaseError(FlowError):
    """The database that the configuration names is empty, or another node's: it does not know this node's first key."""

    code = "ledger.other_database"
    blame = Blame.USAGE


class NoCheckpointError(FlowError):
    """No signed checkpoint covers the entry yet."""

    code = "proof.no_checkpoint"


class WitnessRefusedError(FlowError):
    """A witness did not cosign."""

    code = "witness.refused"


class WitnessContradictsError(WitnessRefusedError):
    """A witness has seen another history of this node than the one in its database."""

    code = "witness.contradicts"
