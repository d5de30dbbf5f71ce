"""What delivery refuses.

DeliveryError                   delivery.refused
├── InvalidRuleVersionError     delivery.rule
├── UnknownRuleError            delivery.unknown_rule
├── RuleOrderError              delivery.rule_order
├── RuleAuthorError             delivery.rule_author
├── CertificationError          delivery.certification
├── InvalidProposalError        delivery.proposal
├── InvalidStrandError          delivery.strand
├── InvalidLevelError           delivery.level
├── InvalidAnnotationError      delivery.annotation
├── InvalidQuestionError        delivery.question
├── InvalidQueryTypeError       delivery.query_type
├── UnknownQueryTypeError       delivery.unknown_query_type
├── InvalidOutcomeError         delivery.outcome
├── OutcomeConflictError        delivery.outcome_conflict
├── OutcomeAnswerError          delivery.outcome_answer
├── OutcomeSourceError          delivery.outcome_source
├── InvalidTriggerError         delivery.trigger
├── InvalidStepError            delivery.step
├── InvalidWorkItemError        delivery.work_item
├── InvalidConclusionError      delivery.conclusion
├── ConcluderError              delivery.concluder
├── PluginScopeError            delivery.plugin_scope
├── InvalidPluginReplyError     delivery.plugin_reply
├── InvalidPairError            delivery.pair
├── InvalidEventError           delivery.event
├── InvalidWebhookError         delivery.webhook
└── FederationError             delivery.federation
"""

from collections.abc import Sequence

from msgspec import Struct

from assay.kernel.errors import Blame, Error


class MemberProblem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is wrong with which member of a document."""

    path: str
    message: str


class DeliveryError(Error):
    """A rule, an answer or an outcome is refused; `problems` are those of a document's members, where it is that."""

    code = "delivery.refused"
    blame = Blame.INPUT

    def __init__(self, message: str, problems: Sequence[MemberProblem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class InvalidRuleVersionError(DeliveryError):
    """A version of a rule is not well formed."""

    code = "delivery.rule"


class UnknownRuleError(DeliveryError):
    """The rule registry knows no such rule or version."""

    code = "delivery.unknown_rule"
    blame = Blame.ANSWER


class RuleOrderError(DeliveryError):
    """Versions of a rule count 1, 2, 3 … and are never changed."""

    code = "delivery.rule_order"


class RuleAuthorError(DeliveryError):
    """This principal may not add to the rule registry."""

    code = "delivery.rule_author"
    blame = Blame.ANSWER


class CertificationError(DeliveryError):
    """Only a person certifies a rule, and only the very content that stands in the registry."""

    code = "delivery.certification"
    blame = Blame.ANSWER


class InvalidProposalError(DeliveryError):
    """A proposed version of a rule contradicts itself, is stale, or was not accepted by somebody else."""

    code = "delivery.proposal"


class InvalidStrandError(DeliveryError):
    """A strand type or the result of a strand is not well formed, or not registered."""

    code = "delivery.strand"


class InvalidLevelError(DeliveryError):
    """There are five authenticity levels, and this is none of them."""

    code = "delivery.level"


class InvalidAnnotationError(DeliveryError):
    """An annotation lacks what its level makes mandatory, or its seal does not hold."""

    code = "delivery.annotation"


class InvalidQuestionError(DeliveryError):
    """A question, or what comes with it, is not well formed; an answerer raises it for one that it cannot answer."""

    code = "delivery.question"


class InvalidQueryTypeError(DeliveryError):
    """A query type is not well formed, or does not follow the version before it."""

    code = "delivery.query_type"


class UnknownQueryTypeError(DeliveryError):
    """The query registry knows no such query type."""

    code = "delivery.unknown_query_type"
    blame = Blame.ANSWER


class InvalidOutcomeError(DeliveryError):
    """An outcome signal is not well formed."""

    code = "delivery.outcome"


class OutcomeConflictError(DeliveryError):
    """An idempotency key was used before for another signal, or this sender told another outcome of the answer."""

    code = "delivery.outcome_conflict"


class OutcomeAnswerError(DeliveryError):
    """An outcome names an answer that is not known here, or that it does not fit."""

    code = "delivery.outcome_answer"


class OutcomeSourceError(DeliveryError):
    """This principal may not report outcomes of this rule."""

    code = "delivery.outcome_source"
    blame = Blame.ANSWER


class InvalidTriggerError(DeliveryError):
    """The settings of the root-cause trigger contradict themselves, or its state does not follow."""

    code = "delivery.trigger"


class InvalidStepError(DeliveryError):
    """A step of an answer, or a replay of it, is not well formed."""

    code = "delivery.step"


class InvalidWorkItemError(DeliveryError):
    """A root-cause work item lacks what a reviewer needs."""

    code = "delivery.work_item"


class InvalidConclusionError(DeliveryError):
    """A conclusion lacks its category or its text, or says two things at once."""

    code = "delivery.conclusion"


class ConcluderError(DeliveryError):
    """Only an active, authenticated person with the role concludes a root cause."""

    code = "delivery.concluder"
    blame = Blame.ANSWER


class PluginScopeError(DeliveryError):
    """A plugin is asked or speaks about a rule outside its scope."""

    code = "delivery.plugin_scope"


class InvalidPluginReplyError(DeliveryError):
    """A plugin's reply is not of the interface `pramana/slm-plugin/1.0`."""

    code = "delivery.plugin_reply"


class InvalidPairError(DeliveryError):
    """A training pair lacks who captured it, or does not match its conclusion."""

    code = "delivery.pair"


class InvalidEventError(DeliveryError):
    """A SENSE event is not well formed."""

    code = "delivery.event"


class FederationError(DeliveryError):
    """An agreement with another organisation is not well formed."""

    code = "delivery.federation"


class InvalidWebhookError(DeliveryError):
    """A webhook's address or its choice of events is not one that can be used."""

    code = "delivery.webhook"
