"""The gateway's table, approved definitions of tools, and the record of calls that went through it.

operator + rows -> release -> signed table in force;  changed definition -> an operator approves it -> callable again
result of a call -> guardians -> on record, given to the agent or withheld
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from assay.claims.bundle import (
    Claim,
    ClaimBundle,
    ClaimType,
    Recommendation,
    Uncertainty,
    UncertaintyMethod,
)
from assay.claims.errors import ClaimsError
from assay.claims.guardian import Suspect, examine_all, worst_report
from assay.facts.permits import DefinitionApproved, GatewayCalled, GatewayReleased, gateway_entry
from assay.flows.claims.claims_facts import active_policy
from assay.flows.errors import NotFoundError
from assay.flows.identity.authenticate import confirm
from assay.flows.identity.duties import ReleaseTools, amend_power_in, find_gateway_table
from assay.flows.request import NEWEST, Done, Page, Paged, PrincipalName, Reason, Request, cut, read_number, whose
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.risk import RiskTier
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.ids import KeyId, PrincipalId, TenantId, TicketId, parse_principal_id
from assay.kernel.instant import Instant
from assay.kernel.signature import SignedKind, signing_message
from assay.permits.gateway import MOST_ROWS, ToolRow, verify_rows
from assay.permits.permit import parse_permit_id
from assay.ports.database import Unit
from assay.ports.permit_store import ApprovedDefinition, GatewayCall

# Longer results are not read to their end, which counts as a sign of its own.
LONGEST_READ = 200_000
_LONGEST_TOOL = 128

_Tool = Annotated[
    str, Meta(min_length=1, max_length=_LONGEST_TOOL, description="A tool, with the prefix of its server.")
]
_Hash = Annotated[str, Meta(description="`sha256:…`.")]


class ReleaseGatewayTable(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rows: Annotated[
        tuple[ToolRow, ...],
        Meta(max_length=MOST_ROWS, description="How calls of each tool are taken; the first row that fits decides."),
    ]


class ShowGatewayTable(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The one in force."""


class ApproveDefinition(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    tool: _Tool
    definition_hash: Annotated[str, Meta(description="The hash of the tool's definition as its server gives it now.")]
    reason: Reason


class RecordGatewayCall(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    tool: _Tool
    definition_hash: _Hash
    arguments_hash: _Hash
    result_hash: _Hash
    text: Annotated[
        str, Meta(max_length=LONGEST_READ, description="The words of the result: guardians read them, none are kept.")
    ] = ""
    is_whole: Annotated[bool, Meta(description="Whether `text` has all words of the result.")] = True
    permit_id: Annotated[str | None, Meta(description="The permit that the call ran under.")] = None


class ListGatewayCalls(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    agent: Annotated[PrincipalName | None, Meta(description="Only calls of this agent.")] = None


class GatewayTableView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table in force and the definitions that were approved since; signed by the node's review key."""

    version: int
    rows: tuple[ToolRow, ...]
    approved: tuple[ApprovedDefinition, ...]
    key_id: KeyId
    signature: str
    released_by: PrincipalId
    released_at: Instant
    sequence_number: int


class GatewayRelease(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table that is in force now. With `waiting` the one that was given is not yet: an administrator answers that
    ticket first.
    """

    table: GatewayTableView | None
    waiting: TicketId | None = None


class ScreenedCall(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What guardians made of a result. Withheld results are not given to the agent."""

    threat: float
    is_withheld: bool
    reason: str
    sequence_number: int


def release_gateway_table(tools: Tools, caller: Caller, request: ReleaseGatewayTable) -> Done[GatewayRelease]:
    """Put a table of tools into force, in an operator's own session.

    A tool without a row is refused by every gateway. Definitions that were approved before have to be in the table.
    A table with new tools, or other rows for known ones, waits for an administrator's approval (`waiting`); one that
    only leaves tools out is in force at once.
    """
    verify_rows(request.rows)
    signer = tools.review_signer
    signature = signer.sign(table_message(request.rows)).hex()

    def work(unit: Unit) -> Done[GatewayRelease]:
        person = confirm(unit, caller).principal
        body = GatewayReleased(
            version=0, rows=request.rows, key_id=signer.key_id, signature=signature, released_by=person.id
        )
        amended = amend_power_in(unit, tools, caller, ReleaseTools(tenant_id=caller.tenant_id, table=body))
        if amended.waiting is not None:
            known = None if find_gateway_table(unit, caller.tenant_id) is None else _view(unit, caller.tenant_id)
            return Done(value=GatewayRelease(table=known, waiting=amended.waiting))
        return Done(value=GatewayRelease(table=_view(unit, caller.tenant_id)), receipt=amended.made)

    return tools.database.write(work)


def gateway_table(tools: Tools, caller: Caller, request: ShowGatewayTable) -> GatewayTableView:
    """Show the table of tools that is in force, with the definitions that were approved since."""
    del request
    return tools.database.read(lambda unit: _view(unit, caller.tenant_id))


def approve_definition(tools: Tools, caller: Caller, request: ApproveDefinition) -> Done[GatewayTableView]:
    """Let a tool of the table be called by another definition, in an operator's own session.

    Read what changed first (`assay gateway learn` shows it): a description is what an agent obeys.
    """
    wanted = parse_digest(request.definition_hash)

    def work(unit: Unit) -> Done[GatewayTableView]:
        confirm(unit, caller)
        table = _view(unit, caller.tenant_id)
        if all(row.tool != request.tool for row in table.rows):
            raise NotFoundError(f"the gateway's table has no tool `{request.tool}`: release a table that has")
        if wanted in definitions_of(table, request.tool):
            return Done(value=table, is_new=False)
        body = DefinitionApproved(
            tool=request.tool, definition_hash=wanted, approved_by=caller.principal.id, reason=request.reason
        )
        receipt = unit.record(gateway_entry(caller.tenant_id, body, at=caller.at))
        return Done(value=_view(unit, caller.tenant_id), receipt=receipt)

    return tools.database.write(work)


def record_gateway_call(tools: Tools, caller: Caller, request: RecordGatewayCall) -> Done[ScreenedCall]:
    """Record a call that went through a gateway, and have the guardians read its result before the agent does.

    A result above the policy's threshold, or that no guardian could read, is withheld.
    """
    permit_id = None if request.permit_id is None else parse_permit_id(request.permit_id)
    policy = tools.database.read(lambda unit: active_policy(unit, caller.tenant_id))
    threat, reason = _threat(tools, caller, request, policy.threat_above)
    body = GatewayCalled(
        tool=request.tool,
        agent=caller.principal.id,
        definition_hash=parse_digest(request.definition_hash),
        arguments_hash=parse_digest(request.arguments_hash),
        result_hash=parse_digest(request.result_hash),
        permit_id=permit_id,
        threat=f"{threat:.4f}",
        is_withheld=threat > policy.threat_above,
    )

    def work(unit: Unit) -> Done[ScreenedCall]:
        confirm(unit, caller)
        receipt = unit.record(gateway_entry(caller.tenant_id, body, at=caller.at))
        done = ScreenedCall(
            threat=threat, is_withheld=body.is_withheld, reason=reason, sequence_number=receipt.sequence_number
        )
        return Done(value=done, receipt=receipt)

    return tools.database.write(work)


def gateway_calls(tools: Tools, caller: Caller, request: ListGatewayCalls) -> Page[GatewayCall]:
    """List calls that went through a gateway, newest first."""
    agent = whose(caller, request.agent)
    who = None if agent is None else parse_principal_id(agent)
    before = read_number("gateway-calls", request.cursor, start=NEWEST)

    def work(unit: Unit) -> Sequence[GatewayCall]:
        return unit.permits.gateway_calls(caller.tenant_id, before=before, limit=request.limit + 1, agent=who)

    return cut("gateway-calls", tools.database.read(work), request.limit, lambda one: one.sequence_number)


def table_message(rows: tuple[ToolRow, ...]) -> bytes:
    """What the signature of a table is over."""
    return signing_message(SignedKind.GATEWAY_TABLE, canonicalize(rows))


def definitions_of(table: GatewayTableView, tool: str) -> frozenset[Digest]:
    """The definitions that a tool may be called by."""
    pinned = {row.definition_hash for row in table.rows if row.tool == tool}
    return frozenset(pinned | {one.definition_hash for one in table.approved if one.tool == tool})


def _threat(tools: Tools, caller: Caller, request: RecordGatewayCall, above: float) -> tuple[float, str]:
    source = f"the result of {request.tool}"
    suspect = Suspect(
        bundle=_about(caller, request.tool),
        evidence={source: request.text},
        unread=() if request.is_whole else (source,),
    )
    try:
        worst = worst_report(examine_all(tools.guardians, suspect), above)
    except ClaimsError as error:
        return 1.0, f"no guardian could read the result: {error}"
    if worst is None or not worst.signs:
        return 0.0, ""
    return worst.score, ", ".join(sorted({sign.kind for sign in worst.signs}))


def _about(caller: Caller, tool: str) -> ClaimBundle:
    """A bundle that says nothing but where the text comes from: a guardian examines bundles."""
    uncertainty = Uncertainty(
        method=UncertaintyMethod.CONFIDENCE_SCORE, value=0.0, gate_recommendation=Recommendation.EXECUTE
    )
    claim = Claim(
        id="result",
        statement=f"the result of {tool}",
        claim_type=ClaimType.FACT,
        uncertainty=uncertainty,
        risk_tier=RiskTier.READ_ONLY,
    )
    return ClaimBundle(id=tool, timestamp=caller.at, origin_agent=caller.principal.id, claims=(claim,))


def _view(unit: Unit, tenant_id: TenantId) -> GatewayTableView:
    row = find_gateway_table(unit, tenant_id)
    if row is None:
        raise NotFoundError("no gateway table was released: draft one with `assay gateway learn`, then release it")
    return GatewayTableView(
        version=row.version,
        rows=msgspec.json.decode(row.text, type=tuple[ToolRow, ...]),
        approved=unit.permits.definitions(tenant_id, after=row.sequence_number),
        key_id=row.key_id,
        signature=row.signature,
        released_by=row.by,
        released_at=row.released_at,
        sequence_number=row.sequence_number,
    )
