"""Answer a log that asks for a cosignature (C2SP tlog-witness, `add-checkpoint`).

body -> parse -> judge and remember, durably and in one step -> sign -> reply
"""

from assay.kernel.cosignature import cosignature_line, cosignature_message
from assay.kernel.errors import Error, KeyUseError
from assay.kernel.instant import Instant
from assay.kernel.note import render_signature_line
from assay.kernel.witness import Verdict, WitnessRequest, WitnessStatus, judge_request, parse_request
from assay.ports.signer import Signer
from assay.ports.witness import WitnessReply
from assay.ports.witness_memory import WitnessMemory


def answer_witness(memory: WitnessMemory, name: str, signer: Signer, body: bytes, *, at: Instant) -> WitnessReply:
    """The protocol's status and body. A cosignature leaves only after what it vouches for is on disk."""
    try:
        request = parse_request(body)
    except Error as error:
        return WitnessReply(WitnessStatus.MALFORMED, f"{error}\n".encode())
    origin = request.signed.checkpoint.origin
    verdict = memory.advance(origin, lambda known, keys: judge_request(request, known, keys))
    if verdict.status is not WitnessStatus.COSIGN:
        return WitnessReply(verdict.status, _refusal(verdict))
    return WitnessReply(WitnessStatus.COSIGN, _cosign(request, name, signer, at))


def _refusal(verdict: Verdict) -> bytes:
    if verdict.known_size is not None:
        return b"%d\n" % verdict.known_size
    return f"{verdict.reason}\n".encode()


def _cosign(request: WitnessRequest, name: str, signer: Signer, at: Instant) -> bytes:
    if signer.public_key is None:
        raise KeyUseError("expected an Ed25519 key for the witness, got one that only its holder can verify")
    # The format has whole seconds.
    cosigned_at = Instant(at.replace(microsecond=0))
    signature = signer.sign(cosignature_message(request.signed.note.body, cosigned_at))
    return render_signature_line(cosignature_line(name, signer.public_key, cosigned_at, signature)).encode()
