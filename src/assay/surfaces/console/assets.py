"""Styles and scripts: files of the package, read once, each with its hash; nothing is fetched from elsewhere."""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple

from litestar import Request, get
from litestar.params import FromPath
from litestar.response import Response

from assay.surfaces.console.session import ANYBODY
from assay.surfaces.http.errors import NoRouteError

_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}


class Asset(NamedTuple):
    """One file as it is served."""

    content: bytes
    media_type: str
    etag: str


@cache
def load_assets() -> Mapping[str, Asset]:
    """By path below `static`."""
    return dict(_walk(files("assay.surfaces.console") / "static", ""))


def _walk(folder: Traversable, above: str) -> "list[tuple[str, Asset]]":
    found: list[tuple[str, Asset]] = []
    for one in folder.iterdir():
        name = above + one.name
        if one.is_dir():
            found += _walk(one, f"{name}/")
        elif (kind := _TYPES.get(one.name.rpartition(".")[2])) is not None:
            content = one.read_bytes()
            found.append((name, Asset(content, kind, f'"{sha256(content).hexdigest()}"')))
    return found


@get("/static/{name:path}", opt=ANYBODY)
async def show_asset(request: Request[Any, Any, Any], name: FromPath[str]) -> Response[bytes]:
    """A file of the package by its exact path, and nothing else of any folder."""
    asset = load_assets().get(name.removeprefix("/"))
    if asset is None:
        raise NoRouteError(f"expected a file of the console, got `{name[:80]}`")
    headers = {"etag": asset.etag, "cache-control": "no-cache", "content-type": asset.media_type}
    if request.headers.get("if-none-match") == asset.etag:
        return Response(b"", status_code=304, headers=headers)
    return Response(asset.content, headers=headers)
