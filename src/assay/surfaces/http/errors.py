"""What HTTP itself refuses, before any flow is asked.

HttpError                http.refused
├── NoRouteError         http.no_route
├── MethodError          http.method
├── BodySizeError        http.body_size
├── MediaTypeError       http.media_type
├── ContentEncodingError http.content_encoding
├── NotReadyError        http.not_ready      carries every problem at once
├── UndecidedError       http.undecided      the same
└── InternalError        http.internal
"""

from collections.abc import Sequence

from assay.identity.problem import Problem, render_problems
from assay.kernel.errors import Blame, Code, Error


class HttpError(Error):
    """A request is not one this server understands."""

    code = "http.refused"
    blame = Blame.USAGE
    body_time = Code("http.body_time", "A body of one document did not come whole in time; nothing was done.")
    csrf = Code(
        "http.csrf",
        "A browser's session alone asks for a change, and nothing shows that our own page made it do so.",
        Blame.ANSWER,
    )
    idempotency_key = Code("http.idempotency_key", "An `Idempotency-Key` is not one that can be kept.")
    logins_busy = Code(
        "http.logins_busy",
        "So many are logging in that one more would wait too long; nothing was looked at.",
        Blame.OURS,
    )
    sender_gone = Code("http.sender_gone", "Whoever asked left before their body was whole; nobody reads this answer.")
    last_event_id = Code("events.last_event_id", "`Last-Event-ID` is not an id that this server gave.")
    lines = Code("http.lines", "A body has more lines than are answered at once; nothing of it was recorded.")
    tile_path = Code(
        "http.tile_path", "A tile's path is not the one spelling that C2SP tlog-tiles gives it.", Blame.INPUT
    )
    cannot_listen = Code("serve.cannot_listen", "The address cannot be listened on.")
    writer_lost = Code(
        "serve.writer_lost",
        "The writer stopped for good, so the server ended; start it anew, and it reads what is really there.",
        Blame.OURS,
    )
    standing_by = Code(
        "serve.standing_by", "Another process is the writer; this one takes over when it is gone.", Blame.ANSWER
    )
    worker_failed = Code(
        "serve.worker_failed",
        "A process of the server ended before it could begin; its own words come after its exit status.",
        Blame.OURS,
    )
    worker_cut_off = Code(
        "serve.worker_cut_off",
        "A process of the server did not end in order when it was told to; its log says why.",
        Blame.OURS,
    )


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


class ContentEncodingError(HttpError):
    """A body is packed; send it as it is."""

    code = "http.content_encoding"


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
