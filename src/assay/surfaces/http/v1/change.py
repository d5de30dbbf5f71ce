"""Changes: each is on disk before it is answered, and under an `Idempotency-Key` happens once.

key -> known? its answer again : the journey, which notes the key in its own commit -> answer, kept for a day
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from litestar import Request
from litestar.response import Response

from assay.flows.answer_once import KeyedRequest, Reply, answer_once
from assay.flows.identity.authenticate import Authenticated
from assay.flows.tools import Tools
from assay.kernel.digest import digest_of
from assay.kernel.errors import Error
from assay.operations.problem import PROBLEM_TYPE, problem_of
from assay.surfaces.http.desk import Desk
from assay.surfaces.http.errors import HttpError
from assay.surfaces.http.v1.one import JSON

_KEY_HEADER = "idempotency-key"
_KEY = re.compile(r"[\x21-\x7e]{1,255}", re.ASCII)
Runner = Callable[[Callable[[], Reply]], Awaitable[Reply]]


async def change(
    request: Request[Any, Any, Any],
    desk: Desk,
    caller: Authenticated,
    received: bytes,
    work: Callable[[Tools], Reply],
    *,
    is_repeatable: bool = False,
    run: Runner | None = None,
    plainly: Callable[[], Awaitable[Reply]] | None = None,
) -> Response[bytes]:
    """Do it, and answer. `is_repeatable` where the journey itself finds what it did before.

    `plainly` is how it is done without a key, where that is another way.
    """
    keyed = _keyed(request, caller, received, is_repeatable=is_repeatable)
    if keyed is None and plainly is not None:
        return _response(await plainly())

    def once() -> Reply:
        if keyed is None:
            return work(desk.tools)
        return answer_once(desk.tools, keyed, work, refused=_refused, in_hand=desk.in_hand, at=desk.tools.clock.now())

    return _response(await (run or desk.act)(once))


def _response(reply: Reply) -> Response[bytes]:
    headers = {**reply.headers, "cache-control": "no-store"}
    if reply.is_kept:
        headers["assay-is-kept"] = "true"
    media_type = headers.pop("content-type", JSON)
    return Response(reply.body, status_code=reply.status, media_type=media_type, headers=headers)


def reply_json(value: object, *, status: int = 200, **headers: str) -> Reply:
    body = value if isinstance(value, bytes) else msgspec.json.encode(value)
    return Reply(status=status, body=body, headers={name.replace("_", "-"): text for name, text in headers.items()})


def find_key(request: Request[Any, Any, Any]) -> str | None:
    """The `Idempotency-Key` of a request, once and without its quotes; None where there is none."""
    given = request.headers.getall(_KEY_HEADER, [])
    if not given:
        return None
    # Of two, whoever sends it again may send the other one.
    if len(given) > 1:
        raise HttpError.idempotency_key(f"expected `Idempotency-Key` once, got it {len(given)} times")
    # The header's own format quotes it; most who send one do not.
    key = given[0]
    if len(key) > 1 and key[0] == key[-1] == '"':
        key = key[1:-1]
    if _KEY.fullmatch(key) is None:
        raise HttpError.idempotency_key(
            f"expected 1 to 255 visible ASCII characters in `Idempotency-Key`, got `{key[:80]}`"
        )
    return key


def _keyed(
    request: Request[Any, Any, Any], caller: Authenticated, received: bytes, *, is_repeatable: bool
) -> KeyedRequest | None:
    key = find_key(request)
    if key is None:
        return None
    asked = f"{request.method} {request.scope['path']}\n".encode()
    return KeyedRequest(
        tenant_id=caller.principal.tenant_id,
        principal_id=caller.principal.id,
        request_key=key,
        fingerprint=digest_of(asked + received),
        is_repeatable=is_repeatable,
    )


def _refused(error: Error) -> Reply:
    problem = problem_of(error)
    return Reply(status=problem.status, body=msgspec.json.encode(problem), headers={"content-type": PROBLEM_TYPE})
