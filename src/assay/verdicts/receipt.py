"""The receipt file (SKI 7.5): all that a third party needs, with the weights, to check one transcript offline.

entry + signed transcript + grammar + keys that lead to its signer -> render_receipt -> JSON -> parse_receipt
The transcript's signature covers what was asked, what was answered, and the commitments to every token; nothing else in
the file needs one. The grammar is carried as its exact text: the transcript has its hash.
"""

from typing import Final, Literal, TypeVar

import msgspec
from msgspec import Raw, Struct

from assay.kernel.digest import Digest, digest_of, parse_digest
from assay.kernel.errors import JsonError, TypeFormError
from assay.kernel.json_text import CANONICAL_LIMITS, Limits, parse_json
from assay.kernel.key import Endorsement, Retirement
from assay.kernel.transcript import Transcript
from assay.verdicts.errors import ReceiptError
from assay.verdicts.reason import Decoding, ReasonRequest

_T = TypeVar("_T")
RECEIPT_FORMAT: Final = "assay-inference-receipt/1"
_LIMITS = Limits(max_bytes=16 * 1024 * 1024, max_depth=CANONICAL_LIMITS.max_depth + 4, binary64_integers=True)


class ReceiptFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing in it is trusted until it is checked. `entry` is the exact text of the verdict's entry in the ledger."""

    entry: str
    transcript: Transcript
    grammar: str
    keys: tuple[Endorsement, ...] = ()
    retirements: tuple[Retirement, ...] = ()
    format: Literal["assay-inference-receipt/1"] = RECEIPT_FORMAT


class _Asked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`recorded_request`, read back; the types allow no other decoding than the greedy one."""

    prompt_template_id: str
    prompt: str
    grammar_hash: Digest
    decoding: Decoding


class Replied(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`recorded_response` of a backend that gives its tokens, read back."""

    text: str
    characters: int
    is_complete: bool
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...] | None = None
    notation: str | None = None


def render_receipt(receipt: ReceiptFile) -> bytes:
    return msgspec.json.format(msgspec.json.encode(receipt), indent=2) + b"\n"


def parse_receipt(received: bytes) -> ReceiptFile:
    """Strictly: unknown or repeated keys and another format are refused. Nothing is verified yet."""
    try:
        document = parse_json(received, limits=_LIMITS)
        receipt = msgspec.json.decode(received, type=ReceiptFile)
    except (JsonError, TypeFormError, msgspec.DecodeError) as error:
        raise ReceiptError.form(f"expected a file of `{RECEIPT_FORMAT}`: {error}") from error
    # The decoder fills in a default; the file must say what it is.
    if not isinstance(document, dict) or "format" not in document:
        raise ReceiptError.form(f"expected `format` to be `{RECEIPT_FORMAT}`, got none")
    return receipt


def question_of(receipt: ReceiptFile) -> ReasonRequest:
    """What the model was asked, from the recorded text; the grammar must be the one it names."""
    asked = _decoded(receipt.transcript.request_canonical, _Asked)
    found = digest_of(receipt.grammar.encode())
    if found != asked.grammar_hash:
        raise ReceiptError.grammar(f"expected the grammar `{asked.grammar_hash}`, got `{found}`")
    return ReasonRequest(
        prompt_template_id=asked.prompt_template_id,
        prompt=asked.prompt,
        prompt_hash=digest_of(asked.prompt.encode()),
        grammar=Raw(receipt.grammar.encode()),
        grammar_hash=asked.grammar_hash,
        decoding=asked.decoding,
    )


def reply_of(receipt: ReceiptFile) -> Replied:
    return _decoded(receipt.transcript.response_canonical, Replied)


def metadata_of(transcript: Transcript) -> tuple[Digest, Raw | None]:
    """The hash of the weights that answered, and the commitments as they are recorded."""
    recorded = _decoded(bytes(transcript.backend_metadata), dict[str, Raw])
    try:
        weights = parse_digest(msgspec.json.decode(recorded.get("model_weight_hash", Raw(b"null")), type=str))
    except (msgspec.DecodeError, TypeFormError) as error:
        raise ReceiptError.form(f"expected the hash of weights in `backend_metadata`: {error}") from error
    return weights, recorded.get("receipt")


def _decoded(text: str | bytes, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        raise ReceiptError.form(f"expected a transcript with a receipt: {error}") from error
