"""Whether a source says what is claimed: one quote held against one document.

statement + quote + content, given or kept here under its hash -> located -> compared -> QuoteChecked
"""

from hashlib import sha256

from msgspec import UNSET, Struct, UnsetType

from assay.claims.bundle import EvidencePointer
from assay.claims.locate import Place, locate, readable_text, sentences_around
from assay.claims.passage import Passage, Selector, SupportResult
from assay.claims.support import check_passage
from assay.flows.request import Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller


class QuoteRequest(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is claimed, and the words it rests on; `evidence_hash` names the content where it is kept on the node."""

    statement: str
    quote: str
    source: str = "the document"
    evidence_hash: str | None = None
    offset: int | UnsetType = UNSET
    selector: Selector | UnsetType = UNSET


class QuoteChecked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result in one word and one sentence; `passage` are the sentences that the quote stands in, where it does."""

    result: SupportResult
    message: str
    passage: tuple[str, ...] = ()
    offset: int | None = None

    @property
    def is_supported(self) -> bool:
        return self.result is SupportResult.SUPPORTED


def check_quote(tools: Tools, caller: Caller, request: QuoteRequest) -> QuoteChecked:
    """Hold a quote against evidence that the caller's tenant keeps; what is not kept here is `absent`."""
    hashed = request.evidence_hash
    if hashed is None:
        return check_quote_in(request, None)
    held = tools.database.read(lambda unit: unit.claims.find_evidence(caller.tenant_id, hashed))
    return check_quote_in(request, None if held is None else held.content)


def check_quote_in(request: QuoteRequest, content: bytes | None) -> QuoteChecked:
    """Hold a quote against a document that is at hand; None is one that is not."""
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
