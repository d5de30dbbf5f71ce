"""What flows about truth and trust refuse."""

from assay.flows.errors import FlowError
from assay.kernel.errors import Blame, Code


class TruthFlowError(FlowError):
    """An observation, a vote, a window or a trust policy was refused."""

    future_observation = Code(
        "truth.future_observation",
        "An observation says that it was made later than our clock and its allowed skew.",
        Blame.INPUT,
    )
    key_no_truth_key = Code("key.no_truth_key", "This node has no key to sign truth states with.", Blame.USAGE)
    no_open_ticket = Code("truth.no_open_ticket", "Nobody is asked about this key now, so there is nothing to vote on.")
    not_reporter = Code("truth.not_reporter", "Whoever submits is neither the reporter nor a relay.")
    not_released = Code("truth.not_released", "No contract of this claim type was released.")
    record_conflict = Code("truth.record_conflict", "Another record has this id already.")
    too_many_reports = Code("truth.too_many_reports", "One reporter says more about one key than a state has room for.")
    busy = Code("truth.busy", "Others wrote to the same key all the time; try again.")
    vote_unsigned = Code(
        "truth.vote_unsigned", "The entry of a vote holds no signed answer: nobody can tell whose it is.", Blame.INPUT
    )
    vote_unbound = Code(
        "truth.vote_unbound",
        "A vote is not what its voter signed, or not about what that person was shown.",
        Blame.INPUT,
    )
    window_refused = Code(
        "truth.window_refused", "The validation window of a key does not stand so that this could follow."
    )
    trust_policy_changed = Code(
        "trust.policy_changed", "Another policy was registered under this id; give it a new one."
    )
    trust_no_policy = Code(
        "trust.no_policy", "No trust policy is registered, so nobody's trust can be told.", Blame.USAGE
    )
    trust_signal_refused = Code(
        "trust.signal_refused", "A signal of this kind cannot be handed in from outside, or not by this agent."
    )
    trust_policy_weak = Code(
        "trust.policy_weak", "The weaknesses of a policy are not exactly those that whoever registers it has accepted."
    )
    replay_broken_export = Code(
        "replay.broken_export",
        "The lines are not one ledger, each entry naming the hash of the one before it.",
        Blame.INPUT,
    )
    replay_entry_missing = Code(
        "replay.entry_missing", "An entry that a replay needs is not at hand, or is of another kind.", Blame.INPUT
    )


class CompileTimeError(FlowError):
    """A key cannot be compiled for a time before its latest state."""

    code = "truth.compile_time"
