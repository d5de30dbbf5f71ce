"""A request that its sender gave a key takes effect once, and is answered the same again.

key known? -> its answer;  else the work, on a database that notes the key in the effect's own commit -> answer kept
INVARIANT: no effect is durable under a key that is not, so a request that is sent again never takes effect twice.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

from msgspec import Struct
from msgspec.structs import replace as with_fields

from assay.flows.errors import FlowError, RequestInHandError
from assay.flows.marked_database import MarkedDatabase
from assay.flows.tools import Tools
from assay.kernel.digest import Digest
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.request_store import KeptRequest

KEPT = timedelta(hours=24)
# Statuses from here on ask to come again.
_FAULTS = 500


class KeyedRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose request it is, its key, and what it asks; `is_repeatable` where doing it again finds what is there."""

    tenant_id: TenantId
    principal_id: PrincipalId
    request_key: str
    fingerprint: Digest
    is_repeatable: bool = False


class Reply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer as it is sent; `is_kept` where it was given before.

    `kept` is what is kept in place of a body that holds a secret: a secret is shown once, and kept nowhere.
    """

    status: int
    body: bytes
    kept: bytes | None = None
    headers: dict[str, str] = {}
    is_kept: bool = False


@dataclass(frozen=True, slots=True)
class RequestsInHand:
    """The keys that this process works on now: a twin is told so, and does nothing."""

    _keys: set[tuple[str, str, str]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def take(self, request: KeyedRequest) -> Iterator[None]:
        key = (request.tenant_id, request.principal_id, request.request_key)
        with self._lock:
            if key in self._keys:
                raise RequestInHandError(f"`{request.request_key[:80]}` is being worked on: come again for its answer")
            self._keys.add(key)
        try:
            yield
        finally:
            with self._lock:
                self._keys.discard(key)


def answer_once(
    tools: Tools,
    request: KeyedRequest,
    work: Callable[[Tools], Reply],
    *,
    refused: Callable[[Error], Reply],
    in_hand: RequestsInHand,
    at: Instant,
) -> Reply:
    """The kept answer of the same request, else that of `work`; a refusal that left a trace is kept too, as `refused`.

    The same key with another content is `request.key_reused`. What took effect in a process that ended before its
    answer was kept, or whose answer an erasure removed, is done again where that is harmless, and else
    `request.answer_lost`.
    """
    with in_hand.take(request):
        found = tools.database.read(lambda unit: find_kept(unit, request, at=at))
        if isinstance(found, Reply):
            return found
        begun = begin_request(request, at=at) if found is None else found
        marked = MarkedDatabase(tools.database, request.tenant_id, begun, expired_at=Instant(at - KEPT))
        marked.is_marked = found is not None
        return _work(tools, marked, work, refused)


def find_kept(unit: Unit, request: KeyedRequest, *, at: Instant) -> Reply | KeptRequest | None:
    """The answer that was given; else what was begun and may be done again; None where the key is new."""
    known = unit.requests.find(request.tenant_id, request.principal_id, request.request_key)
    if known is None or known.begun_at <= at - KEPT:
        return None
    return _kept(request, known) or known


def begin_request(request: KeyedRequest, *, at: Instant) -> KeptRequest:
    """The row that is kept beside the effect of a request; `entry`, the one before the effect, is known only there."""
    return KeptRequest(
        principal_id=request.principal_id,
        request_key=request.request_key,
        fingerprint=request.fingerprint,
        entry=0,
        begun_at=at,
    )


def _kept(request: KeyedRequest, known: KeptRequest) -> Reply | None:
    if known.fingerprint != request.fingerprint:
        raise FlowError.request_key_reused(
            f"`{request.request_key[:80]}` was used for another request: expected a new key"
        )
    if known.status is not None:
        headers: dict[str, str] = json.loads(known.headers)
        return Reply(status=known.status, body=known.body.encode(), headers=headers, is_kept=True)
    if request.is_repeatable:
        return None
    raise FlowError.request_answer_lost(
        f"`{request.request_key[:80]}` took effect after entry {known.entry}, and its answer was not kept"
    )


def _work(
    tools: Tools, marked: MarkedDatabase, work: Callable[[Tools], Reply], refused: Callable[[Error], Reply]
) -> Reply:
    try:
        reply = work(replace(tools, database=marked))
    except Error as error:
        # What is our fault, or may be over when it is sent again, is no answer; what left no trace is judged again.
        reply = refused(error)
        if marked.is_marked and isinstance(error, FlowError) and error.is_without_effect:
            _let_go(marked)
        elif marked.is_marked and error.blame is not Blame.OURS and reply.status < _FAULTS:
            _keep(marked, reply)
        raise
    _keep(marked, reply)
    return reply


def _let_go(marked: MarkedDatabase) -> None:
    begun = marked.begun
    marked.inner.write(lambda unit: unit.requests.drop(marked.tenant_id, begun.principal_id, begun.request_key))


def _keep(marked: MarkedDatabase, reply: Reply) -> None:
    answered = kept_answer(marked.begun, reply)
    marked.inner.write(lambda unit: unit.requests.answer(marked.tenant_id, answered))


def kept_answer(begun: KeptRequest, reply: Reply) -> KeptRequest:
    """What was begun, with how it was answered."""
    body = (reply.body if reply.kept is None else reply.kept).decode()
    return with_fields(begun, status=reply.status, headers=json.dumps(reply.headers), body=body)


def forget_requests(tools: Tools, *, at: Instant) -> int:
    """Delete what is older than a day, of every tenant."""
    return tools.database.write(lambda unit: unit.requests.forget(before=Instant(at - KEPT)))
