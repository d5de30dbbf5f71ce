"""`/api/kg/load`: a knowledge graph comes into use, over HTTP as from the command line (SKI 3.5)."""

from typing import Any

import structlog
from litestar import Request, post
from litestar.di import NamedDependency
from litestar.response import Response
from msgspec import UNSET, Struct, UnsetType

from assay.flows.answer_once import Reply
from assay.flows.identity.authenticate import Authenticated
from assay.flows.tools import Tools
from assay.flows.verdicts.change_graphs import LoadedGraph, load_graph
from assay.identity.principal import BuiltInRole
from assay.kernel.digest import EMPTY_DIGEST
from assay.surfaces.http.body import read_long_body
from assay.surfaces.http.describe import described, problems
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import allow
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.common import changes
from assay.verdicts.graph.graph import Notice
from assay.verdicts.graph.issue import Issue

_LARGEST = 512 * 1024 * 1024
_log = structlog.get_logger("assay.ski")


class GraphDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The typed form (`nodes`, `edges`) or the flat one (`rules`, `tag_registry`), with its `signature`."""

    metadata: dict[str, Any] | UnsetType = UNSET
    nodes: dict[str, list[dict[str, Any]]] | UnsetType = UNSET
    edges: list[dict[str, Any]] | UnsetType = UNSET
    rules: list[dict[str, Any]] | UnsetType = UNSET
    tag_registry: dict[str, str] | UnsetType = UNSET
    signature: dict[str, str] | UnsetType = UNSET


class GraphInUse(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The graph by which records are judged from now on; `issues` and `notices` are remarks, the refusals are not."""

    kg_version_hash: str
    content_hash: str
    document_hash: str
    signature_verified: bool
    mode: str
    reviewers: int
    sequence_number: int
    issues: tuple[Issue, ...]
    notices: tuple[Notice, ...]


@post(
    "/api/kg/load",
    opt=allow(scope="graphs:write", roles=[BuiltInRole.OPERATOR]),
    status_code=200,
    operation_class=changes(GraphDocument),
    request_max_body_size=_LARGEST,
    responses={
        200: described("in use from now on", kind=GraphInUse),
        **problems(400, 401, 403, 409, 413, 415, 422),
    },
)
async def load_knowledge_graph(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Put a graph into use, by an operator. Strict: signed by an anchor, valid, accepted by people, no step back."""
    received = await read_long_body(request, desk.config.http.max_stream_bytes)

    def load(tools: Tools) -> Reply:
        loaded = load_graph(tools, received, credential=credential, at=tools.clock.now())
        log_notices(loaded)
        return reply_json(_in_use(loaded))

    return await change(request, desk, caller, received, load, is_repeatable=True)


def log_notices(loaded: LoadedGraph) -> None:
    """Whichever route brought it: an unsigned graph and a deprecated `track` are in the log (SKI 3.5, 11.3)."""
    for notice in loaded.notices:
        _log.warning("graph", code=notice.code, node=notice.node, message=notice.message)


def _in_use(loaded: LoadedGraph) -> GraphInUse:
    activation = loaded.activation
    return GraphInUse(
        kg_version_hash=activation.kg_version_hash,
        content_hash=activation.content_hash,
        document_hash=activation.document_hash,
        signature_verified=activation.kg_version_hash != EMPTY_DIGEST,
        mode=activation.mode,
        reviewers=activation.reviewers,
        sequence_number=activation.sequence_number,
        issues=loaded.issues,
        notices=loaded.notices,
    )
