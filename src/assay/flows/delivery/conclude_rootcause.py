"""A person concludes a root cause at the review desk: a category, and the words they answer for (PRAMANA 10.2)."""

from assay.delivery.conclude import CHOICES
from assay.delivery.plugin import Category
from assay.flows.errors import NotFoundError
from assay.flows.identity.authenticate import authenticate
from assay.flows.review.answer_desk import DeskAnswer, answer_desk
from assay.flows.review.answer_review import SignedElsewhere
from assay.flows.tools import Tools
from assay.kernel.canonical import canonical_json
from assay.kernel.digest import Digest
from assay.kernel.ids import TicketId
from assay.kernel.instant import Instant
from assay.ports.signer import Signer
from assay.review.draft import Reply

__all__ = ["conclude_rootcause"]


def conclude_rootcause(
    tools: Tools,
    item_id: str,
    category: Category,
    siddhanta: str,
    *,
    seen: Digest,
    corrected_rule: str | None = None,
    sub_category: str | None = None,
    signing: Signer | SignedElsewhere | None = None,
    credential: str,
    at: Instant,
) -> DeskAnswer:
    """Close an item, by a person in their own session who saw its ticket with this hash; nobody else closes one."""
    tenant_id = authenticate(tools, credential, at=at).principal.tenant_id
    asked = tools.database.read(lambda unit: unit.delivery.find_asked(tenant_id, item_id))
    if asked is None:
        raise NotFoundError(f"tenant `{tenant_id}` asks nobody about `{item_id[:80]}`")
    told = {"failure_category": category.value, "siddhanta": siddhanta}
    optional = {"corrected_rule": corrected_rule, "sub_category": sub_category}
    body = canonical_json(told | {name: value for name, value in optional.items() if value is not None})
    reply = Reply(choice=CHOICES[category], seen=seen, reason=siddhanta[:1000], body=body)
    return answer_desk(tools, TicketId(asked.ticket_id), reply, credential=credential, signing=signing, at=at)
