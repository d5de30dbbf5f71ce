"""`assay principal why`: may they do this, and if not, what would change it."""

from typing import TYPE_CHECKING

import click

from assay.flows.known import get_principal
from assay.kernel.ids import parse_principal_id, parse_tenant_id
from assay.surfaces.cli.acting import columns
from assay.surfaces.cli.output import Call, NodeCommand, tenant_option

if TYPE_CHECKING:
    from assay.config import Config
    from assay.flows.tools import Tools
    from assay.surfaces.http.why import Ground


@click.command(cls=NodeCommand)
@click.argument("principal_id", metavar="ID")
@click.argument("action")
@click.option("--on", help="What it is about: a risk tier such as DELETE, a level such as PRAMANA-2, or this service.")
@tenant_option
@click.pass_context
def why(context: click.Context, principal_id: str, action: str, on: str | None, tenant: str | None) -> None:
    """Show every requirement of an action: met or not, and what would change it.

    ACTION is a route such as `POST /contracts`, or an action that this node declares as a service. The answer is that
    of the server itself, for a credential that narrows nothing; the exit code is 1 where it is no.
    """
    from assay.surfaces.http.why import explain, in_general

    call: Call = context.obj
    known_id = parse_principal_id(principal_id)
    with call.open_node() as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        principal = tools.database.read(lambda unit: get_principal(unit, tenant_id, known_id))
        found = explain(_ground(tools, config), in_general(principal, at=tools.clock.now()), action, on)
    rows = [("yes" if one.met else "no", one.name.value, one.reason) for one in found.requirements]
    remedies = [f"{one.name.value}: {one.remedy}" for one in found.requirements if one.remedy is not None]
    text = "\n".join([columns(list(rows)), *(["", "what would change it", *remedies] if remedies else [])])
    call.answer(found, text)
    if not found.allowed:
        context.exit(1)


def _ground(tools: "Tools", config: "Config") -> "Ground":
    """As a server would find it, which may be running beside this command."""
    # Only this command pays for the server's own parts.
    from litestar.handlers import HTTPRouteHandler

    from assay.flows.registry.own_service import own_codex
    from assay.flows.registry.switch_facts import load_switch
    from assay.registry.manifest import power_of
    from assay.registry.open_manifest import open_manifest
    from assay.registry.trip import active_tier
    from assay.surfaces.forja.service import ServiceRule
    from assay.surfaces.http.app import every_route
    from assay.surfaces.http.why import Ground, needs_by_route

    tenant_id = parse_tenant_id(config.node.tenant)
    manifest = open_manifest(own_codex(tools, tenant_id, port=config.http.port)).manifest
    switch = tools.database.read(lambda unit: load_switch(unit.registry, tenant_id, manifest.service))
    rule = ServiceRule()
    pairs = [(path, one) for one in every_route() if isinstance(one, HTTPRouteHandler) for path in one.paths]
    return Ground(
        routes=needs_by_route(pairs),
        power=power_of(manifest, active_tier=active_tier(switch, rule.switch, rule.tier)),
        at=tools.clock.now(),
    )
