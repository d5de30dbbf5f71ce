"""What an answer of each kind asks for besides the choice, and why somebody cannot give one."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from urllib.parse import quote

import msgspec
from msgspec import Struct

from assay.delivery.conclude import CHOICES
from assay.delivery.plugin import Category
from assay.flows.delivery.root_causes import ShowRootCause, root_cause
from assay.flows.verdicts.read_verdicts import show_ticket_verdict
from assay.identity.authorise import has_role
from assay.kernel.errors import Error
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket
from assay.surfaces.console.session import Form, Visit
from assay.truth.status import FINAL_STATUSES

# What ends a round, and nothing else: the truth room refuses any other.
OVERRIDES = tuple(status.value for status in FINAL_STATUSES)
_BUNDLE = "bundle:"
_CATEGORIES = {choice: category for category, choice in CHOICES.items()}


def why_not(visit: Visit, ticket: Ticket) -> str | None:
    """Why this person cannot answer, told before they try; the flow decides all the same."""
    person = visit.person
    if person.id in (ticket.opened_by, ticket.requested_by):
        return "You opened this, or asked for what it is about: somebody else answers."
    if not has_role(person, ticket.eligible_roles):
        return f"This is for people with the role {', '.join(ticket.eligible_roles)}."
    if person.public_key is not None:
        return "You registered a key of your own: answer on the command line, where it can sign."
    return None


def about_path(visit: Visit, ticket: Ticket) -> str | None:
    """The page of what is asked about, where there is one that this person may see."""
    if not visit.sees_all:
        return None
    try:
        return _PLACES[ticket.kind](visit, ticket) if ticket.kind in _PLACES else None
    except Error:
        # A question that was opened by hand may be about anything.
        return None


def _bundle_place(_visit: Visit, ticket: Ticket) -> str | None:
    about = ticket.about or ""
    return f"/claims/{quote(about.removeprefix(_BUNDLE), safe=':')}" if about.startswith(_BUNDLE) else None


def _state_place(_visit: Visit, ticket: Ticket) -> str:
    return f"/truth/state?key={quote(ticket.about or '', safe='')}"


def _verdict_place(visit: Visit, ticket: Ticket) -> str:
    found = show_ticket_verdict(visit.desk.tools, visit.tenant_id, ticket.id)
    return f"/decisions/{found.sequence_number}"


def _item_place(visit: Visit, ticket: Ticket) -> str:
    found = root_cause(visit.desk.tools, visit.caller, ShowRootCause(item_id=ticket.about or ""))
    return f"/rules/{quote(found.item.rule.rule_id, safe='')}"


def _rule_place(_visit: Visit, ticket: Ticket) -> str:
    return f"/rules/{quote((ticket.about or '').rpartition('@')[0], safe='')}"


def _service_place(_visit: Visit, _ticket: Ticket) -> str:
    return "/services"


_PLACES: Mapping[TicketKind, Callable[[Visit, Ticket], str | None]] = MappingProxyType(
    {
        TicketKind.APPROVAL: _bundle_place,
        TicketKind.DEFERRAL: _bundle_place,
        TicketKind.ATTESTATION: _verdict_place,
        TicketKind.VALIDATION: _state_place,
        TicketKind.ROOT_CAUSE: _item_place,
        TicketKind.RULE_PROPOSAL: _item_place,
        TicketKind.RULE_CERTIFICATION: _rule_place,
        TicketKind.RESTORE: _service_place,
    }
)


class _Listed(Struct, frozen=True):
    """What a root cause shows of them; the rest is for people to read."""

    sub_categories: dict[Category, tuple[str, ...]] | None = None


def listed_sub_categories(ticket: Ticket) -> dict[str, tuple[str, ...]]:
    """Those that a conclusion may name, by the choice they go with; the ticket shows them where some are listed."""
    if ticket.kind is not TicketKind.ROOT_CAUSE:
        return {}
    try:
        listed = msgspec.json.decode(ticket.shown, type=_Listed).sub_categories or {}
    except msgspec.MsgspecError:
        return {}
    return {CHOICES[category]: names for category, names in listed.items() if names}


def answer_body(ticket: Ticket, form: Form, choice: str) -> dict[str, str]:
    """What the ticket's kind asks for besides the choice."""
    if ticket.kind is TicketKind.ROOT_CAUSE and choice in _CATEGORIES:
        told = {"failure_category": _CATEGORIES[choice].value, "siddhanta": form.find("reason")}
        optional = {name: form.find(name) for name in ("corrected_rule", "sub_category")}
        return told | {name: value for name, value in optional.items() if value}
    if ticket.kind is TicketKind.VALIDATION and choice == "override":
        return {"override_status": form.get("override_status")}
    return {}
