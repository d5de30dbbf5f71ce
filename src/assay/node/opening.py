"""Open a node: a folder that `assay init` made, or a database with the folder of its keys."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from assay.node.aio import AsyncNode
from assay.node.errors import NodeError
from assay.node.facade import Node
from assay.wiring import init_node

_ADDRESSES = ("postgresql://", "postgres://", "sqlite:")
_DATABASE_FILES = (".db", ".sqlite")


def open(  # noqa: A001 - `assay.open` is its name, as `gzip.open` is
    place: str | Path,
    *,
    credential: str | None = None,
    home: str | Path | None = None,
    tenant: str | None = None,
    trust: Iterable[str] = (),
    read_only: bool = False,
    create: bool = False,
) -> Node:
    """A node, open until its `with` or its `close` ends.

    `place` is the node's folder, the database file in it, or a database address (`postgresql://…`) with `home`, the
    folder that has its keys and configuration. `credential` is an API key or session token for all that is done
    through it. `trust` are keys or key ids to believe beside the configured anchors. `read_only` works beside a
    running server, takes nobody's place, and signs nothing: for auditors. `create` makes a node of a folder that is
    new or empty.
    """
    folder, database = _located(place, home)
    if create and not (folder.exists() and any(folder.iterdir())):
        init_node(folder, tenant=tenant or "default", database=database)
    return Node(folder, credential=credential, tenant=tenant, trust=trust, read_only=read_only, database=database)


@asynccontextmanager
async def open_async(
    place: str | Path,
    *,
    credential: str | None = None,
    home: str | Path | None = None,
    tenant: str | None = None,
    trust: Iterable[str] = (),
    read_only: bool = False,
    create: bool = False,
) -> AsyncIterator[AsyncNode]:
    """As `open`, for `async with`: opening and closing do not hold up the event loop either."""
    opening = partial(
        open,
        place,
        credential=credential,
        home=home,
        tenant=tenant,
        trust=trust,
        read_only=read_only,
        create=create,
    )
    node = await asyncio.to_thread(opening)
    try:
        yield node.aio
    finally:
        await asyncio.to_thread(node.close)


def _located(place: str | Path, home: str | Path | None) -> tuple[Path, str | None]:
    text = str(place)
    if text.startswith(_ADDRESSES):
        if home is None:
            raise NodeError.no_home("expected `home`, the folder with the node's keys, beside a database address")
        return Path(home), text
    folder = Path(place)
    return (folder.parent if folder.suffix in _DATABASE_FILES else folder), None
