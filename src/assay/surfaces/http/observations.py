"""`/observations`: what agents saw comes in, one at a time or in lines, and is read back page by page.

JSON -> observe -> 201 new | 200 known already;   NDJSON -> observe_many -> 207, an answer for each line
Observations may tell of people, so whoever is neither auditor, operator nor reviewer sees only their own.
"""

from dataclasses import dataclass
from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.response import Response
from msgspec import Struct

from assay.flows.answer_once import Reply
from assay.flows.identity.authenticate import Authenticated
from assay.flows.tools import Tools
from assay.flows.truth.observe import Observed, observe
from assay.flows.truth.observe_many import ObservedLine, observe_many
from assay.kernel.errors import Blame
from assay.kernel.json_text import parse_json
from assay.ports.truth_store import TruthRecord
from assay.surfaces.http.describe import asks, described, problems
from assay.surfaces.http.desk import Desk, GivenDesk
from assay.surfaces.http.errors import BodySizeError, HttpError, MediaTypeError
from assay.surfaces.http.guard import allow, whose
from assay.surfaces.http.query import PageSize, Place, cut_page, parse_query
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.common import changes
from assay.truth.observation import Observation

MOST_LINES = 10_000
_JSON = "application/json"
_LINES = "application/x-ndjson"
_LARGEST = 16 * 1024 * 1024
_HEADERS = {"cache-control": "no-store"}


class TooManyLinesError(HttpError):
    """A body has more lines than are answered at once; nothing of it was recorded."""

    code = "http.lines"
    blame = Blame.USAGE


class ObservationQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of one key, of one reporter; after an entry's number."""

    truthkey: str | None = None
    reporter_id: str | None = None
    after: Place = 0
    limit: PageSize = 100


class ShownObservation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An observation as it is kept, with its place."""

    observation_id: str
    observation_hash: str
    truthkey: str
    sequence_number: int
    observation: dict[str, Any]


class ObservationPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """In the order they were recorded; `next` is the `after` of the next page, null at the end."""

    observations: tuple[ShownObservation, ...]
    next: int | None


@post(
    "/observations",
    opt=allow(scope="truth:write"),
    operation_class=changes(Observation, lines=_LINES),
    request_max_body_size=_LARGEST,
    responses={
        200: described("the same was recorded before; where it is kept", kind=Observed),
        201: described("on disk; where it is kept", kind=Observed),
        207: described("what became of each line, in order", media_type=_LINES),
        **problems(400, 401, 403, 409, 413, 415, 422),
    },
)
async def record_observations(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Record one observation, or many in lines; answered only when on disk. The same id again is recorded once.

    The reporter is the caller, unless the caller has the role `relay`.
    """
    media_type, _ = request.content_type
    if media_type not in (_JSON, _LINES):
        raise MediaTypeError(f"expected `{_JSON}` or `{_LINES}`, got `{media_type[:80] or 'no media type'}`")
    limits = desk.config.http
    received = await request.body()
    most = limits.max_body_bytes if media_type == _JSON else limits.max_stream_bytes
    if len(received) > most:
        raise BodySizeError(f"expected at most {most} bytes, got {len(received)}")

    def record(tools: Tools) -> Reply:
        taken = Intake(desk=desk, tools=tools, caller=caller, credential=credential)
        return taken.one(received) if media_type == _JSON else taken.lines(received)

    return await change(request, desk, caller, received, record, is_repeatable=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """What somebody saw, on its way into the ledger."""

    desk: Desk
    tools: Tools
    caller: Authenticated
    credential: str

    def one(self, received: bytes) -> Reply:
        observed = observe(self.tools, received, credential=self.credential, at=self.tools.clock.now())
        self._count(recorded=observed.is_new, repeated=not observed.is_new)
        return reply_json(observed, status=201 if observed.is_new else 200)

    def lines(self, received: bytes) -> Reply:
        lines = received.split(b"\n")
        if len(lines) > MOST_LINES + 1:
            raise TooManyLinesError(f"expected at most {MOST_LINES} lines, got {len(lines)}")
        answers: list[ObservedLine] = []
        now = self.tools.clock.now
        done = observe_many(self.tools, lines, credential=self.credential, now=now, report=answers.append)
        self._count(recorded=done.recorded, repeated=done.repeated, refused=done.refused)
        content = b"".join(msgspec.json.encode(answer) + b"\n" for answer in answers)
        return reply_json(content, status=207, content_type=_LINES)

    def _count(self, **outcomes: int) -> None:
        self.desk.metrics.count_observations(self.caller.principal.tenant_id, **outcomes)


@get(
    "/observations",
    opt=allow(scope="truth:read"),
    operation_class=asks(ObservationQuery),
    responses={200: described("a page", kind=ObservationPage), **problems(400, 401, 403, 422)},
)
async def list_observations(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Observations in the order they were recorded; whoever may not see all of them sees their own."""
    wanted = parse_query(ObservationQuery, request)
    by, tenant_id = whose(caller, wanted.reporter_id), caller.principal.tenant_id
    rows = await desk.run(
        lambda: desk.tools.database.read(
            lambda unit: unit.truth.observations(
                tenant_id, truthkey=wanted.truthkey, by=by, after=wanted.after, limit=wanted.limit + 1
            )
        )
    )
    shown, following = cut_page(rows, wanted.limit, lambda row: row.sequence_number)
    page = ObservationPage(observations=tuple(_shown(row) for row in shown), next=following)
    return Response(msgspec.json.encode(page), media_type=_JSON, headers=_HEADERS)


def _shown(row: TruthRecord) -> ShownObservation:
    observation: Any = parse_json(row.text)
    return ShownObservation(
        observation_id=row.record_id,
        observation_hash=row.record_hash,
        truthkey=row.truthkey,
        sequence_number=row.sequence_number,
        observation=observation,
    )
