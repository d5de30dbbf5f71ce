"""The kinds of questions we ask people, and what each kind fixes; one table, which only grows."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct


class TicketKind(StrEnum):
    """Closed and growing; a retired kind is never reused."""

    APPROVAL = "approval"  # a claim bundle waits for people (ClaimBundle: DELETE, PRIVILEGE)
    DEFERRAL = "deferral"  # a deferred bundle may be resumed
    ATTESTATION = "attestation"  # a high-risk verdict is held until a person attests it (SKI 5.4)
    VALIDATION = "validation"  # a truth state needs votes (Kaori)
    ROOT_CAUSE = "root_cause"  # a failing rule needs a person's conclusion (PRAMANA 10)
    RESTORE = "restore"  # a kill switch fired (Forja)
    KNOWLEDGE_REVIEW = "knowledge_review"  # a rule set waits for release (SKI 2.1.2)
    MODEL_ACTIVATION = "model_activation"  # a trained model waits to be used
    PENALTY = "penalty"  # an agent's standing is to be lowered
    RULE_CERTIFICATION = "rule_certification"  # a version of a rule waits for somebody to stand by it (PRAMANA 14.3)
    TIER_CHANGE = "tier_change"  # the tier of a principal is to change (Forja FRJ-015)
    FOREIGN_OUTCOME = "foreign_outcome"  # an outcome from elsewhere about rules without a translation (PRAMANA 13.2)
    EFFECT = "effect"  # a permitted call was claimed, and nobody knows whether it took place
    RULE_PROPOSAL = "rule_proposal"  # a corrected rule waits for a second person (PRAMANA 10.1, category C)
    POWER_CHANGE = "power_change"  # more power for somebody waits for a second administrator
    MANDATE = "mandate"  # a standing approval for a bounded class of calls waits for its signatures
    SAMPLE = "sample"  # a published output is reviewed blindly, whether it was right
    SHIFT = "shift"  # scores no longer come from where the thresholds of the gates were fitted


class OnExpiry(StrEnum):
    """What a due ticket without a decision means."""

    DENY = "deny"
    STAY_OPEN = "stay_open"
    DEFAULT_CHOICE = "default_choice"


class KindRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a kind fixes for all its tickets.

    `choices` and `rejecting` are what a ticket offers unless it says otherwise. With `veto`, one rejection decides, and
    a time-out can never decide the other way. `expiries` are the only ones allowed, the first of them the default.
    With `by_room` no number of answers decides: the room weighs them and concludes, or the time-out does.
    Where it is `undoable`, a node may be told to let answers wait before they take effect; where it is not, something
    outside the desk acts on the answer at once. `bulk` kinds may be answered many at a time. An answer has a body only
    where a room reads it (`has_body`), or where a rejection says what should be instead (`edits`): nobody shall write a
    condition there that nothing heeds.
    """

    choices: tuple[str, ...]
    rejecting: tuple[str, ...]
    veto: bool
    expiries: tuple[OnExpiry, ...]
    by_room: bool = False
    undoable: bool = False
    bulk: bool = False
    has_body: bool = False
    edits: bool = False

    @property
    def claimable(self) -> bool:
        """Where the room weighs votes, everybody's is wanted, and nobody keeps the others away."""
        return not self.by_room

    @property
    def on_expiry(self) -> OnExpiry:
        return self.expiries[0]


_ANY = (OnExpiry.STAY_OPEN, OnExpiry.DENY, OnExpiry.DEFAULT_CHOICE)

KIND_RULES: Mapping[TicketKind, KindRule] = MappingProxyType(
    {
        # A time-out of an approval means deny, whoever asks for something else.
        TicketKind.APPROVAL: KindRule(
            choices=("approve", "reject"),
            rejecting=("reject",),
            veto=True,
            expiries=(OnExpiry.DENY,),
            undoable=True,
            bulk=True,
            edits=True,
        ),
        TicketKind.DEFERRAL: KindRule(
            choices=("resume", "reject"),
            rejecting=("reject",),
            veto=True,
            expiries=(OnExpiry.DENY, OnExpiry.STAY_OPEN),
            undoable=True,
            bulk=True,
            edits=True,
        ),
        # Expiry leaves the verdict held: it neither attests nor declines.
        TicketKind.ATTESTATION: KindRule(
            choices=("attest", "decline"),
            rejecting=("decline",),
            veto=True,
            expiries=(OnExpiry.STAY_OPEN,),
            has_body=True,
        ),
        # Votes are weighed by the truth room; a dispute's time-out is the contract's to choose.
        TicketKind.VALIDATION: KindRule(
            choices=("ratify", "reject", "abstain", "challenge", "override"),
            rejecting=("reject", "challenge", "override"),
            veto=False,
            expiries=_ANY,
            by_room=True,
            has_body=True,
        ),
        # The three categories of PRAMANA 10.1; only a person closes one (PRAMANA 10.2).
        TicketKind.ROOT_CAUSE: KindRule(
            choices=("routing_failure", "application_failure", "rule_failure"),
            rejecting=(),
            veto=False,
            expiries=(OnExpiry.STAY_OPEN,),
            has_body=True,
        ),
        # The switch is latched: no time-out restores it, and none closes the question.
        TicketKind.RESTORE: KindRule(
            choices=("restore", "keep_restricted"),
            rejecting=("keep_restricted",),
            veto=True,
            expiries=(OnExpiry.STAY_OPEN,),
        ),
        TicketKind.KNOWLEDGE_REVIEW: KindRule(
            choices=("accept", "reject"),
            rejecting=("reject",),
            veto=True,
            expiries=(OnExpiry.STAY_OPEN, OnExpiry.DENY),
            undoable=True,
        ),
        TicketKind.MODEL_ACTIVATION: KindRule(
            choices=("activate", "reject"),
            rejecting=("reject",),
            veto=True,
            expiries=(OnExpiry.DENY,),
            undoable=True,
        ),
        TicketKind.PENALTY: KindRule(
            choices=("apply", "dismiss"),
            rejecting=("dismiss",),
            veto=True,
            expiries=(OnExpiry.DENY,),
            undoable=True,
        ),
        # Time tells nothing about an effect: the call stays blocked until a person has found out.
        TicketKind.EFFECT: KindRule(
            choices=("happened", "did_not_happen"),
            rejecting=(),
            veto=False,
            expiries=(OnExpiry.STAY_OPEN,),
        ),
        # Silence changes nobody's power.
        TicketKind.TIER_CHANGE: KindRule(
            choices=("authorise", "refuse"),
            rejecting=("refuse",),
            veto=True,
            expiries=(OnExpiry.DENY,),
            undoable=True,
        ),
        TicketKind.POWER_CHANGE: KindRule(
            choices=("approve", "reject"),
            rejecting=("reject",),
            veto=True,
            expiries=(OnExpiry.DENY,),
            undoable=True,
        ),
        TicketKind.MANDATE: KindRule(
            choices=("sign", "reject"),
            rejecting=("reject",),
            veto=True,
            expiries=(OnExpiry.DENY,),
            undoable=True,
        ),
        # What was published stays so: the answer measures outputs, thresholds and reviewers.
        TicketKind.SAMPLE: KindRule(
            choices=("right", "wrong"),
            rejecting=("wrong",),
            veto=True,
            expiries=(OnExpiry.STAY_OPEN,),
            undoable=True,
        ),
        TicketKind.SHIFT: KindRule(
            choices=("recalibrate", "dismiss"),
            rejecting=("dismiss",),
            veto=True,
            expiries=(OnExpiry.STAY_OPEN,),
            undoable=True,
        ),
        # Until somebody accepts, nobody stands by the rule; no time-out does it for them.
        TicketKind.RULE_CERTIFICATION: KindRule(
            choices=("certify", "decline"),
            rejecting=("decline",),
            veto=True,
            expiries=(OnExpiry.STAY_OPEN,),
            undoable=True,
        ),
        # It counts for nothing either way; whoever translates extends the agreement, and the peer sends it again.
        TicketKind.FOREIGN_OUTCOME: KindRule(
            choices=("translate", "dismiss"),
            rejecting=("dismiss",),
            veto=True,
            expiries=(OnExpiry.STAY_OPEN,),
            undoable=True,
            bulk=True,
        ),
        TicketKind.RULE_PROPOSAL: KindRule(
            choices=("accept", "reject"),
            rejecting=("reject",),
            veto=True,
            expiries=(OnExpiry.STAY_OPEN,),
            undoable=True,
        ),
    }
)
