"""Answers that were given: list them, show one as it was marked, prove it, and export its claims.

An answer's output is for its asker, as long as it is not below their floor; others see how it was marked.
"""

from hashlib import sha256
from typing import Annotated, Any

from msgspec import Meta, Struct

from assay.claims.bundle import ClaimBundle
from assay.delivery.annotate import HEADER, Annotation, AnswerBody, deliver, render_header, seal_body
from assay.flows.claims.export_claims import export_answer_claims
from assay.flows.delivery.answer_record import get_record
from assay.flows.errors import NotFoundError
from assay.flows.ledger.prove_record import bundle_of
from assay.flows.request import (
    NEWEST,
    SEE_ALL,
    Content,
    Done,
    Option,
    Page,
    Paged,
    PrincipalName,
    Request,
    cut,
    map_page,
    read_number,
    whose,
)
from assay.flows.tools import Tools
from assay.identity.authorise import require_role
from assay.identity.caller import Caller
from assay.kernel.bundle import Attachment, Bundle, render_bundle
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import digest_of
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.delivery_store import DeliveredAnswer

OUTPUT_ATTACHMENT = "assay-answer-output"
_AnswerName = Annotated[str, Meta(description="The id of an answer.")]


class ListAnswers(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    asked_by: Annotated[
        PrincipalName | None, Meta(description="Only answers to this principal."), Option(flag="--asked-by")
    ] = None


class ShowAnswer(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    answer_id: _AnswerName


class ShowAnswerClaims(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    answer_id: _AnswerName


class ProveAnswer(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    answer_id: _AnswerName


class AnswerLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    answer_id: str
    query_type: str
    asked_by: str
    level: str
    answered_at: Instant
    sequence_number: int


class AnswerDetail(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an answer was marked and on which rules; `output` only for its asker, if it was not withheld."""

    answer_id: str
    query_type: str
    asked_by: str
    annotation: Annotation
    withheld: bool
    output: Any
    sequence_number: int


def answers(tools: Tools, caller: Caller, request: ListAnswers) -> Page[AnswerLine]:
    """List answers, the newest first; without a role that may see all of them, one's own."""
    of, before = whose(caller, request.asked_by), read_number("answers", request.cursor, start=NEWEST)
    asked_by = None if of is None else PrincipalId(of)

    def work(unit: Unit) -> tuple[DeliveredAnswer, ...]:
        return unit.pages.answers(caller.tenant_id, asked_by=asked_by, before=before, limit=request.limit + 1)

    return map_page(cut("answers", tools.database.read(work), request.limit, lambda row: row.sequence_number), _line)


def answer(tools: Tools, caller: Caller, request: ShowAnswer) -> Done[AnswerDetail]:
    """Show how an answer was marked and on which rules; its output is for its asker alone."""
    row, body = tools.database.read(lambda unit: _look(unit, caller, request.answer_id))
    signer = tools.ledger_signer
    sealed = seal_body(body, key_id=signer.key_id, sign=signer.sign)
    detail = AnswerDetail(
        answer_id=row.answer_id,
        query_type=row.query_type,
        asked_by=row.asked_by,
        annotation=sealed.annotation,
        withheld=sealed.withheld,
        output=sealed.output if _sees_output(caller, row) else None,
        sequence_number=row.sequence_number,
    )
    return Done(value=detail, headers={HEADER: render_header(sealed.annotation)})


def answer_claims(tools: Tools, caller: Caller, request: ShowAnswerClaims) -> ClaimBundle:
    """Export the claims that an answer was gated by, for its asker, unless it is withheld; made anew each time."""
    _require_output(tools, caller, request.answer_id)
    return export_answer_claims(tools, caller.tenant_id, request.answer_id, at=caller.at)


def prove_answer(tools: Tools, caller: Caller, request: ProveAnswer) -> Content:
    """Prove an answer offline: its entry with the output, for its asker, unless it was withheld.

    A checkpoint must cover the entry (`proof.no_checkpoint`).
    """
    _require_output(tools, caller, request.answer_id)
    body = render_bundle(answer_bundle(tools, caller.tenant_id, request.answer_id))
    return Content(body=body, etag=sha256(body).hexdigest()[:32])


def answer_bundle(tools: Tools, tenant_id: TenantId, answer_id: str) -> Bundle:
    """The entry of the answer as it was delivered first, with its output unless that was withheld.

    The output is attached in canonical bytes, whose hash is the `output_hash` in the entry. The caller of this function
    has checked who asks.
    """

    def work(unit: Unit) -> Bundle:
        row = _row(unit, tenant_id, answer_id)
        record = get_record(unit, tenant_id, answer_id)
        attachments = () if record.withheld else (_attachment(answer_id, canonicalize(record.output)),)
        with tools.tiles.borrow(unit, tenant_id) as cache:
            return bundle_of(unit, tenant_id, row.sequence_number, attachments=attachments, cache=cache)

    return tools.database.read(work)


def _look(unit: Unit, caller: Caller, answer_id: str) -> tuple[DeliveredAnswer, AnswerBody]:
    """The row, and the body by the caller's floor as it is now; what was once withheld stays so, its hash included."""
    row = _row(unit, caller.tenant_id, answer_id)
    if row.asked_by != caller.principal.id:
        require_role(caller.principal, SEE_ALL)
    record = get_record(unit, caller.tenant_id, answer_id)
    floor = caller.principal.authenticity_level_floor
    return row, deliver(record.output, record.annotation, floor=floor, was_withheld=record.withheld)


def _row(unit: Unit, tenant_id: TenantId, answer_id: str) -> DeliveredAnswer:
    row = unit.delivery.find_answer(tenant_id, answer_id)
    if row is None:
        raise NotFoundError(f"`{tenant_id}` has no answer `{answer_id[:80]}`")
    return row


def _sees_output(caller: Caller, row: DeliveredAnswer) -> bool:
    """The operator of the folder reads the database itself, so nothing of it is hidden from them."""
    return caller.is_local or row.asked_by == caller.principal.id


def _require_output(tools: Tools, caller: Caller, answer_id: str) -> None:
    """Raise unless this caller asked and may have the output now; to all others, what tells of it does not exist."""
    row, body = tools.database.read(lambda unit: _look(unit, caller, answer_id))
    if not caller.is_local and (not _sees_output(caller, row) or body.withheld):
        who = caller.principal.id
        raise NotFoundError(f"`{caller.tenant_id}` has no output of answer `{answer_id[:80]}` for `{who}`")


def _attachment(answer_id: str, content: bytes) -> Attachment:
    return Attachment(kind=OUTPUT_ATTACHMENT, name=f"{answer_id}.json", sha256=digest_of(content), content=content)


def _line(row: DeliveredAnswer) -> AnswerLine:
    return AnswerLine(
        answer_id=row.answer_id,
        query_type=row.query_type,
        asked_by=row.asked_by,
        level=row.level,
        answered_at=row.answered_at,
        sequence_number=row.sequence_number,
    )
