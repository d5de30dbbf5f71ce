"""Check a C2SP tlog-proof text against an entry and the keys a verifier trusts, as `check_bundle` does for bundles."""

from collections.abc import Callable, Mapping

from assay.kernel.check_bundle import Check, CheckName, Finding, Outcome, UntrustedSignerError
from assay.kernel.checkpoint import verify_checkpoint
from assay.kernel.cosignature import verify_cosignatures
from assay.kernel.errors import Error
from assay.kernel.key import TrustAnchors
from assay.kernel.note import UnsignedNoteError
from assay.kernel.proof import TlogProof, verify_record_included


def check_proof_text(
    proof: TlogProof,
    entry: bytes,
    anchors: TrustAnchors,
    *,
    witnesses: Mapping[str, bytes],
    threshold: int = 0,
    origin: str | None = None,
) -> Finding:
    """Try every check. The text carries no keys, so an anchor must be the signer's own public key, not only its id."""
    expected_origin = proof.checkpoint.checkpoint.origin if origin is None else origin

    def inclusion() -> str:
        verify_record_included(proof, entry)
        return f"{len(proof.path)} hashes lead from the entry to the checkpoint's root"

    def signer() -> str:
        try:
            return f"signed by {verify_checkpoint(proof.checkpoint, expected_origin, anchors.public_keys)}"
        except UnsignedNoteError as error:
            raise UntrustedSignerError("expected a signature of a trusted key, got none") from error

    def cosignatures() -> str:
        found = verify_cosignatures(proof.checkpoint, witnesses, threshold)
        return f"{len(found)} witnesses cosigned, {threshold} were asked for"

    checks = [_attempt(CheckName.INCLUSION, inclusion), _attempt(CheckName.SIGNER, signer)]
    if witnesses or threshold > 0:
        checks.append(_attempt(CheckName.COSIGNATURES, cosignatures))
    failures = [check.code for check in checks if check.outcome is Outcome.FAILED]
    return Finding(holds=not failures, code=failures[0] if failures else None, checks=tuple(checks))


def _attempt(name: CheckName, step: Callable[[], str]) -> Check:
    try:
        return Check(name=name, outcome=Outcome.OK, message=step())
    except Error as error:
        return Check(name=name, outcome=Outcome.FAILED, message=str(error), code=error.code)
