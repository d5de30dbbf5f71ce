"""What any flow may refuse, and what is refused of a request under a key.

Each room has a module of its own beside this. May import: rooms, kernel.
"""

from typing import ClassVar

from assay.kernel.errors import Blame, Code, Error


class FlowError(Error):
    """A journey ended early."""

    code = "flow.refused"
    blame = Blame.ANSWER
    # Nothing took effect, although it may be on record that it was tried: under the same key it may be tried again.
    is_without_effect: ClassVar[bool] = False
    request_key_reused = Code(
        "request.key_reused", "A key was used for another request; each request needs one of its own.", Blame.INPUT
    )
    request_answer_lost = Code(
        "request.answer_lost",
        "The request took effect, and its answer is not kept: the process ended first, or an erasure removed it.",
    )
    precondition = Code("http.precondition", "`If-Match` names a version of the resource that is not the current one.")


class NotFoundError(FlowError):
    """What was asked for is not there."""

    code = "flow.not_found"


class RequestInHandError(FlowError):
    """The same request is being worked on; come again, and it is answered as the first."""

    code = "request.in_hand"
