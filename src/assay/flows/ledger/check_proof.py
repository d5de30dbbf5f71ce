"""Check a proof of any form against the keys a verifier trusts: the file itself says what it is.

bytes -> tlog-proof text | COSE | DSSE | audit report | search proof | bundle -> Finding
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from assay.flows.errors.ledger import LedgerFlowError
from assay.flows.ledger.check_proof_text import check_proof_text
from assay.flows.ledger.check_report import check_report, parse_report
from assay.flows.ledger.report_period import REPORT_FORMAT
from assay.kernel.bundle import Bundle, parse_bundle
from assay.kernel.check_bundle import Finding, NoEntryTextError, check_bundle
from assay.kernel.check_search import check_search
from assay.kernel.dsse import parse_envelope
from assay.kernel.entry_statement import check_statement
from assay.kernel.key import TrustAnchors
from assay.kernel.proof import parse_tlog_proof
from assay.kernel.scitt_check import check_scitt
from assay.kernel.search_proof import SEARCH_FORMAT, parse_search

if TYPE_CHECKING:
    from assay.flows.ledger.check_attached import FindScorer

_TLOG_PROOF = b"c2sp.org/tlog-proof@"
# Tag 18, which every COSE_Sign1 begins with.
_COSE = b"\xd2"
_REPORT = msgspec.Raw(msgspec.json.encode(REPORT_FORMAT))
_SEARCH = msgspec.Raw(msgspec.json.encode(SEARCH_FORMAT))


def check_proof(
    content: bytes,
    anchors: TrustAnchors,
    *,
    witnesses: Mapping[str, bytes] | None = None,
    threshold: int = 0,
    origin: str | None = None,
    entry: bytes | None = None,
    find_scorer: "FindScorer | None" = None,
) -> Finding:
    """Try every check of its form; raises for what has no form at all. `entry` is the text, where a form has none.

    `find_scorer` finds the weights with which the receipts in a bundle are read again.
    """
    known = witnesses or {}
    if content.startswith(_TLOG_PROOF):
        if entry is None:
            raise NoEntryTextError("expected the entry's exact text beside a tlog-proof, which holds none")
        proof = parse_tlog_proof(content)
        return check_proof_text(proof, entry, anchors, witnesses=known, threshold=threshold, origin=origin)
    if content.startswith(_COSE):
        if known or threshold > 0:
            raise LedgerFlowError.proof_no_witnesses(
                "witnesses cosign checkpoints, and a COSE message has none: give a bundle"
            )
        return check_scitt(content, anchors, entry=entry, origin=origin)
    fields = _fields(content)
    if fields.get("format") == _REPORT:
        if known or threshold > 0:
            raise LedgerFlowError.proof_no_witnesses("an audit report does not say who cosigned: give a bundle")
        return check_report(parse_report(content), anchors, origin=origin)
    if fields.get("format") == _SEARCH:
        search = parse_search(content)
        return check_search(search, anchors, witnesses=known, threshold=threshold, origin=origin)
    if "payloadType" in fields:
        envelope = parse_envelope(content)
        return check_statement(envelope, anchors, witnesses=known, threshold=threshold, origin=origin)
    finding = check_bundle(
        bundle := parse_bundle(content), anchors, witnesses=known, threshold=threshold, origin=origin
    )
    return finding if not bundle.attachments else _attached(bundle, finding, anchors, find_scorer)


def _attached(bundle: Bundle, finding: Finding, anchors: TrustAnchors, find_scorer: "FindScorer | None") -> Finding:
    from assay.flows.ledger.check_attached import check_attached  # noqa: PLC0415 - only whoever has a receipt pays for it

    return check_attached(bundle, finding, anchors, find_scorer)


def _fields(content: bytes) -> Mapping[str, msgspec.Raw]:
    """The fields of a JSON object; whatever it is, it is read strictly afterwards."""
    try:
        return msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
