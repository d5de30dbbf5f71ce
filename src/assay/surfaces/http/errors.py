"""What HTTP itself refuses, before any flow is asked.

HttpError                http.refused
├── NoRouteError         http.no_route
├── MethodError          http.method
├── BodySizeError        http.body_size
├── BodyTimeError        http.body_time
├── MediaTypeError       http.media_type
├── ContentEncodingError http.content_encoding
├── CsrfError            http.csrf
├── RequestKeyError      http.idempotency_key
├── LoginsBusyError      http.logins_busy
├── SenderGoneError      http.sender_gone
├── NotReadyError        http.not_ready      carries every problem at once
├── UndecidedError       http.undecided      the same
└── InternalError        http.internal
"""

from collections.abc import Sequence

from assay.identity.problem import Problem, render_problems
from assay.kernel.errors import Blame, Error


class HttpError(Error):
    """A request is not one this server understands."""

    code = "http.refused"
    blame = Blame.USAGE


class NoRouteError(HttpError):
    """There is no such route."""

    code = "http.no_route"


class MethodError(HttpError):
    """The route exists and does not have this method."""

    code = "http.method"


class BodySizeError(HttpError):
    """A body is larger than this server reads."""

    code = "http.body_size"


class BodyTimeError(HttpError):
    """A body of one document did not come whole in time; nothing was done."""

    code = "http.body_time"


class CsrfError(HttpError):
    """A browser's session alone asks for a change, and nothing shows that our own page made it do so."""

    code = "http.csrf"
    blame = Blame.ANSWER


class MediaTypeError(HttpError):
    """A body is not of the media type the route takes."""

    code = "http.media_type"


class ContentEncodingError(HttpError):
    """A body is packed; send it as it is."""

    code = "http.content_encoding"


class RequestKeyError(HttpError):
    """An `Idempotency-Key` is not one that can be kept."""

    code = "http.idempotency_key"


class LoginsBusyError(HttpError):
    """So many are logging in that one more would wait too long; nothing was looked at."""

    code = "http.logins_busy"
    blame = Blame.OURS


class SenderGoneError(HttpError):
    """Whoever asked left before their body was whole; nobody reads this answer."""

    code = "http.sender_gone"


class NotReadyError(HttpError):
    """The node cannot do its work now; what is wrong is listed."""

    code = "http.not_ready"
    blame = Blame.OURS

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(render_problems(problems))
        self.problems = tuple(problems)


class UndecidedError(HttpError):
    """The database gave no answer in time; what was asked for takes effect later, or never, and then wholly."""

    code = "http.undecided"
    blame = Blame.OURS

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(render_problems(problems))
        self.problems = tuple(problems)


class InternalError(HttpError):
    """Something failed that should not; the node's log has it."""

    code = "http.internal"
    blame = Blame.OURS
