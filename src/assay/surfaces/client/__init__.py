"""A node over HTTP from Python: `assay.Client(url, key=…)`, and the same awaited.

method -> a call (pure) -> sent, again where that is safe -> the types of `/api/v1`, or the coded error it refused with
May import: the shapes of `/api/v1` and everything below surfaces; no web framework.
"""

from assay.surfaces.client.aio import AsyncClient
from assay.surfaces.client.errors import ProblemError, UnreachableNodeError
from assay.surfaces.client.sync import Client

__all__ = ["AsyncClient", "Client", "ProblemError", "UnreachableNodeError"]
