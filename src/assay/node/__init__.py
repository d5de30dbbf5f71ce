"""The node from Python: `assay.open(folder)`, one method for each journey, and the same awaited.

open -> authorise -> reason -> gate -> mark -> record -> deliver -> learn, each by the one flow that does it
May import: wiring and everything below it. Models and database drivers are loaded when a journey needs them.
"""

from assay.node.aio import AsyncNode
from assay.node.facade import Node
from assay.node.opening import open, open_async  # noqa: A004 - `assay.open` is its name, as `gzip.open` is

__all__ = ["AsyncNode", "Node", "open", "open_async"]
