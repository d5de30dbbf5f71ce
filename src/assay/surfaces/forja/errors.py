"""What the protocol's endpoints refuse, besides what the registry itself does.

ForjaError                 forja.refused
├── BadRequestError        forja.bad_request          carries every wrong field at once
├── NoMethodError          forja.method               carries the methods that there are
├── TooManyWatchersError   forja.too_many_watchers
├── UnansweredError        forja.unanswered
├── UnreachableError       fleet.unreachable
└── NotProvedError         identity.not_signed_in     the one code for every unproved caller
"""

from collections.abc import Iterable, Sequence
from typing import Self

from assay.flows.errors.identity import NotSignedInError
from assay.flows.request import FieldProblem
from assay.kernel.errors import Blame, Code, Error

NotProvedError = NotSignedInError


class ForjaError(Error):
    """A request to an endpoint of the protocol is refused."""

    code = "forja.refused"
    blame = Blame.INPUT
    internal = Code("forja.internal", "An endpoint failed; the log says why.", Blame.OURS)
    no_endpoint = Code(
        "forja.no_endpoint", "There is no such endpoint, or nothing there that the caller may see.", Blame.ANSWER
    )
    no_taker = Code(
        "forja.no_taker",
        "An event was handed in where nobody takes it: to say that it was accepted would be untrue.",
        Blame.ANSWER,
    )
    strange_answer = Code(
        "fleet.strange_answer", "What answers at the registry's address does not speak as a registry does."
    )


class BadRequestError(ForjaError):
    """A document that was sent cannot be read, or says what cannot be taken; all fields that are wrong are listed."""

    code = "forja.bad_request"

    problems: tuple[FieldProblem, ...] = ()

    @classmethod
    def of(cls, problems: Sequence[FieldProblem]) -> Self:
        error = cls("; ".join(f"{one.field}: {one.message}" for one in problems))
        error.problems = tuple(problems)
        return error


class NoMethodError(ForjaError):
    """The endpoint exists and does not have this method; `Allow` names those that it has."""

    code = "forja.method"
    blame = Blame.USAGE

    def __init__(self, message: str, methods: Iterable[str]) -> None:
        super().__init__(message)
        self.methods = tuple(methods)


class TooManyWatchersError(ForjaError):
    """As many watch the fleet as this registry can serve; ask again later, or ask for snapshots."""

    code = "forja.too_many_watchers"
    blame = Blame.ANSWER


class UnansweredError(ForjaError):
    """What keeps the memory of this service gave no answer in time; whoever asked may ask again."""

    code = "forja.unanswered"
    blame = Blame.OURS


class UnreachableError(ForjaError):
    """The registry does not answer, and what is known of the fleet is too old to act on."""

    code = "fleet.unreachable"
    blame = Blame.OURS
