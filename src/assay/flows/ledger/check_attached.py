"""What a proof bundle carries beside its entry: it is what the entry speaks of, and receipts hold.

bundle -> an answer's output -> its hash is in the entry, or the attachments do not hold
bundle -> the entries that a state was compiled from -> compiled again to the same state, or they do not hold
bundle -> attachments that are receipts -> the seven steps of `check_receipt` -> one check more in the finding
Weights that are not at hand leave a receipt unchecked, which is said; they never make it hold.
"""

from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.flows.delivery.answers import OUTPUT_ATTACHMENT
from assay.flows.truth.replay_truth import replay_bundle
from assay.flows.truth.state_entry import ReplayCode
from assay.flows.truth.states import ENTRY_ATTACHMENT
from assay.flows.verdicts.receipts import RECEIPT_ATTACHMENT
from assay.flows.verdicts.verify_receipt import (
    ReceiptFinding,
    ReceiptOutcome,
    ReceiptResult,
    ReceiptStep,
    check_receipt,
)
from assay.kernel.bundle import Attachment, Bundle
from assay.kernel.check_bundle import AttachmentError, Check, CheckName, Finding, Outcome, UntrustedSignerError
from assay.kernel.digest import Digest
from assay.kernel.errors import Error
from assay.kernel.key import TrustAnchors, UnknownKeyError
from assay.ports.reasoner import ScoringReasoner
from assay.verdicts.errors import ReceiptError
from assay.verdicts.receipt import ReceiptFile, metadata_of, parse_receipt


class _Output(Struct, frozen=True, kw_only=True):
    output_hash: Digest | None = None


class _Answered(Struct, frozen=True, kw_only=True):
    """The part of an entry about an answer that names its output."""

    kind: Literal["answer.delivered"]
    body: _Output


# What a replay says of a state's own signature, where the verifier was not told whom to trust, or has no secret.
_OF_SIGNERS = frozenset({UnknownKeyError.code, UntrustedSignerError.code, ReplayCode.NOT_CHECKED.value})
# The weights of that hash, to read with; None where they are not at hand.
FindScorer = Callable[[Digest], ScoringReasoner | None]


def check_attached(bundle: Bundle, finding: Finding, anchors: TrustAnchors, find_scorer: FindScorer | None) -> Finding:
    """The finding with a check for each receipt; as it was where there is none and the rest is the entry's own."""
    receipts = [one for one in bundle.attachments if one.kind == RECEIPT_ATTACHMENT]
    checks = [_checked(bundle, one, anchors, find_scorer) for one in receipts]
    bound = _bound(bundle, finding, anchors)
    failed = next((check for check in (*bound, *checks) if check.outcome is Outcome.FAILED), None)
    return replace(
        finding,
        checks=(*bound, *checks),
        holds=finding.holds and failed is None,
        code=finding.code if finding.code is not None or failed is None else failed.code,
    )


def _bound(bundle: Bundle, finding: Finding, anchors: TrustAnchors) -> tuple[Check, ...]:
    """The same checks, where that of the attachments also says whether they are what the entry speaks of."""
    wrong = _wrong_output(bundle) or _wrong_inputs(bundle, finding, anchors)
    if wrong is None:
        return finding.checks
    failed = Check(name=CheckName.ATTACHMENTS, outcome=Outcome.FAILED, message=wrong, code=AttachmentError.code)
    return tuple(
        failed if one.name is CheckName.ATTACHMENTS and one.outcome is Outcome.OK else one for one in finding.checks
    )


def _wrong_output(bundle: Bundle) -> str | None:
    outputs = [one for one in bundle.attachments if one.kind == OUTPUT_ATTACHMENT]
    named = _named_output(bundle.entry) if outputs else None
    wrong = next((one for one in outputs if one.sha256 != named), None)
    if wrong is None:
        return None
    return f"expected the output that the entry names ({named or 'none'}) in `{wrong.name[:80]}`, got {wrong.sha256}"


def _wrong_inputs(bundle: Bundle, finding: Finding, anchors: TrustAnchors) -> str | None:
    """Who signed the state is not asked here, but whether it follows from what is attached."""
    if not finding.holds or all(one.kind != ENTRY_ATTACHMENT for one in bundle.attachments):
        return None
    try:
        problems = replay_bundle(bundle, anchors).problems
    except Error as error:
        return f"expected the entries that the state was compiled from, got: {error}"
    wrong = next((one for one in problems if one.code not in _OF_SIGNERS), None)
    return None if wrong is None else f"the state does not follow from these entries: {wrong.message} [{wrong.code}]"


def _named_output(entry: str) -> Digest | None:
    """The hash of the output in an entry about an answer; None where it was withheld, or the entry is another's."""
    try:
        return msgspec.json.decode(entry, type=_Answered).body.output_hash
    except msgspec.MsgspecError:
        return None


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
