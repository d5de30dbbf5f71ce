"""What delivery refuses.

DeliveryError                   delivery.refused
├── InvalidRuleVersionError     delivery.rule
├── InvalidLevelError           delivery.level
├── InvalidQuestionError        delivery.question
└── OutcomeConflictError        delivery.outcome_conflict
"""

from collections.abc import Sequence

from msgspec import Struct

from assay.kernel.errors import Blame, Code, Error


class MemberProblem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is wrong with which member of a document."""

    path: str
    message: str


class DeliveryError(Error):
    """A rule, an answer or an outcome is refused; `problems` are those of a document's members, where it is that."""

    code = "delivery.refused"
    blame = Blame.INPUT
    unknown_rule = Code("delivery.unknown_rule", "The rule registry knows no such rule or version.", Blame.ANSWER)
    rule_order = Code("delivery.rule_order", "Versions of a rule count 1, 2, 3 … and are never changed.")
    rule_author = Code("delivery.rule_author", "This principal may not add to the rule registry.", Blame.ANSWER)
    certification = Code(
        "delivery.certification",
        "Only a person certifies a rule, and only the very content that stands in the registry.",
        Blame.ANSWER,
    )
    proposal = Code(
        "delivery.proposal",
        "A proposed version of a rule contradicts itself, is stale, or was not accepted by somebody else.",
    )
    strand = Code("delivery.strand", "A strand type or the result of a strand is not well formed, or not registered.")
    annotation = Code(
        "delivery.annotation", "An annotation lacks what its level makes mandatory, or its seal does not hold."
    )
    query_type = Code(
        "delivery.query_type", "A query type is not well formed, or does not follow the version before it."
    )
    unknown_query_type = Code(
        "delivery.unknown_query_type", "The query registry knows no such query type.", Blame.ANSWER
    )
    outcome = Code("delivery.outcome", "An outcome signal is not well formed.")
    outcome_answer = Code(
        "delivery.outcome_answer", "An outcome names an answer that is not known here, or that it does not fit."
    )
    outcome_source = Code(
        "delivery.outcome_source", "This principal may not report outcomes of this rule.", Blame.ANSWER
    )
    trigger = Code(
        "delivery.trigger",
        "The settings of the root-cause trigger contradict themselves, or its state does not follow.",
    )
    step = Code("delivery.step", "A step of an answer, or a replay of it, is not well formed.")
    work_item = Code("delivery.work_item", "A root-cause work item lacks what a reviewer needs.")
    conclusion = Code("delivery.conclusion", "A conclusion lacks its category or its text, or says two things at once.")
    concluder = Code(
        "delivery.concluder", "Only an active, authenticated person with the role concludes a root cause.", Blame.ANSWER
    )
    plugin_scope = Code("delivery.plugin_scope", "A plugin is asked or speaks about a rule outside its scope.")
    plugin_reply = Code("delivery.plugin_reply", "A plugin's reply is not of the interface `pramana/slm-plugin/1.0`.")
    pair = Code("delivery.pair", "A training pair lacks who captured it, or does not match its conclusion.")
    event = Code("delivery.event", "A SENSE event is not well formed.")
    federation = Code("delivery.federation", "An agreement with another organisation is not well formed.")
    webhook = Code("delivery.webhook", "A webhook's address or its choice of events is not one that can be used.")

    def __init__(self, message: str, problems: Sequence[MemberProblem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class InvalidRuleVersionError(DeliveryError):
    """A version of a rule is not well formed."""

    code = "delivery.rule"


class InvalidLevelError(DeliveryError):
    """There are five authenticity levels, and this is none of them."""

    code = "delivery.level"


class InvalidQuestionError(DeliveryError):
    """A question, or what comes with it, is not well formed; an answerer raises it for one that it cannot answer."""

    code = "delivery.question"


class OutcomeConflictError(DeliveryError):
    """An idempotency key was used before for another signal, or this sender told another outcome of the answer."""

    code = "delivery.outcome_conflict"
