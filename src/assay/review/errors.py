"""What the review desk refuses.

    ReviewError                 review.refused
    ├── InvalidTicketError      review.ticket               carries every problem at once
    ├── MachineAnswerError      review.machine
    ├── OwnRequestError         review.own_request
    ├── NotEligibleError        review.not_eligible
    ├── RoleGrantedLaterError   review.role_granted_later
    ├── NotIndependentError     review.not_independent
    ├── StaleTicketError        review.stale_ticket
    ├── UnknownChoiceError      review.unknown_choice
    ├── TooEarlyError           review.too_early
    ├── ExpiredTicketError      review.expired
    ├── SettledTicketError      review.settled
    ├── AlreadyAnsweredError    review.already_answered
    ├── ReasonMissingError      review.reason_missing
    ├── BodyError               review.body
    ├── AnswerSignatureError    review.signature
    ├── ReviewerKeyError        review.reviewer_key
    ├── NotByRoomError          review.not_by_room
    ├── WrongTicketError        review.wrong_ticket
    ├── LeasedError             review.leased
    ├── LeaseSpanError          review.lease_span
    ├── NotClaimableError       review.not_claimable
    ├── NotLeasedError          review.not_leased
    ├── AssigneeError           review.assignee
    ├── CommentError            review.comment
    ├── NotHeldAnswerError      review.not_held
    ├── TookEffectError         review.took_effect
    ├── NotBulkError            review.not_bulk
    ├── MovedError              review.moved
    └── ViewError               review.view

Another tenant's ticket is `identity.other_tenant`, a disabled reviewer `identity.disabled`.
"""

from collections.abc import Sequence

from assay.identity.problem import Problem, render_problems
from assay.kernel.errors import Blame, Error


class ReviewError(Error):
    """A ticket or an answer is refused."""

    code = "review.refused"
    blame = Blame.ANSWER


class InvalidTicketError(ReviewError):
    """A ticket is not well formed; `problems` lists everything that is wrong with it."""

    code = "review.ticket"
    blame = Blame.USAGE

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(render_problems(problems))
        self.problems = tuple(problems)


class MachineAnswerError(ReviewError):
    """A machine never answers a ticket."""

    code = "review.machine"


class OwnRequestError(ReviewError):
    """Nobody answers a ticket that they opened, or that is about their own request."""

    code = "review.own_request"


class NotEligibleError(ReviewError):
    """The reviewer holds none of the roles that the ticket asks for."""

    code = "review.not_eligible"


class RoleGrantedLaterError(ReviewError):
    """The role was granted after the ticket was opened; it counts for later tickets."""

    code = "review.role_granted_later"


class NotIndependentError(ReviewError):
    """The reviewer's role or password was given by somebody who asked for what the ticket is about."""

    code = "review.not_independent"


class StaleTicketError(ReviewError):
    """What the reviewer saw is not what the ticket shows; look again."""

    code = "review.stale_ticket"


class UnknownChoiceError(ReviewError):
    """The ticket offers no such choice."""

    code = "review.unknown_choice"
    blame = Blame.USAGE


class TooEarlyError(ReviewError):
    """An answer cannot be older than its question."""

    code = "review.too_early"
    blame = Blame.INPUT


class ExpiredTicketError(ReviewError):
    """The ticket was due, and its time-out has decided."""

    code = "review.expired"


class SettledTicketError(ReviewError):
    """The ticket is decided; a further answer would change nothing."""

    code = "review.settled"


class AlreadyAnsweredError(ReviewError):
    """A person answers a ticket once."""

    code = "review.already_answered"


class ReasonMissingError(ReviewError):
    """A rejection says why."""

    code = "review.reason_missing"
    blame = Blame.USAGE


class BodyError(ReviewError):
    """The body of an answer is not canonical JSON text."""

    code = "review.body"
    blame = Blame.INPUT


class AnswerSignatureError(ReviewError):
    """The signature of an answer is not written as lower-case hex."""

    code = "review.signature"
    blame = Blame.INPUT


class ReviewerKeyError(ReviewError):
    """The signing key is not the one that must sign this reviewer's answers."""

    code = "review.reviewer_key"
    blame = Blame.INPUT


class NotByRoomError(ReviewError):
    """Only people decide tickets of this kind; no room may conclude or withdraw one."""

    code = "review.not_by_room"
    blame = Blame.OURS


class WrongTicketError(ReviewError):
    """An answer is bound to another ticket, or to something else than this ticket shows."""

    code = "review.wrong_ticket"
    blame = Blame.INPUT


class LeasedError(ReviewError):
    """Somebody else works on the ticket; their lease ends by itself."""

    code = "review.leased"


class LeaseSpanError(ReviewError):
    """A lease is shorter or longer than this node grants."""

    code = "review.lease_span"
    blame = Blame.USAGE


class NotClaimableError(ReviewError):
    """Tickets of this kind are for everybody at once; nobody claims one."""

    code = "review.not_claimable"


class NotLeasedError(ReviewError):
    """There is no such lease to release."""

    code = "review.not_leased"


class AssigneeError(ReviewError):
    """A ticket is for one person or one role that may answer it."""

    code = "review.assignee"
    blame = Blame.USAGE


class CommentError(ReviewError):
    """A comment says something, and not more than people read."""

    code = "review.comment"
    blame = Blame.USAGE


class NotHeldAnswerError(ReviewError):
    """There is no answer of this person that could still be undone."""

    code = "review.not_held"


class TookEffectError(ReviewError):
    """The answer counts; it can no longer be undone."""

    code = "review.took_effect"


class NotBulkError(ReviewError):
    """Tickets of this kind are answered one by one."""

    code = "review.not_bulk"


class MovedError(ReviewError):
    """What the signature was made for changed before it could be recorded; look again."""

    code = "review.moved"


class ViewError(ReviewError):
    """A saved view has no usable name, or there is none of that name."""

    code = "review.view"
    blame = Blame.USAGE
