"""A service on Starlette that one call makes an AI-native one: `python bookings.py [REGISTRY] [NODE] [KEY]`."""

import sys
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

import assay
from assay.ports.registry_store import LoggedAction
from assay.registry.permission import mask_of

_HERE = Path(__file__).parent
_BOOK = mask_of(["WRITE", "BOOK"])
_bookings: dict[str, str] = {}

app = Starlette()
_registry, _node, _key = (*sys.argv[1:4], None, None, None)[:3]
agent = assay.attach(
    app,
    _HERE / "bookings.json",
    registry=_registry,
    node=_node,
    node_url=_registry,
    key=_key,
    memory=Path(_node or ".") / "bookings.forja.db",
)


def _cancel(log: LoggedAction) -> None:
    """What undoes a booking; only a person's session token gets here."""
    _bookings.pop(log.log_id, None)


@agent.action("booking.status")
def status(number: str) -> str:
    return _bookings.get(number, "unknown")


@agent.action("BOOKING_CREATE", needs=_BOOK, tier=2, rollback=_cancel)
def create(number: str, voyage: str) -> str:
    _bookings[number] = voyage
    return number


async def show(request: Request) -> JSONResponse:
    return JSONResponse({"voyage": status(request.path_params["number"])})


async def book(request: Request) -> JSONResponse:
    wish = await request.json()
    return JSONResponse({"booked": create(wish["number"], wish["voyage"])})


app.router.routes += [Route("/bookings/{number}", show), Route("/bookings", book, methods=["POST"])]

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=agent.service.manifest.port, log_level="warning")
