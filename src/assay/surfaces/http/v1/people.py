"""`/api/v1/tickets`, `principals` and `services`: questions to people, who may answer, and what is out there."""

from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response

from assay.flows.answer_once import Reply as Answer
from assay.flows.errors import NotFoundError
from assay.flows.identity.authenticate import Authenticated
from assay.flows.identity.inspect_principal import PrincipalView, inspect_principal, list_principals
from assay.flows.known import get_ticket
from assay.flows.registry.leases import load_leases
from assay.flows.review.answer_desk import DeskAnswer, answer_desk
from assay.flows.review.inspect_review import ReviewView, inspect_review, page_reviews
from assay.flows.review.open_approval import ApprovalRequest, open_approval
from assay.flows.tools import Tools
from assay.identity.authorise import has_role, require_role, require_same_tenant
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import parse_digest
from assay.kernel.ids import TicketId, parse_principal_id, parse_tenant_id, parse_ticket_id
from assay.registry.lease import Lease, presence_at
from assay.review.draft import Reply
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.desk import Desk, GivenDesk
from assay.surfaces.http.guard import SEE_ALL, allow
from assay.surfaces.http.query import parse_query, path_text
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.common import (
    PREFIX,
    PageQuery,
    changes,
    found,
    lists,
    lists_operation,
    made,
    one_operation,
)
from assay.surfaces.http.v1.desk import signed_elsewhere
from assay.surfaces.http.v1.one import answer_one, answer_page, etag_of, require_match
from assay.surfaces.http.v1.page import cut, cut_named, read_number
from assay.surfaces.http.v1.shapes import (
    PrincipalPage,
    ServiceInstance,
    ServicePage,
    ServiceView,
    TicketAnswer,
    TicketItem,
    TicketPage,
    TicketRequest,
)

__all__ = [
    "ServicesQuery",
    "TicketsQuery",
    "answer_ticket",
    "list_known_principals",
    "list_services",
    "list_tickets",
    "open_ticket",
    "show_principal",
    "show_service",
    "show_ticket",
]

_TICKETS, _PRINCIPALS, _SERVICES = f"{PREFIX}/tickets", f"{PREFIX}/principals", f"{PREFIX}/services"
_LOOK = allow(scope="identity:read")
_MAY_LOOK = (BuiltInRole.ADMIN, BuiltInRole.AUDITOR, BuiltInRole.OPERATOR)
_MATCH = {"If-Match": "the ETag of the ticket as it was read: 412 where somebody answered since"}
_ASKED = {"title": "archive the gauges of 2019", "shown": {"gauges": 40}, "eligible_roles": ["reviewer"], "quorum": 2}
_EXAMPLE = {"choice": "approve", "seen": "sha256:" + "ab" * 32, "reason": "I looked at the evidence"}


class TicketsQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Those that wait; with `settled` all. Of one kind; about one thing."""

    settled: bool = False
    kind: TicketKind | None = None
    about: str | None = None


class ServicesQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of a domain; that answer a question; that do an action."""

    domain: str | None = None
    answers: str | None = None
    does: str | None = None


@get(
    _TICKETS,
    opt=allow(scope="review:read"),
    operation_class=lists_operation(TicketsQuery),
    responses=lists(f"GET {_TICKETS}", TicketPage),
)
async def list_tickets(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Questions to people in the order they were opened: all for whoever sees all, else those one may answer."""
    wanted, now = parse_query(TicketsQuery, request), desk.tools.clock.now()
    after, person = read_number("tickets", wanted.cursor), caller.principal
    listed = await desk.run(
        lambda: page_reviews(
            desk.tools,
            person.tenant_id,
            settled_too=wanted.settled,
            kind=wanted.kind,
            about=wanted.about,
            only=lambda ticket: _may_read(person, ticket),
            viewer=person,
            after=after,
            limit=wanted.limit + 1,
            at=now,
        )
    )
    page, following = cut("tickets", listed, wanted.limit, lambda one: one.position)
    items = tuple(TicketItem(ticket=one.ticket, settlement=one.settlement) for one in page)
    return answer_page(request, TicketPage(items=items, next=following))


@post(
    _TICKETS,
    opt=allow(scope="review:open", roles=[BuiltInRole.OPERATOR], session=True),
    operation_class=changes(TicketRequest, example=_ASKED),
    responses=made(f"POST {_TICKETS}", Ticket),
)
async def open_ticket(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Ask people for an approval that no room asks for, as an operator in session; whoever asks does not answer."""
    received = await read_body(request)

    def work(tools: Tools) -> Answer:
        wanted = parse_body(TicketRequest, received)
        asked = msgspec.convert(msgspec.structs.asdict(wanted), ApprovalRequest)
        ticket, receipt = open_approval(tools, asked, credential=credential, at=tools.clock.now())
        number, place = str(receipt.sequence_number), f"{_TICKETS}/{ticket.id}"
        return reply_json(
            ticket, status=201, location=place, assay_sequence_number=number, assay_entry_hash=receipt.entry_hash
        )

    return await change(request, desk, caller, received, work)


@get(
    f"{_TICKETS}/{{ticket_id:str}}",
    opt=allow(scope="review:read"),
    operation_class=one_operation(),
    responses=found(f"GET {_TICKETS}/{{ticket_id}}", ReviewView),
)
async def show_ticket(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    ticket_id: FromPath[str],
) -> Response[bytes]:
    """What a ticket shows, and every answer with its signature verified."""
    return answer_one(request, await desk.run(lambda: _review(desk, caller, ticket_id)))


@post(
    f"{_TICKETS}/{{ticket_id:str}}/answers",
    opt=allow(scope="review:answer", session=True),
    operation_class=changes(TicketAnswer, example=_EXAMPLE, headers=_MATCH),
    responses=made(f"POST {_TICKETS}/{{ticket_id}}/answers", DeskAnswer, 412),
)
async def answer_ticket(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
    ticket_id: FromPath[str],
) -> Response[bytes]:
    """Answer in one's own session; `seen` binds the answer to what the ticket showed."""
    received = await read_body(request)

    def work(tools: Tools) -> Answer:
        wanted, name = parse_body(TicketAnswer, received), parse_ticket_id(ticket_id)
        if "if-match" in request.headers:
            require_match(request, etag_of(_review(desk, caller, ticket_id)))
        reply = Reply(
            choice=wanted.choice,
            seen=parse_digest(wanted.seen),
            reason=wanted.reason,
            body=canonicalize(wanted.body).decode(),
        )
        signing = signed_elsewhere(wanted.signature, wanted.answered_at)
        done = answer_desk(tools, name, reply, credential=credential, signing=signing, at=tools.clock.now())
        desk.metrics.count_answer(done)
        return reply_json(done, status=201)

    return await change(request, desk, caller, received, work)


@get(
    _PRINCIPALS,
    opt=allow(scope="identity:read", roles=_MAY_LOOK),
    operation_class=lists_operation(),
    responses=lists(f"GET {_PRINCIPALS}", PrincipalPage),
)
async def list_known_principals(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """The version in force of each principal of the tenant, by id."""
    wanted = parse_query(PageQuery, request)
    known = await desk.run(lambda: list_principals(desk.tools, caller.principal.tenant_id))
    by_name = sorted(known, key=lambda one: one.id)
    page, following = cut_named("principals", by_name, wanted.cursor, wanted.limit, lambda one: one.id)
    return answer_page(request, PrincipalPage(items=page, next=following))


@get(
    f"{_PRINCIPALS}/{{principal_id:str}}",
    opt=_LOOK,
    operation_class=one_operation(),
    responses=found(f"GET {_PRINCIPALS}/{{principal_id}}", PrincipalView),
)
async def show_principal(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    principal_id: FromPath[str],
) -> Response[bytes]:
    """A principal with every version and its keys, never their secrets: oneself, or anybody for whoever may look."""
    name = parse_principal_id(path_text(principal_id))
    if name != caller.principal.id:
        require_role(caller.principal, _MAY_LOOK)
    tenant_id, now = caller.principal.tenant_id, desk.tools.clock.now()
    return answer_one(request, await desk.run(lambda: inspect_principal(desk.tools, tenant_id, name, at=now)))


@get(
    _SERVICES,
    opt=allow(scope="registry:read"),
    operation_class=lists_operation(ServicesQuery),
    responses=lists(f"GET {_SERVICES}", ServicePage),
)
async def list_services(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Services that were found to serve what they declare, by id."""
    wanted = parse_query(ServicesQuery, request)
    entries = [] if not _is_fleet(desk, caller) or desk.registry is None else desk.registry.index().entries.values()
    chosen = sorted(
        (
            one
            for one in entries
            if wanted.domain in (None, one.domain)
            and (wanted.answers is None or wanted.answers in one.can_answer)
            and (wanted.does is None or wanted.does in one.can_do)
        ),
        key=lambda one: one.id,
    )
    page, following = cut_named("services", chosen, wanted.cursor, wanted.limit, lambda one: one.id)
    return answer_page(request, ServicePage(items=page, next=following))


@get(
    f"{_SERVICES}/{{service_id:str}}",
    opt=allow(scope="registry:read"),
    operation_class=one_operation(),
    responses=found(f"GET {_SERVICES}/{{service_id}}", ServiceView),
)
async def show_service(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    service_id: FromPath[str],
) -> Response[bytes]:
    """A service and its instances: who is there, and until when they count as there."""
    name, tenant_id, now = path_text(service_id), caller.principal.tenant_id, desk.tools.clock.now()

    def look() -> tuple[Lease, ...]:
        return desk.tools.database.read(lambda unit: load_leases(unit.registry, tenant_id, name))

    leases = await desk.run(look)
    if not leases or desk.registry is None or not _is_fleet(desk, caller):
        raise NotFoundError(f"no service `{name[:80]}` was ever announced here")
    instances = tuple(ServiceInstance(presence=presence_at(one, now), lease=one) for one in leases)
    entry = desk.registry.index().entries.get(name)
    return answer_one(request, ServiceView(service_id=name, entry=entry, instances=instances))


def _is_fleet(desk: Desk, caller: Authenticated) -> bool:
    """Services announce themselves in the node's own tenant."""
    own = parse_tenant_id(desk.config.node.tenant)
    return caller.principal.tenant_id == own


def _review(desk: Desk, caller: Authenticated, text: str) -> bytes:
    principal, name, now = caller.principal, parse_ticket_id(text), desk.tools.clock.now()
    ticket = desk.tools.database.read(lambda unit: get_ticket(unit, principal.tenant_id, name))
    require_same_tenant(principal, ticket.tenant_id)
    if not _may_read(principal, ticket):
        require_role(principal, (*SEE_ALL, *ticket.eligible_roles))
    return msgspec.json.encode(
        inspect_review(desk.tools, principal.tenant_id, TicketId(name), viewer=principal, at=now)
    )


def _may_read(principal: Principal, ticket: Ticket) -> bool:
    return has_role(principal, (*SEE_ALL, *ticket.eligible_roles)) or ticket.requested_by == principal.id
