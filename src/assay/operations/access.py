"""What a caller may do: the operations that they are permitted, and every requirement of one action."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated

from msgspec import Meta, Struct

from assay.delivery.level import Level
from assay.flows.errors import NotFoundError
from assay.flows.identity.explain_access import explain_action, explain_level, explain_risk
from assay.flows.known import get_principal
from assay.flows.registry.own_service import own_power
from assay.flows.request import Option, Page, Paged, PrincipalName, Request, cut_named
from assay.flows.tools import Tools
from assay.identity.access import Requirement, find_unmet
from assay.identity.authorise import require_role
from assay.identity.caller import Caller, Proof, Via
from assay.identity.credential import EVERY_SCOPE
from assay.identity.principal import BuiltInRole, Principal
from assay.identity.risk import RiskTier
from assay.kernel.ids import parse_principal_id
from assay.kernel.instant import Instant
from assay.operations.dispatch import Dispatcher
from assay.operations.kinds import Operation

_ABOUT_OTHERS = (BuiltInRole.ADMIN, BuiltInRole.AUDITOR)


class ListPermitted(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page of the operations."""


class PermittedOperation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An operation that the caller may perform now, with its doors."""

    name: str
    kind: str
    summary: str
    route: str | None
    command: str | None
    tool: str | None


class ExplainAccess(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    action: Annotated[
        str,
        Meta(
            description="An operation by its name, route, command or tool, such as `key.revoke` or "
            "`POST /api/v1/keys`; or an action that this node declares as a service."
        ),
        Option(form="argument", metavar="ACTION"),
    ]
    on: Annotated[
        str | None,
        Meta(description="What it is about: a risk tier such as DELETE, a level such as PRAMANA-2, or this service."),
    ] = None
    who: Annotated[
        PrincipalName | None,
        Meta(description="Another principal, for administrators and auditors; else the caller."),
        Option(metavar="ID"),
    ] = None


class Why(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`allowed` is what a door would say; each requirement says whether it is met, and what would change it."""

    principal_id: str
    action: str
    on: str | None
    allowed: bool
    requirements: tuple[Requirement, ...]


def permitted_operations(tools: Tools, caller: Caller, request: ListPermitted) -> Page[PermittedOperation]:
    """List the operations that the caller may perform now, by name."""
    from assay.operations.table import TABLE  # noqa: PLC0415 - the table has this operation too

    dispatcher = Dispatcher(tools=tools)
    rows = [
        PermittedOperation(
            name=one.name, kind=one.kind, summary=one.summary, route=one.full_route, command=one.command, tool=one.tool
        )
        for one in sorted(TABLE, key=lambda one: one.name)
        if dispatcher.may(one, caller)
    ]
    return cut_named("operations", rows, request.cursor, request.limit, lambda row: row.name)


def explain_access(tools: Tools, caller: Caller, request: ExplainAccess) -> Why:
    """Show every requirement of an action: met or not, and what would change it.

    About another principal the answer is for a credential that narrows nothing, and of a person in a session. On the
    command line the exit code is 1 where the answer is no.
    """
    subject = caller if request.who is None else _subject(tools, caller, request.who)
    found = (*_of_action(tools, subject, request.action), *_of_thing(tools, subject.principal, request.on))
    return Why(
        principal_id=subject.principal.id,
        action=request.action,
        on=request.on,
        allowed=find_unmet(found) is None,
        requirements=found,
    )


def in_general(principal: Principal, *, at: Instant) -> Caller:
    """A principal who does not ask now: with a credential that narrows nothing, a person in a session."""
    via = Via.SESSION if principal.is_person() else Via.API_KEY
    proof = Proof(via=via, credential_id="", scopes=(EVERY_SCOPE,))
    return Caller(tenant_id=principal.tenant_id, principal=principal, proof=proof, at=at)


def _subject(tools: Tools, caller: Caller, who: str) -> Caller:
    if who == caller.principal.id:
        return caller
    require_role(caller.principal, _ABOUT_OTHERS)
    principal_id = parse_principal_id(who)
    principal = tools.database.read(lambda unit: get_principal(unit, caller.tenant_id, principal_id))
    return in_general(principal, at=caller.at)


def _of_action(tools: Tools, subject: Caller, action: str) -> tuple[Requirement, ...]:
    operation = _operations_by_door().get(action)
    if operation is not None:
        return Dispatcher(tools=tools).requirements(operation, subject)
    power = own_power(tools, subject.tenant_id, subject.principal)
    if action not in power.actions:
        raise NotFoundError(
            f"expected an operation such as `key.revoke` or `POST /api/v1/entries`, or an action, got `{action[:80]}`"
        )
    return explain_action(subject.principal, power, action)


def _of_thing(tools: Tools, principal: Principal, on: str | None) -> tuple[Requirement, ...]:
    if on is None or on == tools.delivery.service:
        return ()
    if on in RiskTier.__members__:
        return (explain_risk(principal, RiskTier[on]),)
    if on in set(Level):
        return (explain_level(principal, Level(on)),)
    raise NotFoundError(f"expected a risk tier, an authenticity level or this service, got `{on[:80]}`")


@cache
def _operations_by_door() -> Mapping[str, Operation]:
    """Every operation by each of its names: its own, routes, command, tool."""
    from assay.operations.table import TABLE  # noqa: PLC0415 - as above

    return {
        door: one
        for one in TABLE
        for door in (one.name, one.full_route, *one.dialects, one.command, one.tool)
        if door is not None
    }
