"""Make the files that prove an entry, and the verdicts of one record, to somebody with nothing but a key they trust.

A verdict's proof carries the receipt of its transcript (SKI 7.5), where there is one: `assay verify` reads it again.
"""

from assay.flows.errors import NotFoundError
from assay.flows.ledger.prove_record import prove_record
from assay.flows.tools import Tools
from assay.flows.verdicts.export_receipt import export_receipt
from assay.flows.verdicts.show_verdict import show_verdict
from assay.kernel.bundle import Attachment, Bundle
from assay.kernel.digest import digest_of
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.verdicts.errors import NoReceiptError
from assay.verdicts.receipt import render_receipt

RECEIPT_ATTACHMENT = "assay-receipt"
_WITH_RECEIPT = frozenset({EntryKind.VERDICT.value, EntryKind.VERDICT_FINAL.value})


def prove_entry(tools: Tools, tenant_id: TenantId, sequence_number: int, *, disclose: bool = False) -> Bundle:
    """The proof bundle of an entry; that of a verdict brings its receipt along."""

    def is_served_verdict(unit: Unit) -> bool:
        row = unit.ledger.find_entry(tenant_id, sequence_number)
        return row is not None and row.kind in _WITH_RECEIPT

    is_verdict = tools.database.read(is_served_verdict)
    attachments = _receipt(tools, tenant_id, sequence_number) if is_verdict else ()
    return prove_record(tools, tenant_id, sequence_number, disclose=disclose, attachments=attachments)


def prove_verdict(tools: Tools, tenant_id: TenantId, telemetry_id: str) -> tuple[Bundle, ...]:
    """One for each rule, with the receipt of its transcript where the model gave one; a held one tells nothing more."""
    decided = show_verdict(tools, tenant_id, telemetry_id)
    return tuple(prove_entry(tools, tenant_id, one.sequence_number) for one in decided.verdicts)


def _receipt(tools: Tools, tenant_id: TenantId, sequence_number: int) -> tuple[Attachment, ...]:
    try:
        content = render_receipt(export_receipt(tools, tenant_id, sequence_number))
    except (NoReceiptError, NotFoundError):
        # The fast path and runtime 2 asked no model; the entry is proven all the same.
        return ()
    name = f"receipt-{sequence_number:09d}.json"
    return (Attachment(kind=RECEIPT_ATTACHMENT, name=name, sha256=digest_of(content), content=content),)
