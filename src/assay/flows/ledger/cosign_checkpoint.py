"""Ask every witness to cosign a checkpoint; enough of them must, or the checkpoint is not published."""

from collections.abc import Sequence
from http import HTTPStatus

from assay.flows.errors.ledger import WitnessContradictsError, WitnessRefusedError
from assay.flows.tools import Tools
from assay.kernel.checkpoint import SignedCheckpoint, add_signatures, parse_decimal, verify_checkpoint
from assay.kernel.cosignature import verify_cosignatures, witness_key
from assay.kernel.errors import CheckpointError, Error
from assay.kernel.ids import TenantId
from assay.kernel.note import NoteSignature, parse_signature_lines
from assay.kernel.tile import TileCache
from assay.kernel.witness import WitnessRequest, render_request
from assay.ports.database import Unit
from assay.ports.witness import Witness, WitnessReply


def cosign_checkpoint(tools: Tools, tenant_id: TenantId, signed: SignedCheckpoint) -> SignedCheckpoint:
    """The same note with the witnesses' verified lines; `witness.refused` when fewer than the threshold cosigned."""
    cosigned, refusals = signed, []
    for witness in tools.witnesses:
        try:
            cosigned = add_signatures(cosigned, [_ask(tools, tenant_id, signed, witness)])
            tools.standing.agreed(witness.name)
        except WitnessContradictsError as error:
            tools.standing.contradicted(witness.name, str(error))
            refusals.append(f"{witness.name}: {error}")
        except Error as error:
            refusals.append(f"{witness.name}: {error}")
    known = {witness.name: witness.public_key for witness in tools.witnesses}
    # Verified as a whole before anyone stores it: a note that does not verify any more would stop the node for good.
    verify_checkpoint(cosigned, signed.checkpoint.origin, [tools.ledger_signer.public_key or b""])
    try:
        verify_cosignatures(cosigned, known, tools.witness_threshold)
    except CheckpointError as error:
        raise WitnessRefusedError(f"{error} ({'; '.join(refusals) or 'no refusal given'})") from error
    return cosigned


def _ask(tools: Tools, tenant_id: TenantId, signed: SignedCheckpoint, witness: Witness) -> NoteSignature:
    """A witness that remembers another size than we think says so, and is asked once more from there."""
    reply = witness.add_checkpoint(_request(tools, tenant_id, signed, old_size=0))
    if reply.status == HTTPStatus.CONFLICT:
        reply = witness.add_checkpoint(_request(tools, tenant_id, signed, old_size=_known_size(signed, reply)))
        if reply.status in (HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY):
            # Asked from the very size that it knows: what it has seen is not the beginning of what we have.
            raise WitnessContradictsError(f"expected a cosignature, got {reply.status} `{_text(reply)[:120]}`")
    if reply.status != HTTPStatus.OK:
        raise WitnessRefusedError(f"expected a cosignature, got {reply.status} `{_text(reply)[:120]}`")
    return _own_line(signed, witness, parse_signature_lines(_text(reply)))


def _own_line(signed: SignedCheckpoint, witness: Witness, lines: Sequence[NoteSignature]) -> NoteSignature:
    """The one line of the witness's own key, verified; whatever else it sent, as lines under our own name, is dropped.

    One bad line would spoil the whole note for everybody who knows its key.
    """
    key = witness_key(witness.name, witness.public_key)
    own = [line for line in lines if (line.name, line.key_hash) == (key.name, key.key_hash)]
    verify_cosignatures(add_signatures(signed, own), {witness.name: witness.public_key}, 1)
    return own[0]


def _request(tools: Tools, tenant_id: TenantId, signed: SignedCheckpoint, *, old_size: int) -> bytes:
    def path(unit: Unit) -> tuple[bytes, ...]:
        cache = TileCache(lambda *place: unit.ledger.tile(tenant_id, *place))
        return cache.consistency_path(old_size, signed.checkpoint.size)

    return render_request(WitnessRequest(old_size=old_size, path=tools.database.read(path), signed=signed))


def _known_size(signed: SignedCheckpoint, reply: WitnessReply) -> int:
    size = parse_decimal(_text(reply).strip(), CheckpointError)
    if size > signed.checkpoint.size:
        raise WitnessContradictsError(f"the witness has seen {size} entries, more than our {signed.checkpoint.size}")
    return size


def _text(reply: WitnessReply) -> str:
    return reply.body.decode("utf-8", errors="replace")
