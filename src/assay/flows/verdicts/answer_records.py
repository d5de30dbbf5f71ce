"""Records that wait together, some of them in requests with a key: each is answered, and under a key once.

requests -> known keys are answered as before -> the others judged together, each with its mark -> replies
INVARIANT: no verdict is durable without the key of its request and the answer to it, which are in its own commit.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from assay.flows.answer_once import KEPT, KeyedRequest, Reply, begin_request, find_kept
from assay.flows.request_mark import RequestMark, forget_expired
from assay.flows.tools import Tools
from assay.flows.verdicts.decide_many import Asked
from assay.flows.verdicts.evaluate_record import evaluate_together
from assay.flows.verdicts.read_verdicts import Decided
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.request_store import KeptRequest


class RecordRequest(NamedTuple):
    """A record to be judged, of which tenant its sender is, how it is answered, and under which key it came."""

    tenant_id: TenantId
    asked: Asked
    render: Callable[[Decided], Reply]
    keyed: KeyedRequest | None = None


def answer_records(tools: Tools, requests: Sequence[RecordRequest]) -> list[Reply | Error]:
    """The reply to each, or its refusal, in order; whoever calls sees to it that no key is here twice at once."""
    looked = _look_up(tools, requests)
    asked = [
        (one.tenant_id, one.asked if mark is None else one.asked._replace(mark=mark))
        for one, mark in zip(requests, looked, strict=True)
        if not isinstance(mark, Reply | Error)
    ]
    told = iter(evaluate_together(tools, asked)) if asked else iter(())
    answers = [one if isinstance(one, Reply | Error) else next(told) for one in looked]
    _keep_repeated(tools, looked, answers)
    return [
        one.render(answer) if isinstance(answer, Decided) else answer
        for one, answer in zip(requests, answers, strict=True)
    ]


def _look_up(tools: Tools, requests: Sequence[RecordRequest]) -> list[Reply | RequestMark | Error | None]:
    if all(one.keyed is None for one in requests):
        return [None] * len(requests)
    return tools.database.read(lambda unit: [_look(unit, one) for one in requests])


def _look(unit: Unit, request: RecordRequest) -> Reply | RequestMark | Error | None:
    if request.keyed is None:
        return None
    at = request.asked.at
    try:
        found = find_kept(unit, request.keyed, at=at)
    except Error as refusal:
        return refusal
    if isinstance(found, Reply):
        return found
    begun = found if isinstance(found, KeptRequest) else begin_request(request.keyed, at=at)
    return RequestMark(request.tenant_id, begun, found is not None, request.render, expired_at=Instant(at - KEPT))


def _keep_repeated(
    tools: Tools, looked: Sequence[Reply | RequestMark | Error | None], answers: Sequence[Reply | Decided | Error]
) -> None:
    """A record that was on record before has no unit in which its key could be noted: it gets one for that alone."""
    repeated = [
        (mark, answer)
        for mark, answer in zip(looked, answers, strict=True)
        if isinstance(mark, RequestMark) and isinstance(answer, Decided) and not answer.is_new
    ]

    def keep(unit: Unit) -> None:
        forget_expired(unit, [mark for mark, _ in repeated])
        for mark, decided in repeated:
            mark.keep(unit, decided, entry=decided.verdicts[0].sequence_number - 1)

    if repeated:
        tools.database.write(keep)
