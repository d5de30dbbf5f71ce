"""What a receipt says, as a person reads it: who was asked what, and every token with what stood against it."""

import msgspec
from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant
from assay.model.commit import Commitment, TopScores
from assay.model.vocabulary import VOCABULARY
from assay.verdicts.errors import NoReceiptError, ReceiptFormError
from assay.verdicts.receipt import ReceiptFile, metadata_of, question_of, reply_of


class ShownToken(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`margin` is by how much its score is above the next best, None where nothing else was open."""

    position: int
    token: int
    word: str
    logprob: float | None
    score: int | None
    margin: int | None


class ShownReceipt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A receipt as it is recorded; nothing of it was checked."""

    transcript_id: Digest
    backend_name: str
    model_weight_hash: Digest
    prompt_template_id: str
    prompt_hash: Digest
    grammar_hash: Digest
    decoder_seed: int
    response_hash: Digest
    scheme: str
    root: Digest
    tolerance: int
    signer: KeyId
    completed_at: Instant
    text: str
    tokens: tuple[ShownToken, ...]


def show_receipt(receipt: ReceiptFile) -> ShownReceipt:
    transcript, asked, replied = receipt.transcript, question_of(receipt), reply_of(receipt)
    weights, recorded = metadata_of(transcript)
    if recorded is None:
        raise NoReceiptError(f"no receipt offered by the backend `{transcript.backend_name}`")
    try:
        commitment = msgspec.json.decode(recorded, type=Commitment)
    except msgspec.DecodeError as error:
        raise ReceiptFormError(f"expected commitments: {error}") from error
    chances = replied.logprobs or (None,) * len(replied.token_ids)
    rows = zip(replied.token_ids, chances, commitment.top, strict=False)
    return ShownReceipt(
        transcript_id=transcript.transcript_id,
        backend_name=transcript.backend_name,
        model_weight_hash=weights,
        prompt_template_id=asked.prompt_template_id,
        prompt_hash=asked.prompt_hash,
        grammar_hash=asked.grammar_hash,
        decoder_seed=asked.decoding.seed,
        response_hash=transcript.response_hash,
        scheme=commitment.scheme,
        root=commitment.root,
        tolerance=commitment.tolerance,
        signer=transcript.signing_key_id,
        completed_at=transcript.completed_at,
        text=replied.text,
        tokens=tuple(_shown(position, token, chance, top) for position, (token, chance, top) in enumerate(rows)),
    )


def _shown(position: int, token: int, logprob: float | None, top: TopScores) -> ShownToken:
    return ShownToken(
        position=position,
        token=token,
        word=VOCABULARY[token] if 0 <= token < len(VOCABULARY) else "?",
        logprob=logprob,
        score=dict(top).get(token),
        margin=top[0][1] - top[1][1] if len(top) > 1 else None,
    )
