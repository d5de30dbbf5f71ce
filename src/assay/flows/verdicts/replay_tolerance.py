"""A transcript that a replay writes otherwise, and the tolerance that its receipt declared (SKI 8.2).

recorded tokens + the same question -> read again in one forced pass -> every score near the bound one, or not
"""

import msgspec

from assay.kernel.transcript import Transcript
from assay.model.commit import Commitment, Likeness, compare
from assay.ports.model import ModelError
from assay.ports.reasoner import LocalReasoner, ScoringReasoner
from assay.verdicts.errors import ReceiptError
from assay.verdicts.reason import ReasonRequest
from assay.verdicts.receipt import Replied, metadata_of


def is_within_tolerance(reasoner: LocalReasoner, request: ReasonRequest, transcript: Transcript) -> bool:
    """Whether the weights could have written the recorded tokens too, as near as the signed receipt allows.

    False where there is no receipt, none with a tolerance, or nobody who can read a transcript again: then two texts
    that differ have diverged. The caller has checked the transcript's signature.
    """
    if not isinstance(reasoner, ScoringReasoner):
        return False
    try:
        commitment = _commitment(transcript)
        if commitment is None or commitment.tolerance == 0:
            return False
        replied = msgspec.json.decode(transcript.response_canonical, type=Replied)
        again = reasoner.score(request, replied.token_ids)
    except (ModelError, ReceiptError, msgspec.DecodeError):
        return False
    likeness = compare(commitment, replied.token_ids, again.top_scores or ()).likeness
    return again.text == replied.text and likeness is not Likeness.DIVERGED


def _commitment(transcript: Transcript) -> Commitment | None:
    _, recorded = metadata_of(transcript)
    return None if recorded is None else msgspec.json.decode(recorded, type=Commitment)
