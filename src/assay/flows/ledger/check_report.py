"""Check an audit report against the keys a verifier trusts, with nothing but the file.

rows follow from their entries -> entries lead to the checkpoint's root -> a trusted key signed it -> it grew honestly
"""

from collections.abc import Callable

import msgspec
from msgspec.structs import asdict

from assay.flows.errors.ledger import LedgerFlowError
from assay.flows.ledger.report_period import REPORT_FORMAT, PeriodReport, ReportRow, is_asked
from assay.flows.ledger.report_row import RowFacts, derive_row
from assay.kernel.bundle import parse_entry_head
from assay.kernel.check_bundle import Check, CheckName, Finding, Outcome, SigningTimeError, UntrustedSignerError
from assay.kernel.checkpoint import SignedCheckpoint, parse_checkpoint, verify_checkpoint, verify_growth
from assay.kernel.errors import Error
from assay.kernel.ids import KeyId
from assay.kernel.json_text import CANONICAL_LIMITS, Limits, parse_json
from assay.kernel.key import KeyPurpose, KeyRing, TrustAnchors, trusted_keys
from assay.kernel.merkle import leaf_hash, verify_inclusion
from assay.kernel.note import UnsignedNoteError

_LIMITS = Limits(max_bytes=512 * 1024 * 1024, max_depth=CANONICAL_LIMITS.max_depth, binary64_integers=True)


def render_report(report: PeriodReport) -> bytes:
    """JSON that `check_report` reads; every entry's text in it reads back byte for byte."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"


def parse_report(received: bytes) -> PeriodReport:
    """Read the file strictly; nothing is verified."""
    document = parse_json(received, limits=_LIMITS)
    try:
        report = msgspec.json.decode(received, type=PeriodReport)
    except msgspec.DecodeError as error:
        raise LedgerFlowError.proof_report(f"expected a report of `{REPORT_FORMAT}`: {error}") from error
    if not isinstance(document, dict) or "format" not in document:
        raise LedgerFlowError.proof_report(f"expected `format` to be `{REPORT_FORMAT}`, got none")
    return report


def check_report(report: PeriodReport, anchors: TrustAnchors, *, origin: str | None = None) -> Finding:
    """Try every check; what is untrue is a finding.

    That nothing was left out cannot be seen from a part: the numbers of the entries say where the gaps are, and the
    whole ledger can be asked for.
    """
    ring = trusted_keys(anchors, report.keys, report.retirements)
    signed = parse_checkpoint(report.checkpoint.encode())
    steps: list[tuple[CheckName, Callable[[], str]]] = [
        (CheckName.STATEMENT, lambda: _rows(report)),
        (CheckName.LEAF, lambda: _size(report, signed)),
        (CheckName.INCLUSION, lambda: _inclusion(report, signed)),
        (CheckName.SIGNER, lambda: _signer(report, signed, ring, origin)),
    ]
    if report.growth is not None:
        steps.append((CheckName.CHECKPOINT_SIGNATURE, lambda: _growth(report, signed, ring, origin)))
    checks = tuple(_attempt(name, step) for name, step in steps)
    failures = [check.code for check in checks if check.outcome is Outcome.FAILED]
    return Finding(holds=not failures, code=failures[0] if failures else None, checks=checks)


def _rows(report: PeriodReport) -> str:
    """Each row says what its entry says, belongs here, and comes in the ledger's order."""
    previous = 0
    for row in report.rows:
        facts = derive_row(row.entry.encode())
        told = asdict(row)
        if any(told[name] != value for name, value in asdict(facts).items()):
            raise LedgerFlowError.proof_report(f"entry {row.sequence_number} does not say what its row says")
        _require_place(report, row, facts, previous)
        previous = facts.sequence_number
    return f"{len(report.rows)} rows say what their entries say"


def _require_place(report: PeriodReport, row: ReportRow, facts: RowFacts, previous: int) -> None:
    if not is_asked(facts, report.scope) or facts.sequence_number <= previous:
        raise LedgerFlowError.proof_report(f"entry {row.sequence_number} does not belong where it is in this report")
    tenant_id = parse_entry_head(row.entry.encode()).tenant_id
    if tenant_id != report.tenant_id:
        raise LedgerFlowError.proof_report(
            f"expected entries of `{report.tenant_id}`, got {row.sequence_number} of `{tenant_id}`"
        )


def _size(report: PeriodReport, signed: SignedCheckpoint) -> str:
    if (report.tree_size, report.origin) != (signed.checkpoint.size, signed.checkpoint.origin):
        raise LedgerFlowError.proof_report(
            f"expected size and origin of the checkpoint, got {report.tree_size} of `{report.origin}`"
        )
    return f"checkpoint of `{report.origin}` at size {report.tree_size}"


def _inclusion(report: PeriodReport, signed: SignedCheckpoint) -> str:
    head = signed.checkpoint
    for row in report.rows:
        leaf = leaf_hash(row.entry.encode())
        verify_inclusion(leaf, row.sequence_number - 1, head.size, row.inclusion_path, head.root)
    return f"{len(report.rows)} entries lead to the checkpoint's root"


def _signer(report: PeriodReport, signed: SignedCheckpoint, ring: KeyRing, origin: str | None) -> str:
    signer = _signed_by(report, signed, ring, origin)
    if signer not in ring.records:
        raise UntrustedSignerError(f"expected a key that an anchor leads to, got {signer}")
    signed_at = signed.checkpoint.signed_at
    if signed_at is None:
        raise SigningTimeError("expected a `signed_at` line in the checkpoint, got none")
    ring.get(signer, signed_at, purpose=KeyPurpose.LEDGER)
    return f"signed by {signer}"


def _signed_by(report: PeriodReport, signed: SignedCheckpoint, ring: KeyRing, origin: str | None) -> KeyId:
    trusted = [record for records in ring.records.values() for record in records]
    offered = [endorsement.record for endorsement in report.keys]
    keys = dict.fromkeys(record.raw_public_key for record in (*trusted, *offered))
    try:
        candidates = [key for key in keys if key is not None]
        return verify_checkpoint(signed, origin or signed.checkpoint.origin, candidates)
    except UnsignedNoteError as error:
        raise UntrustedSignerError("expected a signature of a trusted key, got none") from error


def _growth(report: PeriodReport, signed: SignedCheckpoint, ring: KeyRing, origin: str | None) -> str:
    assert report.growth is not None  # noqa: S101 - INVARIANT: only then is it a step
    earlier = parse_checkpoint(report.growth.checkpoint.encode())
    _signer(report, earlier, ring, origin)
    verify_growth(earlier.checkpoint, signed.checkpoint, report.growth.consistency_path)
    return f"grew from the {earlier.checkpoint.size} entries of an earlier checkpoint, and changed none of them"


def _attempt(name: CheckName, step: Callable[[], str]) -> Check:
    try:
        return Check(name=name, outcome=Outcome.OK, message=step())
    except Error as error:
        return Check(name=name, outcome=Outcome.FAILED, message=str(error), code=error.code)
