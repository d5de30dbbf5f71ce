"""What any flow may refuse, and what is refused of a request under a key.

Each room has a module of its own beside this. May import: rooms, kernel.
"""

from typing import ClassVar

from assay.kernel.errors import Blame, Error


class FlowError(Error):
    """A journey ended early."""

    code = "flow.refused"
    blame = Blame.ANSWER
    # Nothing took effect, although it may be on record that it was tried: under the same key it may be tried again.
    is_without_effect: ClassVar[bool] = False


class NotFoundError(FlowError):
    """What was asked for is not there."""

    code = "flow.not_found"


class RequestKeyReusedError(FlowError):
    """A key was used for another request; each request needs one of its own."""

    code = "request.key_reused"
    blame = Blame.INPUT


class RequestInHandError(FlowError):
    """The same request is being worked on; come again, and it is answered as the first."""

    code = "request.in_hand"


class AnswerLostError(FlowError):
    """The request took effect, and its answer is not kept: the process ended first, or an erasure removed it."""

    code = "request.answer_lost"
