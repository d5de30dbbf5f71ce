"""Who checks an extended strand; who answers is the Protocol `delivery.answerer.Answerer`, of the room itself."""

from typing import Protocol

from assay.delivery.answerer import Question
from assay.delivery.rule import RuleRef
from assay.delivery.strand import StrandResult


class StrandCheck(Protocol):
    """One extended strand; it may raise or be late, and the strand is then absent."""

    def check(self, question: Question, rules: tuple[RuleRef, ...]) -> StrandResult: ...
