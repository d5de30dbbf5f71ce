"""What delivery refuses.

DeliveryError                   delivery.refused
├── InvalidRuleVersionError     delivery.rule
├── UnknownRuleError            delivery.unknown_rule
├── RuleOrderError              delivery.rule_order
└── CertificationError          delivery.certification
"""

from assay.kernel.errors import Blame, Error

__all__ = ["CertificationError", "DeliveryError", "InvalidRuleVersionError", "RuleOrderError", "UnknownRuleError"]


class DeliveryError(Error):
    """A rule, an answer or an outcome is refused."""

    code = "delivery.refused"
    blame = Blame.INPUT


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


class CertificationError(DeliveryError):
    """Only a person certifies a rule, and only the very content that stands in the registry."""

    code = "delivery.certification"
    blame = Blame.ANSWER
