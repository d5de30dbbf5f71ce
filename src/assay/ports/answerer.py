"""Who answers questions and who checks extended strands: Protocols of the room, implemented outside it."""

from typing import Protocol

from assay.delivery.answerer import Answerer, Question, Reply
from assay.delivery.rule import RuleRef
from assay.delivery.strand import StrandResult

__all__ = ["Answerer", "Question", "Reply", "StrandCheck"]


class StrandCheck(Protocol):
    """One extended strand; it may raise or be late, and the strand is then absent."""

    def check(self, question: Question, rules: tuple[RuleRef, ...]) -> StrandResult: ...
