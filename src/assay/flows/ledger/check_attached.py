"""The receipts that a proof bundle carries: about its own entry, and read again with the weights at hand.

bundle -> attachments that are receipts -> the seven steps of `check_receipt` -> one check more in the finding
Weights that are not at hand leave a receipt unchecked, which is said; they never make it hold.
"""

from collections.abc import Callable

from msgspec.structs import replace

from assay.flows.verdicts.prove_verdict import RECEIPT_ATTACHMENT
from assay.flows.verdicts.verify_receipt import (
    ReceiptFinding,
    ReceiptOutcome,
    ReceiptResult,
    ReceiptStep,
    check_receipt,
)
from assay.kernel.bundle import Attachment, Bundle
from assay.kernel.check_bundle import AttachmentError, Check, CheckName, Finding, Outcome
from assay.kernel.digest import Digest
from assay.kernel.errors import Error
from assay.kernel.key import TrustAnchors
from assay.ports.reasoner import ScoringReasoner
from assay.verdicts.errors import ReceiptError
from assay.verdicts.receipt import ReceiptFile, metadata_of, parse_receipt

__all__ = ["FindScorer", "check_attached"]

# The weights of that hash, to read with; None where they are not at hand.
FindScorer = Callable[[Digest], ScoringReasoner | None]


def check_attached(bundle: Bundle, finding: Finding, anchors: TrustAnchors, find_scorer: FindScorer | None) -> Finding:
    """The finding with a check for each receipt; as it was where there is none."""
    receipts = [one for one in bundle.attachments if one.kind == RECEIPT_ATTACHMENT]
    checks = [_checked(bundle, one, anchors, find_scorer) for one in receipts]
    failed = next((check for check in checks if check.outcome is Outcome.FAILED), None)
    return replace(
        finding,
        checks=(*finding.checks, *checks),
        holds=finding.holds and failed is None,
        code=finding.code if finding.code is not None or failed is None else failed.code,
    )


def _checked(bundle: Bundle, one: Attachment, anchors: TrustAnchors, find_scorer: FindScorer | None) -> Check:
    try:
        receipt = parse_receipt(one.content)
        if receipt.entry != bundle.entry:
            raise AttachmentError(f"expected `{one.name[:80]}` to be about the entry of the bundle, got another")
        weights, _ = metadata_of(receipt.transcript)
        scorer = None if find_scorer is None else find_scorer(weights)
        if scorer is None:
            return _check(Outcome.NOT_CHECKED, f"the weights {weights} are not at hand: give them with --weights")
        return _told(receipt, check_receipt(receipt, scorer, anchors))
    except Error as error:
        return _check(Outcome.FAILED, str(error), error.code)


def _told(receipt: ReceiptFile, found: ReceiptFinding) -> Check:
    """The entry names the transcript by its hash, so a signer whom nobody here trusts takes nothing from it."""
    if found.result in (ReceiptResult.EXACT, ReceiptResult.WITHIN_TOLERANCE):
        signer = "" if found.is_trusted else "; no key you trust leads to the transcript's signer"
        told = f"{found.result}: {found.tokens} tokens of {receipt.transcript.backend_name} read again{signer}"
        return _check(Outcome.OK, told)
    steps = [one for one in found.checks if one.outcome is ReceiptOutcome.FAILED and one.step != ReceiptStep.SIGNER]
    step = steps[0] if steps else found.checks[-1]
    return _check(Outcome.FAILED, f"{found.result}: {step.step}: {step.detail}", step.code or ReceiptError.code)


def _check(outcome: Outcome, message: str, code: str | None = None) -> Check:
    return Check(name=CheckName.INFERENCE, outcome=outcome, message=message, code=code)
