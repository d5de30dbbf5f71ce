"""The tools: what each takes, what it needs of the caller, and the one flow behind it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from assay.flows.identity.authenticate import Authenticated
from assay.flows.tools import Tools
from assay.flows.truth.show_truth import show_truth
from assay.flows.verdicts.coverage import show_coverage
from assay.flows.verdicts.evaluate_record import evaluate_record
from assay.flows.verdicts.read_verdicts import show_verdict
from assay.identity.access import Needs
from assay.identity.principal import BuiltInRole
from assay.kernel.instant import Instant, parse_instant
from assay.operations.kinds import needs
from assay.surfaces.mcp.arguments import Coverage, Evaluate, ShowTruth, ShowVerdict

_SEE_ALL = (BuiltInRole.AUDITOR, BuiltInRole.OPERATOR, BuiltInRole.REVIEWER)


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


def _evaluate(turn: Turn, given: Evaluate) -> object:
    return evaluate_record(turn.tools, given.record, credential=turn.credential, at=turn.at)


def _coverage(turn: Turn, given: Coverage) -> object:
    found = show_coverage(turn.tools, turn.caller.principal.tenant_id)
    if given.subject is None:
        return found
    gaps = tuple(one for one in found.gaps if one.subject == given.subject)
    closed = tuple(one for one in found.closed if one.subject == given.subject)
    return {"gaps": gaps, "closed": closed}


def _show_verdict(turn: Turn, given: ShowVerdict) -> object:
    return show_verdict(turn.tools, turn.caller.principal.tenant_id, given.telemetry_id)


def _show_truth(turn: Turn, given: ShowTruth) -> object:
    known_at = None if given.known_at is None else parse_instant(given.known_at)
    tenant_id = turn.caller.principal.tenant_id
    return show_truth(turn.tools, tenant_id, given.truthkey, at=turn.at, known_at=known_at)


_ALL = (
    ToolSpec(
        name="evaluate",
        title="Judge telemetry",
        description=(
            "Judge one telemetry record by every rule of the knowledge graph in use. A verdict of high risk is held "
            "until a person attests it. Recorded; the same record again is answered with what is on record."
        ),
        takes=Evaluate,
        run=_evaluate,
        needs=needs("verdicts:write"),
        writes=True,
    ),
    ToolSpec(
        name="coverage",
        title="Look up coverage",
        description="Subjects that telemetry came for and no rule speaks about, and those that a later graph closed.",
        takes=Coverage,
        run=_coverage,
        needs=needs("verdicts:read", *_SEE_ALL),
    ),
    ToolSpec(
        name="show_verdict",
        title="Show a verdict",
        description="Every rule's verdict on a record, with its entry in the ledger; what is held has no verdict yet.",
        takes=ShowVerdict,
        run=_show_verdict,
        needs=needs("verdicts:read", *_SEE_ALL),
    ),
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
