"""When a request is sent again: only where the second can do no harm, after a while that grows, a few times.

GET, and POST under a key of its own: no answer came, 429, 503, or the first is still being worked on -> wait -> again
"""

from assay.surfaces.client.call import Call
from assay.surfaces.client.errors import ClientError, ProblemError, UnreachableNodeError

KEY_HEADER = "idempotency-key"
MOST_RETRIES = 4
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 30.0
_AGAIN = frozenset({"request.in_hand"})
_BUSY = frozenset({429, 503})


def headers_of(call: Call[object], token: str) -> dict[str, str]:
    """A change has a key that no other request has; the same one each time it is sent."""
    typed = {} if call.content is None else {"content-type": "application/json"}
    key = {KEY_HEADER: token} if call.method == "POST" else {}
    return {**typed, **key, **call.headers}


def wait_before(retry: int, error: ClientError, *, most: int) -> float | None:
    """Seconds to wait before the retry of that number, from 1 on; None where there is to be none."""
    if retry > most or not _may_pass(error):
        return None
    asked = error.retry_after if isinstance(error, ProblemError) else None
    return min(_LONGEST_WAIT, max(asked or 0.0, _FIRST_WAIT * float(1 << (retry - 1))))


def _may_pass(error: ClientError) -> bool:
    if isinstance(error, ProblemError):
        return error.status in _BUSY or error.code in _AGAIN
    return isinstance(error, UnreachableNodeError)
