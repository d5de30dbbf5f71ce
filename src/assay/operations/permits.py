"""Operations about permits: what was approved is what runs, at most once."""

from assay.flows.permits import permits
from assay.operations.kinds import Change, Listing, Operation, Read, needs
from assay.operations.shown import permits as shown

# An agent or a tool needs no role: it acts under its own bundles, or as the audience that a permit names.
USE = needs("permits:use")
SEE = needs("permits:read")

_CALL = {"tool": "delete_record", "audience": "service:records", "arguments": {"id": 41}}

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
)
