"""A person concludes a root cause at the review desk: a category, and the words they answer for (PRAMANA 10.2)."""

from typing import Annotated

from msgspec import Meta

from assay.delivery.conclude import CHOICES
from assay.delivery.plugin import Category
from assay.flows.delivery.root_causes import ShownItem, ShowRootCause, root_cause
from assay.flows.errors import NotFoundError
from assay.flows.request import Option, Request
from assay.flows.review.answer_desk import answer_desk
from assay.flows.review.answer_review import SignedElsewhere
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.canonical import canonical_json
from assay.kernel.digest import parse_digest
from assay.kernel.ids import TicketId
from assay.ports.signer import Signer
from assay.review.draft import Reply


class ConcludeRootCause(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    item_id: Annotated[str, Meta(description="The id of a root cause.")]
    failure_category: Annotated[Category, Meta(description="A, B or C: what failed."), Option(flag="--category")]
    siddhanta: Annotated[str, Meta(description="Your conclusion, in words.")]
    seen: Annotated[str, Meta(description="The hash of what the ticket shows."), Option(metavar="HASH")]
    corrected_rule: Annotated[
        str | None,
        Meta(description="The corrected text of the rule, with category C and no other."),
        Option(form="text", metavar="FILE"),
    ] = None
    sub_category: Annotated[str | None, Meta(description="A finer category of your own.")] = None


def conclude_root_cause(
    tools: Tools,
    caller: Caller,
    request: ConcludeRootCause,
    *,
    signing: Signer | SignedElsewhere | None = None,
) -> ShownItem:
    """Conclude a root cause, as a person in their own session who saw its ticket with this hash.

    The root cause is closed and a training pair is captured; nobody else closes one. A person with a registered key
    answers the ticket instead.
    """
    asked = tools.database.read(lambda unit: unit.delivery.find_asked(caller.tenant_id, request.item_id))
    if asked is None:
        raise NotFoundError(f"tenant `{caller.tenant_id}` asks nobody about `{request.item_id[:80]}`")
    told = {"failure_category": request.failure_category.value, "siddhanta": request.siddhanta}
    optional = {"corrected_rule": request.corrected_rule, "sub_category": request.sub_category}
    body = canonical_json(told | {name: value for name, value in optional.items() if value is not None})
    reply = Reply(
        choice=CHOICES[request.failure_category],
        seen=parse_digest(request.seen),
        reason=request.siddhanta[:1000],
        body=body,
    )
    answer_desk(tools, caller, TicketId(asked.ticket_id), reply, signing=signing)
    return root_cause(tools, caller, ShowRootCause(item_id=request.item_id))
