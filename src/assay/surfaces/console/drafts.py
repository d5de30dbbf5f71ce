"""Drafts of answers, saved from the form of a ticket: for their writer alone, and in no ledger."""

from typing import Any

from litestar import Request, post
from litestar.params import FromPath
from litestar.response import Response

from assay.flows.review.keep_draft import DropDraft, KeepDraft, KeptDraft
from assay.kernel.ids import parse_ticket_id
from assay.surfaces.console.page import see_other
from assay.surfaces.console.session import Form, GivenVisit, needs, read_form


@post("/review/{ticket_id:str}/draft", opt=needs("draft.keep"), status_code=303)
async def change_draft(request: Request[Any, Any, Any], visit: GivenVisit, ticket_id: FromPath[str]) -> Response[Any]:
    """Save what is written so far, in place of the draft before; or delete that."""
    form, asked = await read_form(request, visit), parse_ticket_id(ticket_id)
    if form.find("draft") == "drop":
        await visit.desk.act(lambda: visit.perform("draft.drop", DropDraft(ticket_id=asked)))
    else:
        draft = KeepDraft(
            ticket_id=asked,
            choice=form.find("choice") or None,
            reason=form.find("reason"),
            body=form.find("corrected_rule"),
        )
        await visit.desk.act(lambda: visit.perform("draft.keep", draft))
    return see_other(f"/review/{asked}")


def drafted_form(draft: KeptDraft | None) -> Form:
    """What was kept, as it was written into the form."""
    if draft is None:
        return Form({})
    reply = draft.reply
    return Form({"choice": reply.choice or "", "reason": reply.reason, "corrected_rule": reply.body})
