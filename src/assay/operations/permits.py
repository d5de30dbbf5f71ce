"""Operations about permits and mandates: what was approved is what runs, at most once."""

from assay.flows.permits import gateway, mandates, permits
from assay.identity.principal import BuiltInRole
from assay.operations.kinds import Change, Listing, Operation, Read, needs
from assay.operations.shown import permits as shown

# An agent or a tool needs no role: it acts under its own bundles, or as the audience that a permit names.
USE = needs("permits:use")
SEE = needs("permits:read")
RELEASE = needs("permits:use", BuiltInRole.OPERATOR, session=True)

_CALL = {"tool": "delete_record", "audience": "service:records", "arguments": {"id": 41}}

_TERMS = {
    "agent": "ai:clerk",
    "tool": "refund",
    "audience": "service:payments",
    "tier": "DELETE",
    "purpose": "small refunds",
    "count": 20,
    "expires_at": "2030-01-01T00:00:00Z",
    "limits": [{"argument": "amount", "minimum": "0.01", "maximum": "50"}],
    "budget": {"argument": "amount", "total": "100"},
}

_HASH = "sha256:" + "0" * 64

OPERATIONS: tuple[Operation, ...] = (
    Change(
        "permit.issue",
        permits.issue_permit,
        "POST /permits",
        needs=USE,
        command="permit issue",
        tool="issue_permit",
        example={"bundle_hash": "sha256:" + "0" * 64},
        location="/permits/{permit.permit_id}",
        shows=shown.issued_text,
    ),
    Change(
        "permit.claim",
        permits.claim_permit,
        "POST /permits/{permit_id}/claim",
        needs=USE,
        command="permit claim",
        tool="claim_permit",
        example=_CALL,
        shows=shown.permit_text,
    ),
    Change(
        "permit.report",
        permits.report_effect,
        "POST /permits/{permit_id}/report",
        needs=USE,
        command="permit report",
        tool="report_effect",
        example={"effect": "done"},
        shows=shown.permit_text,
    ),
    Change(
        "permit.revoke",
        permits.revoke_permit,
        "POST /permits/{permit_id}/revoke",
        needs=USE,
        command="permit revoke",
        example={"reason": "no longer needed"},
        shows=shown.permit_text,
    ),
    Read(
        "permit.show",
        permits.permit,
        "GET /permits/{permit_id}",
        needs=SEE,
        command="permit show",
        tool="show_permit",
        shows=shown.permit_text,
    ),
    Listing(
        "permits.list",
        permits.permits,
        "GET /permits",
        needs=SEE,
        command="permit list",
        columns=shown.COLUMNS,
        nothing="no permits",
    ),
    Read(
        "mandate.preview",
        mandates.preview_mandate,
        "POST /mandates/preview",
        needs=SEE,
        command="mandate preview",
        file="FILE",
        example=_TERMS,
        shows=shown.preview_text,
    ),
    Change(
        "mandate.propose",
        mandates.propose_mandate,
        "POST /mandates",
        needs=USE,
        command="mandate propose",
        file="FILE",
        example=_TERMS,
        location="/tickets/{ticket_id}",
        shows=shown.proposal_text,
    ),
    Change(
        "mandate.revoke",
        mandates.revoke_mandate,
        "POST /mandates/{mandate_id}/revoke",
        needs=USE,
        command="mandate revoke",
        example={"reason": "the season is over"},
        shows=shown.mandate_text,
    ),
    Read(
        "mandate.show",
        mandates.mandate,
        "GET /mandates/{mandate_id}",
        needs=SEE,
        command="mandate show",
        tool="show_mandate",
        shows=shown.mandate_text,
    ),
    Listing(
        "mandates.list",
        mandates.mandates,
        "GET /mandates",
        needs=SEE,
        command="mandate list",
        tool="list_mandates",
        columns=shown.MANDATE_COLUMNS,
        nothing="no mandates",
    ),
    Listing(
        "mandate.uses",
        mandates.mandate_uses,
        "GET /mandates/{mandate_id}/uses",
        needs=SEE,
        command="mandate uses",
        columns=("position", "used_at", "amount", "total", "bundle_hash"),
        nothing="not used yet",
    ),
    Change(
        "gateway.release",
        gateway.release_gateway_table,
        "POST /gateway/tables",
        needs=RELEASE,
        command="gateway release",
        file="FILE",
        example={"rows": [{"tool": "files__read_text_file", "definition_hash": _HASH, "tier": "READ_ONLY"}]},
        shows=shown.release_text,
    ),
    Read(
        "gateway.table",
        gateway.gateway_table,
        "GET /gateway/table",
        needs=SEE,
        command="gateway show",
        shows=shown.table_text,
    ),
    Change(
        "gateway.approve",
        gateway.approve_definition,
        "POST /gateway/definitions",
        needs=RELEASE,
        command="gateway approve",
        example={"tool": "files__write_file", "definition_hash": _HASH, "reason": "only the wording changed"},
        shows=shown.table_text,
        may_repeat=True,
    ),
    Change(
        "gateway.record",
        gateway.record_gateway_call,
        "POST /gateway/calls",
        needs=USE,
        example={
            "tool": "files__read_text_file",
            "definition_hash": _HASH,
            "arguments_hash": _HASH,
            "result_hash": _HASH,
            "text": "twelve rooms",
        },
    ),
    Listing(
        "gateway.calls",
        gateway.gateway_calls,
        "GET /gateway/calls",
        needs=SEE,
        command="gateway calls",
        columns=("called_at", "agent", "tool", "threat", "is_withheld", "permit_id"),
        nothing="no calls",
    ),
)
