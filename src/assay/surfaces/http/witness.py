"""The witness as a server: one route, `POST /add-checkpoint` (C2SP tlog-witness), open to every log it knows.

A witness is small on purpose: it has no node, no ledger and no principals, only a key and a memory.
"""

import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from anyio import to_thread
from litestar import Litestar, Request, post
from litestar.datastructures import State
from litestar.exceptions import HTTPException
from litestar.response import Response

from assay.adapters.keyfile import load_key_file
from assay.adapters.witness_state import WitnessState
from assay.flows.ledger.answer_witness import answer_witness
from assay.kernel.witness import SIZE_CONTENT_TYPE, WitnessStatus
from assay.ports.clock import Clock
from assay.ports.signer import Signer

WITNESS_KEY_FILE = "witness.key"
WITNESS_STATE_FILE = "witness.db"
# A checkpoint, 63 hashes and many signatures stay far below this.
_LONGEST_REQUEST = 256 * 1024
_TEXT = "text/plain; charset=utf-8"
_log = structlog.get_logger("assay.witness")


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessDesk:
    """What the route works with."""

    state: WitnessState
    signer: Signer
    clock: Clock


def open_witness(folder: Path, clock: Clock) -> WitnessDesk:
    """The witness that `assay witness init` made in this folder."""
    state = WitnessState(folder / WITNESS_STATE_FILE)
    try:
        signer = load_key_file(folder / WITNESS_KEY_FILE)
    except BaseException:
        state.close()
        raise
    return WitnessDesk(state=state, signer=signer, clock=clock)


@post("/add-checkpoint", status_code=200)
async def add_checkpoint(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Cosign a checkpoint that continues the last one; the protocol's own statuses say what else may come."""
    desk: WitnessDesk = request.app.state.desk
    body = await request.body()
    reply = await to_thread.run_sync(
        lambda: answer_witness(desk.state, desk.state.name, desk.signer, body, at=desk.clock.now())
    )
    content_type = SIZE_CONTENT_TYPE if reply.status == WitnessStatus.CONFLICT else _TEXT
    # As a header: Litestar would add a charset to a media type of text, and clients compare this one.
    headers = {"content-type": content_type, "cache-control": "no-store"}
    return Response(reply.body, status_code=reply.status, headers=headers)


def create_witness_app(desk: WitnessDesk) -> Litestar:
    return Litestar(
        route_handlers=[add_checkpoint],
        state=State({"desk": desk}),
        exception_handlers={Exception: _refuse},
        request_max_body_size=_LONGEST_REQUEST,
        openapi_config=None,
        logging_config=None,
    )


def _refuse(_request: Request[Any, Any, Any], exception: Exception) -> Response[bytes]:
    """The protocol speaks plain text; what failed inside is for the log, and nothing is cosigned then."""
    status, words = 500, "the witness failed"
    if isinstance(exception, HTTPException):
        status, words = exception.status_code, exception.detail
    else:
        _log.error("fault", message=str(exception), traceback="".join(traceback.format_exception(exception)))
    return Response(f"{words}\n".encode(), status_code=status, headers={"content-type": _TEXT})
