"""Refusals of a node, as the errors they were there: `except NotFoundError` works on either side of the wire.

ClientError               client.refused
├── UnreachableNodeError  client.unreachable
├── ForeignAnswerError    client.answer       no answer of a node: a proxy's page, another service
└── ProblemError          client.problem      or rather the node's own code, as `error.code`
"""

from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

# So that these are known by their codes: whatever a node refuses with is one of them.
from assay.flows.errors import claims, delivery, identity, ledger, model, truth, verdicts  # noqa: F401 - as said
from assay.kernel.errors import Blame, Error, codes_of
from assay.surfaces.http import errors as http_errors  # noqa: F401 - the same

_ELSEWHERE = "node"


class ClientError(Error):
    """A request could not be made, or was refused."""

    code = "client.refused"
    blame = Blame.ANSWER


class UnreachableNodeError(ClientError):
    """No answer came; whether a request without a key took effect is not known."""

    code = "client.unreachable"


class ForeignAnswerError(ClientError):
    """What answered is no node of this interface."""

    code = "client.answer"
    blame = Blame.INPUT


class Problem(Struct, frozen=True, kw_only=True):
    """RFC 9457 as a node sends it; members that are not known are passed over."""

    title: str
    status: int
    detail: str
    code: str
    errors: tuple[dict[str, Any], ...] = ()


class ProblemError(ClientError):
    """A node's refusal: also an instance of the error of that code, where this version knows it."""

    code = "client.problem"

    def __init__(self, problem: Problem, retry_after: float | None = None) -> None:
        Exception.__init__(self, problem.detail)
        self.problem = problem
        self.status = problem.status
        self.retry_after = retry_after


def problem_error(status: int, body: bytes, retry_after: float | None = None) -> ClientError:
    """The error behind a refusal."""
    try:
        problem = msgspec.json.decode(body, type=Problem)
    except msgspec.MsgspecError:
        return ForeignAnswerError(f"expected an answer of a node, got status {status}")
    return _kind(problem.code)(problem, retry_after)


@cache
def _kind(code: str) -> type[ProblemError]:
    """A class of its own for each code, beside those of this package: what a node says is no error of ours."""
    known = next((one for one in codes_of(Error) if one.code == code), None)
    if known is None or issubclass(known.family, ClientError):
        return type("ProblemError", (ProblemError,), {"code": code, "__module__": _ELSEWHERE})
    members = {"code": code, "blame": known.blame, "__doc__": known.meaning, "__module__": _ELSEWHERE}
    return type(known.family.__name__, (ProblemError, known.family), members)
