"""Assay: may I act on this AI output, why, and can anyone prove it later?

intake -> authorise -> reason -> gate -> mark -> record -> deliver -> learn
Importing this package imports nothing heavy; rooms are imported when they are used.
"""

# As `typing` has it, without importing `typing`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from assay.node import AsyncNode, Node, open, open_async  # noqa: A004 - `assay.open` is its name
    from assay.surfaces.attach import attach
    from assay.surfaces.client import AsyncClient, Client, ProblemError
    from assay.surfaces.fleet import AsyncFleet, Fleet
    from assay.surfaces.gating import Claimed, HeldBackError, claimed, gate

__all__ = [
    "AsyncClient",
    "AsyncFleet",
    "AsyncNode",
    "Claimed",
    "Client",
    "Fleet",
    "HeldBackError",
    "Node",
    "ProblemError",
    "__version__",
    "attach",
    "claimed",
    "gate",
    "open",
    "open_async",
]

__version__ = "0.1.0"

_CLIENT = ("AsyncClient", "Client", "ProblemError")
_FLEET = ("AsyncFleet", "Fleet")
_GATING = ("Claimed", "HeldBackError", "claimed", "gate")
_NODE = ("AsyncNode", "Node", "open", "open_async")


def __getattr__(name: str) -> object:
    """`assay.open`, `assay.gate` and the rest come with everything they need, when they are first asked for."""
    if name == "attach":
        from assay.surfaces.attach import attach  # noqa: PLC0415 - importing the package imports nothing heavy

        return attach
    if name in _NODE:
        from assay import node  # noqa: PLC0415 - the same

        return getattr(node, name)
    if name in _CLIENT:
        from assay.surfaces import client  # noqa: PLC0415 - the same

        return getattr(client, name)
    if name in _FLEET:
        from assay.surfaces import fleet  # noqa: PLC0415 - the same

        return getattr(fleet, name)
    if name in _GATING:
        from assay.surfaces import gating  # noqa: PLC0415 - the same

        return getattr(gating, name)
    raise AttributeError(f"module `assay` has no attribute `{name}`")
