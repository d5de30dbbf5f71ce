"""`/api/v1/…:bulk`: observations and telemetry in lines, each answered by itself."""

from typing import Any

import msgspec
from litestar import Request, post
from litestar.di import NamedDependency

from assay.flows.identity.authenticate import Authenticated
from assay.flows.request import BulkLine
from assay.flows.truth.observe_many import ObservedLine, observe_many
from assay.surfaces.http.describe import described, operation, problems
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import allow
from assay.surfaces.http.v1.common import PREFIX
from assay.surfaces.http.v1.lines import LINES, LineStream, answer_lines
from assay.surfaces.http.v1.truth import OBSERVATION_EXAMPLE
from assay.truth.observation import Observation

_RESPONSES = {
    200: described("what became of each line, in order, while the body is still read", kind=str, media_type=LINES),
    **problems(400, 401, 403, 404, 409, 415, 422, 429),
}


@post(
    f"{PREFIX}/observations:bulk",
    opt=allow(scope="truth:write"),
    status_code=200,
    operation_class=operation(body=Observation, lines=LINES, example=OBSERVATION_EXAMPLE, only_lines=True),
    request_max_body_size=None,
    responses=_RESPONSES,
)
async def bulk_observations(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> LineStream:
    """Observations in lines. The same id again is recorded once, so a body that got no answer may be sent again."""
    tools = desk.tools

    async def take(lines: list[bytes]) -> list[BulkLine]:
        answers: list[ObservedLine] = []
        done = await desk.act(
            lambda: observe_many(tools, lines, credential=credential, now=tools.clock.now, report=answers.append)
        )
        counts = {"recorded": done.recorded, "repeated": done.repeated, "refused": done.refused}
        desk.metrics.count_observations(caller.principal.tenant_id, **counts)
        return [_observed(one) for one in answers]

    return await answer_lines(request, take, longest=desk.config.http.max_body_bytes)


def _observed(one: ObservedLine) -> BulkLine:
    if one.observed is None:
        return BulkLine(line=one.line, status="refused", code=one.code, problem=one.problem)
    return BulkLine(line=one.line, status=_status(one.observed.is_new), receipt=_receipt(one.observed))


def _status(is_new: bool) -> Any:  # noqa: ANN401, FBT001 - one of the literals of `BulkLine`; read as a sentence
    return "recorded" if is_new else "known"


def _receipt(value: msgspec.Struct) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(value)
    return built
