"""Make the files that prove the verdicts of one record to somebody with nothing but a key they trust."""

from assay.flows.errors import NotFoundError
from assay.flows.export_receipt import export_receipt
from assay.flows.prove_record import prove_record
from assay.flows.show_verdict import show_verdict
from assay.flows.tools import Tools
from assay.kernel.bundle import Attachment, Bundle
from assay.kernel.digest import digest_of
from assay.kernel.ids import TenantId
from assay.verdicts.errors import NoReceiptError
from assay.verdicts.receipt import render_receipt

__all__ = ["RECEIPT_ATTACHMENT", "prove_verdict"]

RECEIPT_ATTACHMENT = "assay-receipt"


def prove_verdict(tools: Tools, tenant_id: TenantId, telemetry_id: str) -> tuple[Bundle, ...]:
    """One for each rule, with the receipt of its transcript where the model gave one; a held one tells nothing more."""
    decided = show_verdict(tools, tenant_id, telemetry_id)
    return tuple(
        prove_record(
            tools,
            tenant_id,
            one.sequence_number,
            attachments=_receipt(tools, tenant_id, one.sequence_number),
        )
        for one in decided.verdicts
    )


def _receipt(tools: Tools, tenant_id: TenantId, sequence_number: int) -> tuple[Attachment, ...]:
    try:
        content = render_receipt(export_receipt(tools, tenant_id, sequence_number))
    except (NoReceiptError, NotFoundError):
        # The fast path and runtime 2 asked no model; the entry is proven all the same.
        return ()
    name = f"receipt-{sequence_number:09d}.json"
    return (Attachment(kind=RECEIPT_ATTACHMENT, name=name, sha256=digest_of(content), content=content),)
