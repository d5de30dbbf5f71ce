"""Give the proof of one entry in a form that others' tools read: a DSSE statement, a SCITT statement, a COSE receipt.

Each is signed anew by the ledger's key, so the proof is first verified with the node's own keys: whatever a damaged
database says, nothing is signed that was not signed before.
"""

from collections.abc import Callable
from enum import StrEnum

from assay.flows.errors.ledger import LedgerFlowError
from assay.flows.ledger.own_keys import own_key_ring
from assay.flows.ledger.prove_record import prove_record
from assay.flows.tools import Tools
from assay.kernel.bundle import Bundle, render_bundle
from assay.kernel.check_bundle import check_bundle
from assay.kernel.dsse import render_envelope
from assay.kernel.entry_statement import seal_statement
from assay.kernel.ids import KeyId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import KeyPurpose, TrustAnchors
from assay.kernel.scitt import make_receipt, make_transparent

_Sign = Callable[[bytes], bytes]


class ProofForm(StrEnum):
    """What the proof of an entry can be written as."""

    BUNDLE = "bundle"
    DSSE = "dsse"
    SCITT = "scitt"
    RECEIPT = "receipt"


def export_proof(tools: Tools, tenant_id: TenantId, sequence_number: int, form: ProofForm, *, at: Instant) -> bytes:
    """The file; personal values are in none of them. `NoCheckpointError` while no checkpoint covers the entry."""
    return render_proof(tools, prove_record(tools, tenant_id, sequence_number), form, at=at)


def render_proof(tools: Tools, bundle: Bundle, form: ProofForm, *, at: Instant) -> bytes:
    """The same of a bundle that was made just now."""
    if form is ProofForm.BUNDLE:
        return render_bundle(bundle)
    _require_own(tools, bundle)
    signer = tools.ledger_signer
    # A signature by a key that is not valid now would prove nothing to anybody.
    own_key_ring(tools).get(signer.key_id, at, purpose=KeyPurpose.LEDGER)
    return _WRITERS[form](bundle, signer.key_id, signer.sign, at)


def _require_own(tools: Tools, bundle: Bundle) -> None:
    finding = check_bundle(bundle, TrustAnchors(key_ids=frozenset([tools.founder])))
    if not finding.holds:
        raise LedgerFlowError.proof_not_own(f"expected a proof that holds before it is signed, got {finding.code}")


def _dsse(bundle: Bundle, key_id: KeyId, sign: _Sign, at: Instant) -> bytes:
    return render_envelope(seal_statement(bundle, key_id, sign, at=at)) + b"\n"


_WRITERS: dict[ProofForm, Callable[[Bundle, KeyId, _Sign, Instant], bytes]] = {
    ProofForm.DSSE: _dsse,
    ProofForm.SCITT: lambda bundle, key_id, sign, at: make_transparent(bundle, key_id, sign, at=at),
    ProofForm.RECEIPT: lambda bundle, key_id, sign, at: make_receipt(bundle, key_id, sign, at=at),
}
