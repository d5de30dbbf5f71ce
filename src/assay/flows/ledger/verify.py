"""Verify: the tenant's whole ledger, or one proof of any form."""

import binascii
from base64 import b64decode
from typing import Annotated

from msgspec import Meta

from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.ledger.audit_mark import AuditReport
from assay.flows.ledger.check_proof import check_proof
from assay.flows.request import FieldProblem, FieldsError, Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.check_bundle import Finding
from assay.kernel.key import parse_anchors


class VerifyLedger(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    full: Annotated[
        bool, Meta(description="Read everything again, not only what is new since the last verification.")
    ] = False
    sample: Annotated[
        int, Meta(ge=0, le=1000, description="Also compare this many rows of each table with their entries.")
    ] = 0


class VerifyProof(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    proof: Annotated[str | None, Meta(description="A bundle, DSSE envelope, audit report or tlog-proof text.")] = None
    proof_base64: Annotated[str | None, Meta(description="The same as base64; for COSE, which is no text.")] = None
    entry: Annotated[str | None, Meta(description="The entry's exact text, where a form holds none.")] = None
    trust: Annotated[
        tuple[str, ...],
        Meta(max_length=100, description="Keys to believe; none means the key this node was founded with."),
    ] = ()
    origin: Annotated[str | None, Meta(description="The only log that will do.")] = None


def verify_ledger(tools: Tools, caller: Caller, request: VerifyLedger) -> AuditReport:
    """Verify the tenant's ledger: every hash, link, column, tile, checkpoint, and the checkpoint kept outside.

    Where it does not hold, the first bad entry and the last good checkpoint are named. A signed mark is left beside
    the keys, from which the next verification goes on; none where the folder cannot be written to.
    """
    return audit_ledger(
        tools, caller.tenant_id, full=request.full, leave_mark=tools.marks.can_store(), sample=request.sample
    )


def verify_proof(tools: Tools, caller: Caller, request: VerifyProof) -> Finding:
    """Verify a proof of any form with nothing but keys to believe; every check says what it found."""
    del caller
    if (request.proof is None) is (request.proof_base64 is None):
        raise FieldsError([FieldProblem(field="proof", message="expected one of `proof` and `proof_base64`")])
    entry = None if request.entry is None else request.entry.encode()
    anchors = parse_anchors(request.trust or (tools.founder,))
    return check_proof(_content(request), anchors, entry=entry, origin=request.origin)


def _content(request: VerifyProof) -> bytes:
    if request.proof is not None:
        return request.proof.encode()
    try:
        return b64decode(request.proof_base64 or "", validate=True)
    except (binascii.Error, ValueError) as error:
        raise FieldsError([FieldProblem(field="proof_base64", message="expected base64")]) from error
