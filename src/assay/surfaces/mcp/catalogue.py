"""The tools: what each takes, what it needs of the caller, and the one flow behind it."""

from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.flows.delivery.deliver_answer import AskQuestion, ask
from assay.flows.identity.authenticate import Authenticated
from assay.flows.ledger.check_proof import check_proof
from assay.flows.registry.services import WhoCan, who_can
from assay.flows.tools import Tools
from assay.flows.truth.show_truth import show_truth
from assay.flows.verdicts.coverage import show_coverage
from assay.flows.verdicts.evaluate_record import evaluate_record
from assay.flows.verdicts.read_verdicts import show_verdict
from assay.identity.principal import BuiltInRole
from assay.kernel.instant import Instant, parse_instant
from assay.kernel.key import parse_anchors
from assay.registry.action import Tier
from assay.surfaces.mcp.arguments import Ask, Coverage, Evaluate, ShowTruth, ShowVerdict, Verify
from assay.surfaces.mcp.errors import ArgumentsError

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
    """`bit` must be granted to the caller, and for an agent that of its autonomy too; `writes` is what is recorded."""

    name: str
    title: str
    description: str
    takes: type[Struct]
    run: Callable[[Turn, Any], object]
    bit: str
    tier: int
    scope: str
    roles: tuple[str, ...] | None = None
    writes: bool = False


def _ask(turn: Turn, given: Ask) -> object:
    asked = AskQuestion(query_type=given.query_type, question=given.question, session_id=given.session_id)
    return ask(turn.tools, replace(turn.caller, at=turn.at), asked).value


def _evaluate(turn: Turn, given: Evaluate) -> object:
    return evaluate_record(turn.tools, given.record, credential=turn.credential, at=turn.at)


def _verify(turn: Turn, given: Verify) -> object:
    if (given.proof is None) is (given.proof_base64 is None):
        raise ArgumentsError("expected one of `proof` and `proof_base64`")
    anchors = parse_anchors(given.trust or (turn.tools.founder,))
    entry = None if given.entry is None else given.entry.encode()
    return check_proof(_proof(given), anchors, entry=entry, origin=given.origin)


def _proof(given: Verify) -> bytes:
    if given.proof is not None:
        return given.proof.encode()
    try:
        return b64decode(given.proof_base64 or "", validate=True)
    except ValueError as error:
        raise ArgumentsError("expected base64 in `proof_base64`") from error


def _coverage(turn: Turn, given: Coverage) -> object:
    found = show_coverage(turn.tools, turn.caller.principal.tenant_id)
    if given.subject is None:
        return found
    gaps = tuple(one for one in found.gaps if one.subject == given.subject)
    closed = tuple(one for one in found.closed if one.subject == given.subject)
    return {"gaps": gaps, "closed": closed}


def _who_can(turn: Turn, given: WhoCan) -> object:
    return who_can(turn.tools, turn.caller, given)


def _show_verdict(turn: Turn, given: ShowVerdict) -> object:
    return show_verdict(turn.tools, turn.caller.principal.tenant_id, given.telemetry_id)


def _show_truth(turn: Turn, given: ShowTruth) -> object:
    known_at = None if given.known_at is None else parse_instant(given.known_at)
    tenant_id = turn.caller.principal.tenant_id
    return show_truth(turn.tools, tenant_id, given.truthkey, at=turn.at, known_at=known_at)


_ALL = (
    ToolSpec(
        name="ask",
        title="Ask a question",
        description=(
            "Ask a question of a registered kind. The answer comes with its authenticity level, the rules it rests "
            "on and what the gates decided; it is null and `withheld` where it must not be acted on. Recorded."
        ),
        takes=Ask,
        run=_ask,
        bit="QUERY",
        tier=Tier.READ,
        scope="pramana:query",
        writes=True,
    ),
    ToolSpec(
        name="evaluate",
        title="Judge telemetry",
        description=(
            "Judge one telemetry record by every rule of the knowledge graph in use. A verdict of high risk is held "
            "until a person attests it. Recorded; the same record again is answered with what is on record."
        ),
        takes=Evaluate,
        run=_evaluate,
        bit="WRITE",
        tier=Tier.LOW_RISK_WRITE,
        scope="verdicts:write",
        writes=True,
    ),
    ToolSpec(
        name="verify",
        title="Verify a proof",
        description="Verify a proof of any form with nothing but keys to believe; every check says what it found.",
        takes=Verify,
        run=_verify,
        bit="READ",
        tier=Tier.READ,
        scope="log:read",
    ),
    ToolSpec(
        name="coverage",
        title="Look up coverage",
        description="Subjects that telemetry came for and no rule speaks about, and those that a later graph closed.",
        takes=Coverage,
        run=_coverage,
        bit="READ",
        tier=Tier.READ,
        scope="verdicts:read",
        roles=_SEE_ALL,
    ),
    ToolSpec(
        name="who_can",
        title="Find who can",
        description="The services of the registry that have all of these permission bits, at a tier that is active.",
        takes=WhoCan,
        run=_who_can,
        bit="READ",
        tier=Tier.READ,
        scope="registry:read",
    ),
    ToolSpec(
        name="show_verdict",
        title="Show a verdict",
        description="Every rule's verdict on a record, with its entry in the ledger; what is held has no verdict yet.",
        takes=ShowVerdict,
        run=_show_verdict,
        bit="READ",
        tier=Tier.READ,
        scope="verdicts:read",
        roles=_SEE_ALL,
    ),
    ToolSpec(
        name="show_truth",
        title="Show a truth state",
        description="The signed state of a truth key, now or as known at an instant, and what age has left of it.",
        takes=ShowTruth,
        run=_show_truth,
        bit="READ",
        tier=Tier.READ,
        scope="truth:read",
    ),
)
CATALOGUE = {spec.name: spec for spec in _ALL}
