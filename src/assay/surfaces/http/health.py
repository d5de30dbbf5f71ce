"""`/healthz` says that the process answers, `/readyz` that the node can do its work; both open.

ready = the writer commits, the database answers, it still continues every checkpoint we signed, and no damage was met
"""

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Literal

from anyio import fail_after
from litestar import get
from litestar.di import NamedDependency
from litestar.response import Response
from msgspec import Struct

from assay.flows.ledger.resume_ledger import resume_ledger
from assay.flows.node_facts import commit_nothing
from assay.flows.tools import Tools
from assay.identity.problem import Problem
from assay.kernel.errors import Error
from assay.surfaces.http.describe import described, problems
from assay.surfaces.http.desk import Desk, GivenDesk
from assay.surfaces.http.errors import NotReadyError
from assay.surfaces.http.guard import OPEN

_PATIENCE_SECONDS = 5.0
# The route is open, so looking is cheap for whoever asks often.
_FRESH_SECONDS = 1.0


class Health(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A yes; a no is a problem."""

    status: Literal["ok"] = "ok"


class Readiness:
    """The last look at the node, repeated when it is older than a second."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._lock = asyncio.Lock()
        self._looked_at: float | None = None
        self._problems: tuple[Problem, ...] = ()

    async def problems(self, desk: Desk) -> tuple[Problem, ...]:
        async with self._lock:
            if self._looked_at is None or monotonic() - self._looked_at > _FRESH_SECONDS:
                self._problems = await self._look(desk)
                self._looked_at = monotonic()
            return self._problems

    async def _look(self, desk: Desk) -> tuple[Problem, ...]:
        checks: dict[str, Callable[[], object]] = {
            "database": self._tools.database.facts,
            "writer": lambda: commit_nothing(self._tools.database),
            "resume": lambda: resume_ledger(self._tools),
        }
        # By name: whoever balances the load is told which witness has seen another history.
        named = (Problem(field="witnesses", message=f"witness.contradicts: {one}") for one in self._against())
        checked = [problem for name, work in checks.items() for problem in await _check(desk, name, work)]
        damaged = (Problem(field="damage", message=code) for code in self._tools.damage.codes())
        return (*named, *checked, *damaged)

    def _against(self) -> list[str]:
        return sorted(self._tools.standing.contradictions())


async def _check(desk: Desk, name: str, work: Callable[[], object]) -> tuple[Problem, ...]:
    try:
        with fail_after(_PATIENCE_SECONDS):
            await desk.probe(work)
    except TimeoutError:
        return (Problem(field=name, message=f"gave no answer within {_PATIENCE_SECONDS:g} s"),)
    except Error as error:
        # The route is open: the code is for everybody, the words are for the log.
        return (Problem(field=name, message=error.code),)
    return ()


@get("/healthz", opt=OPEN, security=[{}], responses={200: described("the process answers", kind=Health)})
async def is_alive() -> Response[Health]:
    """The process answers."""
    return Response(Health(), headers={"cache-control": "no-store"})


@get(
    "/readyz",
    opt=OPEN,
    security=[{}],
    responses={200: described("the node can do its work", kind=Health), **problems()},
)
async def is_ready(desk: GivenDesk, readiness: NamedDependency[Readiness]) -> Response[Health]:
    """The writer commits, the database answers, and it continues every checkpoint this node signed; and it stays."""
    if desk.draining.is_set():
        raise NotReadyError([Problem(field="server", message="it is about to end")])
    found = await readiness.problems(desk)
    if found:
        raise NotReadyError(found)
    return Response(Health(), headers={"cache-control": "no-store"})
