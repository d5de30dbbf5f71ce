"""Before the first verdict of a process: its weights go on record below the operating system, and in the ledger.

weight hash -> register of the TPM -> quote that answers the ledger's head -> `weights.measured` -> named by verdicts

The nonce is the hash of the entry before, so the quote was made after that entry; every verdict after it names it.
"""

from msgspec import Struct

from assay.flows.tools import Tools
from assay.flows.verdicts.measured_shelf import Measured
from assay.kernel.digest import Digest, raw_digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind, draft_entry
from assay.verdicts.quote import WeightQuote


class MeasuredWeights(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `weights.measured` entry; the quote's nonce is `after_hash`."""

    quote: WeightQuote
    after_sequence: int
    after_hash: Digest


def measure_weights(tools: Tools, tenant_id: TenantId, weights: Digest, *, at: Instant) -> Measured | None:
    """The measurement of these weights, made now where there is none yet; None on a node without a TPM.

    Refused are other weights than those that were measured since the machine started, and a TPM that does not answer.
    """
    if tools.boot is None:
        return None
    found = tools.measured.find(tenant_id, weights)
    if found is not None:
        return found
    with tools.measured.turn:
        return tools.measured.find(tenant_id, weights) or _measure(tools, tenant_id, weights, at)


def _measure(tools: Tools, tenant_id: TenantId, weights: Digest, at: Instant) -> Measured | None:
    if tools.boot is None:
        return None
    tools.boot.measure(weights)
    head = tools.database.read(lambda unit: unit.ledger.head(tenant_id))
    quote = tools.boot.quote(weights, raw_digest(head.entry_hash))
    body = MeasuredWeights(quote=quote, after_sequence=head.sequence_number, after_hash=head.entry_hash)
    draft = draft_entry(tenant_id, EntryKind.WEIGHTS_MEASURED, body, at=at)
    receipt = tools.database.write(lambda unit: unit.ledger.append(draft))
    measured = Measured(model_weight_hash=weights, entry_hash=receipt.entry_hash)
    tools.measured.put(tenant_id, measured)
    return measured
