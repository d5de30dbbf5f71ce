"""The tools: what each takes, what it needs of the caller, and the one flow behind it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from assay.flows.identity.authenticate import Authenticated
from assay.flows.tools import Tools
from assay.flows.truth.show_truth import show_truth
from assay.identity.access import Needs
from assay.kernel.instant import Instant, parse_instant
from assay.operations.kinds import needs
from assay.surfaces.mcp.arguments import ShowTruth


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One admitted call."""

    tools: Tools
    caller: Authenticated
    credential: str
    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool of a room that is still to move to the table of operations."""

    name: str
    title: str
    description: str
    takes: type[Struct]
    run: Callable[[Turn, Any], object]
    needs: Needs
    writes: bool = False


def _show_truth(turn: Turn, given: ShowTruth) -> object:
    known_at = None if given.known_at is None else parse_instant(given.known_at)
    tenant_id = turn.caller.principal.tenant_id
    return show_truth(turn.tools, tenant_id, given.truthkey, at=turn.at, known_at=known_at)


_ALL = (
    ToolSpec(
        name="show_truth",
        title="Show a truth state",
        description="The signed state of a truth key, now or as known at an instant, and what age has left of it.",
        takes=ShowTruth,
        run=_show_truth,
        needs=needs("truth:read"),
    ),
)
CATALOGUE = {spec.name: spec for spec in _ALL}
