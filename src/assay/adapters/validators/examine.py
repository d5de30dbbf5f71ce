"""Facts about a piece of evidence, read from its bytes when these are at hand."""

from collections.abc import Callable

from assay.adapters.validators.fingerprint import Pixels, fingerprint_of
from assay.adapters.validators.image_header import read_image_header
from assay.ports.validator import EvidenceFact, ValidatorError
from assay.truth.contract import SimilarityMethod
from assay.truth.evidence import EvidenceRef, Fingerprint, verify_evidence

Decode = Callable[[bytes, SimilarityMethod], Pixels]


def examine_evidence(
    ref: EvidenceRef, content: bytes, *, method: SimilarityMethod | None = None, decode: Decode | None = None
) -> EvidenceFact:
    """Bytes that are not the evidence are refused; a picture that cannot be decoded has no fingerprint."""
    verify_evidence(ref, content)
    header = read_image_header(content)
    marks: tuple[Fingerprint, ...] = ()
    if header is not None and method is not None and decode is not None:
        try:
            marks = (fingerprint_of(ref.sha256, method, decode(content, method)),)
        except ValidatorError:
            # Then nobody knows how it looks, and `duplicate_hash` says so.
            marks = ()
    return EvidenceFact(
        sha256=ref.sha256,
        size=len(content),
        media_type=None if header is None else header.media_type,
        width=None if header is None else header.width,
        height=None if header is None else header.height,
        fingerprints=marks,
    )
