"""What the review desk refuses.

    ReviewError                 review.refused
    ├── InvalidTicketError      review.ticket               carries every problem at once
    ├── NotClaimableError       review.not_claimable
    └── MovedError              review.moved

Another tenant's ticket is `identity.other_tenant`, a disabled reviewer `identity.disabled`.
"""

from collections.abc import Sequence

from assay.identity.problem import Problem, render_problems
from assay.kernel.errors import Blame, Code, Error


class ReviewError(Error):
    """A ticket or an answer is refused."""

    code = "review.refused"
    blame = Blame.ANSWER
    machine = Code("review.machine", "A machine never answers a ticket.")
    own_request = Code(
        "review.own_request", "Nobody answers a ticket that they opened, or that is about their own request."
    )
    not_eligible = Code("review.not_eligible", "The reviewer holds none of the roles that the ticket asks for.")
    role_granted_later = Code(
        "review.role_granted_later", "The role was granted after the ticket was opened; it counts for later tickets."
    )
    not_independent = Code(
        "review.not_independent",
        "The reviewer's role or password was given by somebody who asked for what the ticket is about.",
    )
    stale_ticket = Code("review.stale_ticket", "What the reviewer saw is not what the ticket shows; look again.")
    unknown_choice = Code("review.unknown_choice", "The ticket offers no such choice.", Blame.USAGE)
    too_early = Code("review.too_early", "An answer cannot be older than its question.", Blame.INPUT)
    expired = Code("review.expired", "The ticket was due, and its time-out has decided.")
    settled = Code("review.settled", "The ticket is decided; a further answer would change nothing.")
    already_answered = Code("review.already_answered", "A person answers a ticket once.")
    reason_missing = Code("review.reason_missing", "A rejection says why.", Blame.USAGE)
    body = Code("review.body", "The body of an answer is not canonical JSON text.", Blame.INPUT)
    signature = Code("review.signature", "The signature of an answer is not written as lower-case hex.", Blame.INPUT)
    reviewer_key = Code(
        "review.reviewer_key", "The signing key is not the one that must sign this reviewer's answers.", Blame.INPUT
    )
    not_by_room = Code(
        "review.not_by_room",
        "Only people decide tickets of this kind; no room may conclude or withdraw one.",
        Blame.OURS,
    )
    wrong_ticket = Code(
        "review.wrong_ticket",
        "An answer is bound to another ticket, or to something else than this ticket shows.",
        Blame.INPUT,
    )
    leased = Code("review.leased", "Somebody else works on the ticket; their lease ends by itself.")
    lease_span = Code("review.lease_span", "A lease is shorter or longer than this node grants.", Blame.USAGE)
    not_leased = Code("review.not_leased", "There is no such lease to release.")
    assignee = Code("review.assignee", "A ticket is for one person or one role that may answer it.", Blame.USAGE)
    comment = Code("review.comment", "A comment says something, and not more than people read.", Blame.USAGE)
    not_held = Code("review.not_held", "There is no answer of this person that could still be undone.")
    took_effect = Code("review.took_effect", "The answer counts; it can no longer be undone.")
    not_bulk = Code("review.not_bulk", "Tickets of this kind are answered one by one.")
    view = Code("review.view", "A saved view has no usable name, or there is none of that name.", Blame.USAGE)


class InvalidTicketError(ReviewError):
    """A ticket is not well formed; `problems` lists everything that is wrong with it."""

    code = "review.ticket"
    blame = Blame.USAGE

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(render_problems(problems))
        self.problems = tuple(problems)


class NotClaimableError(ReviewError):
    """Tickets of this kind are for everybody at once; nobody claims one."""

    code = "review.not_claimable"


class MovedError(ReviewError):
    """What the signature was made for changed before it could be recorded; look again."""

    code = "review.moved"
