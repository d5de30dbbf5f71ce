"""A service on Litestar, attached in the same way: `python berths.py [REGISTRY] [NODE] [KEY]`."""

import sys
from pathlib import Path

import uvicorn
from litestar import Litestar, get

import assay

_HERE = Path(__file__).parent
_FREE = ["north-1", "north-2"]


@get("/berths")
async def list_berths() -> list[str]:
    return _FREE


app = Litestar(route_handlers=[list_berths], openapi_config=None)
_registry, _node, _key = (*sys.argv[1:4], None, None, None)[:3]
agent = assay.attach(
    app,
    _HERE / "berths.json",
    registry=_registry,
    node=_node,
    node_url=_registry,
    key=_key,
    memory=Path(_node or ".") / "berths.forja.db",
)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=agent.service.manifest.port, log_level="warning")
