"""PRAMANA over HTTP (section 12): the registry of questions, and the queue of training."""

import msgspec
from litestar import get
from litestar.di import NamedDependency
from litestar.response import Response

from assay.delivery.query import QueryType
from assay.flows.authenticate import Authenticated
from assay.flows.inspect_queue import TrainingQueue, list_queries, show_queue
from assay.surfaces.http.describe import described, problems
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import SEE_ALL, allow
from assay.surfaces.http.pramana import PREFIX

__all__ = ["list_query_types", "show_training_queue"]

_READ = allow(scope="pramana:read", roles=SEE_ALL)


@get(
    f"{PREFIX}/queries",
    opt=_READ,
    responses={200: described("every kind of question", kind=list[QueryType]), **problems(401, 403)},
)
async def list_query_types(desk: GivenDesk, caller: NamedDependency[Authenticated]) -> Response[bytes]:
    """The query registry: who answers what on which rules, and the level that is expected."""
    return _answer(await desk.run(lambda: list_queries(desk.tools, caller.principal.tenant_id)))


@get(
    f"{PREFIX}/pairs/queue",
    opt=_READ,
    responses={200: described("the queue of training", kind=TrainingQueue), **problems(401, 403)},
)
async def show_training_queue(desk: GivenDesk, caller: NamedDependency[Authenticated]) -> Response[bytes]:
    """How many pairs wait, and how many make a job."""
    return _answer(await desk.run(lambda: show_queue(desk.tools, caller.principal.tenant_id)))


def _answer(value: object) -> Response[bytes]:
    content = msgspec.json.encode(value)
    return Response(content, media_type="application/json", headers={"cache-control": "no-store"})
