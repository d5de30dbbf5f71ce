"""Check an inference receipt (SKI 7.5): did these weights write this transcript when they were asked this?

1 signature, 2 signer, 3 question, 4 commitments, 5 weights -> 6 read again in one forced pass -> 7 the verdict on it
A third party does the same with a file, the weights and a key they trust: no node, no network, no word of ours.
"""

from enum import StrEnum

import msgspec
from msgspec import Struct

from assay.flows.verdicts.receipts import require_follows
from assay.flows.verdicts.verdict_entry import read_entry
from assay.kernel.digest import Digest
from assay.kernel.errors import Error, KeyUseError
from assay.kernel.ids import KeyId
from assay.kernel.key import KeyPurpose, TrustAnchors, key_id_of, trusted_keys
from assay.kernel.transcript import verify_transcript
from assay.model.commit import Commitment, Likeness, compare, root_of
from assay.ports.model import ModelRequestError, ModelWeightsError
from assay.ports.reasoner import ScoringReasoner
from assay.verdicts.envelope import Envelope
from assay.verdicts.errors import NoReceiptError, ReceiptError
from assay.verdicts.reason import RawReply, ReasonRequest, provenance_of
from assay.verdicts.receipt import ReceiptFile, Replied, metadata_of, question_of, reply_of
from assay.verdicts.record import recorded_response

# Log-probabilities are rounded to six decimals from exact scores; the last one may be rounded either way.
_ROUNDED = 2e-6


class ReceiptStep(StrEnum):
    SIGNATURE = "1 signature"
    SIGNER = "2 signer"
    QUESTION = "3 question"
    COMMITMENTS = "4 commitments"
    WEIGHTS = "5 weights"
    READ_AGAIN = "6 read again"
    VERDICT = "7 verdict"


class ReceiptOutcome(StrEnum):
    OK = "ok"
    FAILED = "failed"
    NOT_CHECKED = "not_checked"


class ReceiptResult(StrEnum):
    """REFUSED is a receipt that proves nothing; REPLAY_DIVERGENCE (SKI 8.2) one that the weights contradict."""

    EXACT = "EXACT"
    WITHIN_TOLERANCE = "WITHIN_TOLERANCE"
    REPLAY_DIVERGENCE = "REPLAY_DIVERGENCE"
    REFUSED = "REFUSED"


class ReceiptCheck(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    step: ReceiptStep
    outcome: ReceiptOutcome
    detail: str = ""
    code: str | None = None


class ReceiptFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`is_trusted` says whether a key that was trusted leads to the signer; the rest does not depend on it."""

    result: ReceiptResult
    is_trusted: bool
    transcript_id: Digest
    signer: KeyId
    model_weight_hash: Digest | None
    root: Digest | None
    tokens: int
    tolerance: int
    checks: tuple[ReceiptCheck, ...]


class _Read(Struct, frozen=True):
    """What a receipt says, after its signature was found to hold."""

    request: ReasonRequest
    replied: Replied
    commitment: Commitment
    weights: Digest


def check_receipt(receipt: ReceiptFile, scorer: ScoringReasoner, anchors: TrustAnchors) -> ReceiptFinding:
    """All seven steps, or up to one that makes the next pointless. Raises only where there is no receipt at all."""
    checks = [_signature(receipt), _signer(receipt, anchors)]
    if checks[0].outcome is not ReceiptOutcome.OK:
        return _finding(receipt, checks, ReceiptResult.REFUSED, None)
    try:
        read = _read(receipt)
        checks.append(_ok(ReceiptStep.QUESTION, f"prompt {read.request.prompt_hash}"))
        _require_root(read)
        checks.append(
            _ok(ReceiptStep.COMMITMENTS, f"{len(read.replied.token_ids)} tokens under {read.commitment.root}")
        )
        _require_weights(scorer, read.weights)
    except NoReceiptError:
        raise
    except Error as error:
        step = list(ReceiptStep)[len(checks)]
        return _finding(receipt, [*checks, _failed(step, error)], ReceiptResult.REFUSED, None)
    checks.append(_ok(ReceiptStep.WEIGHTS, str(read.weights)))
    again, result = _read_again(scorer, read)
    about = _verdict(receipt, read)
    if about.outcome is not ReceiptOutcome.OK and result is not ReceiptResult.REPLAY_DIVERGENCE:
        result = ReceiptResult.REFUSED
    return _finding(receipt, [*checks, again, about], result, read)


def _signature(receipt: ReceiptFile) -> ReceiptCheck:
    """Check the signature with the key that the file itself names; whose it is, is the next question."""
    try:
        verify_transcript(receipt.transcript, _public_key(receipt))
    except Error as error:
        return _failed(ReceiptStep.SIGNATURE, error)
    return _ok(ReceiptStep.SIGNATURE, f"by {receipt.transcript.signing_key_id}")


def _public_key(receipt: ReceiptFile) -> bytes:
    named = receipt.transcript.signing_key_id
    keys = (one.record.raw_public_key for one in receipt.keys)
    found = next((raw for raw in keys if raw is not None and key_id_of(raw) == named), None)
    if found is None:
        raise ReceiptError.form(f"expected the key `{named}` among those of the file, got none")
    return found


def _signer(receipt: ReceiptFile, anchors: TrustAnchors) -> ReceiptCheck:
    transcript = receipt.transcript
    try:
        ring = trusted_keys(anchors, receipt.keys, receipt.retirements)
        ring.get(transcript.signing_key_id, transcript.completed_at, purpose=KeyPurpose.TRANSCRIPT)
    except KeyUseError as error:
        return _failed(ReceiptStep.SIGNER, error)
    return _ok(ReceiptStep.SIGNER, "a key that you trust leads to it")


def _read(receipt: ReceiptFile) -> _Read:
    weights, recorded = metadata_of(receipt.transcript)
    if recorded is None:
        raise NoReceiptError(f"no receipt offered by the backend `{receipt.transcript.backend_name}`")
    try:
        commitment = msgspec.json.decode(recorded, type=Commitment)
    except msgspec.DecodeError as error:
        raise ReceiptError.form(f"expected commitments: {error}") from error
    return _Read(question_of(receipt), reply_of(receipt), commitment, weights)


def _require_root(read: _Read) -> None:
    tokens, commitment = read.replied.token_ids, read.commitment
    top = commitment.top
    if len(tokens) != len(top):
        raise ReceiptError.root(f"expected scores for {len(tokens)} tokens, got {len(top)}")
    found = root_of(tokens, top)
    if found != commitment.root:
        raise ReceiptError.root(f"expected the root `{commitment.root}`, got `{found}`")


def _require_weights(scorer: ScoringReasoner, expected: Digest) -> None:
    found = scorer.identify().model_weight_hash
    if found != expected:
        raise ModelWeightsError(f"expected the weights `{expected}`, got `{found}`")


def _read_again(scorer: ScoringReasoner, read: _Read) -> tuple[ReceiptCheck, ReceiptResult]:
    try:
        again = scorer.score(read.request, read.replied.token_ids)
    except ModelRequestError as error:
        # These weights cannot write this about that case, whatever else they would write.
        return _failed(ReceiptStep.READ_AGAIN, error), ReceiptResult.REPLAY_DIVERGENCE
    found = compare(read.commitment, read.replied.token_ids, again.top_scores or ())
    detail = found.detail if found.position is None else f"token {found.position}: {found.detail}"
    detail = detail or _differs(read, again)
    if detail:
        check = ReceiptCheck(step=ReceiptStep.READ_AGAIN, outcome=ReceiptOutcome.FAILED, detail=detail)
        return check, ReceiptResult.REPLAY_DIVERGENCE
    is_exact = found.likeness is Likeness.EXACT
    told = "every token and every score" if is_exact else f"every token, scores within {read.commitment.tolerance}"
    result = ReceiptResult.EXACT if is_exact else ReceiptResult.WITHIN_TOLERANCE
    return _ok(ReceiptStep.READ_AGAIN, told), result


def _differs(read: _Read, again: RawReply) -> str:
    """What the tokens do not say by themselves: the text that was made of them, and the probabilities told."""
    told, replied = recorded_response(again), read.replied
    if (told["text"], told["characters"]) != (replied.text, replied.characters):
        return "the text is not what these tokens make"
    if told["is_complete"] != replied.is_complete:
        return f"expected is_complete {told['is_complete']}, got {replied.is_complete}"
    if replied.logprobs is None:
        return ""
    near = _ROUNDED if read.commitment.tolerance == 0 else float("inf")
    pairs = zip(replied.logprobs, again.logprobs or (), strict=False)
    is_same = len(replied.logprobs) == len(again.logprobs or ()) and all(abs(a - b) <= near for a, b in pairs)
    return "" if is_same else "the log-probabilities are not those of the scores"


def _verdict(receipt: ReceiptFile, read: _Read) -> ReceiptCheck:
    """Check that all it says follows from the transcript; that it is in the ledger is what a proof bundle shows."""
    try:
        found = read_entry(receipt.entry.encode())
        _require_about(found.envelope, receipt, read)
        require_follows(found, read.request, read.replied, receipt.transcript)
    except Error as error:
        return _failed(ReceiptStep.VERDICT, error)
    told = f"{found.entry.verdict} by rule {found.entry.rule_id}" if found.entry.rule_id else f"{found.entry.verdict}"
    return _ok(ReceiptStep.VERDICT, f"entry {found.entry.sequence_number}, {found.entry_hash}: {told}")


def _require_about(envelope: Envelope, receipt: ReceiptFile, read: _Read) -> None:
    said = provenance_of(
        read.request, model_weight_hash=read.weights, kg_version_hash=envelope.model_provenance.kg_version_hash
    )
    if envelope.transcript_ref != receipt.transcript.transcript_id:
        raise ReceiptError.verdict(
            f"expected the verdict on `{receipt.transcript.transcript_id}`, got one on `{envelope.transcript_ref}`"
        )
    if envelope.model_provenance != said:
        raise ReceiptError.verdict("expected weights, prompt, grammar and seed of the transcript, got others")


def _finding(
    receipt: ReceiptFile, checks: list[ReceiptCheck], result: ReceiptResult, read: _Read | None
) -> ReceiptFinding:
    rest = [ReceiptCheck(step=step, outcome=ReceiptOutcome.NOT_CHECKED) for step in list(ReceiptStep)[len(checks) :]]
    return ReceiptFinding(
        result=result,
        is_trusted=checks[1].outcome is ReceiptOutcome.OK,
        transcript_id=receipt.transcript.transcript_id,
        signer=receipt.transcript.signing_key_id,
        model_weight_hash=None if read is None else read.weights,
        root=None if read is None else read.commitment.root,
        tokens=0 if read is None else len(read.replied.token_ids),
        tolerance=0 if read is None else read.commitment.tolerance,
        checks=(*checks, *rest),
    )


def _ok(step: ReceiptStep, detail: str) -> ReceiptCheck:
    return ReceiptCheck(step=step, outcome=ReceiptOutcome.OK, detail=detail)


def _failed(step: ReceiptStep, error: Error) -> ReceiptCheck:
    return ReceiptCheck(step=step, outcome=ReceiptOutcome.FAILED, detail=str(error), code=error.code)
