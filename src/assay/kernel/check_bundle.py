"""Check a proof bundle against the keys a verifier trusts: every step is named, tried and reported.

bundle + anchors (+ witnesses) -> each check: ok, failed or not checked -> Finding

A check that cannot be tried because an earlier one failed says so; it never counts as passed.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct

from assay.kernel.bundle import Bundle, EntryHead, parse_entry_head
from assay.kernel.checkpoint import SignedCheckpoint, parse_checkpoint, verify_checkpoint
from assay.kernel.commitment import verify_disclosure
from assay.kernel.cosignature import verify_cosignatures
from assay.kernel.digest import digest_of
from assay.kernel.errors import Blame, Error, ProofError
from assay.kernel.ids import KeyId
from assay.kernel.instant import render_instant
from assay.kernel.key import KeyPurpose, KeyRing, TrustAnchors, trusted_keys
from assay.kernel.merkle import leaf_hash, verify_inclusion
from assay.kernel.note import UnsignedNoteError


class EntryHashError(ProofError):
    """The entry's text does not have the hash the bundle gives."""

    code = "proof.entry_hash"


class LeafPositionError(ProofError):
    """Index and size of the proof are not those of the entry and of the checkpoint."""

    code = "proof.leaf"


class UntrustedSignerError(ProofError):
    """No anchor leads to the key that signed the checkpoint."""

    code = "proof.untrusted_signer"


class SigningTimeError(ProofError):
    """The checkpoint does not say when it was signed, so no key can be shown to have been valid."""

    code = "proof.signing_time"


class AttachmentError(ProofError):
    """An attachment is not the document its hash names."""

    code = "proof.attachment"


class NoEntryTextError(ProofError):
    """A proof of a form that holds no entry was given without the entry's text."""

    code = "proof.no_entry_text"
    blame = Blame.USAGE


class CheckName(StrEnum):
    """What is checked: of a bundle in this order, of other exports what they have, and their own signatures."""

    ENTRY_HASH = "entry_hash"
    ENTRY_FORM = "entry_form"
    CHECKPOINT_FORM = "checkpoint_form"
    LEAF = "leaf"
    INCLUSION = "inclusion"
    CHECKPOINT_SIGNATURE = "checkpoint_signature"
    SIGNER = "signer"
    KEY_VALIDITY = "key_validity"
    COSIGNATURES = "cosignatures"
    DISCLOSURES = "disclosures"
    ATTACHMENTS = "attachments"
    INFERENCE = "inference"
    STATEMENT = "statement"
    STATEMENT_SIGNATURE = "statement_signature"
    RECEIPT = "receipt"
    RECEIPT_SIGNATURE = "receipt_signature"
    INDEX = "index"
    COMPLETENESS = "completeness"
    FOUND = "found"


# What a bundle may do without; all else must be ok for the bundle to hold.
_OPTIONAL = frozenset({CheckName.COSIGNATURES, CheckName.DISCLOSURES, CheckName.ATTACHMENTS})


class Outcome(StrEnum):
    """How a check ended."""

    OK = "ok"
    FAILED = "failed"
    NOT_CHECKED = "not_checked"


class Check(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One check; `code` is that of the error where it failed."""

    name: CheckName
    outcome: Outcome
    message: str
    code: str | None = None


class Finding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether the bundle proves its entry to this verifier, and why; `code` is that of the first failure."""

    holds: bool
    code: str | None
    checks: tuple[Check, ...]
    signer: KeyId | None = None
    witnesses: tuple[str, ...] = ()


def check_bundle(
    bundle: Bundle,
    anchors: TrustAnchors,
    *,
    witnesses: Mapping[str, bytes] | None = None,
    threshold: int = 0,
    origin: str | None = None,
) -> Finding:
    """Try every check; never raises for a bundle that proves nothing.

    Trust comes from `anchors` alone: the keys in the bundle count only where an anchor leads to them. `origin`, where
    given, must be the log's name; otherwise the log is whoever the trusted key says it is.
    """
    ring = trusted_keys(anchors, bundle.keys, bundle.retirements)
    run = _Run(bundle=bundle, anchors=anchors, ring=ring, witnesses=witnesses or {}, threshold=threshold, origin=origin)
    checks = tuple(run.attempt(name, step) for name, step in _STEPS.items())
    failures = [check.code for check in checks if check.outcome is Outcome.FAILED]
    missing = [c for c in checks if c.outcome is Outcome.NOT_CHECKED and c.name not in _OPTIONAL]
    return Finding(
        holds=not failures and not missing,
        code=failures[0] if failures else None,
        checks=checks,
        signer=run.signer,
        witnesses=run.cosigners,
    )


class _NotCheckedError(Exception):
    """A check was not tried; the text says why."""


@dataclass(slots=True, kw_only=True)
class _Run:
    """One pass over a bundle; a step fills in what later steps need, and stays None when it failed."""

    bundle: Bundle
    anchors: TrustAnchors
    ring: KeyRing
    witnesses: Mapping[str, bytes]
    threshold: int
    origin: str | None
    head: EntryHead | None = None
    signed: SignedCheckpoint | None = None
    signer: KeyId | None = None
    cosigners: tuple[str, ...] = ()
    text: bytes = field(init=False)

    def __post_init__(self) -> None:
        # A lone surrogate cannot come out of the strict parser; bundles made in this process get the same refusals.
        self.text = self.bundle.entry.encode(errors="surrogatepass")

    def attempt(self, name: CheckName, step: "Callable[[_Run], str]") -> Check:
        try:
            return Check(name=name, outcome=Outcome.OK, message=step(self))
        except _NotCheckedError as reason:
            return Check(name=name, outcome=Outcome.NOT_CHECKED, message=str(reason))
        except Error as error:
            return Check(name=name, outcome=Outcome.FAILED, message=str(error), code=error.code)

    def need_head(self) -> EntryHead:
        if self.head is None:
            raise _NotCheckedError("the entry could not be read")
        return self.head

    def need_signed(self) -> SignedCheckpoint:
        if self.signed is None:
            raise _NotCheckedError("the checkpoint could not be read")
        return self.signed


def _entry_hash(run: _Run) -> str:
    found = digest_of(run.text)
    if found != run.bundle.entry_hash:
        raise EntryHashError(f"expected {run.bundle.entry_hash}, got {found}")
    return f"the entry's text has hash {found}"


def _entry_form(run: _Run) -> str:
    run.head = parse_entry_head(run.text)
    return f"entry {run.head.sequence_number} of `{run.head.tenant_id}`, {run.head.kind}, {run.head.timestamp}"


def _checkpoint_form(run: _Run) -> str:
    run.signed = parse_checkpoint(run.bundle.checkpoint.encode(errors="surrogatepass"))
    return f"checkpoint of `{run.signed.checkpoint.origin}` at size {run.signed.checkpoint.size}"


def _leaf(run: _Run) -> str:
    head, checkpoint = run.need_head(), run.need_signed().checkpoint
    if run.bundle.leaf_index != head.sequence_number - 1:
        raise LeafPositionError(f"expected leaf {head.sequence_number - 1} by the entry, got {run.bundle.leaf_index}")
    if run.bundle.tree_size != checkpoint.size:
        raise LeafPositionError(f"expected size {checkpoint.size} by the checkpoint, got {run.bundle.tree_size}")
    return f"leaf {run.bundle.leaf_index} of {checkpoint.size}"


def _inclusion(run: _Run) -> str:
    checkpoint = run.need_signed().checkpoint
    path = run.bundle.inclusion_path
    verify_inclusion(leaf_hash(run.text), run.bundle.leaf_index, checkpoint.size, path, checkpoint.root)
    return f"{len(path)} hashes lead from the entry to the checkpoint's root"


def _checkpoint_signature(run: _Run) -> str:
    signed = run.need_signed()
    origin = signed.checkpoint.origin if run.origin is None else run.origin
    try:
        run.signer = verify_checkpoint(signed, origin, _candidates(run))
    except UnsignedNoteError as error:
        # Not a bad signature but one by a key not at hand; the next check says what that means.
        raise _NotCheckedError(str(error)) from error
    return f"signed by {run.signer}"


def _signer(run: _Run) -> str:
    run.need_signed()
    if run.signer is None:
        raise UntrustedSignerError("expected a signature of a trusted key, got none")
    if run.signer not in run.ring.records:
        raise UntrustedSignerError(f"expected a key that an anchor leads to, got {run.signer}")
    return "an anchor" if run.signer in run.anchors.all_key_ids else "an anchor leads to it by the keys in the bundle"


def _key_validity(run: _Run) -> str:
    if run.signer is None or run.signer not in run.ring.records:
        raise _NotCheckedError("the signer is not trusted")
    signed_at = run.need_signed().checkpoint.signed_at
    if signed_at is None:
        raise SigningTimeError("expected a `signed_at` line in the checkpoint, got none")
    run.ring.get(run.signer, signed_at, purpose=KeyPurpose.LEDGER)
    return f"valid for ledgers at {render_instant(signed_at)}"


def _cosignatures(run: _Run) -> str:
    if not run.witnesses and run.threshold <= 0:
        raise _NotCheckedError("no witness was asked for")
    found = verify_cosignatures(run.need_signed(), run.witnesses, run.threshold)
    run.cosigners = tuple(cosignature.name for cosignature in found)
    return f"{len(found)} witnesses cosigned, {run.threshold} were asked for"


def _disclosures(run: _Run) -> str:
    if not run.bundle.disclosures:
        raise _NotCheckedError("nothing is disclosed")
    body = run.need_head().body
    for disclosure in run.bundle.disclosures:
        verify_disclosure(body, disclosure)
    return f"{len(run.bundle.disclosures)} values are those the entry commits to"


def _attachments(run: _Run) -> str:
    if not run.bundle.attachments:
        raise _NotCheckedError("nothing is attached")
    for attachment in run.bundle.attachments:
        found = digest_of(attachment.content)
        if found != attachment.sha256:
            raise AttachmentError(f"expected {attachment.sha256} for `{attachment.name[:80]}`, got {found}")
    # Whether the entry's body names these hashes is a question for the room that the attachment's kind belongs to.
    return f"{len(run.bundle.attachments)} attachments have their hashes"


def _candidates(run: _Run) -> Iterable[bytes]:
    """Trusted keys first, so that among several signatures a trusted one is found."""
    trusted = [record for records in run.ring.records.values() for record in records]
    offered = [endorsement.record for endorsement in run.bundle.keys]
    keys = (record.raw_public_key for record in (*trusted, *offered))
    return dict.fromkeys(key for key in keys if key is not None)


_STEPS: Mapping[CheckName, Callable[[_Run], str]] = {
    CheckName.ENTRY_HASH: _entry_hash,
    CheckName.ENTRY_FORM: _entry_form,
    CheckName.CHECKPOINT_FORM: _checkpoint_form,
    CheckName.LEAF: _leaf,
    CheckName.INCLUSION: _inclusion,
    CheckName.CHECKPOINT_SIGNATURE: _checkpoint_signature,
    CheckName.SIGNER: _signer,
    CheckName.KEY_VALIDITY: _key_validity,
    CheckName.COSIGNATURES: _cosignatures,
    CheckName.DISCLOSURES: _disclosures,
    CheckName.ATTACHMENTS: _attachments,
}
