"""What HTTP itself refuses, before any flow is asked.

HttpError                http.refused
├── NoRouteError         http.no_route
├── MethodError          http.method
├── BodySizeError        http.body_size
├── MediaTypeError       http.media_type
├── FieldsError          http.fields         carries every problem at once
├── NotReadyError        http.not_ready      carries every problem at once
└── InternalError        http.internal
"""

from collections.abc import Sequence

from assay.identity.problem import Problem, render_problems
from assay.kernel.errors import Blame, Error

__all__ = [
    "BodySizeError",
    "FieldsError",
    "HttpError",
    "InternalError",
    "MediaTypeError",
    "MethodError",
    "NoRouteError",
    "NotReadyError",
]


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


class MediaTypeError(HttpError):
    """A body is not of the media type the route takes."""

    code = "http.media_type"


class FieldsError(HttpError):
    """Fields of a body are missing, unknown or wrong; all of them are listed."""

    code = "http.fields"
    blame = Blame.INPUT

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(render_problems(problems))
        self.problems = tuple(problems)


class NotReadyError(HttpError):
    """The node cannot do its work now; what is wrong is listed."""

    code = "http.not_ready"
    blame = Blame.OURS

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(render_problems(problems))
        self.problems = tuple(problems)


class InternalError(HttpError):
    """Something failed that should not; the node's log has it."""

    code = "http.internal"
    blame = Blame.OURS
