"""Evidence is stored under its own hash, so that a bundle that points at it can be compared with it.

content -> sha256 -> entry and row; the same content again is found;   quote + content -> located -> compared
The content is stored apart from the ledger and can be erased (`erase_record`): entry, hash and every decision that
rests on it remain.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from assay.claims.bundle import ClaimBundle, EvidencePointer
from assay.claims.errors import BundleError
from assay.claims.evidence import check_content
from assay.claims.locate import Place, locate, readable_text, sentences_around
from assay.claims.passage import Passage, Selector, SupportResult
from assay.claims.problem import ClaimProblem, ClaimProblemCode
from assay.claims.support import check_passage
from assay.facts.claims import evidence_entry
from assay.flows.errors import NotFoundError
from assay.flows.errors.claims import ClaimsFlowError
from assay.flows.identity.authenticate import confirm, require_credential
from assay.flows.request import SEE_ALL, Content, Document, Done, Option, Request
from assay.flows.tools import Tools
from assay.identity.authorise import has_role
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole
from assay.identity.problem import shortened
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.claims_store import HeldEvidence
from assay.ports.database import Unit

LARGEST_EVIDENCE = 8 * 1024 * 1024
BYTES = "application/octet-stream"
_READERS = (*SEE_ALL, BuiltInRole.OPS_TEAM, BuiltInRole.SECURITY_TEAM)
_EvidenceHash = Annotated[str, Meta(description="The SHA-256 of the content, 64 hex digits."), Option(metavar="HASH")]


class AttachEvidence(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    content: Annotated[bytes, Meta(description="The content, any bytes."), Document(media_type=BYTES, metavar="FILE|-")]


class ShowEvidence(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    evidence_hash: _EvidenceHash


class ReadEvidence(ShowEvidence, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As `ShowEvidence`."""


class AttachedEvidence(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a pointer says as `evidence_hash`; `is_new` is false where the same content was there."""

    evidence_hash: str
    size: int
    sequence_number: int
    is_new: bool


class EvidenceView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Attached evidence; `is_erased` where its content is gone."""

    evidence_hash: str
    size: int
    attached_by: PrincipalId
    attached_at: Instant
    sequence_number: int
    is_erased: bool


class CheckQuote(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is claimed, and the words it rests on, in content that is given, or stored on the node under its hash."""

    statement: Annotated[
        str, Meta(min_length=1, max_length=16384, description="What is claimed."), Option(form="argument")
    ]
    quote: Annotated[str, Meta(min_length=1, max_length=16384, description="The words that the claim rests on.")]
    content: Annotated[bytes | None, Meta(description="The source."), Option(flag="--file", form="file")] = None
    evidence_hash: Annotated[
        str | None, Meta(description="The hash of evidence that the node holds."), Option(metavar="HASH")
    ] = None
    source: Annotated[str, Meta(max_length=512, description="A name for the source.")] = "the document"
    offset: Annotated[
        int | UnsetType, Meta(description="Where the quote begins, in characters."), Option(form="number")
    ] = UNSET
    selector: Annotated[
        Selector | UnsetType, Meta(description="A page, a JSON pointer or a cell of a table."), Option(metavar="JSON")
    ] = UNSET


class QuoteChecked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result in one word and one sentence; `passage` are the sentences around the quote, where it was found."""

    result: SupportResult
    message: str
    passage: tuple[str, ...] = ()
    offset: int | None = None

    @property
    def is_supported(self) -> bool:
        return self.result is SupportResult.SUPPORTED


def attach_evidence(tools: Tools, caller: Caller, request: AttachEvidence) -> Done[AttachedEvidence]:
    """Store content under its SHA-256, the `evidence_hash` of pointers; durable when it returns."""
    require_credential(caller)
    require_size(request.content)
    # Hashed on the caller's thread, not on the writer's.
    hashed = sha256(request.content).hexdigest()

    def work(unit: Unit) -> Done[AttachedEvidence]:
        current = confirm(unit, caller)
        known = _find_stored(unit, caller.tenant_id, hashed)
        by = current.principal.id
        held = known or _store(unit, caller.tenant_id, hashed, request.content, by=by, at=caller.at)
        attached = AttachedEvidence(
            evidence_hash=hashed, size=held.size, sequence_number=held.sequence_number, is_new=known is None
        )
        return Done(value=attached, is_new=known is None)

    return tools.database.write(work)


def evidence(tools: Tools, caller: Caller, request: ShowEvidence) -> EvidenceView:
    """Show who attached evidence and when; to its owner, and to those who may see the claims of others."""
    held = _get_visible(tools, caller, request.evidence_hash)
    return EvidenceView(
        evidence_hash=held.sha256,
        size=held.size,
        attached_by=held.attached_by,
        attached_at=held.attached_at,
        sequence_number=held.sequence_number,
        is_erased=held.content is None,
    )


def evidence_content(tools: Tools, caller: Caller, request: ReadEvidence) -> Content:
    """Return the content of evidence, compared with its hash."""
    held = _get_visible(tools, caller, request.evidence_hash)
    if held.content is None:
        raise ClaimsFlowError.evidence_erased(f"expected evidence that is held, got {held.sha256}, which was erased")
    return Content(
        body=held.content, media_type=BYTES, etag=held.sha256, is_immutable=False, filename=f"{held.sha256[:16]}.bin"
    )


def check_quote(tools: Tools | None, caller: Caller, request: CheckQuote) -> QuoteChecked:
    """Compare a quote and a claim with a source that is given, or with stored evidence."""
    if request.content is not None:
        require_size(request.content)
        return check_quote_in(request, request.content)
    if request.evidence_hash is None or tools is None:
        return check_quote_in(request, None)
    try:
        held = _get_visible(tools, caller, request.evidence_hash)
    except NotFoundError:
        return check_quote_in(request, None)
    return check_quote_in(request, held.content)


def check_quote_in(request: CheckQuote, content: bytes | None) -> QuoteChecked:
    """Compare a quote with a document; None is one that is not held."""
    hashed = None if content is None else sha256(content).hexdigest()
    pointer = EvidencePointer(source=request.source, source_confidence=1.0, evidence_hash=hashed)
    passage = Passage(place=0, quote=request.quote, offset=request.offset, selector=request.selector)
    contents = {} if content is None else {request.source: content}
    found = check_passage(request.statement, passage, pointer, content, contents)
    text = None if content is None else readable_text(content)
    at = None if text is None else locate(text, passage)
    if text is None or at is None or at.place not in (Place.HERE, Place.ELSEWHERE):
        return QuoteChecked(result=found.result, message=found.message)
    return QuoteChecked(
        result=found.result,
        message=found.message,
        passage=sentences_around(text, at.start, at.end),
        offset=at.start,
    )


def check_contents(bundle: ClaimBundle, contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return what comes with a bundle by hash; content that no pointer of its source names is refused."""
    pointers = [pointer for claim in bundle.claims for pointer in claim.evidence_pointers]
    found: dict[str, bytes] = {}
    for source, content in sorted(contents.items()):
        require_size(content)
        if not any(pointer.source == source and check_content(pointer, content) for pointer in pointers):
            raise BundleError([_mismatch(source, content)])
        found[sha256(content).hexdigest()] = content
    return found


def store_contents(
    unit: Unit, tenant_id: TenantId, contents: Mapping[str, bytes], *, by: PrincipalId, at: Instant
) -> None:
    """Store the evidence that came with a bundle, by hash, where it is not there already."""
    for hashed, content in contents.items():
        if _find_stored(unit, tenant_id, hashed) is None:
            _store(unit, tenant_id, hashed, content, by=by, at=at)


def require_size(content: bytes) -> None:
    if len(content) > LARGEST_EVIDENCE:
        raise ClaimsFlowError.evidence_size(f"expected at most {LARGEST_EVIDENCE} bytes, got {len(content)}")


def _get_visible(tools: Tools, caller: Caller, hashed: str) -> HeldEvidence:
    held = tools.database.read(lambda unit: unit.claims.find_evidence(caller.tenant_id, hashed))
    is_owner = held is not None and held.attached_by == caller.principal.id
    if held is None or not (is_owner or caller.is_local or has_role(caller.principal, _READERS)):
        raise NotFoundError(f"`{caller.tenant_id}` has no evidence `{hashed[:80]}` for `{caller.principal.id}`")
    return held


def _find_stored(unit: Unit, tenant_id: TenantId, hashed: str) -> HeldEvidence | None:
    """Content that was erased is not stored again."""
    known = unit.claims.find_evidence(tenant_id, hashed)
    if known is not None and known.content is None:
        raise ClaimsFlowError.evidence_erased(f"expected evidence that may be kept, got {hashed}, which was erased")
    return known


def _mismatch(source: str, content: bytes) -> ClaimProblem:
    told = f"expected content that a pointer of `{shortened(source)}` names, got {sha256(content).hexdigest()}"
    return ClaimProblem(pointer="/claims", code=ClaimProblemCode.FORM, message=told)


def _store(
    unit: Unit, tenant_id: TenantId, hashed: str, content: bytes, *, by: PrincipalId, at: Instant
) -> HeldEvidence:
    receipt = unit.record(evidence_entry(tenant_id, hashed, len(content), by=by, at=at))
    unit.claims.add_content(tenant_id, hashed, content)
    return HeldEvidence(
        sha256=hashed,
        size=len(content),
        content=content,
        attached_by=by,
        attached_at=at,
        sequence_number=receipt.sequence_number,
    )
