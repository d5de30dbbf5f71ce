"""Receipts that were meddled with: by somebody without the node's key, and by a node that lies and signs it."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from assay.kernel.canonical import canonicalize
from assay.kernel.transcript import Transcript, draft_to_sign, seal_transcript
from assay.ports.signer import Signer
from assay.verdicts.receipt import ReceiptFile

__all__ = ["Change", "forge", "relabel"]

Change = Callable[[dict[str, Any], dict[str, Any], dict[str, Any]], None]


def forge(receipt: ReceiptFile, signer: Signer, change: Change) -> ReceiptFile:
    """The receipt after `change(asked, answered, metadata)`, with ids, hashes and signature made again."""
    asked, answered, metadata = _parts(receipt.transcript)
    change(asked, answered, metadata)
    draft, message = draft_to_sign(
        asked,
        answered,
        signing_key_id=signer.key_id,
        backend_name=receipt.transcript.backend_name,
        backend_metadata=metadata,
        started_at=receipt.transcript.started_at,
        completed_at=receipt.transcript.completed_at,
    )
    return replace(receipt, transcript=seal_transcript(draft, signer.sign(message)))


def relabel(receipt: ReceiptFile, change: Change) -> ReceiptFile:
    """The same change by somebody who has no key: texts are changed, and nothing else."""
    asked, answered, metadata = _parts(receipt.transcript)
    change(asked, answered, metadata)
    return replace(
        receipt,
        transcript=replace(
            receipt.transcript,
            request_canonical=canonicalize(asked).decode(),
            response_canonical=canonicalize(answered).decode(),
            backend_metadata=Raw(canonicalize(metadata)),
        ),
    )


def _parts(transcript: Transcript) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    texts: Mapping[str, str | bytes] = {
        "asked": transcript.request_canonical,
        "answered": transcript.response_canonical,
        "metadata": bytes(transcript.backend_metadata),
    }
    asked, answered, metadata = (msgspec.json.decode(text, type=dict[str, Any]) for text in texts.values())
    return asked, answered, metadata
