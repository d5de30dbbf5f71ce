"""What the protocol's endpoints refuse, besides what the registry itself does.

ForjaError                 forja.refused
├── BadRequestError        forja.bad_request          carries every wrong field at once
├── ForjaFaultError        forja.internal
├── NoEndpointError        forja.no_endpoint
├── NoMethodError          forja.method               carries the methods that there are
├── NoTakerError           forja.no_taker
├── TooManyWatchersError   forja.too_many_watchers
├── UnansweredError        forja.unanswered
├── UnreachableError       fleet.unreachable
├── StrangeAnswerError     fleet.strange_answer
└── NotProvedError         identity.not_signed_in     the one code for every unproved caller
"""

from collections.abc import Iterable, Sequence
from typing import Self

from assay.flows.errors.identity import NotSignedInError
from assay.flows.request import FieldProblem
from assay.kernel.errors import Blame, Error

NotProvedError = NotSignedInError


class ForjaError(Error):
    """A request to an endpoint of the protocol is refused."""

    code = "forja.refused"
    blame = Blame.INPUT


class BadRequestError(ForjaError):
    """A document that was sent cannot be read, or says what cannot be taken; all fields that are wrong are listed."""

    code = "forja.bad_request"

    problems: tuple[FieldProblem, ...] = ()

    @classmethod
    def of(cls, problems: Sequence[FieldProblem]) -> Self:
        error = cls("; ".join(f"{one.field}: {one.message}" for one in problems))
        error.problems = tuple(problems)
        return error


class ForjaFaultError(ForjaError):
    """An endpoint failed; the log says why."""

    code = "forja.internal"
    blame = Blame.OURS


class NoEndpointError(ForjaError):
    """There is no such endpoint, or nothing there that the caller may see."""

    code = "forja.no_endpoint"
    blame = Blame.ANSWER


class NoMethodError(ForjaError):
    """The endpoint exists and does not have this method; `Allow` names those that it has."""

    code = "forja.method"
    blame = Blame.USAGE

    def __init__(self, message: str, methods: Iterable[str]) -> None:
        super().__init__(message)
        self.methods = tuple(methods)


class NoTakerError(ForjaError):
    """An event was handed in where nobody takes it: to say that it was accepted would be untrue."""

    code = "forja.no_taker"
    blame = Blame.ANSWER


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


class StrangeAnswerError(ForjaError):
    """What answers at the registry's address does not speak as a registry does."""

    code = "fleet.strange_answer"
